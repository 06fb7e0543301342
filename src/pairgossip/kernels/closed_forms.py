"""Sums over all ordered pairs (k, l), own pairs included, in O(n log n) instead of O(n^2).

Sums over the pairs of every row may weigh the others: row l then counts w_l times, once without
weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import BoolArray, FloatArray, IntArray

# Counting ordered and tied pairs exactly, in O(n log n) and without a Python loop over points.


def _ascending_pairs(first: FloatArray, second: FloatArray, marked: BoolArray) -> int:
    """Count the pairs (i, j) with first[i] < first[j], second[i] < second[j] and i marked."""
    # Equal `first` are laid out by falling `second`, so that none of their pairs ascends.
    order = np.lexsort((-second, first))
    return _ascents(_tie_broken_ranks(second[order]), marked[order])


def _tied_pairs(*columns: FloatArray) -> int:
    """Count the unordered pairs of observations that are equal in every column."""
    order = np.lexsort(columns)
    sizes = np.unique(_run_ends(*(column[order] for column in columns)), return_counts=True)[1]
    return int(np.sum(sizes * (sizes - 1) // 2))


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


def _tie_broken_ranks(values: FloatArray) -> IntArray:
    """Rank values from 0 to n - 1; of equal values the later one ranks lower."""
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(values[::-1], kind="stable")] = np.arange(len(values))
    return ranks[::-1]


def _ascents(ranks: IntArray, marked: BoolArray) -> int:
    """Count the positions i < j with ranks[i] < ranks[j] and i marked; ranks are distinct.

    Two ranks are compared by the highest bit in which they differ. The ranks are split by one
    bit after another, highest first, always keeping their order: ranks that agree so far stand
    in one row, and within a row every marked 0 ascends to every later 1.
    """
    bits = max(1, int(len(ranks) - 1).bit_length())
    # Filled up to a power of two, every row splits exactly in half. The fillers are the highest
    # ranks, fall, and come first: they ascend to nothing and nothing ascends to them.
    fillers = np.arange(2**bits - 1, len(ranks) - 1, -1)
    row = np.concatenate((fillers << 1, (ranks << 1) | marked))
    count = 0
    for bit in range(bits, 0, -1):
        size = 1 << bit
        high = (row >> bit & 1).astype(np.bool_)
        marked_lows = np.cumsum((row & 1).astype(np.bool_) & ~high)
        before_rows = np.concatenate(([0], marked_lows[size - 1 : -1 : size]))
        count += int(marked_lows[high].sum()) - size // 2 * int(before_rows.sum())
        halves = (row[~high].reshape(-1, size // 2), row[high].reshape(-1, size // 2))
        row = np.stack(halves, axis=1).ravel()
    return count


def _weights(data: FloatArray, weights: FloatArray | None) -> FloatArray:
    return np.ones(len(data)) if weights is None else weights


def _beyond(
    first: FloatArray, second: FloatArray, above: FloatArray, below: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Weigh for every i the j larger in both columns by `above`, the smaller ones by `below`."""
    order = np.lexsort((-second, first))
    larger, smaller = np.empty(len(first)), np.empty(len(first))
    larger[order], smaller[order] = _ascents_by_place(
        _tie_broken_ranks(second[order]), above[order], below[order]
    )
    return larger, smaller


def _ascents_by_place(
    ranks: IntArray, above: FloatArray, below: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """For every place weigh the later places of higher rank, and the earlier ones of lower.

    By the same splits as `_ascents`, which follow every place here.
    """
    bits = max(1, int(len(ranks) - 1).bit_length())
    missing = 2**bits - len(ranks)
    row = np.concatenate((np.arange(2**bits - 1, len(ranks) - 1, -1), ranks))
    above, below = (np.concatenate((np.zeros(missing), part)) for part in (above, below))
    place = np.arange(2**bits)
    larger, smaller = np.zeros(2**bits), np.zeros(2**bits)
    for bit in range(bits - 1, -1, -1):
        high = (row >> bit & 1).astype(np.bool_).reshape(-1, 2 << bit)
        highs = np.cumsum(np.where(high, above[place].reshape(high.shape), 0.0), axis=1)
        lows = np.cumsum(np.where(high, 0.0, below[place].reshape(high.shape)), axis=1)
        flat = high.ravel()
        larger[place[~flat]] += (highs[:, -1:] - highs).ravel()[~flat]
        smaller[place[flat]] += lows.ravel()[flat]
        shape = (-1, 1 << bit)
        row, place = (
            np.stack((part[~flat].reshape(shape), part[flat].reshape(shape)), axis=1).ravel()
            for part in (row, place)
        )
    return larger[missing:], smaller[missing:]


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
    weights = _weights(data, weights)
    alike = np.add(*_beyond(data[:, 0], data[:, 1], weights, weights))
    return np.asarray(alike - discordance_rows(data, weights))


def discordance_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count for every row the others that the two columns order oppositely."""
    weights = _weights(data, weights)
    return np.asarray(np.add(*_beyond(data[:, 0], -data[:, 1], weights, weights)))


def _ordered_pairs(data: FloatArray) -> tuple[int, int]:
    """Count the unordered pairs that the two columns order alike, and oppositely."""
    x, y = data[:, 0], data[:, 1]
    n = len(data)
    alike = _ascending_pairs(x, y, np.ones(n, dtype=np.bool_))
    tied = _tied_pairs(x) + _tied_pairs(y) - _tied_pairs(x, y)
    return alike, n * (n - 1) // 2 - alike - tied


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
    high = _is_high(data)
    positives, negatives = np.sort(data[high, column]), np.sort(data[~high, column])
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
    return _outscored(data[:, column], _is_high(data), _weights(data, weights), ties)


def lower_label_and_score_rows(
    data: FloatArray, weights: FloatArray | None = None, *, ties: float, column: int = 0
) -> FloatArray:
    """Count for every row of the lower label those of the higher one that outscore it."""
    return _outscored(-data[:, column], ~_is_high(data), _weights(data, weights), ties)


def _is_high(data: FloatArray) -> BoolArray:
    """Tell which rows have the higher of two labels, in the last column."""
    return np.asarray(data[:, -1] == data[:, -1].max())


def _outscored(
    scores: FloatArray, counted: BoolArray, weights: FloatArray, ties: float
) -> FloatArray:
    """Weigh for the marked rows the others of lower score, and `ties` of those of equal score."""
    order = np.argsort(scores[~counted], kind="stable")
    others = scores[~counted][order]
    reached = np.concatenate(([0.0], np.cumsum(weights[~counted][order])))
    below, up_to = (
        reached[np.searchsorted(others, scores[counted], side=side)] for side in ("left", "right")
    )
    rows = np.zeros(len(scores))
    rows[counted] = below + ties * (up_to - below)
    return rows


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
    return _differing(data[:, column], _weights(data, weights))


def _differing(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Weigh for every row the others that are not equal to it, in any column."""
    place = np.unique(values, axis=0, return_inverse=True)[1].ravel()
    return np.asarray(weights.sum() - np.bincount(place, weights)[place])


def both_apart_total(data: FloatArray) -> float:
    """Count the pairs that differ in both columns."""
    alike, opposite = _ordered_pairs(data)
    return 2.0 * (alike + opposite)


def both_apart_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Count for every row the others that differ from it in both columns."""
    weights = _weights(data, weights)
    # Those that differ in one column or the other are those that differ at all.
    in_one = _differing(data[:, 0], weights) + _differing(data[:, 1], weights)
    return np.asarray(in_one - _differing(data, weights))
