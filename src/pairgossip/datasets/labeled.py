"""Features and labels, as learning takes them."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.datasets.dataset import Dataset


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
