"""One trial: a schedule, an engine, and what is written down at the checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms import Method, weighted_gosta
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.engine.estimation.engines import Engine, build_engine
from pairgossip.engine.schedule import TRIAL_PROBLEM, Schedule, child
from pairgossip.engine.traffic import Counts, Meter, Payload
from pairgossip.engine.trials import OnProgress
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.kernels import PairProblem, WholeSets
from pairgossip.kernels.pairs import Means
from pairgossip.privacy.moments import PrivacyError

BLOCK = 1 << 13
"""Iterations per block: small enough for the cache and for a quick Ctrl-C."""


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
    """What reports are expected to cost, where observations are private."""

    @property
    def iterations(self) -> int:
        """How many iterations a trial makes."""
        return int(self.checkpoints[-1])

    def new_record(self) -> TrialRecord:
        """An empty record."""
        return TrialRecord(self)

    def run_trial(self, seed: SeedSequence, record: TrialRecord, on_progress: OnProgress) -> None:
        """Run one trial to its last checkpoint, filling ``record`` as it goes."""
        schedule = Schedule(self.graph, self.law, seed, self.method.exchanges_per_iteration)
        problem = self.problem.for_trial(child(seed, TRIAL_PROBLEM))
        if self.privacy_error is not None:
            record.private_value = problem.exact()
        engine = build_engine(
            self.engine, problem, self.method, self.clock, self.order, self._weights()
        )
        meter = self._meter()
        done = 0
        for checkpoint in self.checkpoints.tolist():
            while done < checkpoint:
                block = min(BLOCK, checkpoint - done)
                exchanges = schedule.draw(block)
                engine.advance(exchanges)
                meter.count(block, exchanges)
                done += block
                on_progress(block)
            time = schedule.time_of(done) if self.clock == "async" else np.nan
            record.note(meter.counts)
            record.write(self._read(engine), self.target, time)

    def _weights(self) -> FloatArray | None:
        """Return what each node's values weigh, if the method asks for it."""
        if not self.method.weighs_by_picks or self.graph.n == 1:
            return None
        return weighted_gosta.weights(self.graph.pick_probabilities(self.law))

    def _meter(self) -> Meter:
        """Return a new count of what is sent."""
        problem, method = self.problem, self.method
        observation = problem.dimension if method.swaps and not isinstance(problem, Means) else 0
        sizes = problem.sets.sizes if isinstance(problem, WholeSets) else None
        payload = Payload(observation, method.numbers_averaged(problem.components), sizes)
        walks, compiled = method.exchanges_per_iteration, self.engine != "plain"
        return Meter(self.graph, payload, walks, compiled)

    def _read(self, engine: Engine) -> FloatArray:
        """Every node's estimate of the statistic, shape (n,)."""
        values = engine.estimates()
        # Only the ratio of two kernels may be undefined, while its denominator is still zero.
        if not np.isfinite(values).all():
            raise InputError(
                "The estimates left the floating range: the kernel returned NaN or an infinite "
                "value for some pair, or the data are so large that sums of them overflow."
            )
        if isinstance(self.problem, Means):
            return values[:, 0]
        return self.problem.kernel.combine(values)


def root_mean_square(values: FloatArray) -> float:
    """Of values of any size: squares of very large or small ones leave the floating range."""
    largest = float(np.abs(values).max())
    if largest == 0 or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(np.mean((values / largest) ** 2)))


class TrialRecord:
    """What one trial leaves behind; ``written`` checkpoints of it are filled in."""

    def __init__(self, setup: Setup) -> None:
        checkpoints, nodes = len(setup.checkpoints), setup.graph.n
        self.written = 0
        self.mean = np.full(checkpoints, np.nan)
        self.spread = np.full(checkpoints, np.nan)
        self.error = np.full(checkpoints, np.nan)
        self.time = np.full(checkpoints, np.nan)
        self.private_value = np.nan
        """The statistic of the trial's reports, which its nodes agree on in the end."""
        self.traffic = np.zeros((checkpoints, len(Counts._fields)), dtype=np.int64)
        self.estimates = np.full(nodes, np.nan)
        self.history = np.full((checkpoints, nodes), np.nan) if setup.keep_history else None

    def note(self, counts: Counts) -> None:
        """Note what was sent until the checkpoint that is written next."""
        self.traffic[self.written] = counts

    def write(self, estimates: FloatArray, target: float | FloatArray, time: float) -> None:
        """Fill in the next checkpoint; estimates that are still undefined (NaN) are left out."""
        at = self.written
        defined = ~np.isnan(estimates)
        deviation = (estimates - target)[defined]
        if deviation.size:
            self.mean[at] = estimates[defined].mean()
            # Where every node has a target of its own, nodes differ even without error.
            differing = deviation if np.ndim(target) else estimates[defined]
            self.spread[at] = root_mean_square(differing - differing.mean())
            self.error[at] = root_mean_square(deviation)
        self.time[at] = time
        self.estimates = estimates
        if self.history is not None:
            self.history[at] = estimates
        self.written = at + 1
