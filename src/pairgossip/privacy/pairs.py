"""Raw data, kernel and mechanism tied together: private estimation, one trial after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray, IntArray, PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels.blocked import Progress
from pairgossip.kernels.exact import single_kernel
from pairgossip.kernels.kernel import Kernel, Ratio
from pairgossip.kernels.pairs import Pairs
from pairgossip.privacy.columns import Cells
from pairgossip.privacy.draws import trial_source
from pairgossip.privacy.laws import laws_by_row
from pairgossip.privacy.mechanism import RandomizedResponse
from pairgossip.privacy.noise import PrivacyError, predicted_error


class PrivatePairs:
    """A pairwise statistic of raw data that nodes estimate from one report each.

    It knows the true statistic, which estimates are compared with. What nodes add comes from
    reports, which every trial draws anew: see `for_trial`.

    Parameters
    ----------
    data, labels
        The raw observations.
    kernel
        A kernel, a ratio, the name of a built-in kernel, or a function, of raw observations.
    mechanism
        The randomized response that makes the reports.
    target
        "v" or "u".
    seeded
        Whether trials draw their reports from their seeds, which repeat but protect nobody, or
        from the operating system's secure source.

    Attributes
    ----------
    truth
        The same problem without privacy.
    data, n, dimension, kernel, components, target, scale
        As for `Pairs`, of the raw data.
    debiased
        The kernel on reports.
    """

    fusible = False
    """Compiled code would read the raw data."""

    def __init__(
        self,
        data: Any,
        kernel: Kernel | Ratio | PairFunction | str,
        mechanism: RandomizedResponse,
        target: str = "v",
        labels: Any = None,
        *,
        seeded: bool = True,
    ) -> None:
        check_mechanism(mechanism)
        truth = Pairs(mechanism.numbers(data, labels), kernel, target)
        self.truth, self.mechanism, self.seeded = truth, mechanism, seeded
        self.data, self.n, self.dimension = truth.data, truth.n, truth.dimension
        self.kernel, self.components = truth.kernel, truth.components
        self.target, self.scale = truth.target, truth.scale
        self.debiased = mechanism.debiased(self.kernel)

    def check(self) -> None:
        """Raise `InputError` unless the kernel does on a few raw pairs what it should on all."""
        self.truth.check()

    def exact(self, progress: Progress | None = None) -> float:
        """Return the statistic of the raw data."""
        return self.truth.exact(progress)

    def row_means(self) -> FloatArray:
        """Return the mean of every row of `matrix`, for a single kernel."""
        single_kernel(self.kernel)
        return self.matrix().mean(axis=1)

    def matrix(self, component: int = 0) -> FloatArray:
        """Return what pairs add on average over the reports, for one component, shape (n, n)."""
        laws, table = laws_by_row(self.mechanism, self.data), self.debiased.cell_tables[component]
        added: FloatArray = laws @ table @ laws.T * self.scale
        np.fill_diagonal(added, 0.0 if self.target == "u" else laws @ np.diagonal(table))
        return added

    def predicted_error(self, exact: float) -> PrivacyError:
        """Predict how far the statistic of the reports is off the exact one."""
        return predicted_error(self.debiased, self.data, self.target, exact)

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        """Refuse: nodes add nothing before there are reports."""
        raise InputError(
            "Private observations have to be reported before nodes use them: "
            "take for_trial(seed) or with_reports(reports)."
        )

    def for_trial(self, seed: SeedSequence) -> ReportedPairs:
        """Return the problem with reports drawn for this trial."""
        return self.with_reports(self.mechanism.randomize(self.data, trial_source(self, seed)))

    def with_reports(self, reports: Cells) -> ReportedPairs:
        """Return the problem with these reports, one row per observation."""
        return ReportedPairs(self, reports)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.kernel.name}, {self.target.upper()}-statistic, "
            f"n={self.n}, epsilon={self.mechanism.epsilon:g})"
        )


class ReportedPairs(PrivatePairs):
    """What node k adds when it holds the report of observation l, in the target's units.

    Between different observations it is the debiased kernel. A node that holds its own report
    adds 0 for the U-statistic, whose factor n/(n - 1) allows for it, and the debiased value of
    its own pair for the V-statistic: the debiased kernel itself would be biased there.

    Attributes
    ----------
    reports, cells
        The reports, one row each, and their numbers 0, 1, ..., K - 1.
    """

    def __init__(self, problem: PrivatePairs, reports: Cells) -> None:
        self.__dict__.update(problem.__dict__)
        self.reports = reports
        self.cells = self.mechanism.flat(reports)
        if len(self.cells) != self.n:
            raise InputError(
                f"There are {len(self.cells)} reports for {self.n} observations: give one each."
            )

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return what each node adds for the report it holds, one column per component."""
        first, second = self.cells[nodes], self.cells[held]
        added = self.debiased.tables[:, first, second].T * self.scale
        own = np.equal(nodes, held)
        added[own] = 0.0 if self.target == "u" else self.debiased.own_values[:, first[own]].T
        return added

    def exact(self, progress: Progress | None = None) -> float:
        """Return the debiased statistic of the reports, to which gossip converges."""
        return self.debiased.statistic(self.reports, self.target)

    def row_means(self) -> FloatArray:
        """Return the mean of every row of `matrix`, for a single kernel."""
        single_kernel(self.kernel)
        histogram = np.bincount(self.cells, minlength=self.mechanism.cells)
        table = self.debiased.tables[0]
        sums = (table @ histogram - np.diagonal(table)) * self.scale
        if self.target == "v":
            sums = sums + self.debiased.own_values[0]
        return sums[self.cells] / self.n

    def matrix(self, component: int = 0) -> FloatArray:
        """Return the values of one component for all pairs, shape (n, n)."""
        table = self.debiased.tables[component]
        matrix = table[self.cells[:, None], self.cells] * self.scale
        own = self.debiased.own_values[component, self.cells]
        np.fill_diagonal(matrix, 0.0 if self.target == "u" else own)
        return matrix


def check_mechanism(mechanism: Any) -> None:
    """Raise `InputError` unless it is a mechanism."""
    if not isinstance(mechanism, RandomizedResponse):
        raise InputError(
            f"Privacy is a mechanism such as pg.privacy.RandomizedResponse(1.0, bins=16, "
            f"range=(0, 1)), not {type(mechanism).__name__}."
        )
