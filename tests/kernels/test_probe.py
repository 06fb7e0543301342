"""The first look at a kernel."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.kernels import CATALOG, Formula, Kernel, Ratio
from pairgossip.kernels.exact import probe, scattered_pairs

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
        (
            Kernel(lambda a, b: a * b, name="product", total=lambda data: 1.0),
            "Kernel 'product' has a closed form total= that gives 1 on 3 rows where its function "
            "adds up to 9: correct it, or leave it out.",
        ),
        (
            Kernel(lambda a, b: a * b, name="product", total=lambda data: data),  # type: ignore[arg-type, return-value]
            "Kernel 'product' has a closed form total= that returned shape (3,) for 3 rows: it "
            "must return one number.",
        ),
        (
            Kernel(lambda a, b: a * b, name="product", row_totals=lambda data: data + 1.0),
            "Kernel 'product' has a closed form row_totals= that gives 1 on 3 rows where its "
            "function adds up to 0: correct it, or leave it out.",
        ),
        (
            Kernel(lambda a, b: a * b, name="product", row_totals=lambda data: data.nothing),  # type: ignore[attr-defined]
            "Kernel 'product' has a closed form row_totals= that failed on 3 rows: "
            "'numpy.ndarray' object has no attribute 'nothing'.",
        ),
        (
            Kernel(lambda a, b: (a - b) ** 2, name="square", formula=Formula.GINI),
            "Kernel 'square' says formula=Formula.GINI, but its function gives other values: "
            "leave formula= out.",
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


def test_right_closed_forms_pass() -> None:
    kernel = Kernel(
        lambda a, b: a * b,
        total=lambda data: float(data.sum() ** 2),
        row_totals=lambda data: data * data.sum(),
    )
    for data in (np.arange(100.0), np.full(9, 0.1), np.array([1e150, 2e150]), np.array([3.0])):
        probe(kernel, data)
    offset = np.random.default_rng(0).normal(size=40) + 1e6
    probe(Kernel(lambda a, b: (a - b) ** 2, total=lambda x: 2 * x.size**2 * x.var()), offset)


def test_pairs_out_of_step_with_the_rows() -> None:
    nodes, held = scattered_pairs(1000, 256)
    assert (nodes[:8] == held[:8]).all()
    assert len(set(zip(nodes.tolist(), held.tolist(), strict=True))) == 256
    for period in (2, 8, 50, 125):
        assert min(len(np.unique(part % period)) for part in (nodes, held)) > 0.8 * period
    assert [part.tolist() for part in scattered_pairs(1, 3)] == [[0, 0, 0]] * 2
