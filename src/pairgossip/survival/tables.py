"""Counts of rows by time, event and group, as a summary holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.counts.axes import Axis
from pairgossip.counts.bounds import Blocks
from pairgossip.counts.readings import place_points
from pairgossip.errors import InputError
from pairgossip.summaries.summary import Summary
from pairgossip.survival.life_table import LifeTable
from pairgossip.survival.rows import check_groups

_FEWEST_SHOWN = 10
"""Number of rows at risk below which the curve of hidden counts ends: it would say little."""


class GroupCounts(NamedTuple):
    """The rows of one group in blocks: class 0 is censored, class 1 failed."""

    name: str | None
    strata: tuple[Blocks, ...]
    """A table for each stratum, or one of all rows."""


def read_groups(summary: Summary, *, within: bool) -> list[GroupCounts]:
    """Return the counts of every group; raise `InputError` for counts of something else.

    ``within`` says whether strata stay separate.
    """
    if summary.classes != (0.0, 1.0):
        raise InputError(
            "A curve needs the time and whether an event was seen, 0 or 1, but this summary has "
            f"{'no classes' if summary.classes is None else 'other classes'}: summarize the "
            "times with {argument}, and events as 0 and 1.",
            "labels",
        )
    if len(summary.cells) > 1 and not summary.has_events:
        raise InputError(
            "A curve takes one column of times, and this summary has two: summarize the times "
            "alone."
        )
    if not summary.rows:
        raise InputError("No rows are counted, so there is no curve: add summaries.")
    groups = summary.count_groups()
    check_groups(list(groups), list(groups.values()))
    names: list[str | None] = [*groups] or [None]
    return [GroupCounts(name, tuple(_split(summary, name, within=within))) for name in names]


def _split(summary: Summary, group: str | None, *, within: bool) -> Iterator[Blocks]:
    """Return the counts of a group, by stratum if these stay separate."""
    part = summary.select(group, within=within)
    sums = part.layout.read_sums(np.append(part.rows, part.counts.ravel()))
    blocks = sums.tables[0].choose(len(summary.cells) - 1)  # times come after a prediction
    _check_times(blocks)
    tables = [blocks.counts] if part.strata is None else np.moveaxis(blocks.counts, 1, 0)
    yield from (replace(blocks, axes=blocks.axes[:2], counts=one) for one in tables)


def _check_times(blocks: Blocks) -> None:
    """Raise `InputError` if rows are counted in cells of negative times."""
    low = blocks.axes[0].ends[0][blocks.tree.boxes[0][:, 0]]
    if (blocks.by_class[:, low < 0] > 0).any():
        raise InputError(
            "Times are from 0 on, but the cells of these counts begin below: give {argument} "
            "from 0 on.",
            "cells",
        )


def place_times(blocks: Blocks) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return times, events and the number of times that each counts, for rows with these counts."""
    rows, counts = place_points(blocks)
    return rows[:, 0], rows[:, 1], counts


def find_end(summary: Summary, axis: Axis, table: LifeTable, sites: int) -> float:
    """Return the last time at which the curve of a summary is known.

    For plain counts this is the end of the last cell with rows. Hidden counts say little about
    the last few rows, so their curve ends before.
    """
    low, high = axis.ends
    if summary.least_cell == 1:
        return float(high[np.searchsorted(high, table.times[-1])])
    least = max(_FEWEST_SHOWN, summary.least_cell * sites)
    enough = table.times[table.at_risk >= least]
    return float(enough[-1]) if len(enough) else float(low[low >= 0][0])
