"""The report of a validation: how well scores tell two classes apart, and how well they fit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from pairgossip.peer.reports.report import Report, ReportReading, check_thresholds, end_cells

if TYPE_CHECKING:
    from pairgossip.counts.cells import Cells
    from pairgossip.peer.specification.spec import Spec
    from pairgossip.summaries.summary import Summary

_CELLS = 512
"""Cells of probabilities: with them the AUC is known about as well as with the 256 even ones that a
kernel has, of which few are where outcomes are rare."""
_FEWEST = 4
"""Cells of a scale of probabilities, at least."""
_FINEST = 1 << 15
"""The most cells of the scale from 0 to 1 of which a range has some."""


class ValidationReport(Report):
    """Discrimination, calibration and agreed thresholds, over all rows and by group."""

    name = "validation"
    kernels = ("auc",)
    keys = ("thresholds",)

    def title(self, spec: Spec) -> str:
        """Return what stands above the page."""
        return f"Validation of {spec.columns[0]}, by {spec.label}"

    def check(self, spec: Spec) -> None:
        """Raise `InputError` for thresholds that scores cannot have."""
        check_thresholds(spec)

    def choose_cells(self, spec: Spec, cells: Sequence[Cells]) -> tuple[Cells, ...]:
        """Return cells that end at the thresholds, and suit probabilities where scores may be."""
        from pairgossip.counts.cells import Whole

        (own,) = cells
        low, high = spec.ranges[spec.columns[0]]
        if not isinstance(own, Whole) and 0 <= low < high <= 1:
            own = _lay_probabilities(low, high, spec.algorithm.bins or _CELLS)
        return (end_cells(own, spec),)

    def read(self, summary: Summary, spec: Spec, sites: int) -> ReportReading:
        """Return what the counts say."""
        from pairgossip.validation import validate

        return validate(summary, thresholds=spec.thresholds or ())


@cache
def _lay_probabilities(low: float, high: float, most: int) -> Cells:
    """Return cells that are even in log(p / (1 - p)): so many, or no fewer than half of them.

    They are some of those from 0 to 1, whose edges are the same on every machine. A range that
    holds hardly any has cells of equal width.
    """
    from pairgossip.counts.cells import Edges, Even, Logit

    count, found = _FEWEST, [low, high]
    while count <= _FINEST:
        edges = Logit(count=count).lay().places.tolist()
        inner = [one for one in edges if low < one < high]
        if len(inner) >= most:
            break
        count, found = 2 * count, [low, *inner, high]
    return Edges(found) if 2 * (len(found) - 1) > most else Even(low, high, most)
