"""Calibration by bins of scores: the share of rows with the outcome, beside the expected share."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.bounds import Ends
from pairgossip.curves.shares import read_share
from pairgossip.inference.number_text import describe_answer
from pairgossip.summaries.summary_reading import SummaryAnswer
from pairgossip.validation.placed import Placed

_MOST, _FEWEST = 10, 2
"""Largest and smallest number of bins."""
_LEAST_ROWS = 20
"""Rows per bin, where there are too few rows for the largest number of bins."""


class Bin(NamedTuple):
    """Rows of neighboring scores."""

    low: float
    high: float
    """The lowest and the highest score that it holds."""
    rows: float
    """The number of rows; an estimate where blocks of cells reach beyond the bin."""
    expected: float
    """The mean score of its rows."""
    bracket: Ends
    """The ends between which the mean score lies for certain."""
    observed: SummaryAnswer
    """The share of its rows with the outcome, with its interval and bracket."""

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name."""
        own = {name: getattr(self, name) for name in ("low", "high", "rows", "expected", "bracket")}
        return own | {"observed": describe_answer(self.observed)}


def read_bins(placed: Placed, level: float, least: int) -> tuple[Bin, ...]:
    """Return bins with about equal numbers of rows; their edges are ends of cells."""
    cells = placed.scores.cells
    edges = _cut(cells.sum(axis=0), placed.n)
    found = (
        _read_bin(placed, int(first), int(stop), level, least)
        for first, stop in itertools.pairwise(edges)
    )
    return tuple(one for one in found if one.rows > 0)


def _cut(rows: FloatArray, n: float) -> IntArray:
    """Return the first cell of each bin, and the end of the last bin."""
    count = int(np.clip(n // _LEAST_ROWS, _FEWEST, _MOST))
    filled = np.flatnonzero(rows)
    below = np.append(0.0, np.cumsum(rows))
    ranks = n * np.arange(1, count) / count
    at = np.searchsorted(below, ranks)
    nearer = at - (ranks - below[at - 1] < below[at] - ranks)
    first, stop = int(filled[0]), int(filled[-1]) + 1
    return np.unique([first, *nearer.clip(first, stop).tolist(), stop])


def _read_bin(placed: Placed, first: int, stop: int, level: float, least: int) -> Bin:
    scores, boxes = placed.scores, placed.boxes
    low, high = scores.axis.ends
    cells = scores.cells[:, first:stop]
    filled = np.flatnonzero(cells.any(axis=0))
    negatives, positives = cells.sum(axis=1).tolist()
    rows = negatives + positives
    is_inside, reaches = placed.within(first, stop)
    certain, possible = (boxes.rows[:, one].sum(axis=1) for one in (is_inside, reaches))
    value = positives / rows if rows > 0 else math.nan
    rest, part = zip(certain.tolist(), possible.tolist(), strict=True)
    middles = (low[first:stop] + high[first:stop]) / 2
    expected = float(cells.sum(axis=0) @ middles) / rows if rows > 0 else math.nan
    used = slice(None) if not len(filled) else slice(int(filled[0]), int(filled[-1]) + 1)
    return Bin(
        float(low[first:stop][used][0]),
        float(high[first:stop][used][-1]),
        rows,
        expected,
        _bound_mean(placed, first, stop),
        read_share(part, rest, value, level, least),
    )


def _bound_mean(placed: Placed, first: int, stop: int) -> Ends:
    """Return the bounds of the mean score of the rows in some cells, wherever the rows are."""
    (low, high), boxes = placed.scores.axis.ends, placed.boxes
    is_inside, reaches = placed.within(first, stop)
    may = reaches & ~is_inside
    rows = boxes.rows.sum(axis=0)
    ends = []
    for sign, one, edge in ((1.0, boxes.low, low[first]), (-1.0, boxes.high, high[stop - 1])):
        total, count = float(rows[is_inside] @ one[is_inside]), float(rows[is_inside].sum())
        # The lowest, or highest, rows that may be in these cells, as long as they move the mean.
        places = one[may]
        places = np.maximum(places, edge) if sign > 0 else np.minimum(places, edge)
        order = np.argsort(sign * places, kind="stable")
        sums = total + np.append(0.0, np.cumsum((rows[may] * places)[order]))
        counts = count + np.append(0.0, np.cumsum(rows[may][order]))
        means = sums[counts > 0] / counts[counts > 0]
        ends.append(float(sign * (sign * means).min()) if len(means) else math.nan)
    return ends[0], ends[1]
