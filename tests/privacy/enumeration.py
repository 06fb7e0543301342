"""Mechanisms as plain matrices, and expectations over all vectors of reports."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.privacy import RandomizedResponse
from pairgossip.privacy.response import Cells, Grid

Statistic = Callable[[tuple[int, ...]], FloatArray]


def exact_channel(mechanism: RandomizedResponse) -> list[list[Fraction]]:
    """Return P(report y | cell x) as fractions, in rows x, from the probabilities alone."""
    sizes = [response.cells for response in mechanism.responses]
    points = list(itertools.product(*map(range, sizes)))
    table = []
    for x in points:
        row = []
        for y in points:
            chance = Fraction(1)
            for part, one, other in zip(mechanism.probabilities, x, y, strict=True):
                chance *= part.same if one == other else part.other
            row.append(chance)
        table.append(row)
    return table


def channel(mechanism: RandomizedResponse) -> FloatArray:
    return np.array([[float(chance) for chance in row] for row in exact_channel(mechanism)])


def cell_laws(mechanism: RandomizedResponse, data: FloatArray) -> FloatArray:
    """Return the probabilities of each observation's cells, by the definition of rounding."""
    laws = []
    for row in np.reshape(data, (len(data), -1)):
        law = np.ones(1)
        for value, column in zip(row, mechanism.columns, strict=True):
            distance = np.abs(column.values - value)
            if isinstance(column, Grid):
                part = np.maximum(0.0, 1.0 - distance / column.reach)
            else:
                part = np.eye(column.cells)[int(distance.argmin())]
            law = np.outer(law, part).ravel()
        laws.append(law)
    return np.array(laws)


def report_laws(mechanism: RandomizedResponse, data: FloatArray) -> FloatArray:
    return cell_laws(mechanism, data) @ channel(mechanism)


def all_reports(laws: FloatArray) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield every vector of reports with its probability."""
    for reports in itertools.product(range(laws.shape[1]), repeat=len(laws)):
        yield reports, float(np.prod([law[y] for law, y in zip(laws, reports, strict=True)]))


def moments(laws: FloatArray, statistic: Statistic) -> tuple[FloatArray, FloatArray]:
    """Return the mean and covariance of a vector statistic over all vectors of reports."""
    found = [(chance, np.atleast_1d(statistic(y))) for y, chance in all_reports(laws)]
    mean = np.asarray(sum(chance * value for chance, value in found))
    spread = sum(chance * np.outer(value - mean, value - mean) for chance, value in found)
    return mean, np.asarray(spread)


def rows_of(mechanism: RandomizedResponse, flat: tuple[int, ...]) -> Cells:
    """Return reports from their numbers."""
    return np.stack(np.unravel_index(np.array(flat), mechanism.bins), axis=1).astype(np.int64)
