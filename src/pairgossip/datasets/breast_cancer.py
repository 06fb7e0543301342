"""Wolberg's breast cancer cases from Wisconsin, the original study of nine graded features."""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.datasets.dataset import Dataset, read_shipped
from pairgossip.datasets.labeled import LabeledData, standardized
from pairgossip.errors import unknown_name

FILE = "breast_cancer_wisconsin.csv"
SHA256 = "7cbdf73583cb5ae025bf252c66c03e523ec72c7783b2746bf373a7bdbd8857ac"
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
    return read_shipped(FILE, SHA256)
