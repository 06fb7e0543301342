"""A statistic with its errors, read from counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.counts.bounds import UNKNOWN, Blocks, Ends, place_rows, widen
from pairgossip.counts.intervals import LEVEL, POSSIBLE, interval_about
from pairgossip.counts.rank_bounds import (
    FEWEST_RANKS,
    TestBounds,
    bound_class_test,
    bound_spearman,
)
from pairgossip.counts.samples import RankTable, SampleCells
from pairgossip.errors import InputError
from pairgossip.inference.projection import project
from pairgossip.kernels import Combination, Kernel, Pairs
from pairgossip.order_statistics.comparisons import ClassTest
from pairgossip.order_statistics.statistics import Quantile, Statistic

_MOST_POINTS = 16
"""Largest number of places in a cell: if there are more rows, several share a place."""
_MOST_PLACED = 1 << 17
"""Largest number of places in all cells together, except for one per cell: in cells so fine, places
make no difference."""
_PLACES = 6
"""Decimal places of estimated numbers of rows: machines differ in later ones."""
_TURNS = ((0.6180339887498949,), (0.7548776662466927, 0.5698402909980532))
"""Steps from one row's place in its cell to the next row's; they fill cells of one axis and of two
axes evenly (Roberts 2018)."""


class Estimate(NamedTuple):
    """A statistic as read from counts; NaN where a number is unknown."""

    value: float
    error: float
    """The standard error from the sampling of rows."""
    low: float = math.nan
    high: float = math.nan
    """The ends of an interval that allows for sampling, for noise, and for rows anywhere in
    cells."""
    p: float = math.nan
    bracket: Ends = UNKNOWN
    """An interval that holds the value over all rows, wherever they are in their cells."""
    p_bracket: Ends = UNKNOWN
    """An interval that holds the p of all rows."""
    fullest_cells: tuple[float, ...] = ()
    """For a test, the largest share of rows in one cell of each column."""


def read_kernel(
    kernel: Kernel | Combination,
    blocks: Blocks,
    target: str,
    bounds: Ends,
    level: float = LEVEL,
    *,
    has_strata: bool = False,
) -> Estimate:
    """Read a kernel's statistic from rows that are spread evenly over their cells.

    ``bounds`` are the ends between which it lies, wherever in their blocks the rows are. If there
    are strata, they are the last factor, and only pairs within one count.
    """
    rows, times = place_points(blocks)
    rows, strata = (rows[:, :-1], rows[:, -1]) if has_strata else (rows, None)
    limits = POSSIBLE[kernel.interval_scale]
    try:
        pairs = Pairs(rows, kernel, target, weights=times, within=strata)
        projected = project(pairs)
    except InputError:  # no pair counts
        return Estimate(math.nan, math.nan)
    if _are_values_known([blocks]):  # then only rounding is open, as for the rows themselves
        bounds = widen(projected.value, projected.value)
    bracket = _clip(bounds[0], limits), _clip(bounds[1], limits)
    value = _clip(projected.value, bracket)
    if pairs.freedom < 1 or projected.is_degenerate:
        return Estimate(value, math.nan, bracket=bracket)
    error, law = projected.error(), projected.law()
    ends = interval_about(bracket, value, error, kernel.interval_scale, law, level)
    return Estimate(value, error, *ends, bracket=bracket)


def place_points(blocks: Blocks) -> tuple[FloatArray, FloatArray]:
    """Return rows that have these counts, and the number of times each counts.

    Rows of larger blocks are put into the cells that other rows suggest. Every row has a place of
    its own in its cell, up to a number of rows, so that rows whose values may differ are not tied.
    """
    cells = blocks.spread()
    # Whole numbers with the same sum; halves are rounded alike on every machine.
    below = np.rint(np.cumsum(cells).round(_PLACES))
    counts = np.diff(below, prepend=0.0).reshape(cells.shape)
    where = np.nonzero(counts)
    held = counts[where].astype(np.intp)
    points = np.minimum(held, max(1, min(_MOST_POINTS, _MOST_PLACED // counts.size)))
    of = np.repeat(np.arange(len(held)), points)
    number = np.arange(len(of)) - (np.cumsum(points) - points)[of]
    times = held[of] // points[of] + (number < held[of] % points[of])
    columns, leading = list[FloatArray](), cells.ndim - len(blocks.tree.shape)
    turns = _TURNS[len(blocks.tree.shape) - 1]
    for axis, at, turn in zip(blocks.axes, where[leading:], turns, strict=False):
        place = (np.arange(len(of)) + 0.5) * turn % 1.0
        columns.append(axis.ends[0][at][of] + place * axis.widths[at][of])
    classes = zip(blocks.axes[len(blocks.tree.shape) :], where[:leading], strict=True)
    columns += [axis.places[at][of] for axis, at in classes]
    return np.column_stack(columns), times.astype(np.float64)


def read_order(
    cells: SampleCells | RankTable, mean: FloatArray, noise: float, blocks: Blocks, level: float
) -> Estimate:
    """Read a statistic of order of rows in blocks, from the mean features of their cells.

    ``noise`` is the standard error that comes from noise in the counts.
    """
    if cells.statistic is None and cells.n < FEWEST_RANKS:
        return Estimate(math.nan, math.nan)
    value, sampling = float(cells.readout(mean)), cells.sampling(mean[None], level)
    error, statistic = float(sampling.error[0]), cells.statistic
    if statistic is None or isinstance(statistic, ClassTest):
        assert sampling.p is not None
        p = min(float(sampling.p[0]), 1.0)  # NaN stays; rounding beyond 1 is cut
        fullest = find_fullest_cells(blocks)
        if noise or math.isnan(value):  # noisy counts give neither value nor p
            return Estimate(value, error, fullest_cells=fullest)
        ends = _bound_test(statistic, blocks, value, p)
        value, p = _clip(value, ends.value), _clip(p, ends.p)
        return Estimate(
            value, error, p=p, bracket=ends.value, p_bracket=ends.p, fullest_cells=fullest
        )
    if math.isnan(value):
        return Estimate(value, error)
    wider = math.hypot(error, noise) / error if error > 0 else math.nan
    (least, low), (most, high) = (_end(statistic, blocks, wider, side, level) for side in (0, 1))
    if not isinstance(statistic, Quantile):  # a quantile is itself one of the numbers
        least, most = _round_outward(blocks, least, most)
        low, high = min(low, least), max(high, most)
    if not noise:  # few rows have gaps, which rows spread over cells do not have
        value = _clip(value, (least, most))
    return Estimate(value, error, low, high, bracket=UNKNOWN if noise else (least, most))


def _bound_test(test: ClassTest | None, blocks: Blocks, value: float, p: float) -> TestBounds:
    if _are_values_known([blocks]):
        return TestBounds((value, value), (p, p))
    return bound_spearman(blocks) if test is None else bound_class_test(test.name, blocks)


def _end(statistic: Statistic, blocks: Blocks, wider: float, side: int, level: float) -> Ends:
    """Return the statistic of all rows at ends of their blocks, and its interval's end."""
    moved = place_rows(blocks, is_low=side == 0)
    with np.errstate(divide="ignore", invalid="ignore"):  # a mean of one row has no error
        value, sampling = float(statistic.value(moved)), statistic.sampling(moved, level)
    return value, value + wider * (float((sampling.low, sampling.high)[side]) - value)


