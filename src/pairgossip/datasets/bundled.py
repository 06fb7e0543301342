"""Engel's household budgets."""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.datasets.dataset import (
    REPORTED_LICENSE,
    Dataset,
    LabeledData,
    labeled,
    read_shipped,
    standardized,
)
from pairgossip.errors import unknown_name

ENGEL_FILE = "engel.csv"
ENGEL_SHA256 = "1ab6a5c4e884ef9ad624949d2b7e94652eccd75ba3905d1a46c85d28b153ec49"


def engel() -> Dataset:
    """Load the annual incomes and food expenditures of 235 Belgian working-class households.

    Both columns, income and foodexp, are in Belgian francs.
    """
    columns, values = read_shipped(ENGEL_FILE, ENGEL_SHA256)
    return Dataset(
        name="engel",
        columns=columns,
        values=values,
        description=(
            "Annual income and food expenditure (Belgian francs) "
            "of 235 Belgian working-class households."
        ),
        source=(
            "Engel (1857); Koenker and Bassett (1982), Robust Tests of Heteroscedasticity Based on "
            "Regression Quantiles, Econometrica 50, 43-61; as in statsmodels.datasets.engel."
        ),
        license="public domain",
    )


# Wolberg's breast cancer cases from Wisconsin, the original study of nine graded features.


CANCER_FILE = "breast_cancer_wisconsin.csv"
CANCER_SHA256 = "7cbdf73583cb5ae025bf252c66c03e523ec72c7783b2746bf373a7bdbd8857ac"
MALIGNANT = 4.0
"""The file's code of a malignant case; a benign one is 2."""
MISSING_CHOICES = ("median", "drop")


def breast_cancer_wisconsin(missing: str = "median", standardize: bool = False) -> LabeledData:
    """Load 699 breast cancer cases: nine features graded 1 to 10, and whether it was malignant.

    The labels are 1 for malignant and 0 for benign.
    It is the original Wisconsin study, not scikit-learn's ``load_breast_cancer``.

    Parameters
    ----------
    missing
        What becomes of the 16 cases without the feature bare_nuclei: "median" gives them the
        median of the others (699 rows), "drop" leaves them out (683 rows).
    standardize
        Whether to center every feature and divide it by its standard deviation.

    Examples
    --------
    >>> X, y = breast_cancer_wisconsin()
    >>> X.shape, int(y.sum())
    ((699, 9), 241)
    """
    if missing not in MISSING_CHOICES:
        raise unknown_name("treatment of missing values", str(missing), MISSING_CHOICES)
    columns, table = _read()
    features, labels = table[:, 1:-1], (table[:, -1] == MALIGNANT).astype(np.float64)
    gaps = np.isnan(features)
    if missing == "drop":
        complete = ~gaps.any(axis=1)
        features, labels = features[complete], labels[complete]
    else:
        features = np.where(gaps, np.nanmedian(features, axis=0), features)
    if standardize:
        features = standardized(features)
    return LabeledData(np.ascontiguousarray(features), labels, columns[1:-1])


def breast_cancer_table() -> Dataset:
    """Load the cases as a table: nine features and class (4: malignant, 2: benign).

    The 16 missing values of bare_nuclei are replaced by the median of the others.
    """
    columns, table = _read()
    features, _ = breast_cancer_wisconsin()
    values = np.column_stack((features, table[:, -1]))
    values.setflags(write=False)
    return Dataset(
        name="breast-cancer-wisconsin",
        columns=columns[1:],
        values=values,
        description=(
            "Nine features, graded 1 to 10, of 699 breast cancer cases, and class "
            "(2 benign, 4 malignant); 16 missing values replaced by the median."
        ),
        source=(
            "W. H. Wolberg (1992), Breast Cancer Wisconsin (Original), UCI Machine Learning "
            "Repository, doi:10.24432/C5HP4Z; as in MASS::biopsy."
        ),
        license="CC BY 4.0",
    )


def _read() -> tuple[tuple[str, ...], FloatArray]:
    """Read the shipped file: id, nine features with NaN where one is missing, class."""
    return read_shipped(CANCER_FILE, CANCER_SHA256)


# Small images of handwritten digits.


DIGITS_FILE = "digits.csv.gz"
DIGITS_SHA256 = "962f775032df9effe32b24d91624022649d502ee17d3d8160e2887dcb10db722"


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
    return labeled(digits_table(), standardize)


def digits_table() -> Dataset:
    """Load the images as a table: 64 gray levels, row by row, and class (the digit, 0 to 9)."""
    columns, values = read_shipped(DIGITS_FILE, DIGITS_SHA256)
    return Dataset(
        name="digits",
        columns=columns,
        values=values,
        description=(
            "Gray levels, 0 to 16, of 1797 images of handwritten digits, 8 x 8 pixels each, "
            "and class (0 to 9: the digit)."
        ),
        source=(
            "E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, test "
            "part, UCI Machine Learning Repository, doi:10.24432/C50P49; as in "
            "sklearn.datasets.load_digits."
        ),
        license=REPORTED_LICENSE,
    )


# Chemical analyses of Italian wines.


WINE_FILE = "wine.csv"
WINE_SHA256 = "6c75822a8a38ddfff660a8cd569ad5b8311d54cdc9fd55fe2998f1dc114240d5"


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
    return labeled(wine_table(), standardize)


def wine_table() -> Dataset:
    """Load the wines as a table: thirteen measurements and class (0, 1 or 2: the cultivar)."""
    columns, values = read_shipped(WINE_FILE, WINE_SHA256)
    return Dataset(
        name="wine",
        columns=columns,
        values=values,
        description=(
            "Thirteen chemical measurements of 178 wines grown in one region of Italy, "
            "and class (0, 1, 2: the cultivar)."
        ),
        source=(
            "M. Forina et al., PARVUS, Institute of Pharmaceutical and Food Analysis and "
            "Technologies, Genoa; Wine, UCI Machine Learning Repository, doi:10.24432/C5PC7J; "
            "as in sklearn.datasets.load_wine."
        ),
        license=REPORTED_LICENSE,
    )
