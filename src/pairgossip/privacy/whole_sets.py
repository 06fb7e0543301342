"""Sites that swap whole sets of reports."""

from __future__ import annotations

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.kernels.blocked import Progress
from pairgossip.kernels.whole_sets import WholeSets
from pairgossip.privacy.laws import laws_by_row
from pairgossip.privacy.mechanism import RandomizedResponse
from pairgossip.privacy.noise import PrivacyError
from pairgossip.privacy.pairs import PrivatePairs, ReportedPairs


class PrivateSets(WholeSets):
    """A statistic of raw rows that sites estimate from sets of reports, one report per row.

    Attributes
    ----------
    private
        The rows, and how they are reported.
    mechanism
        The randomized response that makes the reports.
    """

    def __init__(self, rows: PrivatePairs, site_of: IntArray) -> None:
        super().__init__(rows.truth, site_of)
        self.private = rows

    @property
    def mechanism(self) -> RandomizedResponse:
        """The randomized response that makes the reports."""
        return self.private.mechanism

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        """Refuse: sites add nothing before there are reports."""
        return self.private.values(nodes, held)

    def matrix(self, component: int = 0) -> FloatArray:
        """Return what pairs of sites add on average over the reports, shape (n, n)."""
        table = self.private.debiased.cell_tables[component]
        laws, sites = laws_by_row(self.mechanism, self.data), np.zeros((self.n, len(table)))
        np.add.at(sites, self.sets.site_of, laws)
        own = -np.einsum("ix,ix->i", laws @ table, laws)
        if self.target == "v":
            own += laws @ np.diagonal(table)
        added = sites @ table @ sites.T
        added[np.diag_indices(self.n)] += np.bincount(self.sets.site_of, own, self.n)
        return added * self.scale

    def for_trial(self, seed: SeedSequence) -> ReportedSets:
        """Return the problem with reports drawn for this trial."""
        return ReportedSets(self, self.private.for_trial(seed))

    def predicted_error(self, exact: float) -> PrivacyError:
        """Predict how far the statistic of the reports is off the exact one."""
        return self.private.predicted_error(exact)


class ReportedSets(PrivateSets):
    """What site u adds when it holds the reports of site v: sums over all pairs of their rows.

    Sums over rows are products of the sites' histograms of reports with the debiased kernel. A
    row's own pair is treated as it is between rows.
    """

    def __init__(self, problem: PrivateSets, reported: ReportedPairs) -> None:
        self.__dict__.update(problem.__dict__)
        self.private, self.reported = reported, reported
        debiased = reported.debiased
        cells, site_of = reported.cells, self.sets.site_of
        self._histograms = np.zeros((self.n, reported.mechanism.cells))
        np.add.at(self._histograms, (site_of, cells), 1.0)
        self._met = self._histograms @ debiased.tables  # (components, n, K)
        own = -np.diagonal(debiased.tables, axis1=1, axis2=2)
        if self.target == "v":
            own = own + debiased.own_values
        self._own = self._histograms @ own.T  # what a set with itself adds besides

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return what each site adds for the set it holds, one column per component."""
        nodes, held = np.asarray(nodes), np.asarray(held)
        added: FloatArray = np.einsum("cmk,mk->mc", self._met[:, nodes], self._histograms[held])
        own = np.equal(nodes, held)
        added[own] += self._own[nodes[own]]
        return added * self.scale

    def matrix(self, component: int = 0) -> FloatArray:
        """Return the values of one component for all pairs of sites, shape (n, n)."""
        added = self._met[component] @ self._histograms.T
        added[np.diag_indices(self.n)] += self._own[:, component]
        return added * self.scale

    def exact(self, progress: Progress | None = None) -> float:
        """Return the debiased statistic of the reports, to which gossip converges."""
        return self.reported.exact(progress)
