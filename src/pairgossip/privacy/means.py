"""The mean of one column, averaged from one report per node."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray
from pairgossip.kernels.kernel import Kernel
from pairgossip.kernels.means import Means
from pairgossip.privacy.columns import Cells
from pairgossip.privacy.draws import trial_source
from pairgossip.privacy.laws import laws_by_row
from pairgossip.privacy.mechanism import RandomizedResponse
from pairgossip.privacy.noise import PrivacyError, predicted_error


def middle(first: FloatArray, second: FloatArray) -> FloatArray:
    """A kernel whose average over all pairs is the mean."""
    return (first + second) / 2


class PrivateMeans(Means):
    """Raw values of which every trial averages reports that allow for the noise.

    Attributes
    ----------
    mechanism
        The randomized response that makes the reports.
    seeded
        Whether trials draw reports from their seeds, or from the operating system.
    """

    def __init__(self, data: Any, mechanism: RandomizedResponse, *, seeded: bool = True) -> None:
        super().__init__(data)
        mechanism.numbers(self.data)
        self.mechanism, self.seeded = mechanism, seeded
        self.debiased = mechanism.debiased(Kernel(middle, name="mean"))

    def for_trial(self, seed: SeedSequence) -> ReportedMeans:
        """Return the values of reports drawn for this trial."""
        return self.with_reports(self.mechanism.randomize(self.data, trial_source(self, seed)))

    def with_reports(self, reports: Cells) -> ReportedMeans:
        """Return the values of these reports, one row per observation."""
        return ReportedMeans(self, reports)

    def expected(self) -> Means:
        """Return what nodes average, in expectation over the reports."""
        cells = np.diagonal(self.debiased.cell_tables[0])
        return Means(laws_by_row(self.mechanism, self.data) @ cells)

    def predicted_error(self, exact: float) -> PrivacyError:
        """Predict how far the mean of the reports is off the exact mean."""
        return predicted_error(self.debiased, self.data, "v", exact)


class ReportedMeans(PrivateMeans):
    """What reports say of the values they are reports of: unbiased, and far from each of them."""

    def __init__(self, problem: PrivateMeans, reports: Cells) -> None:
        self.__dict__.update(problem.__dict__)
        self.reports = reports
        self.data = problem.debiased.own(reports)[:, 0]
