"""Requests for statistics of order on a graph: by averaged bins of a sample, or by GoTrim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pairgossip.algorithms.methods import GOTRIM, Method
from pairgossip.arrays import IntArray
from pairgossip.engine.estimation.trial import Setup
from pairgossip.errors import InputError
from pairgossip.order_statistics.ranking import TrimmedPairs
from pairgossip.order_statistics.statistics import Statistic, TrimmedMean
from pairgossip.results.notices import warn_if_coarse, warn_if_not_enough, warn_if_unsettled
from pairgossip.results.run import Run
from pairgossip.run_requests.estimation import EstimationRequest
from pairgossip.sketches.samples import Sample, SketchedSample


@dataclass(kw_only=True)
class BinsRequest(EstimationRequest):
    """A run that averages the bins of a sample."""

    sample: Sample
    statistic: Statistic | None
    bins: int
    declared: tuple[float, float] | None

    def _check_statistic(self) -> None:
        """Accept that there is no kernel."""

    def _check_interval(self) -> None:
        """Accept a level that was checked: bins give every interval."""
        if self.until is not None and self.interval is None:
            raise InputError(
                "Nodes have enough by their sampling errors, and ranks, or numbers alone, have "
                "none: leave {argument} out.",
                "until",
            )

    def _warn(self, run: Run, setup: Setup) -> None:
        warn_if_not_enough(run)
        if self.tests or self.sample.labels is not None:
            warn_if_unsettled(run)
        warn_if_coarse(run, setup)

    def _exact_error(self, rows: Any) -> float:
        """Return the sampling error of all rows, by which bins are judged."""
        return float("nan") if self.interval is None else rows.exact_error(self.interval)

    def _rows(self) -> SketchedSample:
        return SketchedSample(self.sample, self.statistic, self.bins, self.declared)

    def _problem(self, rows: Any, site_of: IntArray | None) -> SketchedSample:
        return (
            rows
            if site_of is None
            else SketchedSample(self.sample, self.statistic, self.bins, self.declared, site_of)
        )


@dataclass(kw_only=True)
class TrimRequest(EstimationRequest):
    """A run of GoTrim."""

    statistic: TrimmedMean

    def _find_method(self, nodes: int | None = None) -> Method:
        return GOTRIM

    def _check_statistic(self) -> None:
        """Accept that there is no kernel."""

    def _check_interval(self) -> None:
        if self.until is not None:
            raise self._refusal("gives nodes no sampling error: use {argument}.", value="sketch")

    def _rows(self) -> TrimmedPairs:
        pairs = TrimmedPairs(self.data, self.statistic)
        pairs.check()
        return pairs
