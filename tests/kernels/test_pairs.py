"""The values that algorithms average: single values, the matrix, and the target agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip import kernels
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import CATALOG, Formula, Kernel, Pairs, Ratio, exact
from pairgossip.kernels.kernel import evaluate

from .reference import random_data, samples

NAMES = sorted(CATALOG)


def skew(a: FloatArray, b: FloatArray) -> FloatArray:
    return a * a * b + 3.0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", ["v", "u"])
def test_values_are_the_matrix(name: str, target: str) -> None:
    pairs = Pairs(random_data(name, 50), name, target)
    nodes = np.repeat(np.arange(50), 50)
    held = np.tile(np.arange(50, dtype=np.int32), 50)
    values = pairs.values(nodes, held)
    assert values.shape == (2500, pairs.components)
    assert values.dtype == np.float64
    for component in range(pairs.components):
        matrix = pairs.matrix(component)
        np.testing.assert_array_equal(values[:, component].reshape(50, 50), matrix)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_the_mean_of_the_matrix_is_the_target(name: str, data: st.DataObject) -> None:
    sample = data.draw(samples(name, smallest=2))
    for target in ("v", "u"):
        pairs = Pairs(sample, name, target)
        means = np.array([pairs.matrix(part).mean() for part in range(pairs.components)])
        combined = float(pairs.kernel.combine(means))
        assert pairs.exact() == pytest.approx(combined, rel=1e-10, abs=1e-12, nan_ok=True)
        assert pairs.exact() == pytest.approx(exact(sample, name, target), nan_ok=True)


def test_the_u_target_masks_own_pairs() -> None:
    data = np.array([1.0, 2.0, 4.0])
    pairs = Pairs(data, skew, "u")
    assert pairs.scale == 1.5
    nodes, held = np.array([0, 1, 2, 2]), np.array([0, 2, 2, 1])
    expected = [0.0, 1.5 * (2.0**2 * 4.0 + 3.0), 0.0, 1.5 * (4.0**2 * 2.0 + 3.0)]
    np.testing.assert_allclose(pairs.values(nodes, held)[:, 0], expected)
    np.testing.assert_array_equal(np.diag(pairs.matrix()), 0.0)
    assert pairs.matrix().mean() == pytest.approx(exact(data, skew, "u"))


@pytest.mark.parametrize("kernel", ["gini", "distance", skew])
@pytest.mark.parametrize("target", ["v", "u"])
def test_row_means_are_those_of_the_matrix(kernel: str, target: str) -> None:
    pairs = Pairs(np.random.default_rng(0).normal(size=40), kernel, target)
    np.testing.assert_allclose(pairs.row_means(), pairs.matrix().mean(axis=1), rtol=1e-12)


def test_a_matrix_of_several_tiles() -> None:
    data = np.random.default_rng(0).normal(size=600)
    matrix = Pairs(data, "gini", "u").matrix()
    np.testing.assert_allclose(matrix, np.abs(data[:, None] - data) * 600 / 599)
    np.testing.assert_allclose(Pairs(data, skew).matrix(), data[:, None] ** 2 * data + 3.0)


@pytest.mark.parametrize("name", NAMES)
def test_built_in_kernels_are_fusible(name: str) -> None:
    for target in ("v", "u"):
        pairs = Pairs(random_data(name, 5), name, target)
        known = all(part.formula is not Formula.NONE for part in pairs.kernel.components)
        assert pairs.fusible == (known and (target == "v" or pairs.kernel.zero_diagonal))


def test_what_is_not_fusible() -> None:
    assert not Pairs([1.0, 2.0], skew).fusible
    assert not Pairs([1.0, 2.0], Ratio("gini", skew)).fusible
    low = kernels.metric_learning_risk(threshold=0.5)
    data = random_data("metric-learning-risk", 5)
    assert Pairs(data, low, "v").fusible
    assert not Pairs(data, low, "u").fusible


def test_a_kernel_cannot_write_into_its_blocks() -> None:
    def careless(a: FloatArray, b: FloatArray) -> FloatArray:
        a -= b
        return a

    pairs = Pairs([1.0, 2.0, 4.0], Kernel(careless, name="careless"))
    sentence = r"^Kernel 'careless' failed on blocks of shape \(\d,\): output array is read-only\.$"
    with pytest.raises(InputError, match=sentence):
        pairs.values(np.array([0, 1, 2]), np.array([1, 2, 0]))
    with pytest.raises(InputError, match=sentence):
        pairs.exact()
    np.testing.assert_array_equal(pairs.data, [1.0, 2.0, 4.0])


def test_what_a_kernel_returns_can_be_written_to() -> None:
    data = np.arange(3.0)
    values = evaluate(Kernel(lambda a, b: a), data, data)
    values += 1
    np.testing.assert_array_equal(data, np.arange(3.0))


def test_no_pairs() -> None:
    nobody = np.empty(0, dtype=np.intp)
    assert Pairs([1.0, 2.0], "gini", "u").values(nobody, nobody).shape == (0, 1)
