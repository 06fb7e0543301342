"""Raw data, loss and mechanism tied together: private learning, one trial after the other."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.kernels.exact import check_kind
from pairgossip.losses import GeneralLoss, Loss
from pairgossip.losses.learning import LearningProblem, PairwiseLearning, WholeSetsLearning
from pairgossip.privacy.columns import Cells
from pairgossip.privacy.estimation import check_mechanism
from pairgossip.privacy.gradients import DebiasedLoss
from pairgossip.privacy.mechanism import RandomizedResponse
from pairgossip.privacy.response import trial_source


class PrivateLearning(LearningProblem):
    """A learning problem whose nodes take gradients at reports; models are judged on raw data.

    Everything about it is that of the raw data, as a judge needs it. What nodes use comes from
    reports, which every trial draws anew: see `for_trial`.

    Parameters
    ----------
    data, labels
        The raw observations.
    loss
        A loss of raw observations, or the name of a built-in one.
    mechanism
        The randomized response that makes the reports.
    target
        "v" minimizes the average over all ordered pairs, own pairs included, as without privacy;
        "u" leaves own pairs out.
    seeded
        Whether trials draw their reports from their seeds, which repeat but protect nobody, or
        from the operating system's secure source.
    """

    def __init__(
        self,
        data: Any,
        loss: Loss | GeneralLoss | str,
        mechanism: RandomizedResponse,
        labels: Any = None,
        target: str = "v",
        *,
        seeded: bool = True,
    ) -> None:
        check_mechanism(mechanism)
        super().__init__(mechanism.numbers(data, labels), loss)
        self.mechanism, self.seeded = mechanism, seeded
        self.debiased = DebiasedLoss(mechanism, self.loss)
        self.target = check_kind(target, self.n)
        self.marks = {"privacy": f"{mechanism!r}, {self.target.upper()}-statistic"}

    @property
    def compilable(self) -> bool:
        """Whether compiled code may take gradients on the data itself: never."""
        return False

    def for_trial(self, seed: SeedSequence) -> ReportedLearning:
        """Return the problem with reports drawn for this trial."""
        return self.with_reports(self.mechanism.randomize(self.data, trial_source(self, seed)))

    def with_reports(self, reports: Cells) -> ReportedLearning:
        """Return the problem with these reports, one row per observation."""
        return ReportedLearning(self, reports)


class ReportedLearning:
    """What node k adds to its gradient when it holds the report of observation l.

    Between different observations it is the debiased gradient. A node that holds its own report
    adds the debiased gradient of its own pair, or with target "u" nothing, the others counting
    n/(n - 1). Objectives remain those of the raw data.
    """

    compilable = False

    def __init__(self, problem: PrivateLearning, reports: Cells) -> None:
        self.raw, self.reports = problem, reports
        self.data, self.n, self.marks = problem.data, problem.n, problem.marks
        self.loss, self.dimension = problem.loss, problem.dimension
        self.debiased, self.target = problem.debiased, problem.target
        self._weights = self.debiased.weights(reports)
        self._total = self._weights.sum(axis=0)
        if len(self._weights) != self.n:
            raise InputError(
                f"There are {len(self._weights)} reports for {self.n} observations: give one each."
            )

    @property
    def scale(self) -> float:
        """The factor of pairs of different observations."""
        return self.n / (self.n - 1) if self.target == "u" else 1.0

    def gradient(self, theta: FloatArray, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return each node's debiased gradient at its own model, shape (m, p)."""
        nodes, held = np.asarray(nodes), np.asarray(held)
        models = np.broadcast_to(theta, (len(nodes), self.dimension))
        found = np.zeros((len(nodes), self.dimension))
        own = np.equal(nodes, held)
        met = ~own
        first, second = self._weights[nodes[met]], self._weights[held[met]]
        found[met] = self.scale * self.debiased.weighted(models[met], first, second)
        if self.target == "v" and own.any():
            found[own] = self.debiased.own(models[own], self.reports[nodes[own]])
        return found

    def objectives(self, models: FloatArray) -> FloatArray:
        """Return the objective of every model on the raw data, shape (r,)."""
        return self.raw.objectives(models)

    def own_gradients(self, theta: FloatArray) -> FloatArray:
        """Return the mean over all l of `gradient` at theta_k, for every node k."""
        others = self._total - self._weights
        found = self.scale * self.debiased.weighted(theta, self._weights, others)
        if self.target == "v":
            found += self.debiased.own(theta, self.reports)
        return found / self.n

    def for_trial(self, seed: SeedSequence) -> Self:
        """Return itself: the reports are drawn."""
        return self


def reports_of(problem: PairwiseLearning) -> Cells | None:
    """Return the reports that a problem takes its gradients at; None if at raw data."""
    rows = problem.rows if isinstance(problem, WholeSetsLearning) else problem
    return rows.reports if isinstance(rows, ReportedLearning) else None


def with_reports(problem: PairwiseLearning, reports: Cells) -> PairwiseLearning:
    """Return a private problem with these reports, of rows or of whole sets of them."""
    if isinstance(problem, WholeSetsLearning):
        assert isinstance(problem.rows, PrivateLearning)
        return WholeSetsLearning(problem.rows.with_reports(reports), problem.sets.site_of)
    assert isinstance(problem, PrivateLearning)
    return problem.with_reports(reports)
