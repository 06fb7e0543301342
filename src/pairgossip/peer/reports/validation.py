"""The report of a validation: the discrimination and the calibration of scores."""

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
"""Default number of cells of probabilities. The AUC is about as exact as with a kernel's 256 even
cells; of these, few are where probabilities are small."""
_FEWEST = 4
"""Least number of cells of the scale from 0 to 1."""
_FINEST = 1 << 15
"""Largest number of cells of the scale from 0 to 1; finer scales are not tried."""


class ValidationReport(Report):
    """Discrimination, calibration and agreed thresholds, over all rows and by group."""

    name = "validation"
    kernels = ("auc",)
    keys = ("thresholds",)

    def title(self, spec: Spec) -> str:
        """Return the title of the page."""
        return f"Validation of {spec.columns[0]}, by {spec.label}"

    def check(self, spec: Spec) -> None:
        """Raise `InputError` for thresholds beyond the range of scores."""
        check_thresholds(spec)

    def choose_cells(self, spec: Spec, cells: Sequence[Cells]) -> tuple[Cells, ...]:
        """Return cells with edges at the thresholds, on a logit scale for probabilities."""
        from pairgossip.counts.cells import Whole

        (own,) = cells
        low, high = spec.ranges[spec.columns[0]]
        if not isinstance(own, Whole) and 0 <= low < high <= 1:
            own = _lay_probabilities(low, high, spec.algorithm.bins or _CELLS)
        return (end_cells(own, spec),)

    def read(self, summary: Summary, spec: Spec, sites: int) -> ReportReading:
        """Return the validation of the counts."""
        from pairgossip.validation import validate

        return validate(summary, thresholds=spec.thresholds or ())


@cache
def _lay_probabilities(low: float, high: float, most: int) -> Cells:
    """Return cells that are even in log(p / (1 - p)): at most ``most``, and more than half of that.

    They belong to a scale from 0 to 1 whose edges are the same on every machine. A range with too
    few of its edges has cells of equal width.
    """
    from pairgossip.counts.cells import Edges, Even, Logit

    count, best = _FEWEST, [low, high]
    while count <= _FINEST:
        edges = Logit(count=count).lay().places.tolist()
        inner = [one for one in edges if low < one < high]
        if len(inner) >= most:
            break
        count, best = 2 * count, [low, *inner, high]
    return Edges(best) if 2 * (len(best) - 1) > most else Even(low, high, most)
