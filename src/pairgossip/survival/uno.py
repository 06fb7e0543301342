"""Uno's concordance: pairs are weighted to make up for those lost to censoring.

With G the Kaplan-Meier curve of censoring, a pair whose earlier time t is an event before the
truncation has the weight G(t-)^-2. For given weights the index is a quotient of two averages over
pairs, and Hoeffding's projection gives the contribution of every row. A row also moves G: if y rows
are at risk of being censored at u, and c of them are, it adds to log G(t-) the sum over u < t of

    -(1{censored at u} - 1{at risk at u} c/y) / (y - c),

the derivative of log(1 - c/y), and -2 times that to the logarithm of every weight. Both
contributions add up in the error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.inference.projection import Projection, project
from pairgossip.kernels import Kernel, Pairs, Ratio
from pairgossip.kernels.orders import sharing_orders, weigh_beyond, weights_or_ones
from pairgossip.survival.life_table import LifeTable


def project_uno(time: FloatArray, event: FloatArray, risk: FloatArray, last: float) -> Projection:
    """Return Uno's index, and the contribution of every row."""
    table = LifeTable.of(time, event)
    places = np.searchsorted(table.times, time)
    # Events come first, so at the same time they are no longer at risk of being censored.
    at_risk = table.at_risk - table.events
    hazard = table.censored / np.maximum(at_risk, 1.0)
    followed = np.concatenate([[1.0], np.cumprod(1 - hazard)[:-1]])[places]
    counted = (event > 0) & (time < last)
    weights = np.where(counted, np.where(counted, followed, 1.0) ** -2.0, 0.0)
    rows = np.column_stack((-risk, order_times(time, event), weights))
    with sharing_orders():
        agree, beyond = _find_later(rows)
        if not weights @ beyond > 0:
            raise InputError(
                "No event before the truncation has a row with a later time: no pair shows which "
                "row failed first."
            )
        found = project(Pairs(rows, _kernel()))
    # Over all pairs, both ways, the denominator is the sum of the weights of earlier events.
    moves = 2 * len(time) * weights * (agree - found.value * beyond) / (weights @ beyond)
    added = _add_by_censoring(table, hazard, places, moves, event)
    return found._replace(influence=found.influence + added)


def _add_by_censoring(
    table: LifeTable, hazard: FloatArray, places: IntArray, moves: FloatArray, event: FloatArray
) -> FloatArray:
    """Return each row's contribution through the weights, whose logarithms change the index."""
    moved = np.bincount(places, moves)
    later = np.cumsum(moved[::-1])[::-1] - moved
    # If no row remains, no event comes later.
    left = np.maximum(table.at_risk - table.events - table.censored, 1.0)
    scale = later / left
    expected = np.cumsum(scale * hazard)
    before = np.concatenate([[0.0], expected])[places]
    return np.where(event == 0, scale[places] - expected[places], -before)


def order_times(time: FloatArray, event: FloatArray) -> FloatArray:
    """Return the ranks of times, where an event comes before a censoring at the same time."""
    order = np.lexsort((-event, time))
    is_new = np.diff(time[order], prepend=-1.0) != 0
    is_new |= np.diff(event[order], prepend=-1.0) != 0
    ranks = np.empty(len(time))
    ranks[order] = np.cumsum(is_new)
    return ranks


def _kernel() -> Ratio:
    """Return the index of rows (prediction, rank of the time, weight as the earlier one)."""
    facts: Any = {"symmetric": True, "zero_diagonal": True, "weighs": True, "label_sizes": True}
    top, bottom = (
        Kernel(function, name=f"uno's {name}", row_totals=totals, **facts)
        for function, name, totals in (
            (_weigh_agreeing, "numerator", _agreeing_rows),
            (_weigh_comparable, "denominator", _comparable_rows),
        )
    )
    return Ratio(top, bottom, name="uno's concordance", interval_scale="logit", null=0.5)


def _weigh_comparable(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the weight of the earlier of two rows."""
    earlier = first[:, 1] < second[:, 1], first[:, 1] > second[:, 1]
    return earlier[0] * first[:, 2] + earlier[1] * second[:, 2]


def _weigh_agreeing(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return this weight if the later row has the larger prediction, and half of it for a tie."""
    order = np.sign(second[:, 0] - first[:, 0]) * np.sign(second[:, 1] - first[:, 1])
    return _weigh_comparable(first, second) * (1 + order) / 2


def _comparable_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    later, earlier = _beyond(data, weights_or_ones(data, weights))
    return data[:, 2] * later + earlier


def _agreeing_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    weights = weights_or_ones(data, weights)
    later, earlier = _agreeing(data, weights)
    return data[:, 2] * later + earlier


def _find_later(data: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return for every row the later ones that agree with it, and all later ones."""
    ones = np.ones(len(data))
    return _agreeing(data, ones)[0], _beyond(data, ones)[0]


def _agreeing(data: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum the weights of the later rows that agree with every row, and of the earlier ones."""
    prediction, order = data[:, 0], data[:, 1]
    below = weights * data[:, 2]
    alike = weigh_beyond(order, prediction, weights, below)
    opposite = weigh_beyond(order, -prediction, weights, below)
    every = _beyond(data, weights)
    later, earlier = ((a + b - c) / 2 for a, b, c in zip(every, alike, opposite, strict=True))
    return later, earlier


def _beyond(data: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum the weights of all later rows of every row, and of the earlier ones."""
    places = data[:, 1].astype(np.int64)
    later, earlier = (
        np.bincount(places, one).astype(np.float64) for one in (weights, weights * data[:, 2])
    )
    after = np.cumsum(later[::-1])[::-1] - later
    return after[places], (np.cumsum(earlier) - earlier)[places]
