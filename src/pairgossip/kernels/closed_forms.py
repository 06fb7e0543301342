"""Sums over all ordered pairs (k, l), own pairs included, in O(n log n) instead of O(n^2).

Sums over the pairs of every row may weigh the others: row l then counts w_l times, once without
weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.kernels.orders import (
    Order,
    count_ascents,
    lay_out,
    order_both,
    order_column,
    rows_follow,
    weigh_ascents,
)

# Counting ordered and tied pairs exactly, in O(n log n) and without a Python loop over points.


def _ascending_pairs(first: FloatArray, second: FloatArray, marked: BoolArray) -> int:
    """Count the pairs (i, j) with first[i] < first[j], second[i] < second[j] and i marked."""
    order, ranks = lay_out(first, second)
    return count_ascents(ranks, marked[order])


def _pairs_above_at_ties(values: FloatArray, tied: FloatArray, marked: BoolArray) -> int:
    """Count the pairs (i, j) with values[i] < values[j], tied[i] = tied[j] and i marked."""
    order = np.lexsort((values, tied))
    above = _run_ends(tied[order]) - _run_ends(tied[order], values[order])
    return int(above[marked[order]].sum())


def _run_ends(*columns: FloatArray) -> IntArray:
    """For sorted columns, give every position the end of its run of equal rows."""
    differs = np.zeros(len(columns[0]) - 1, dtype=np.bool_)
    for column in columns:
        differs |= column[1:] != column[:-1]
    ends = np.append(np.flatnonzero(differs), len(columns[0]) - 1) + 1
    return np.repeat(ends, np.diff(ends, prepend=0))


def _weights(data: FloatArray, weights: FloatArray | None) -> FloatArray:
    return np.ones(len(data)) if weights is None else weights


def _beyond(
    first: FloatArray, second: FloatArray, above: FloatArray, below: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Weigh for every i the j larger in both columns by `above`, the smaller ones by `below`."""
    order, ranks = lay_out(first, second)
    larger, smaller = np.empty(len(first)), np.empty(len(first))
    larger[order], smaller[order] = weigh_ascents(ranks, above[order], below[order])
    return larger, smaller


def variance_total(data: FloatArray) -> float:
    """Sum (x - y)^2 / 2."""
    centered = data - data.mean()
    # The last term removes what the rounding of the mean leaves behind.
    return float(len(data) * np.sum(centered**2) - np.sum(centered) ** 2)


def variance_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Sum (x_k - y)^2 / 2 over y, for every k."""
    weights = _weights(data, weights)
    centered = data - data.mean()
    squares = weights.sum() * centered**2 + np.sum(weights * centered**2)
    return np.asarray(0.5 * (squares - 2.0 * centered * np.sum(weights * centered)))


def gini_total(data: FloatArray) -> float:
    """Sum |x - y|."""
    gaps = np.diff(np.sort(data))
    below = np.arange(1.0, len(data))
    # A gap is crossed by every pair with one end on each side; no term is negative.
    return float(2.0 * np.sum(gaps * below * (len(data) - below)))


def gini_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Sum |x_k - y| over y, for every k."""
    order = np.argsort(data, kind="stable")
    gaps = np.diff(data[order])
    reached = np.cumsum(_weights(data, weights)[order])
    below, above = reached[:-1], reached[-1] - reached[:-1]
    from_below = np.concatenate(([0.0], np.cumsum(gaps * below)))
    from_above = np.concatenate((np.cumsum((gaps * above)[::-1])[::-1], [0.0]))
    rows = np.empty(len(data))
    rows[order] = from_below + from_above
    return rows


def agreement_total(data: FloatArray) -> float:
    """Sum +1 at pairs the two columns order alike and -1 at pairs they order oppositely."""
    alike, opposite = _ordered_pairs(data)
    return 2.0 * (alike - opposite)


def discordance_total(data: FloatArray) -> float:
    """Sum 1 at pairs that the two columns order oppositely."""
    return 2.0 * _ordered_pairs(data)[1]


def agreement_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Sum +1 and -1 as `agreement_total` does, over the pairs of every row."""
    alike, opposite = _ordered_rows(data, _weights(data, weights))
    return np.asarray(alike - opposite)


def discordance_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count for every row the others that the two columns order oppositely."""
    return _ordered_rows(data, _weights(data, weights))[1]


def _ordered_pairs(data: FloatArray) -> tuple[int, int]:
    """Count the unordered pairs that the two columns order alike, and oppositely."""
    x, y = data[:, 0], data[:, 1]
    n = len(data)
    alike = _ascending_pairs(x, y, np.ones(n, dtype=np.bool_))
    tied = order_column(x).tied_pairs + order_column(y).tied_pairs - order_both(x, y).tied_pairs
    return alike, n * (n - 1) // 2 - alike - tied


