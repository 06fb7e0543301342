"""The wines against scikit-learn's copy of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine

from pairgossip.datasets.bundled import wine, wine_table


def test_the_shipped_values() -> None:
    data = wine()
    assert data.X.shape == (178, 13)
    assert [int((data.y == label).sum()) for label in range(3)] == [59, 71, 48]
    assert data.X[0, 0] == 14.23 and data.X[:, -1].max() == 1680


def test_the_values_are_those_of_scikit_learn() -> None:
    theirs, data = load_wine(), wine()
    np.testing.assert_array_equal(data.X, theirs.data, strict=True)
    np.testing.assert_array_equal(data.y, theirs.target)
    assert list(data.feature_names) == theirs.feature_names


def test_standardized_features() -> None:
    features = wine(standardize=True).X
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(features.std(axis=0), 1)


def test_the_table_is_read_only_and_the_arrays_are_not() -> None:
    data, table = wine(), wine_table()
    np.testing.assert_array_equal(table.values, np.column_stack((data.X, data.y)))
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 0.0
    data.X[0, 0] = data.y[0] = -1.0
    assert wine().X[0, 0] == 14.23 and wine().y[0] == 0
