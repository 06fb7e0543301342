"""The handwritten digits against scikit-learn's copy of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from pairgossip.datasets.bundled import digits, digits_table

COUNTS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_the_shipped_values() -> None:
    data = digits()
    assert data.X.shape == (1797, 64)
    assert [int((data.y == digit).sum()) for digit in range(10)] == COUNTS
    assert data.X.min() == 0 and data.X.max() == 16
    np.testing.assert_array_equal(data.X, np.round(data.X))


def test_the_values_are_those_of_scikit_learn() -> None:
    theirs, data = load_digits(), digits()
    np.testing.assert_array_equal(data.X, theirs.data, strict=True)
    np.testing.assert_array_equal(data.y, theirs.target)
    assert list(data.feature_names) == theirs.feature_names


def test_standardized_pixels() -> None:
    blank = [0, 32, 39]
    pixels = digits(standardize=True).X
    np.testing.assert_array_equal(pixels[:, blank], 0)
    np.testing.assert_allclose(pixels.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.delete(pixels, blank, axis=1).std(axis=0), 1)


def test_the_table_is_read_only_and_the_arrays_are_not() -> None:
    data, table = digits(), digits_table()
    np.testing.assert_array_equal(table.values, np.column_stack((data.X, data.y)))
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 1.0
    data.X[0, 0] = data.y[0] = -1.0
    assert digits().X[0, 0] == 0 and digits().y[0] == 0


def test_a_short_description_of_many_columns() -> None:
    assert repr(digits_table()) == (
        "Dataset(digits: 1797 rows, columns pixel_0_0, pixel_0_1, ..., class (65 in all))"
    )
