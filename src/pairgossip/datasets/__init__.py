"""Small real data that ships with the package."""

from collections.abc import Callable

from pairgossip.datasets.dataset import (
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

CATALOG: dict[str, Callable[[], Dataset]] = {
    "breast-cancer-wisconsin": breast_cancer_table,
    "digits": digits_table,
    "engel": engel,
    "wine": wine_table,
}
"""The data sets by name."""

__all__ = [
    "CATALOG",
    "Dataset",
    "LabeledData",
    "breast_cancer_table",
    "breast_cancer_wisconsin",
    "digits",
    "digits_table",
    "engel",
    "wine",
    "wine_table",
]
