"""Areas under curves: parts of the area under a ROC curve, and average precision."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import real
from pairgossip.counts.bounds import UNKNOWN, Ends, widen
from pairgossip.counts.intervals import interval_about
from pairgossip.counts.tree import Tree
from pairgossip.curves.scores import Scores
from pairgossip.curves.shares import as_answer
from pairgossip.errors import InputError
from pairgossip.inference.answer import NORMAL, Law
from pairgossip.summaries.summary_reading import SummaryAnswer

_PARTS = 16
"""Number of parts of a cell's rows, whose order is not known."""


class Path:
    """A curve through points from (0, 0) to (1, 1), straight between them."""

    def __init__(self, x: FloatArray, y: FloatArray) -> None:
        self.x, self.y = x, y

    def area(self, low: Any, high: Any) -> FloatArray:
        """Return the areas between x = low and x = high, for numbers or arrays of them."""
        return self._up_to(high) - self._up_to(low)

    def _up_to(self, x: Any) -> FloatArray:
        x = np.asarray(x, float)
        widths, middles = np.diff(self.x), (self.y[1:] + self.y[:-1]) / 2
        sums = np.append(0.0, np.cumsum(widths * middles))
        # Any of several points at x will do: the area between them is 0.
        at = np.clip(np.searchsorted(self.x, x, side="right") - 1, 0, len(widths) - 1)
        run = np.clip(x - self.x[at], 0.0, widths[at])
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(widths[at] > 0, (self.y[at + 1] - self.y[at]) / widths[at], 0.0)
        return np.asarray(sums[at] + run * (self.y[at] + slope * run / 2))

    def height(self, x: FloatArray) -> FloatArray:
        """Return y at places, in the middle of vertical pieces."""
        first, last = (np.searchsorted(self.x, x, side=side) for side in ("left", "right"))
        middle = (self.y[np.minimum(first, len(self.y) - 1)] + self.y[last - 1]) / 2
        return np.where(first < last, middle, np.interp(x, self.x, self.y))


def partial_area(
    scores: Scores,
    level: float,
    least: int,
    specificity: Any = None,
    sensitivity: Any = None,
    *,
    corrected: bool = False,
) -> SummaryAnswer:
    """Return the area where specificity, or sensitivity, is in a range, with interval and bracket.

    ``corrected`` maps the area to 1/2 for scores by chance and 1 for perfect ones, as McClish
    (1989) does. The error is that of the rows above and below, from what each adds to the area; the
    interval is on the logit scale of the area as a share of its range, by Student's t with Welch's
    degrees of freedom.
    """
    if (specificity is None) == (sensitivity is None):
        raise InputError(
            "A partial area is over a range of specificity or of sensitivity: give one of them, "
            "such as {argument}.",
            "specificity",
            (0.9, 1.0),
        )
    name = "specificity" if sensitivity is None else "sensitivity"
    low, high = _check_range(name, specificity if sensitivity is None else sensitivity)
    # From the other corner, specificity runs over sensitivity as sensitivity did over specificity.
    is_mirrored = sensitivity is not None
    paths = [
        _path(points, scores.sizes, is_mirrored=is_mirrored)
        for points in (tuple(scores.above.value[:, ::-1]), scores.lower, scores.upper)
    ]
    start, width = 1 - high, high - low
    values = [float(path.area(start, 1 - low)) / width for path in paths]
    bracket = widen(values[1], values[2])
    if scores.is_known:
        bracket = values[0], values[0]
    bracket = max(bracket[0], 0.0), min(bracket[1], 1.0)
    value = min(max(values[0], bracket[0]), bracket[1])
    variances = _vary_area(scores, paths[0], (start, 1 - low), is_mirrored=is_mirrored)
    error = math.sqrt(sum(variances)) / width
    ends = interval_about(bracket, value, error, "logit", _find_law(variances, scores), level)
    rescale = _correction(start, 1 - low) if corrected else (0.0, width)
    moved = [rescale[0] + rescale[1] * one for one in (value, *ends, *bracket)]
    return as_answer(
        moved[0], rescale[1] * error, (moved[1], moved[2]), level, (moved[3], moved[4]), least
    )


