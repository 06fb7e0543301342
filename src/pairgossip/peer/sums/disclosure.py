"""What a site may contribute: enough rows behind every total, and nothing that locates a row.

Everything here is decided at home, from this site's rows and its operator's settings, before
anything is told to anybody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.losses import Loss, as_loss
from pairgossip.peer.sums.cells import Totals
from pairgossip.peer.sums.questions import find_order_question, is_smooth, label_values
from pairgossip.peer.sums.statistics import cells_of
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.peer.spec.spec import Spec

_FEW = 5
"""Cells that hold fewer rows are told to the operator."""
_LARGEST_PART = 0.5
"""Largest part of one row in a total."""


def check_own_rows(spec: Spec, rows: FloatArray, least_rows: int, allowed: Collection[str]) -> None:
    """Raise `InputError` if this site's contribution would say too much about single rows.

    Parameters
    ----------
    spec
        The specification; of a run on sums, or there is nothing to check.
    rows
        This site's rows, in the order of the specification's columns, the label last.
    least_rows
        The least number of rows of this site and class behind a total.
    allowed
        Kernels and losses that the operator allows by name though they can locate a row.
    """
    if not spec.is_sums:
        return
    _check_allowed(spec, allowed)
    if spec.loss is not None:
        _check_learning(spec, rows, least_rows)
        return
    totals = cells_of(spec).totals
    if totals is not None:
        _check_totals(spec, totals, rows, least_rows)


def needs_permission(spec: Spec) -> bool:
    """Return whether counts along many directions are asked for, which together locate a row."""
    if spec.loss is not None:
        loss = as_loss(spec.loss)
        return isinstance(loss, Loss) and not is_smooth(loss.phi)
    is_kernel = find_order_question(str(spec.kernel)) is None
    return is_kernel and spec.kernel == "distance" and len(spec.columns) > 1


def _check_allowed(spec: Spec, allowed: Collection[str]) -> None:
    name = spec.kernel or spec.loss
    if needs_permission(spec) and name not in allowed:
        raise InputError(
            f"'{name}' counts rows along many directions, and such counts together can tell where "
            f'a single row is: choose another, or allow it at this site with allow = ["{name}"] '
            "in peer.toml (peer init --allow)."
        )


def _check_totals(spec: Spec, totals: Totals, rows: FloatArray, least_rows: int) -> None:
    for part, which in zip(totals.parts(rows), _name_classes(spec, totals), strict=True):
        _check_number(len(part), least_rows, f"{which}, which totals are over")
        for name, measures, is_square in zip(totals.names, part.T, totals.is_square, strict=True):
            above = measures if is_square else measures + 1.0
            if len(part) and above.max() > _LARGEST_PART * above.sum() > 0:
                raise InputError(
                    f"One row of this site makes up more than half of {name}{which}, which would "
                    "show it: narrow the range or the rows, or choose a kernel that is read from "
                    "counts alone, such as 'gini'."
                )


def _name_classes(spec: Spec, totals: Totals) -> list[str]:
    if totals.classes is None:
        return [""]
    return [f" with '{spec.label}' {one}" for one in _names_of(spec, totals.classes.values)]


def _names_of(spec: Spec, values: Iterable[float]) -> list[str]:
    return list(spec.classes or [f"{one:g}" for one in values])


def _check_number(rows: int, least_rows: int, which: str) -> None:
    if 0 < rows < least_rows:
        raise InputError(
            f"This site has {format_count(rows, 'row')}{which}, and least_rows is {least_rows}: "
            "leave these rows out, wait for more, or set least_rows in peer.toml (peer init "
            "--least-rows)."
        )


def _check_learning(spec: Spec, rows: FloatArray, least_rows: int) -> None:
    """Refuse classes and features that few rows have: gradients are functions of their values."""
    labels = label_values(spec)
    for value, name in zip(labels, _names_of(spec, labels), strict=True):
        count = int((rows[:, -1] == value).sum())
        _check_number(count, least_rows, f" with '{spec.label}' {name}, which totals are over")
    for name, column in zip(spec.columns, rows[:, :-1].T, strict=True):
        _, counts = np.unique(column, return_counts=True)
        different = len(column) - int(counts.max(initial=0))
        which = f" in which '{name}' is not at its most common value"
        _check_number(different, least_rows, which)


def describe_small_cells(spec: Spec, rows: FloatArray) -> str | None:
    """Say how many of this site's cells hold few rows; None if none do, or there are no cells."""
    if not spec.is_sums or spec.kernel is None or spec.noise is not None:
        return None
    cells = cells_of(spec)
    prepared = cells.prepare(rows)
    counts = np.concatenate([block.tabulate(prepared) for block in cells.blocks])
    few, filled = int(((counts > 0) & (counts < _FEW)).sum()), int((counts > 0).sum())
    if not few:
        return None
    return (
        f"This site has rows in {format_count(filled, 'cell')}, of which {few:,} hold fewer than "
        f"{_FEW}: counts of fine cells are the rows, rounded, to all other members together; fewer "
        "algorithm.bins hold more rows each."
    )