def _are_values_known(blocks: Sequence[Blocks]) -> bool:
    """Return whether every row is in a cell of one value, so that there is nothing to bound."""
    return all(
        all(axis.ties_known for axis in part.axes)
        and not part.counts[..., ~part.tree.is_cell].any()
        for part in blocks
    )


def find_fullest_cells(blocks: Blocks) -> tuple[float, ...]:
    """Return the largest share of rows in one cell of each column; 0 if a cell is one value."""
    cells = blocks.spread().reshape(-1, *blocks.tree.shape).sum(axis=0)
    others = [tuple(k for k in range(cells.ndim) if k != at) for at in range(cells.ndim)]
    return tuple(
        0.0 if axis.ties_known else float(cells.sum(axis=along).max()) / blocks.n
        for axis, along in zip(blocks.axes, others, strict=False)
    )


def _clip(number: float, ends: Ends) -> float:
    """Return the number between two ends that is nearest; the number itself if they are NaN."""
    return number if math.isnan(ends[0]) else min(max(number, ends[0]), ends[1])


def _round_outward(blocks: Blocks, least: float, most: float) -> Ends:
    """Return a bracket that allows for rounding; an average of numbers stays in their range."""
    places = blocks.axes[0].places
    ends = widen(least, most, float(np.abs(places).max()))
    if len(blocks.axes) > 1:  # a shift between classes
        return ends
    return max(ends[0], float(places[0])), min(ends[1], float(places[-1]))