def _check_range(name: str, given: Any) -> Ends:
    try:
        low, high = given
    except (TypeError, ValueError):
        raise InputError(
            f"A range of {name} is two numbers, not {given!r}: give {{argument}}.", name, (0.9, 1.0)
        ) from None
    low, high = (real(f"An end of a range of {name}", one, 0.0, 1.0) for one in (low, high))
    if not low < high:
        raise InputError(
            f"The range of {name} is {low:g} to {high:g}: give the smaller end first.", name
        )
    return low, high


def _correction(start: float, stop: float) -> Ends:
    """Return the offset and the factor of a mean height: 1/2 on the diagonal, 1 at best."""
    by_chance = (start + stop) / 2
    slope = 1 / (2 * (1 - by_chance))
    return 0.5 - by_chance * slope, slope


def _path(points: tuple[FloatArray, ...], sizes: FloatArray, *, is_mirrored: bool) -> Path:
    """Return a ROC curve, or specificity over the share of positives below."""
    x, y = points[0] / sizes[0], points[1] / sizes[1]
    return Path((1 - y)[::-1], (1 - x)[::-1]) if is_mirrored else Path(x, y)


def _find_law(variances: Ends, scores: Scores) -> Law:
    """Return the law of a sum of two means: Student's t (Welch 1947)."""
    terms = (part**2 / (n - 1) for part, n in zip(variances, scores.sizes, strict=True))
    return Law(float(sum(variances) ** 2 / sum(terms))) if sum(variances) > 0 else NORMAL


def _vary_area(scores: Scores, path: Path, ends: Ends, *, is_mirrored: bool) -> Ends:
    """Return the variances of an area from the rows of both classes, by what every row adds to it.

    A row of the class on the y axis adds the share of the range beyond its place among the others;
    one of the other class lowers the curve by the rest of its rise in the range (Dodd and Pepe
    2003). Over the whole range these are DeLong's components.
    """
    sizes, cells = scores.sizes, scores.cells
    if sizes.min() < 2:
        return UNKNOWN
    above = scores.above.value / sizes[:, None]
    # Places of the rows of every cell on either axis, from the left end of the cell to its right.
    x = (1 - above[1, :-1], 1 - above[1, 1:]) if is_mirrored else (above[0, 1:], above[0, :-1])
    x_rows, y_rows = cells[::-1] if is_mirrored else cells
    beyond, height = (_mean_over(*x, one) for one in (_Beyond(*ends), _Clipped(path, *ends)))
    of_y, of_others = _variance_of_mean(y_rows, beyond), _variance_of_mean(x_rows, height)
    return (of_y, of_others) if is_mirrored else (of_others, of_y)


class _Function(ABC):
    """A function of a place on the x axis, with its integral."""

    @abstractmethod
    def at(self, x: FloatArray) -> FloatArray:
        """Return the value at places."""

    @abstractmethod
    def integral(self, x: FloatArray) -> FloatArray:
        """Return the integral up to places."""


