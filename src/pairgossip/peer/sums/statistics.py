"""The cells of a specification in which members count rows, and the noise on the counts."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, cast

from pairgossip.arrays import IntArray
from pairgossip.counts.cells import choose_cells
from pairgossip.counts.noisy import rows_for_interval
from pairgossip.counts.tables import MOST_COLUMN_CELLS, Layout
from pairgossip.peer.reports.catalog import find_report
from pairgossip.peer.sums.labels import label_values
from pairgossip.peer.sums.noise import NoiseLaw
from pairgossip.summaries.summary import Summary
from pairgossip.summaries.summary_reading import EVENT
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.peer.specification.kinds import NoisySpec
    from pairgossip.peer.specification.spec import Spec

_CELLS, _NOISY_CELLS = (256, 32), (32, 8)
"""Default number of cells of a single column, also by class, and of each of two columns that are
counted together; with noise few, since noise adds up over cells."""


def explain_no_interval(layout: Layout, variance: float, rows: float) -> str | None:
    """Explain why noise leaves no interval for this number of rows; return None if it leaves one.

    None is also returned for a statistic that has no interval without noise either.
    """
    least = rows_for_interval(layout, variance)
    if rows >= least:
        return None
    return (
        f"noise is too large beside {format_count(int(rows), 'row')}: an interval takes "
        f"{least:,} rows, or a larger privacy.epsilon, or fewer algorithm.bins"
    )


def cells_of(spec: Spec) -> Layout:
    """Return the layout of cells that is added up for a specification with a kernel."""
    return summary_of(spec).layout


def summary_of(spec: Spec, counts: IntArray | None = None) -> Summary:
    """Return the summary of a specification's cells with these counts, or an empty one."""
    is_table = len(spec.columns) > 1 and spec.label is None
    # The kernel and the label alone decide on cells: counts of fine cells are the rows, rounded.
    bins = spec.algorithm.bins or (_NOISY_CELLS if spec.has_noise else _CELLS)[is_table]
    takes = spec.measure.columns or ()
    has_events = takes[-1:] == (EVENT,) and len(spec.columns) == len(takes)
    values = (0.0, 1.0) if has_events else None
    if spec.label is not None:
        values = tuple(label_values(spec).tolist())
    positive = None
    if spec.has_two_classes and values is not None:
        positive = f"{values[-1]:g}" if spec.classes is None else spec.classes[-1]
    cells = tuple(
        choose_cells(*spec.ranges[name], MOST_COLUMN_CELLS if is_whole else bins, is_whole)
        for name in spec.columns[: -1 if has_events else None]
        for is_whole in [name in (spec.whole or ())]
    )
    if spec.report is not None:
        cells = find_report(spec.report).choose_cells(spec, cells)
    empty = Summary.empty(
        reading=str(spec.kernel),
        kind=spec.target,
        cells=cells,
        classes=values,
        has_events=has_events,
        positive=positive,
        least_cell=spec.algorithm.least_cell or 1,
        groups=spec.groups,
        strata=spec.strata,
        weights=spec.weights,
    )
    return empty if counts is None else empty.with_counts(counts)


def count_combinations(spec: Spec, cells: IntArray) -> dict[str, int]:
    """Return the number of rows of each combination of label, group, stratum and weight, by name.

    ``cells`` are the counts of all cells. The result is empty if rows have no such columns.
    """
    layout = cells_of(spec)
    table = layout.tables[0]
    names = spec.observed[len(spec.observed) - len(table.factors) :]
    values = []
    for name, factor in zip(names, table.factors, strict=True):
        shown = spec.words.get(name, [f"{one:g}" for one in factor.values])
        values.append([f"{name} {one}" for one in shown])
    counts = table.count_factors(layout.split_cells(cells)[0]).ravel().tolist()
    combined = map(", ".join, itertools.product(*values))
    return dict(zip(combined, counts, strict=True)) if names else {}


def noise_law(spec: Spec, members: int) -> NoiseLaw:
    """Return the law of the noise that each member adds to a count."""
    noise = cast("NoisySpec", spec).noise
    # A member knows its own part of the noise, so the others' must be enough to hide rows from it.
    others = max(members - 1, 1)
    honest = min(noise.honest or others, others)
    return NoiseLaw(noise.epsilon, len(cells_of(spec).tables), honest, members)
