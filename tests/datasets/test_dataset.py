"""Data sets: named columns that cannot be changed by accident."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.datasets import CATALOG, Dataset
from pairgossip.datasets.dataset import read_shipped
from pairgossip.errors import InputError, PairgossipError


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_every_data_set_is_whole(name: str) -> None:
    dataset = CATALOG[name]()
    assert dataset.name == name
    assert dataset.values.shape == (len(dataset), len(dataset.columns))
    assert np.isfinite(dataset.values).all()
    assert all((dataset.description, dataset.source, dataset.license))


def _small() -> Dataset:
    return Dataset("small", ("a", "b"), np.array([[1.0, 2.0], [3.0, 4.0]]), "", "", "")


def test_columns_by_name() -> None:
    np.testing.assert_array_equal(_small()["b"], [2.0, 4.0])
    assert repr(_small()) == "Dataset(small: 2 rows, columns a, b)"


def test_an_unknown_column() -> None:
    with pytest.raises(InputError) as caught:
        _small()["c"]
    assert str(caught.value) == "Unknown column of small 'c': choose one of a, b."


def test_a_changed_file_is_refused() -> None:
    with pytest.raises(PairgossipError) as caught:
        read_shipped("engel.csv", "0" * 64)
    assert str(caught.value) == (
        "The data file engel.csv differs from the one shipped: reinstall pairgossip."
    )
