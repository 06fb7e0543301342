"""Mechanisms with data and kernels, small enough that all reports can be enumerated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from pairgossip.arrays import FloatArray, PairFunction
from pairgossip.privacy import RandomizedResponse
from pairgossip.privacy.response import Cells
from tests.problems import skewed


class Case(NamedTuple):
    mechanism: RandomizedResponse
    data: FloatArray
    kernel: PairFunction | str


def crossed(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the values of a kernel of two columns, neither symmetric nor zero on its diagonal."""
    return np.exp(-first[:, 0]) * second[:, 1] + first[:, 1] * second[:, 0] ** 2


def many_reports(
    mechanism: RandomizedResponse, data: FloatArray, trials: int, source: Generator
) -> Cells:
    """Draw the reports of all observations this many times, shape (trials, n, columns).

    All are drawn in one call, as reports are independent, and small calls are slow.
    """
    everyone = np.concatenate([data] * trials)
    return mechanism.randomize(everyone, source).reshape(trials, len(data), -1)


ONE = np.array([0.1, 0.5, 0.9, 0.45])
TWO = np.array([[0.1, 0.2], [0.7, 0.9], [0.15, 0.8]])
LABELED = np.array([[0.1, 0.0], [0.7, 1.0], [0.2, 1.0]])

CASES = {
    "gini": Case(RandomizedResponse(1.0, 3, (0, 1)), ONE, "gini"),
    "skewed": Case(RandomizedResponse(0.5, 3, (0, 1)), ONE, skewed),
    "rounded": Case(RandomizedResponse(1.0, 3, (0, 1), rounding="stochastic"), ONE, skewed),
    "columns apart": Case(RandomizedResponse(0.7, 2, ((0, 1), (0, 1))), TWO, crossed),
    "columns together": Case(RandomizedResponse(0.7, (2, 3), (0, 1), together=True), TWO, crossed),
    "columns rounded": Case(
        RandomizedResponse(0.7, (3, 2), (0, 1), rounding="stochastic"), TWO, crossed
    ),
    "labeled": Case(RandomizedResponse(1.0, 2, (0, 1), classes=(0, 1)), LABELED, "auc"),
    "label apart": Case(
        RandomizedResponse(1.0, 3, (0, 1), classes=(0, 1), together=False), LABELED, "auc"
    ),
    "equal labels": Case(RandomizedResponse(1.0, classes=(1, 2, 5)), np.array([1.0, 5, 1, 2]),
                         lambda x, y: (x == y) * (1 + x)),
}  # fmt: skip
