"""The first look at a kernel."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.kernels import CATALOG, Kernel, Ratio
from pairgossip.kernels.probe import probe

from .reference import random_data


@pytest.mark.parametrize("name", sorted(CATALOG))
@pytest.mark.parametrize("n", [2, 100])
def test_built_in_kernels_pass(name: str, n: int) -> None:
    probe(CATALOG[name](), random_data(name, n))


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (
            Kernel(lambda a, b: 1 / (a - b), name="inverse"),
            "Kernel 'inverse' is NaN or infinite for observations 0 and 0 (counting from 0): "
            "it must be finite for every pair.",
        ),
        (
            Kernel(lambda a, b: np.exp(1000 * a - b), name="growth"),
            "Kernel 'growth' is NaN or infinite for observations 1 and 0 (counting from 0): "
            "it must be finite for every pair.",
        ),
        (
            Kernel(lambda a, b: a + b, name="sum", zero_diagonal=True),
            "Kernel 'sum' says zero_diagonal=True but h(x, x) is 2 for some x: "
            "set zero_diagonal=False.",
        ),
        (
            Kernel(lambda a, b: a - b, name="gap", symmetric=True),
            "Kernel 'gap' says symmetric=True but h(x, y) and h(y, x) differ: set symmetric=False.",
        ),
        (
            Kernel(lambda a, b: a - a.mean(), name="centered"),
            "Kernel 'centered' gives the same pair 0 alone and 1 among others: "
            "each value must depend on its own pair only.",
        ),
        (
            Kernel(lambda a, b: (a - b).max(), name="largest"),
            "Kernel 'largest' returned shape () for 9 pairs: "
            "it must return one value per pair, shape (9,).",
        ),
    ],
)
def test_broken_promises(kernel: Kernel, sentence: str) -> None:
    for probed in (kernel, Ratio("gini", kernel)):
        with pytest.raises(InputError) as caught:
            probe(probed, np.arange(3.0))
        assert str(caught.value) == sentence


def test_one_observation_is_enough() -> None:
    probe(Kernel(lambda a, b: a + b), np.array([3.0]))
