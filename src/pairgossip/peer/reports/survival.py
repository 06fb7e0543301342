"""The report of a time to an event: survival curves, and a comparison of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pairgossip.errors import InputError
from pairgossip.peer.reports.report import Report, ReportReading, check_thresholds, end_cells

if TYPE_CHECKING:
    from pairgossip.counts.cells import Cells
    from pairgossip.peer.specification.spec import Spec
    from pairgossip.summaries.summary import Summary


class SurvivalReport(Report):
    """Survival curves with their certain limits, by group, and the log-rank test.

    The column is the time and the label the event. Thresholds are times at which shares are read.
    """

    name = "survival"
    kernels = ("auc",)
    keys = ("thresholds",)
    has_statistic = False

    def title(self, spec: Spec) -> str:
        """Return the title of the page."""
        groups = "" if spec.by is None else f", by {spec.by}"
        return f"Survival over {spec.columns[0]}{groups}"

    def check(self, spec: Spec) -> None:
        """Raise `InputError` for times below 0, and events that are not 0 and 1."""
        time, event = spec.columns[0], str(spec.label)
        low, high = spec.ranges[time]
        if low < 0:
            raise InputError(
                f"Times are from 0 on, but ranges.{time} is [{low:g}, {high:g}]: begin it at 0 or "
                "later."
            )
        ends = spec.ranges[event]
        if ends != (0.0, 1.0):
            raise InputError(
                f"Events are 1 (observed) or 0 (censored), but ranges.{event} is [{ends[0]:g}, "
                f"{ends[1]:g}]: recode {event}, or list its two classes, the event last."
            )
        check_thresholds(spec)

    def choose_cells(self, spec: Spec, cells: Sequence[Cells]) -> tuple[Cells, ...]:
        """Return cells with edges at the times at which shares are read."""
        (own,) = cells
        return (end_cells(own, spec),)

    def read(self, summary: Summary, spec: Spec, sites: int) -> ReportReading:
        """Return the survival curves and tests of the counts."""
        from pairgossip.survival.reading import read_survival

        return read_survival(
            summary, times=spec.thresholds, time_label=spec.columns[0], sites=sites
        )
