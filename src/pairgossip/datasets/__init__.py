"""Small real data that ships with the package."""

from collections.abc import Callable

from pairgossip.datasets.breast_cancer import (
    LabeledData,
    breast_cancer_table,
    breast_cancer_wisconsin,
)
from pairgossip.datasets.dataset import Dataset
from pairgossip.datasets.engel import engel

CATALOG: dict[str, Callable[[], Dataset]] = {
    "breast-cancer-wisconsin": breast_cancer_table,
    "engel": engel,
}
"""The data sets by name."""

__all__ = [
    "CATALOG",
    "Dataset",
    "LabeledData",
    "breast_cancer_table",
    "breast_cancer_wisconsin",
    "engel",
]
