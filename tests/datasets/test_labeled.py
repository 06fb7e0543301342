"""Features and labels: a pair that knows the names of its features."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from pairgossip.datasets import Dataset, LabeledData
from pairgossip.datasets.dataset import labeled, standardized


def _table() -> Dataset:
    return Dataset("small", ("a", "b", "class"), np.array([[1.0, 5, 0], [3, 5, 1]]), "", "", "")


def test_the_last_column_is_the_label() -> None:
    data = labeled(_table(), standardize=False)
    features, labels = data
    np.testing.assert_array_equal(features, [[1, 5], [3, 5]])
    np.testing.assert_array_equal(labels, [0, 1])
    assert data.feature_names == ("a", "b")
    assert features is data.X and labels is data.y


@pytest.mark.parametrize("duplicate", [copy.copy, lambda data: pickle.loads(pickle.dumps(data))])
def test_a_copy_keeps_the_names(duplicate: Callable[[LabeledData], LabeledData]) -> None:
    twin = duplicate(labeled(_table(), standardize=False))
    assert isinstance(twin, LabeledData) and twin.feature_names == ("a", "b")


def test_a_constant_feature_becomes_zero() -> None:
    np.testing.assert_array_equal(labeled(_table(), standardize=True).X, [[-1, 0], [1, 0]])
    # The mean of many equal decimals is off by a rounding error, which must not be blown up.
    np.testing.assert_array_equal(standardized(np.full((1000, 1), 0.1)), 0)
