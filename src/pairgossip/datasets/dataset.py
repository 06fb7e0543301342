"""Small real data sets that ship with the package, as tables and as features with labels."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray
from pairgossip.checks import choice
from pairgossip.errors import PairgossipError, unknown_name

_MOST_NAMES = 12
"""Number of columns up to which all are named; of more, only the first two and the last are."""
_REPORTED_LICENSE = "CC BY 4.0 at UCI, as redistributors report; scikit-learn's copy states none"
"""The terms of the UCI data taken from scikit-learn, whose descriptions name no license."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Named columns of numbers, one row per observation.

    It converts to an array of all its columns wherever data are accepted, as in
    ``pg.exact(engel(), "kendall")``; one column is ``engel()["income"]``.

    Attributes
    ----------
    name, columns
        The name of the data set, and the names of its columns.
    values
        The numbers, shape (rows, columns), read-only.
    description, source, license
        The content, the origin, and the terms of use.
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
        """The names of the columns, shortened if there are many."""
        if len(self.columns) <= _MOST_NAMES:
            return ", ".join(self.columns)
        first, second, *_, last = self.columns
        return f"{first}, {second}, ..., {last} ({len(self.columns)} in all)"


CANCER_FILE = "breast_cancer_wisconsin.csv"
_MALIGNANT = 4.0
"""The file's code of a malignant case; a benign one is 2."""
SHA256 = {
    CANCER_FILE: "7cbdf73583cb5ae025bf252c66c03e523ec72c7783b2746bf373a7bdbd8857ac",
    "digits.csv.gz": "962f775032df9effe32b24d91624022649d502ee17d3d8160e2887dcb10db722",
    "engel.csv": "1ab6a5c4e884ef9ad624949d2b7e94652eccd75ba3905d1a46c85d28b153ec49",
    "wine.csv": "6c75822a8a38ddfff660a8cd569ad5b8311d54cdc9fd55fe2998f1dc114240d5",
}
"""The checksums of the files as shipped."""


def read_shipped(file: str) -> tuple[tuple[str, ...], FloatArray]:
    """Read a CSV file of this package, plain or gzipped: its column names and its numbers.

    An empty field is read as NaN. Raises `PairgossipError` if the file is not the one shipped.
    """
    raw = resources.files("pairgossip.datasets").joinpath(file).read_bytes()
    zipped = file.endswith(".gz")
    # Version control may have rewritten the line ends; only the numbers matter.
    content = raw if zipped else raw.replace(b"\r\n", b"\n")
    if hashlib.sha256(content).hexdigest() != SHA256[file]:
        raise PairgossipError(
            f"The data file {file} differs from the one shipped: reinstall pairgossip."
        )
    return _parse(content, zipped)


@cache
def _parse(content: bytes, zipped: bool) -> tuple[tuple[str, ...], FloatArray]:
    """Return column names and numbers; both are immutable, so they are cached for all callers."""
    text = (gzip.decompress(content) if zipped else content).decode("ascii")
    header, *rows = csv.reader(io.StringIO(text))
    values = np.array([[float(cell or "nan") for cell in row] for row in rows])
    values.setflags(write=False)
    return tuple(header), values


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


def _labeled(table: Dataset, standardize: bool) -> LabeledData:
    """Split a table into the features and, its last column, the labels."""
    features = table.values[:, :-1].copy()
    return LabeledData(
        _standardize(features) if standardize else features,
        table.values[:, -1].copy(),
        table.columns[:-1],
    )


def _standardize(features: FloatArray) -> FloatArray:
    """Center every feature and divide it by its standard deviation; a constant one becomes 0."""
    constant = np.ptp(features, axis=0) == 0
    centered = np.where(constant, 0.0, features - features.mean(axis=0))
    return centered / np.where(constant, 1.0, features.std(axis=0))


def engel() -> Dataset:
    """Load the annual incomes and food expenditures of 235 Belgian working-class households.

    Both columns, income and foodexp, are in Belgian francs.
    """
    return Dataset(
        "engel",
        *read_shipped("engel.csv"),
        "Annual income and food expenditure (Belgian francs) "
        "of 235 Belgian working-class households.",
        "Engel (1857); Koenker and Bassett (1982), Robust Tests of Heteroscedasticity Based on "
        "Regression Quantiles, Econometrica 50, 43-61; as in statsmodels.datasets.engel.",
        "public domain",
    )


