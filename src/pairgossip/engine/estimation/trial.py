"""One trial of an estimation, and what is measured at its checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms import Method, weighted_gosta
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.engine.estimation.engines import build_engine
from pairgossip.engine.schedule import TRIAL_PROBLEM, Schedule, child
from pairgossip.engine.traffic import Meter, Payload
from pairgossip.engine.trials import Record, Trial
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.kernels import PairProblem, WholeSets
from pairgossip.kernels.pairs import Means
from pairgossip.privacy import PrivateSets
from pairgossip.privacy.moments import PrivacyError


@dataclass(frozen=True)
class Setup:
    """All that a trial needs besides its seed."""

    problem: PairProblem | Means
    graph: Graph
    method: Method
    clock: str
    order: str
    law: str
    checkpoints: IntArray
    target: float | FloatArray
    keep_history: bool
    engine: str
    privacy_error: PrivacyError | None = None
    """The error that reports are expected to add, where observations are private."""

    @property
    def iterations(self) -> int:
        """How many iterations a trial makes."""
        return int(self.checkpoints[-1])

    def start(self, seed: SeedSequence) -> EstimationTrial:
        """Return a trial that has not begun yet."""
        return EstimationTrial(self, seed)

    def weights(self) -> FloatArray | None:
        """Return the weight of each node's values, if the method asks for it."""
        if not self.method.weighs_by_picks or self.graph.n == 1:
            return None
        return weighted_gosta.weights(self.graph.pick_probabilities(self.law))

    def meter(self) -> Meter:
        """Return a new meter of what a trial sends."""
        problem, method = self.problem, self.method
        observation = problem.dimension if method.swaps and not isinstance(problem, Means) else 0
        sizes = problem.sets.sizes if isinstance(problem, WholeSets | PrivateSets) else None
        payload = Payload(observation, method.numbers_averaged(problem.components), sizes)
        walks, compiled = method.exchanges_per_iteration, self.engine != "plain"
        return Meter(self.graph, payload, walks, compiled)


class Measures(NamedTuple):
    """How far the estimates of all nodes are off, over the nodes that have one."""

    mean: float
    spread: float
    """Standard deviation over nodes of estimate minus target."""
    error: float
    """Root mean square over nodes of estimate minus target."""


def measure(estimates: FloatArray, target: float | FloatArray) -> Measures:
    """Compare estimates with their target; those that are still undefined (NaN) are left out."""
    defined = ~np.isnan(estimates)
    deviation = (estimates - target)[defined]
    if not deviation.size:
        return Measures(np.nan, np.nan, np.nan)
    # Where every node has a target of its own, nodes differ even without error.
    differing = deviation if np.ndim(target) else estimates[defined]
    return Measures(
        float(estimates[defined].mean()),
        _root_mean_square(differing - differing.mean()),
        _root_mean_square(deviation),
    )


def _root_mean_square(values: FloatArray) -> float:
    """Of values of any size: squares of very large or small ones leave the floating range."""
    largest = float(np.abs(values).max())
    if largest == 0 or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(np.mean((values / largest) ** 2)))


class TrialRecord(Record):
    """What one trial of an estimation leaves behind."""

    def __init__(self, setup: Setup) -> None:
        checkpoints, nodes = len(setup.checkpoints), setup.graph.n
        super().__init__(checkpoints)
        self.mean = np.full(checkpoints, np.nan)
        self.spread = np.full(checkpoints, np.nan)
        self.error = np.full(checkpoints, np.nan)
        self.private_value = np.nan
        """The statistic of the trial's reports, which its nodes agree on in the end."""
        self.estimates = np.full(nodes, np.nan)
        self.history = np.full((checkpoints, nodes), np.nan) if setup.keep_history else None


class EstimationTrial(Trial[TrialRecord]):
    """A network that estimates a statistic."""

    def __init__(self, setup: Setup, seed: SeedSequence) -> None:
        method, record = setup.method, TrialRecord(setup)
        problem = setup.problem.for_trial(child(seed, TRIAL_PROBLEM))
        if setup.privacy_error is not None:
            record.private_value = problem.exact()
        self._setup = setup
        self._engine = build_engine(
            setup.engine, problem, method, setup.clock, setup.order, setup.weights()
        )
        schedule = Schedule(setup.graph, setup.law, seed, method.exchanges_per_iteration)
        super().__init__(
            setup.checkpoints, schedule, setup.meter(), record, timed=setup.clock == "async"
        )

    def read(self) -> FloatArray:
        """Return every node's estimate, shape (n,); NaN where it is not defined yet."""
        problem = self._setup.problem
        if self.done == 0 and not isinstance(problem, Means):
            return np.full(problem.n, np.nan)
        values = self._engine.estimates()
        # Only the ratio of two kernels may be undefined, while its denominator is still zero.
        if not np.isfinite(values).all():
            raise InputError(
                "The estimates left the floating range: the kernel returned NaN or an infinite "
                "value for some pair, or the data are so large that sums of them overflow."
            )
        return values[:, 0] if isinstance(problem, Means) else problem.kernel.combine(values)

    def _exchange(self, exchanges: tuple[PairArray, ...]) -> None:
        self._engine.advance(exchanges)

    def _measure(self, at: int) -> None:
        record, estimates = self.record, self.read()
        record.mean[at], record.spread[at], record.error[at] = measure(
            estimates, self._setup.target
        )
        record.estimates = estimates
        if record.history is not None:
            record.history[at] = estimates
