"""Private estimation: raw data, a kernel and the mechanism that draws each trial's reports."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray, PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels.blocks import Progress, SiteSets
from pairgossip.kernels.exact import single_kernel
from pairgossip.kernels.kernel import Combination, Kernel, Scale
from pairgossip.kernels.pairs import Pairs, set_scale
from pairgossip.kernels.problem import Averages, Means, Problem
from pairgossip.privacy.mechanism import RandomizedResponse
from pairgossip.privacy.moments import (
    PrivacyError,
    choose_scale,
    laws_by_row,
    predicted_error,
    rows_for_interval,
)
from pairgossip.privacy.response import Cells, Classes, Grid, trial_source


class _Private(Problem):
    """The common part of problems with private rows; compiled code would read the raw data."""

    kernel: Kernel | Combination
    mechanism: RandomizedResponse

    def __init__(self, truth: Pairs, mechanism: RandomizedResponse, n: int, scale: float) -> None:
        self.data, self.dimension = truth.data, truth.dimension
        self.kernel, self.components = truth.kernel, truth.components
        self.target, self.mechanism, self.n, self.scale = truth.target, mechanism, n, scale

    @property
    def interval_scale(self) -> Scale:
        """The scale of intervals, which is that of the kernel if reports are not noisy."""
        return choose_scale(self.mechanism, len(self.data), self.kernel.interval_scale)

    def row_means(self) -> FloatArray:
        """Return the mean of every row of `matrix`, for a single kernel."""
        single_kernel(self.kernel)
        return self.matrix().mean(axis=1)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.kernel.name}, {self.target.upper()}-statistic, "
            f"n={self.n}, epsilon={self.mechanism.epsilon:g})"
        )


class PrivatePairs(_Private):
    """A pairwise statistic of raw data that nodes estimate from one report each.

    It knows the true statistic, with which estimates are compared. The contributions of nodes come
    from reports, which every trial draws anew: see `for_trial`.

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
        Whether trials draw their reports from their seeds, which can be repeated but protect
        nobody, or from the operating system's secure source.

    Attributes
    ----------
    truth
        The same problem without privacy.
    data, n, dimension, kernel, components, target, scale
        As for `Pairs`, of the raw data.
    debiased
        The kernel on reports.
    """

    def __init__(
        self,
        data: Any,
        kernel: Kernel | Combination | PairFunction | str,
        mechanism: RandomizedResponse,
        target: str = "v",
        labels: Any = None,
        *,
        seeded: bool = True,
    ) -> None:
        check_mechanism(mechanism)
        self.truth = Pairs(mechanism.numbers(data, labels), kernel, target)
        super().__init__(self.truth, mechanism, self.truth.n, self.truth.scale)
        self.seeded = seeded
        self.debiased = mechanism.debiased(self.kernel)

    def check(self) -> None:
        """Raise `InputError` if the kernel does not work on a few raw pairs."""
        self.truth.check()

    def check_interval(self) -> None:
        """Raise `InputError` if reports are too noisy for intervals of their level."""
        least, mechanism = rows_for_interval(self.mechanism), self.mechanism
        if self.n < least:
            raise InputError(
                f"Reports with epsilon {mechanism.epsilon:g} in {mechanism.cells} cells are too "
                f"noisy for an interval from {self.n:,} rows, which takes {least:,}: give more "
                "rows, a larger epsilon or fewer bins, or leave {argument} out.",
                "interval",
            )

    @property
    def positive(self) -> str | None:
        """The name in results of the positive one of two classes; None where there is none."""
        return self.truth.positive

    def exact(self, progress: Progress | None = None) -> float:
        """Return the statistic of the raw data."""
        return self.truth.exact(progress)

    def matrix(self, component: int = 0) -> FloatArray:
        """Return the mean contributions of pairs over the reports, for one component, shape (n,
        n)."""
        laws, table = laws_by_row(self.mechanism, self.data), self.debiased.cell_tables[component]
        added: FloatArray = laws @ table @ laws.T * self.scale
        np.fill_diagonal(added, 0.0 if self.target == "u" else laws @ np.diagonal(table))
        return added

    def predicted_error(self, exact: float | FloatArray) -> PrivacyError:
        """Predict the error of the statistic of the reports, relative to the exact one."""
        return predicted_error(self.debiased, self.data, self.target, float(exact))

    def for_trial(self, seed: np.random.SeedSequence) -> ReportedPairs:
        """Return the problem with reports drawn for this trial."""
        return self.with_reports(
            self.mechanism.randomize(self.data, trial_source(self.seeded, seed))
        )

    def with_reports(self, reports: Cells) -> ReportedPairs:
        """Return the problem with these reports, one row per observation."""
        return ReportedPairs(self, reports)

    def at_sites(self, site_of: IntArray) -> PrivateSets:
        """Return the problem of sites that swap the reports of all their rows at once."""
        return PrivateSets(self, site_of)

    def report_shares(self, site_of: IntArray | None) -> PrivateSketch:
        """Return the problem of averaging the shares of the reports."""
        return PrivateSketch(self, site_of)


class ReportedPairs(_Private):
    """The contribution of node k when it holds the report of observation l, in the target's units.

    Between different observations it is the debiased kernel. A node that holds its own report adds
    0 for the U-statistic, whose factor n/(n - 1) allows for it, and the debiased value of its own
    pair for the V-statistic: the debiased kernel itself would be biased there.

    Attributes
    ----------
    reports, cells
        The reports, one row each, and their numbers 0, 1, ..., K - 1.
    """

    def __init__(self, problem: PrivatePairs, reports: Cells) -> None:
        super().__init__(problem.truth, problem.mechanism, problem.n, problem.scale)
        self.debiased, self.reports = problem.debiased, reports
        self.cells = self.mechanism.flat(reports)
        if len(self.cells) != self.n:
            raise InputError(
                f"There are {len(self.cells)} reports for {self.n} observations: give one each."
            )

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return each node's contribution for the report it holds, one column per component."""
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
    """Raise `InputError` if it is not a mechanism."""
    if not isinstance(mechanism, RandomizedResponse):
        raise InputError(
            f"Privacy is a mechanism such as pg.privacy.RandomizedResponse(1.0, bins=16, "
            f"range=(0, 1)), not {type(mechanism).__name__}."
        )