def breast_cancer_wisconsin(missing: str = "median", standardize: bool = False) -> LabeledData:
    """Load 699 breast cancer cases: nine features graded 1 to 10, and whether it was malignant.

    The labels are 1 for malignant and 0 for benign.
    It is the original Wisconsin study, not scikit-learn's ``load_breast_cancer``.

    Parameters
    ----------
    missing
        How the 16 cases without the feature bare_nuclei are treated: "median" gives them the
        median of the others (699 rows), "drop" leaves them out (683 rows).
    standardize
        Whether to center every feature and divide it by its standard deviation.

    Examples
    --------
    >>> X, y = breast_cancer_wisconsin()
    >>> X.shape, int(y.sum())
    ((699, 9), 241)
    """
    missing = choice("treatment of missing values", missing, ("median", "drop"))
    columns, table = read_shipped(CANCER_FILE)
    features, labels = table[:, 1:-1], (table[:, -1] == _MALIGNANT).astype(np.float64)
    gaps = np.isnan(features)
    if missing == "drop":
        complete = ~gaps.any(axis=1)
        features, labels = features[complete], labels[complete]
    else:
        features = np.where(gaps, np.nanmedian(features, axis=0), features)
    if standardize:
        features = _standardize(features)
    return LabeledData(np.ascontiguousarray(features), labels, columns[1:-1])


def breast_cancer_table() -> Dataset:
    """Load the cases as a table: nine features and class (4: malignant, 2: benign).

    The 16 missing values of bare_nuclei are replaced by the median of the others.
    """
    columns, table = read_shipped(CANCER_FILE)
    values = np.column_stack((breast_cancer_wisconsin().X, table[:, -1]))
    values.setflags(write=False)
    return Dataset(
        "breast-cancer-wisconsin",
        columns[1:],
        values,
        "Nine features, graded 1 to 10, of 699 breast cancer cases, and class "
        "(2 benign, 4 malignant); 16 missing values replaced by the median.",
        "W. H. Wolberg (1992), Breast Cancer Wisconsin (Original), UCI Machine Learning "
        "Repository, doi:10.24432/C5HP4Z; as in MASS::biopsy.",
        "CC BY 4.0",
    )


def digits(standardize: bool = False) -> LabeledData:
    """Load 1797 images of handwritten digits: 8 x 8 gray levels from 0 to 16, and which digit.

    It is the test part of the UCI set, as in scikit-learn's ``load_digits``.

    Parameters
    ----------
    standardize
        Whether to center every pixel and divide it by its standard deviation; the three pixels
        that are blank in every image become 0.

    Examples
    --------
    >>> X, y = digits()
    >>> X.shape, int(y.max())
    ((1797, 64), 9)
    """
    return _labeled(digits_table(), standardize)


def digits_table() -> Dataset:
    """Load the images as a table: 64 gray levels, row by row, and class (the digit, 0 to 9)."""
    return Dataset(
        "digits",
        *read_shipped("digits.csv.gz"),
        "Gray levels, 0 to 16, of 1797 images of handwritten digits, 8 x 8 pixels each, "
        "and class (0 to 9: the digit).",
        "E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, test "
        "part, UCI Machine Learning Repository, doi:10.24432/C50P49; as in "
        "sklearn.datasets.load_digits.",
        _REPORTED_LICENSE,
    )


def wine(standardize: bool = False) -> LabeledData:
    """Load 178 wines of three cultivars: thirteen chemical measurements, and which cultivar.

    The labels are 0 (59 wines), 1 (71) and 2 (48), as in scikit-learn's ``load_wine``.

    Parameters
    ----------
    standardize
        Whether to center every feature and divide it by its standard deviation.

    Examples
    --------
    >>> X, y = wine()
    >>> X.shape, int(y.max())
    ((178, 13), 2)
    """
    return _labeled(wine_table(), standardize)


def wine_table() -> Dataset:
    """Load the wines as a table: thirteen measurements and class (0, 1 or 2: the cultivar)."""
    return Dataset(
        "wine",
        *read_shipped("wine.csv"),
        "Thirteen chemical measurements of 178 wines grown in one region of Italy, "
        "and class (0, 1, 2: the cultivar).",
        "M. Forina et al., PARVUS, Institute of Pharmaceutical and Food Analysis and "
        "Technologies, Genoa; Wine, UCI Machine Learning Repository, doi:10.24432/C5PC7J; "
        "as in sklearn.datasets.load_wine.",
        _REPORTED_LICENSE,
    )
