"""Counts to show to others: in blocks of a public tree, each of which is 0 or a least number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pairgossip.errors import InputError, RowsDropped, notify
from pairgossip.summaries.heads import ALL_WEIGHTS

if TYPE_CHECKING:
    from pairgossip.summaries.summary import Summary


def hide_counts(summary: Summary, least_cell: int) -> Summary:
    """Return the summary with counts in blocks; see `Summary.hide`."""
    if least_cell == summary.least_cell:
        return summary
    if summary.least_cell > 1:
        raise InputError(
            f"These counts are hidden in blocks of {summary.least_cell} rows or more already: "
            "summarize the rows again for other blocks."
        )
    if summary.follows_rows:
        raise InputError(
            "Cells, classes, groups and strata that follow from the rows reveal something about "
            "them: "
            "summarize the rows with cells=, classes=, groups= and strata= to hide them."
        )
    every = summary if summary.weights is None else summary.with_weights(ALL_WEIGHTS)
    parts = zip(every.layout.tables, every.layout.split(every.counts), strict=True)
    blocks = [table.tree.report(part, least_cell) for table, part in parts]
    hidden = every.change(blocks, least_cell=least_cell)
    if left_out := summary.rows - hidden.rows:
        notify(
            RowsDropped(
                f"Left out {left_out:,} of {summary.rows:,} rows: fewer than {least_cell} have "
                "the same class, group, stratum and weight."
            )
        )
    return hidden


def list_facts(summary: Summary) -> Iterator[tuple[str, str]]:
    """Describe the contents of a summary, as facts with names."""
    yield "rows", f"{summary.rows:,}"
    yield "read first", summary.reading
    yield "cells", " x ".join(map(str, summary.cells))
    if summary.classes is not None:  # their numbers stand for labels
        yield "classes", str(len(summary.classes))
    if summary.positive is not None:
        yield "positive", summary.positive
    for name in ("groups", "strata", "weights"):
        values = getattr(summary, name)
        if values is not None:
            shown = values if isinstance(values[0], str) else [f"{one:g}" for one in values]
            yield name, ", ".join(shown)
    if summary.least_cell > 1:
        yield "counts", f"0 or at least {summary.least_cell}, in blocks of cells"