def middle(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the midpoint: a kernel whose average over all pairs is the mean."""
    return (first + second) / 2


class PrivateMeans(Means):
    """Raw values; every trial averages reports of them that allow for the noise.

    Attributes
    ----------
    mechanism
        The randomized response that makes the reports.
    seeded
        Whether trials draw reports from their seeds, or from the operating system.
    """

    mechanism: RandomizedResponse

    def __init__(self, data: Any, mechanism: RandomizedResponse, *, seeded: bool = True) -> None:
        super().__init__(data)
        mechanism.numbers(self.data)
        self.mechanism, self.seeded = mechanism, seeded
        self.debiased = mechanism.debiased(Kernel(middle, name="mean"))

    def for_trial(self, seed: np.random.SeedSequence) -> Means:
        """Return unbiased estimates of the values, from reports drawn for this trial."""
        reports = self.mechanism.randomize(self.data, trial_source(self.seeded, seed))
        return Means(self.debiased.own(reports)[:, 0])

    def expected(self) -> Means:
        """Return the numbers that nodes average, in expectation over the reports."""
        cells = np.diagonal(self.debiased.cell_tables[0])
        return Means(laws_by_row(self.mechanism, self.data) @ cells)

    def predicted_error(self, exact: float | FloatArray) -> PrivacyError:
        """Predict the error of the mean of the reports, relative to the exact mean."""
        return predicted_error(self.debiased, self.data, "v", float(exact))


class _OfRows(Problem):
    """The methods that sites and sketches take from the problem of their rows."""

    rows: Problem

    def exact(self, progress: Progress | None = None) -> float:
        """Return the statistic of the raw data; in a trial that of the reports."""
        return self.rows.exact(progress)

    def predicted_error(self, exact: float | FloatArray) -> PrivacyError | None:
        """Predict the error of the statistic of the reports, relative to the exact one."""
        return self.rows.predicted_error(exact)


class PrivateSets(_OfRows, _Private):
    """A statistic of raw rows that sites estimate from sets of reports, one report per row.

    Attributes
    ----------
    rows
        The rows, and their mechanism.
    sets
        The rows of each site.
    """

    rows: PrivatePairs

    def __init__(self, rows: PrivatePairs, site_of: IntArray) -> None:
        self.rows, self.sets = rows, SiteSets(site_of)
        self.site_of, self.set_sizes = self.sets.site_of, self.sets.sizes
        scale = set_scale(self.sets.n, rows.n, rows.target)
        super().__init__(rows.truth, rows.mechanism, self.sets.n, scale)

    def matrix(self, component: int = 0) -> FloatArray:
        """Return the mean contributions of pairs of sites over the reports, shape (n, n)."""
        table = self.rows.debiased.cell_tables[component]
        laws, sites = laws_by_row(self.mechanism, self.data), np.zeros((self.n, len(table)))
        np.add.at(sites, self.sets.site_of, laws)
        own = -np.einsum("ix,ix->i", laws @ table, laws)
        if self.target == "v":
            own += laws @ np.diagonal(table)
        added = sites @ table @ sites.T
        added[np.diag_indices(self.n)] += np.bincount(self.sets.site_of, own, self.n)
        return added * self.scale

    def for_trial(self, seed: np.random.SeedSequence) -> _ReportedSets:
        """Return the problem with reports drawn for this trial."""
        return _ReportedSets(self, self.rows.for_trial(seed))


class _ReportedSets(_OfRows, _Private):
    """The contribution of site u when it holds the reports of site v: sums over pairs of rows.

    Sums over rows are products of the sites' histograms of reports with the debiased kernel. A
    row's own pair is treated as it is between rows.
    """

    def __init__(self, problem: PrivateSets, reported: ReportedPairs) -> None:
        super().__init__(problem.rows.truth, problem.mechanism, problem.n, problem.scale)
        self.rows = reported
        self.site_of, self.set_sizes = problem.site_of, problem.set_sizes
        debiased = reported.debiased
        cells, site_of = reported.cells, problem.sets.site_of
        self._histograms = np.zeros((self.n, reported.mechanism.cells))
        np.add.at(self._histograms, (site_of, cells), 1.0)
        self._met = self._histograms @ debiased.tables  # (components, n, K)
        own = -np.diagonal(debiased.tables, axis1=1, axis2=2)
        if self.target == "v":
            own = own + debiased.own_values
        self._own = self._histograms @ own.T  # the addition for a set with itself

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return each site's contribution for the set it holds, one column per component."""
        nodes, held = np.asarray(nodes), np.asarray(held)
        added: FloatArray = np.einsum("cmk,mk->mc", self._met[:, nodes], self._histograms[held])
        own = nodes == held
        added[own] += self._own[nodes[own]]
        return added * self.scale

    def matrix(self, component: int = 0) -> FloatArray:
        """Return the values of one component for all pairs of sites, shape (n, n)."""
        added = self._met[component] @ self._histograms.T
        added[np.diag_indices(self.n)] += self._own[:, component]
        return added * self.scale


class PrivateSketch(_OfRows, Averages):
    """Private rows; every trial averages the shares of their reports.

    The shares of the reports give every debiased statistic, so any kernel will do.

    Parameters
    ----------
    rows
        The raw rows, their kernel and their mechanism.
    site_of
        The site of every row, where nodes are sites.
    """

    rows: PrivatePairs

    def __init__(self, rows: PrivatePairs, site_of: IntArray | None) -> None:
        self.rows, self.mechanism, self.site_of = rows, rows.mechanism, site_of
        self.data, self.kernel, self.target = rows.data, rows.kernel, rows.target
        self.average_rows(np.zeros((rows.n, rows.mechanism.cells)))

    def linearized(self) -> tuple[FloatArray, float]:
        """Refuse: what nodes average is drawn anew in every trial."""
        raise InputError("The exact error of averaging private reports is not known.")

    def for_trial(self, seed: np.random.SeedSequence) -> _ReportedSketch:
        """Return the problem with reports drawn for this trial."""
        return _ReportedSketch(self, self.rows.for_trial(seed))


class _ReportedSketch(_OfRows, Averages):
    """The shares of the reports of one trial."""

    rows: ReportedPairs

    def __init__(self, problem: PrivateSketch, reported: ReportedPairs) -> None:
        self.rows, self.site_of = reported, problem.site_of
        self.data, self.kernel, self.target = problem.data, problem.kernel, problem.target
        shares = np.zeros((reported.n, reported.mechanism.cells))
        shares[np.arange(reported.n), reported.cells] = 1.0
        self.average_rows(shares)

    def read(self, averaged: FloatArray) -> FloatArray:
        """Return each node's statistic, from the averages it has, shape (n, r)."""
        rows = self.rows
        return rows.debiased.statistic_of(self.means(averaged) * rows.n, rows.n, self.target)


def as_record(mechanism: RandomizedResponse) -> dict[str, Any]:
    """Return the arguments of `RandomizedResponse` that make the same mechanism, for files."""
    intervals = [column for column in mechanism.columns if not isinstance(column, Classes)]
    classes = [list(c.labels) for c in mechanism.columns if isinstance(c, Classes)]
    rounded = any(isinstance(column, Grid) for column in intervals)
    return {
        "epsilon": mechanism.epsilon,
        "bins": [column.cells for column in intervals] or None,
        "range": [[column.low, column.high] for column in intervals] or None,
        "classes": list(mechanism.names) if mechanism.names else (classes[0] if classes else None),
        "rounding": "stochastic" if rounded else "bins",
        "together": mechanism.together,
    }