class _Beyond(_Function):
    """The length of a range beyond a place."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def at(self, x: FloatArray) -> FloatArray:
        return self.high - np.clip(x, self.low, self.high)

    def integral(self, x: FloatArray) -> FloatArray:
        before, inside = np.minimum(x, self.low), np.clip(x, self.low, self.high) - self.low
        return (self.high - self.low) * (before + inside) - inside * inside / 2


class _Clipped(_Function):
    """The height of a curve in a range; beyond the range, that at its end."""

    def __init__(self, path: Path, low: float, high: float) -> None:
        self.path, self.low, self.high = path, low, high

    def at(self, x: FloatArray) -> FloatArray:
        return self.path.height(np.clip(x, self.low, self.high))

    def integral(self, x: FloatArray) -> FloatArray:
        first, last = self.path.height(np.array([self.low, self.high]))
        beyond = first * np.minimum(x, self.low) + last * np.maximum(x - self.high, 0.0)
        return np.asarray(beyond + self.path.area(self.low, np.clip(x, self.low, self.high)))


def _mean_over(low: FloatArray, high: FloatArray, function: _Function) -> FloatArray:
    """Return the means of a function between places, or its value where the two places are one."""
    width = high - low
    total = function.integral(high) - function.integral(low)
    return np.divide(total, width, out=function.at(low), where=width > 0)


def _variance_of_mean(rows: FloatArray, added: FloatArray) -> float:
    """Return the variance of the mean of these contributions of rows."""
    n = float(rows.sum())
    mean = float(rows @ added) / n
    return float(rows @ (added - mean) ** 2) / (n * (n - 1))


def average_precision(scores: Scores, level: float, least: int) -> SummaryAnswer:
    """Return the mean, over positive rows, of the precision at their score, with its bracket.

    The interval is on the logit scale, with the error of a share of the positive rows (Boyd et al.
    2013), and allows for the bracket.
    """
    positives, value = scores.sizes[1], _estimate_precision(scores)
    if scores.is_known:
        bracket = value, value
    else:
        bracket = _bound_precision(scores)
        value = min(max(value, bracket[0]), bracket[1])
    error = math.sqrt(value * (1 - value) / positives) if positives > 0 else math.nan
    ends = interval_about(bracket, value, error, "logit", NORMAL, level)
    return as_answer(value, error, ends, level, bracket, least)


def _estimate_precision(scores: Scores) -> float:
    """Return the average precision for rows that are mixed evenly in every cell."""
    negatives, positives = scores.cells
    beyond = scores.above.value[:, 1:]
    if scores.ties_known:
        true, false = beyond[1] + positives, beyond[0] + negatives
        return _weigh(positives, true, false) / scores.sizes[1]
    parts = np.arange(1, _PARTS + 1)[:, None]
    used = np.clip(np.ceil(positives), 1, _PARTS)  # a single row is one part
    share = np.minimum(parts / used, 1.0)
    middle = np.maximum(share - 0.5 / used, 0.0)
    true = beyond[1] + positives * middle + 0.5  # a row is at its own score, where half counts
    false = beyond[0] + negatives * middle
    rows = np.where(parts <= used, positives / used, 0.0)
    return _weigh(rows, true, false) / scores.sizes[1]


def _weigh(rows: FloatArray, true: FloatArray, false: FloatArray) -> float:
    """Return the sum of precisions over rows."""
    total = true + false
    return float((rows * np.divide(true, total, out=np.zeros_like(total), where=rows > 0)).sum())


def _bound_precision(scores: Scores) -> Ends:
    """Bound average precision: every positive row has its best, or its worst, possible precision.

    At a score in cell j, at most ``above.high[1, j]`` positive rows are above, and at least the
    negative rows beyond the cell. In cells without blocks, rows come close to both ends.
    """
    low, high = scores.above.low, scores.above.high
    beyond = slice(None, -1) if scores.ties_known else slice(1, None)
    best = _precision(high[1, :-1], low[0, beyond])
    in_cells, in_blocks = scores.split(1)
    least = _bound_in_cells(scores, in_cells)
    most = float(in_cells @ best)
    if scores.tree is not None:
        least += _bound_in_blocks(scores.tree, in_blocks, low[1, 1:], high[0, :-1])
        most += float(in_blocks @ scores.tree.gather(best, np.maximum))
    n = scores.sizes[1]
    bracket = widen(least / n, most / n)
    return max(bracket[0], 0.0), min(bracket[1], 1.0)


def _bound_in_cells(scores: Scores, rows: FloatArray) -> float:
    """Return the least sum of precisions of positive rows whose cell is known.

    Rows of one score are tied. Otherwise the sum is that of (a + i) / (a + i + b) over the rows i
    of a cell, one after the other, where a others and b negative rows are above; and 1 / (a + b +
    i) is at most its mean from i - 1/2 to i + 1/2.
    """
    true, false = scores.above.low[1], scores.above.high[0, :-1]
    if scores.ties_known:
        return float(rows @ _precision(true[:-1], false))
    logs = np.log1p(rows / (true[1:] + false + 0.5))
    return float((rows - false * logs).sum())


def _bound_in_blocks(tree: Tree, rows: FloatArray, true: FloatArray, false: FloatArray) -> float:
    """Return a bound of the sum of precisions of positive rows that may be anywhere in blocks.

    The row of rank i in its block has i rows of the block above, itself included. Ranks from one
    power of 2 to the next count as the lowest of them.
    """
    total, rank = 0.0, 1
    while rank <= rows.max():
        ranked = np.clip(rows - (rank - 1), 0, rank)
        total += float(ranked @ tree.gather(_precision(true + rank, false), np.minimum))
        rank *= 2
    return total


def _precision(true: FloatArray, false: FloatArray) -> FloatArray:
    total = true + false
    return np.divide(true, total, out=np.ones_like(total), where=total > 0)
