"""A small real data set that ships with the package."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from dataclasses import dataclass
from importlib import resources
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray
from pairgossip.errors import PairgossipError, unknown_name

MOST_NAMES = 12
"""How many columns are listed by name; of more, only the ends."""
REPORTED_LICENSE = "CC BY 4.0 at UCI, as redistributors report; scikit-learn's copy states none"
"""The terms of the UCI data taken from scikit-learn, whose descriptions name no license."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Named columns of numbers, one row per observation.

    It is an array of all its columns wherever data are taken, as in ``pg.exact(engel(),
    "kendall")``; one column is ``engel()["income"]``.

    Attributes
    ----------
    name, columns
        What it is called, and the names of its columns.
    values
        The numbers, shape (rows, columns), read-only.
    description, source, license
        What it holds, where it comes from, and under which terms.
    """

    name: str
    columns: tuple[str, ...]
    values: FloatArray
    description: str
    source: str
    license: str

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, column: str) -> FloatArray:
        if column not in self.columns:
            raise unknown_name(f"column of {self.name}", str(column), self.columns)
        return self.values[:, self.columns.index(column)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {len(self)} rows, columns {self.column_list})"

    @property
    def column_list(self) -> str:
        """The names of the columns for people to read, shortened if there are many."""
        if len(self.columns) <= MOST_NAMES:
            return ", ".join(self.columns)
        first, second, *_, last = self.columns
        return f"{first}, {second}, ..., {last} ({len(self.columns)} in all)"


def read_shipped(file: str, sha256: str) -> tuple[tuple[str, ...], FloatArray]:
    """Read a CSV file of this package, plain or gzipped: its column names and its numbers.

    An empty field is read as NaN. Raises `PairgossipError` if the file is not the one shipped.
    """
    raw = resources.files("pairgossip.datasets").joinpath(file).read_bytes()
    zipped = file.endswith(".gz")
    # Line ends may have been rewritten on the way; the numbers are what is vouched for.
    content = raw if zipped else raw.replace(b"\r\n", b"\n")
    if hashlib.sha256(content).hexdigest() != sha256:
        raise PairgossipError(
            f"The data file {file} differs from the one shipped: reinstall pairgossip."
        )
    text = (gzip.decompress(content) if zipped else content).decode("ascii")
    header, *rows = csv.reader(io.StringIO(text))
    values = np.array([[float(cell or "nan") for cell in row] for row in rows])
    values.setflags(write=False)
    return tuple(header), values


# Features and labels, as learning takes them.


class _FeaturesAndLabels(NamedTuple):
    X: FloatArray
    y: FloatArray


class LabeledData(_FeaturesAndLabels):
    """Features ``X`` and labels ``y``, one row and one label per observation.

    It unpacks as ``X, y``; the arrays are fresh copies, free to be changed.

    Attributes
    ----------
    X
        The features, shape (rows, features).
    y
        The labels, numbers that stand for the classes.
    feature_names
        The names of the features, in the order of the columns of ``X``.
    """

    feature_names: tuple[str, ...] = ()

    def __new__(cls, X: FloatArray, y: FloatArray, feature_names: tuple[str, ...] = ()) -> Self:
        """Pair the features with the labels; the names ride along."""
        pair = super().__new__(cls, X, y)
        pair.feature_names = feature_names
        return pair


def labeled(table: Dataset, standardize: bool) -> LabeledData:
    """Split a table into the features and, its last column, the labels."""
    features = table.values[:, :-1].copy()
    return LabeledData(
        standardized(features) if standardize else features,
        table.values[:, -1].copy(),
        table.columns[:-1],
    )


def standardized(features: FloatArray) -> FloatArray:
    """Center every feature and divide it by its standard deviation; a constant one becomes 0."""
    constant = np.ptp(features, axis=0) == 0
    centered = np.where(constant, 0.0, features - features.mean(axis=0))
    return centered / np.where(constant, 1.0, features.std(axis=0))
