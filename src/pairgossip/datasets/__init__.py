"""Small real data that ships with the package."""

from collections.abc import Callable

from pairgossip.datasets.breast_cancer import breast_cancer_table, breast_cancer_wisconsin
from pairgossip.datasets.dataset import Dataset
from pairgossip.datasets.digits import digits, digits_table
from pairgossip.datasets.engel import engel
from pairgossip.datasets.labeled import LabeledData
from pairgossip.datasets.wine import wine, wine_table

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
