"""Checks of a site's own rows: enough behind every total, and nothing that locates a row.

A site decides everything here by itself, from its rows and its operator's settings, before it sends
anything. A statistic is read from counts per cell, which need no rule of their own. Learning asks
for totals over the rows of each class, at one model after the other: if all other members pool what
they know, many totals over few rows can be solved for the rows.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.readings import find_fullest_cells
from pairgossip.errors import InputError
from pairgossip.peer.sums.labels import label_values
from pairgossip.peer.sums.results import name_crowded
from pairgossip.peer.sums.site_sums import least_of_class
from pairgossip.peer.sums.sites import flag_site
from pairgossip.peer.sums.statistics import cells_of, count_combinations
from pairgossip.text import MOST_NAMED, format_count, join_first

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec

_FEW = 5
"""Number of rows of a cell below which the operator is warned."""
_LARGEST_LEVERAGE = 0.5
"""Largest share of a row in combinations of totals of its class; beyond it the loss is refused."""


def check_own_rows(spec: Spec, rows: FloatArray, least_rows: int, allowed: Collection[str]) -> None:
    """Raise `InputError` if this site's contribution would reveal too much about single rows.

    Parameters
    ----------
    spec
        The specification; there is nothing to check for a statistic.
    rows
        This site's rows, in the order of the specification's columns, the label last.
    least_rows
        The least number of rows of this site and class behind a total.
    allowed
        Losses that the operator allows by name though their sums can locate a row.
    """
    if spec.loss is None:
        return
    from pairgossip.peer.sums.learning import count_told, margin_of

    _check_classes(spec, rows, least_rows)
    if spec.loss in allowed:
        return
    if not margin_of(spec).is_smooth:
        raise _needs_permission(spec, "it counts scores at one model after the other")
    _check_enough_rows(spec, rows, count_told(spec))
    _check_leverage(spec, rows)


def _needs_permission(spec: Spec, reason: str) -> InputError:
    return InputError(
        f"'{spec.loss}' could let all other members together locate a single row, since {reason}: "
        f'choose another, or allow it at this site with allow = ["{spec.loss}"] in peer.toml (peer '
        "init --allow)."
    )


def _check_classes(spec: Spec, rows: FloatArray, least_rows: int) -> None:
    """Refuse classes and features that few rows have: totals are functions of their values."""
    values = label_values(spec)
    names = spec.classes or [f"{one:g}" for one in values]
    for value, name in zip(values, names, strict=True):
        count = int((rows[:, -1] == value).sum())
        _check_number(count, least_rows, f"with '{spec.label}' {name}, which totals are over")
    for column_name, column in zip(spec.columns, rows[:, :-1].T, strict=True):
        _, counts = np.unique(column, return_counts=True)
        different = len(column) - int(counts.max(initial=0))
        which = f"in which '{column_name}' is not at its most common value"
        _check_number(different, least_rows, which)


def _check_number(rows: int, least_rows: int, which: str) -> None:
    if 0 < rows < least_rows:
        raise InputError(
            f"This site has {format_count(rows, 'row')} {which}, and least_rows is {least_rows}: "
            "leave these rows or the column out, wait for more rows, or set least_rows in "
            "peer.toml (peer init --least-rows)."
        )


def _check_enough_rows(spec: Spec, rows: FloatArray, totals: int) -> None:
    """Refuse to reveal more numbers about a class than its rows have."""
    own = min(map(len, _split(spec, rows)), default=0) * len(spec.columns)
    if 0 < own < totals:
        raise _needs_permission(
            spec,
            f"up to {totals:,} totals would be told of a class whose rows at this site have "
            f"{own:,} numbers (fewer algorithm.rounds tell fewer)",
        )


def _check_leverage(spec: Spec, rows: FloatArray) -> None:
    """Refuse rows that dominate a total of their class, or any combination of such totals."""
    for part in _split(spec, rows):
        # Values far from 0, as dates, would hide the differences between rows from the ones.
        apart = part[:, :-1] - part[:, :-1].mean(axis=0)
        table = np.column_stack([np.ones(len(part)), apart])
        scaled = table / np.maximum(np.abs(table).max(axis=0), 1e-300)
        vectors, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
        basis = vectors[:, sizes > 1e-9 * sizes.max()]
        if (basis**2).sum(axis=1).max() > _LARGEST_LEVERAGE:
            reason = "a row of this site makes up more than half of a combination of its totals"
            raise _needs_permission(spec, reason)


def _split(spec: Spec, rows: FloatArray) -> list[FloatArray]:
    """Return the rows of each class that has rows."""
    parts = (rows[rows[:, -1] == value] for value in label_values(spec))
    return [part for part in parts if len(part)]


def describe_unfilled(spec: Spec, cells: IntArray, site: str = "This site") -> str | None:
    """Describe the classes, groups and strata with too few rows; return None if there are none."""
    least = spec.algorithm.least_cell or 1
    if spec.kernel is None or least == 1:
        return None
    counts = count_combinations(spec, cells)
    few = [f"{name} ({count:,})" for name, count in counts.items() if count < least]
    if not few:
        return None
    return (
        f"{site} has fewer than {least} rows of {join_first(few[:MOST_NAMED], len(few))}: it "
        "would tell all members that it does not fill every one and contribute zeros, and its rows "
        "would count as released."
    )


def describe_small_site(spec: Spec, cells: IntArray, site: str = "This site") -> str | None:
    """Describe a site with too few rows to be compared; return None if it has enough."""
    if not spec.heterogeneity or flag_site(spec, cells, is_shown=False):
        return None
    least = least_of_class(spec.algorithm.least_cell or 1)
    return (
        f"{site} has fewer than {least:,} rows of a class, group or stratum: it would tell all "
        "members so, and is not among the sites that are compared."
    )


def describe_small_cells(spec: Spec, counts: IntArray) -> str | None:
    """Describe this site's cells with few rows; return None if there are none, or no cells."""
    if spec.algorithm.least_cell != 1:
        return None
    few, filled = int(((counts > 0) & (counts < _FEW)).sum()), int((counts > 0).sum())
    if not few:
        return None
    return (
        f"This site has rows in {format_count(filled, 'cell')}, of which {few:,} hold fewer than "
        f"{_FEW}. All other members together can work out these counts, and know such rows as "
        "exactly as cells are wide: fewer and wider cells hold more rows each."
    )


def describe_crowded_cells(spec: Spec, cells: IntArray) -> str | None:
    """Describe columns of a test in one cell of which most rows of this site lie, or return None.

    Only this site's operator sees this; a result is judged by the counts of all members.
    """
    question = spec.question
    if question is None or not question.is_test or not cells.any():
        return None
    layout = cells_of(spec)
    ((table, part),) = zip(layout.tables, layout.split_cells(cells), strict=True)
    shares = find_fullest_cells(table.as_blocks(part.astype(np.float64)))
    if not (crowded := name_crowded(spec.columns, shares, "this site's rows")):
        return None
    return (
        f"{crowded}, within which a test does not know their order. If other sites are "
        "alike, the run tells little: agree on a narrower range or more algorithm.bins before it."
    )