def _ordered_rows(data: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weigh for every row the others that the two columns order alike, and oppositely."""
    x, y = data[:, 0], data[:, 1]
    alike = np.add(*_beyond(x, y, weights, weights))
    if np.any(weights != np.rint(weights)):
        return alike, np.add(*_beyond(x, -y, weights, weights))
    # Of whole numbers differences are exact.
    return alike, both_apart_rows(data, weights) - alike


def comparable_total(data: FloatArray) -> float:
    """Sum 1 at pairs of which one outcome is known to be smaller, being an event."""
    return 2.0 * _pairs_above_at_ties(_outcomes(data), np.zeros(len(data)), _events(data))


def concordant_total(data: FloatArray, ties: float) -> float:
    """Sum 1 at comparable pairs predicted in order and `ties` at those predicted equal."""
    prediction, outcome, events = data[:, 0], _outcomes(data), _events(data)
    agree = _ascending_pairs(outcome, prediction, events)
    return 2.0 * (agree + ties * _pairs_above_at_ties(outcome, prediction, events))


def comparable_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count for every row the others of which one outcome is known to be smaller."""
    weights = _weights(data, weights)
    return _comparable_where_tied(_outcomes(data), np.zeros(len(data)), _events(data), weights)


def concordant_rows(
    data: FloatArray, weights: FloatArray | None = None, *, ties: float
) -> FloatArray:
    """Sum 1 and `ties` as `concordant_total` does, over the pairs of every row."""
    prediction, outcome, events = data[:, 0], _outcomes(data), _events(data)
    weights = _weights(data, weights)
    above, below = _beyond(outcome, prediction, weights, events * weights)
    tied = _comparable_where_tied(outcome, prediction, events, weights)
    return np.asarray(events * above + below + ties * tied)


def _comparable_where_tied(
    outcome: FloatArray, tied: FloatArray, events: BoolArray, weights: FloatArray
) -> FloatArray:
    """Weigh for every row the comparable ones of equal `tied`."""
    order = np.lexsort((outcome, tied))
    run, tie = _run_ends(tied[order]), _run_ends(tied[order], outcome[order])
    everyone, failed = (
        np.concatenate(([0.0], np.cumsum(part[order]))) for part in (weights, events * weights)
    )
    above = everyone[run] - everyone[tie]
    below = failed[_run_starts(tie)] - failed[_run_starts(run)]
    counts = np.empty(len(outcome))
    counts[order] = events[order] * above + below
    return counts


def _run_starts(ends: IntArray) -> IntArray:
    """Give every position the start of its run of equal rows, from the ends of the runs."""
    places = np.arange(len(ends))
    is_first = np.append(True, ends[1:] != ends[:-1])
    return np.maximum.accumulate(np.where(is_first, places, 0))


def _outcomes(data: FloatArray) -> FloatArray:
    """Return the outcomes, or their ranks where an event comes before what is censored then."""
    if data.shape[1] == 2:
        return data[:, 1]
    order = np.lexsort((-data[:, 2], data[:, 1]))
    ranks = np.empty(len(data))
    ranks[order] = _run_ends(data[order, 1], data[order, 2])
    return ranks


def _events(data: FloatArray) -> BoolArray:
    return data[:, 2] != 0 if data.shape[1] == 3 else np.ones(len(data), dtype=np.bool_)


def higher_label_total(data: FloatArray) -> float:
    """Sum 1 at pairs (k, l) of a higher and a lower label, of two labels."""
    positives = int(np.count_nonzero(_is_high(data)))
    return float(positives * (len(data) - positives))


def higher_label_and_score_total(data: FloatArray, ties: float, column: int = 0) -> float:
    """Sum 1 at pairs (k, l) of a higher and a lower label scored in order, `ties` if equal."""
    high, scores = _is_high(data), data[:, column]
    if rows_follow():
        places, counts = order_column(scores)
        ups = np.bincount(places, high).astype(np.int64)
        downs = counts - ups
        return int(ups @ (np.cumsum(downs) - downs)) + ties * int(ups @ downs)
    positives, negatives = np.sort(scores[high]), np.sort(scores[~high])
    below = int(np.searchsorted(negatives, positives, side="left").sum())
    up_to = int(np.searchsorted(negatives, positives, side="right").sum())
    return below + ties * (up_to - below)


def higher_label_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count for every row of the higher label those of the lower one."""
    high = _is_high(data)
    return np.where(high, _weights(data, weights)[~high].sum(), 0.0)


def lower_label_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count for every row of the lower label those of the higher one."""
    high = _is_high(data)
    return np.where(high, 0.0, _weights(data, weights)[high].sum())


def higher_label_and_score_rows(
    data: FloatArray, weights: FloatArray | None = None, *, ties: float, column: int = 0
) -> FloatArray:
    """Count for every row of the higher label those of the lower one that it outscores."""
    places = order_column(data[:, column]).places
    return _outscored(places, _is_high(data), _weights(data, weights), ties)


def lower_label_and_score_rows(
    data: FloatArray, weights: FloatArray | None = None, *, ties: float, column: int = 0
) -> FloatArray:
    """Count for every row of the lower label those of the higher one that outscore it."""
    places, counts = order_column(data[:, column])
    from_above = len(counts) - 1 - places
    return _outscored(from_above, ~_is_high(data), _weights(data, weights), ties)


def _is_high(data: FloatArray) -> BoolArray:
    """Tell which rows have the higher of two labels, in the last column."""
    return np.asarray(data[:, -1] == data[:, -1].max())


def _outscored(
    places: IntArray, counted: BoolArray, weights: FloatArray, ties: float
) -> FloatArray:
    """Weigh for the marked rows the others at lower places, and `ties` of those at the same."""
    others = np.bincount(places, np.where(counted, 0.0, weights))
    reached = np.cumsum(others)
    below = np.concatenate(([0.0], reached[:-1]))
    return np.where(counted, (below + ties * (reached - below))[places], 0.0)


def squared_scatter_total(data: FloatArray) -> float:
    """Sum ||x - y||^2 within the clusters of the last column."""
    _, sizes, squares, sums, _ = _clusters(data, np.ones(len(data)))
    return float(2.0 * np.sum(sizes * squares - np.sum(sums**2, axis=1)))


def squared_scatter_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Sum ||x_k - y||^2 over y in the cluster of x_k, for every k."""
    cluster, sizes, squares, sums, centered = _clusters(data, _weights(data, weights))
    own = sizes[cluster] * np.sum(centered**2, axis=1)
    return np.asarray(own + squares[cluster] - 2.0 * np.sum(centered * sums[cluster], axis=1))


def _clusters(
    data: FloatArray, weights: FloatArray
) -> tuple[NDArray[np.intp], FloatArray, FloatArray, FloatArray, FloatArray]:
    """Center each cluster: every row's cluster, then sizes, sums of squares and sums, rows."""
    cluster = np.unique(data[:, -1], return_inverse=True)[1]
    counts = np.bincount(cluster)

    def sums(features: FloatArray, weights: FloatArray) -> FloatArray:
        return np.stack([np.bincount(cluster, weights * column) for column in features.T], axis=1)

    means = sums(data[:, :-1], np.ones(len(data))) / counts[:, None]
    centered = data[:, :-1] - means[cluster]
    squares, sizes = (
        np.bincount(cluster, part).astype(np.float64)
        for part in (weights * np.sum(centered**2, axis=1), weights)
    )
    return cluster, sizes, squares, sums(centered, weights), centered


def midpoint_total(data: FloatArray) -> float:
    """Sum (x + y) / 2."""
    return float(len(data) * data.sum())


def midpoint_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Sum (x_k + y) / 2 over y, for every k."""
    weights = _weights(data, weights)
    return np.asarray((weights.sum() * data + weights @ data) / 2)


def apart_total(data: FloatArray, column: int) -> float:
    """Count the pairs that differ in a column."""
    return float(apart_rows(data, column=column).sum())


def apart_rows(data: FloatArray, weights: FloatArray | None = None, *, column: int) -> FloatArray:
    """Count for every row the others that differ from it in a column."""
    return _differing(order_column(data[:, column]), _weights(data, weights))


def _differing(order: Order, weights: FloatArray) -> FloatArray:
    """Weigh for every row those at other places."""
    return np.asarray(weights.sum() - np.bincount(order.places, weights)[order.places])


def both_apart_total(data: FloatArray) -> float:
    """Count the pairs that differ in both columns."""
    alike, opposite = _ordered_pairs(data)
    return 2.0 * (alike + opposite)


def both_apart_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count for every row the others that differ from it in both columns."""
    weights = _weights(data, weights)
    x, y = data[:, 0], data[:, 1]
    # Those that differ in one column or the other are those that differ at all.
    in_one = _differing(order_column(x), weights) + _differing(order_column(y), weights)
    return np.asarray(in_one - _differing(order_both(x, y), weights))
