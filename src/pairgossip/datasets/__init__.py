"""Small real data that ships with the package."""

from collections.abc import Callable

from pairgossip.datasets.dataset import Dataset
from pairgossip.datasets.engel import engel

CATALOG: dict[str, Callable[[], Dataset]] = {"engel": engel}
"""The data sets by name."""

__all__ = ["CATALOG", "Dataset", "engel"]
