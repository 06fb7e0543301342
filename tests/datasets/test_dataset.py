"""Data sets: named columns that cannot be changed by accident."""

from __future__ import annotations

import copy
import gzip
import hashlib
import pickle
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.datasets import CATALOG, Dataset, LabeledData, engel, wine
from pairgossip.datasets.dataset import SHA256, _labeled, _standardize, read_shipped
from pairgossip.errors import InputError, PairgossipError
from pairgossip.learn import GossipRanker


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_every_data_set_is_whole(name: str) -> None:
    dataset = CATALOG[name]()
    assert dataset.name == name
    assert dataset.values.shape == (len(dataset), len(dataset.columns))
    assert np.isfinite(dataset.values).all()
    assert all((dataset.description, dataset.source, dataset.license))


def _small() -> Dataset:
    return Dataset("small", ("a", "b"), np.array([[1.0, 2.0], [3.0, 4.0]]), "", "", "")


def test_it_is_data_wherever_its_columns_are_those_wanted() -> None:
    table = engel()
    assert pg.exact(table, "kendall") == pg.exact(table.values, "kendall")
    assert pg.estimate(table, "kendall", iterations=10, seed=0).target == pg.exact(table, "kendall")
    wines = CATALOG["wine"]()
    fits = [pg.minimize(d, None, "metric-diagonal-hinge", iterations=9, seed=0)
            for d in (wines, wines.values)]  # fmt: skip
    np.testing.assert_array_equal(fits[0].models, fits[1].models)
    grades = np.arange(len(table))
    rankers = [GossipRanker(iterations=9, random_state=0).fit(d, grades)
               for d in (table, table.values)]  # fmt: skip
    np.testing.assert_array_equal(rankers[0].coef_, rankers[1].coef_)
    with pytest.raises(InputError, match=r"takes 1 column .value., but the data has 2 columns"):
        pg.exact(table, "gini")
    np.asarray(table, copy=True)[0, 0] = 0.0  # a copy may be changed, but not the table


def test_features_and_labels_are_no_table() -> None:
    sentence = "data is a pair of features and labels: give them apart, as in X, y = data."
    for refused in (
        lambda: pg.exact(wine(), "within-cluster-scatter"),
        lambda: pg.minimize(wine(), None, "metric-hinge"),
    ):
        with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
            refused()


def test_an_unknown_column() -> None:
    with pytest.raises(InputError, match=r"^Unknown column of small 'c': choose one of a, b\.$"):
        _small()["c"]
    with pytest.raises(InputError, match="Unknown column of small '0': choose one"):
        _small()[0]  # type: ignore[index]


SHIPPED = resources.files("pairgossip.datasets")


def test_every_shipped_file_is_vouched_for() -> None:
    present = {entry.name for entry in SHIPPED.iterdir() if entry.name.endswith((".csv", ".gz"))}
    assert present == set(SHA256)


@pytest.mark.parametrize("file", SHA256)
def test_a_changed_file_is_refused(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hashlib.sha256(SHIPPED.joinpath(file).read_bytes()).hexdigest() == SHA256[file]
    monkeypatch.setitem(SHA256, file, "0" * 64)
    with pytest.raises(PairgossipError) as caught:
        read_shipped(file)
    assert str(caught.value) == (
        f"The data file {file} differs from the one shipped: reinstall pairgossip."
    )


def _ship(folder: Path, file: str, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / file).write_bytes(content)
    monkeypatch.setattr(resources, "files", lambda package: folder)


def test_rewritten_line_ends_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = SHIPPED.joinpath("wine.csv").read_bytes().replace(b"\n", b"\r\n")
    _, expected = read_shipped("wine.csv")
    _ship(tmp_path, "wine.csv", content, monkeypatch)
    np.testing.assert_array_equal(read_shipped("wine.csv")[1], expected)


def test_archives_are_read_and_empty_fields_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 0d 0a inside an archive is not a line end: the archive is stored, not deflated.
    archive = gzip.compress(b"a,b\r\n1,\r\n,0.1\r\n", 0, mtime=0)
    _ship(tmp_path, "small.csv.gz", archive, monkeypatch)
    monkeypatch.setitem(SHA256, "small.csv.gz", hashlib.sha256(archive).hexdigest())
    columns, values = read_shipped("small.csv.gz")
    assert columns == ("a", "b")
    np.testing.assert_array_equal(values, [[1, np.nan], [np.nan, 0.1]])


def _table() -> Dataset:
    return Dataset("small", ("a", "b", "class"), np.array([[1.0, 5, 0], [3, 5, 1]]), "", "", "")


def test_the_last_column_is_the_label() -> None:
    data = _labeled(_table(), standardize=False)
    features, labels = data
    np.testing.assert_array_equal(features, [[1, 5], [3, 5]])
    np.testing.assert_array_equal(labels, [0, 1])
    assert data.feature_names == ("a", "b")
    assert features is data.X and labels is data.y


@pytest.mark.parametrize("duplicate", [copy.copy, lambda data: pickle.loads(pickle.dumps(data))])
def test_a_copy_keeps_the_names(duplicate: Callable[[LabeledData], LabeledData]) -> None:
    twin = duplicate(_labeled(_table(), standardize=False))
    assert isinstance(twin, LabeledData) and twin.feature_names == ("a", "b")


def test_a_constant_feature_becomes_zero() -> None:
    np.testing.assert_array_equal(_labeled(_table(), standardize=True).X, [[-1, 0], [1, 0]])
    # The mean of many equal decimals has a rounding error, which must not be magnified.
    np.testing.assert_array_equal(_standardize(np.full((1000, 1), 0.1)), 0)


def test_columns_are_found_by_name_and_listed_by_their_ends() -> None:
    np.testing.assert_array_equal(_small()["b"], [2.0, 4.0])
    assert repr(_small()) == "Dataset(small: 2 rows, columns a, b)"
    columns = tuple(f"c{number}" for number in range(13))
    wide = Dataset("wide", columns, np.zeros((1, 13)), "", "", "")
    assert wide.column_list == "c0, c1, ..., c12 (13 in all)"
