"""The pair functions: shapes, and agreement with one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.kernels import CATALOG, builtin

from .reference import SCALARS, random_data, rows_of


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_blocks_are_pairs_side_by_side(name: str) -> None:
    first, second = random_data(name, 40, seed=1), random_data(name, 40, seed=2)
    for part, scalar in zip(CATALOG[name]().components, SCALARS[name], strict=True):
        values = part(first, second)
        assert values.shape == (40,)
        assert values.dtype == np.float64
        pairs = zip(rows_of(first), rows_of(second), strict=True)
        np.testing.assert_allclose(values, [scalar(x, y) for x, y in pairs], rtol=1e-14)


def test_distance_of_one_and_of_several_columns() -> None:
    np.testing.assert_array_equal(
        builtin.euclidean_distance(np.array([1.0]), np.array([-2.0])), [3.0]
    )
    first, second = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
    np.testing.assert_array_equal(builtin.euclidean_distance(first, second), [5.0])
    np.testing.assert_array_equal(builtin.squared_distance(first[:, 0], second[:, 0]), [9.0])


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_inputs_are_left_alone(name: str) -> None:
    first, second = random_data(name, 10, seed=1), random_data(name, 10, seed=2)
    first.setflags(write=False)
    second.setflags(write=False)
    for part in CATALOG[name]().components:
        part.function(first, second)


def test_censored_pairs_are_compared_only_from_the_event() -> None:
    early_censored, late = np.array([[1.0, 5.0, 0.0]]), np.array([[2.0, 9.0, 1.0]])
    np.testing.assert_array_equal(builtin.comparable(early_censored, late), [0.0])
    early_event = np.array([[1.0, 5.0, 1.0]])
    np.testing.assert_array_equal(builtin.comparable(early_event, late), [1.0])
    np.testing.assert_array_equal(builtin.concordant(late, early_event, ties=0.5), [1.0])
