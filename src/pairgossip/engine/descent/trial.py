"""One trial of gossip dual averaging, and what is written down at the checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.engine.descent.state import Descent, DescentEngine, Snapshot, build_descent
from pairgossip.engine.estimation.trial import BLOCK
from pairgossip.engine.judging.judge import Judge, build_judge
from pairgossip.engine.schedule import TRIAL_PROBLEM, Schedule, child
from pairgossip.engine.traffic import Counts, Meter, Payload
from pairgossip.engine.trials import OnProgress
from pairgossip.graphs import Graph
from pairgossip.kernels.data import column_count
from pairgossip.losses import L1, Proximal, SquaredL2
from pairgossip.losses.learning import PairwiseLearning, WholeSetsLearning
from pairgossip.privacy import RandomizedResponse
from pairgossip.privacy.columns import Cells
from pairgossip.privacy.learning import reports_of, with_reports


@dataclass(frozen=True)
class DescentSetup:
    """All that a trial needs besides its seed."""

    descent: Descent
    graph: Graph
    law: str
    checkpoints: IntArray
    judged: IntArray
    """The nodes whose models' objectives are computed: all, or a sample of a large network."""
    keep_bias: bool
    engine: str
    resumed_at: int = 0
    """Iterations already made by the trials that are continued."""
    states: Mapping[int, Snapshot] = field(default_factory=dict)
    """Where those trials stopped, by their numbers."""
    privacy: RandomizedResponse | None = None
    """By what observations are randomized before nodes use them."""
    reports: Mapping[int, Cells] = field(default_factory=dict)
    """What those trials that are continued learned from, where observations are private."""

    @property
    def iterations(self) -> int:
        """How many iterations a trial makes."""
        return int(self.checkpoints[-1]) - self.resumed_at

    def new_record(self) -> DescentRecord:
        """An empty record."""
        return DescentRecord(self)

    def run_trial(self, seed: SeedSequence, record: DescentRecord, on_progress: OnProgress) -> None:
        """Run one trial to its last checkpoint, filling ``record`` as it goes."""
        schedule = Schedule(self.graph, self.law, seed)
        # Models are judged by the problem itself, whatever a trial takes its gradients from.
        drawn = self._drawn(seed)
        record.reports = reports_of(drawn)
        descent = self.descent._replace(problem=drawn)
        engine = build_descent(self.engine, descent)
        judge = build_judge(self.engine, self.descent.problem)
        meter = self._meter()
        done = self.resumed_at
        if self.states:
            for exchanges in schedule.skipped(done):
                meter.count(len(exchanges[0]), exchanges)
            engine.restore(self.states[seed.spawn_key[-1]], done)  # trials are numbered children
        for checkpoint in self.checkpoints.tolist():
            # The bias of an iteration needs the models just before it.
            for stop in (checkpoint - 1, checkpoint) if self.keep_bias else (checkpoint,):
                before = engine.snapshot() if stop == checkpoint and self.keep_bias else None
                done = self._advance(engine, schedule, meter, done, stop, on_progress)
            time = schedule.time_of(done) if self.descent.clock == "async" else np.nan
            record.note(meter.counts)
            record.write(self, descent, judge, done, before, engine.snapshot(), time)

    def _drawn(self, seed: SeedSequence) -> PairwiseLearning:
        """Return the problem of a trial; what is continued keeps its reports."""
        problem, number = self.descent.problem, seed.spawn_key[-1]
        if number in self.reports:
            return with_reports(problem, self.reports[number])
        return problem.for_trial(child(seed, TRIAL_PROBLEM))

    def _meter(self) -> Meter:
        """Return a new count of what is sent."""
        problem = self.descent.problem
        sizes = problem.sets.sizes if isinstance(problem, WholeSetsLearning) else None
        payload = Payload(column_count(problem.data), problem.dimension, sizes)
        return Meter(self.graph, payload, compiled=self.engine != "plain")

    def _advance(
        self,
        engine: DescentEngine,
        schedule: Schedule,
        meter: Meter,
        done: int,
        stop: int,
        on_progress: OnProgress,
    ) -> int:
        while done < stop:
            block = min(BLOCK, stop - done)
            exchanges = schedule.draw(block)
            engine.advance(exchanges[0])
            meter.count(block, exchanges)
            done += block
            on_progress(block)
        return done


class DescentRecord:
    """What one trial leaves behind; ``written`` checkpoints of it are filled in."""

    def __init__(self, setup: DescentSetup) -> None:
        count, p = len(setup.checkpoints), setup.descent.problem.dimension
        self.written = 0
        self.objective = np.full(count, np.nan)
        self.spread = np.full(count, np.nan)
        self.disagreement = np.full(count, np.nan)
        self.time = np.full(count, np.nan)
        self.traffic = np.zeros((count, len(Counts._fields)), dtype=np.int64)
        self.gradient_bias = np.full((count, p), np.nan)
        self.network_model = np.full((count, p), np.nan)
        self.state: Snapshot | None = None
        self.reports: Cells | None = None

    def note(self, counts: Counts) -> None:
        """Note what was sent until the checkpoint that is written next."""
        self.traffic[self.written] = counts

    def write(
        self,
        setup: DescentSetup,
        descent: Descent,
        judge: Judge,
        t: int,
        before: Snapshot | None,
        now: Snapshot,
        time: float,
    ) -> None:
        """Fill in the next checkpoint."""
        at, judged = self.written, now.mean[setup.judged]
        # Steps that are too long make models diverge: then the curves say so, without warnings.
        with np.errstate(over="ignore", invalid="ignore"):
            objectives = judge.objectives(judged) + penalties(setup.descent.proximal, judged)
            self.objective[at], self.spread[at] = objectives.mean(), objectives.std()
            center = now.mean.mean(axis=0)
            self.disagreement[at] = np.sqrt(np.mean(np.sum((now.mean - center) ** 2, axis=1)))
        self.time[at] = time
        if before is not None:
            meant = judge if self.reports is None else descent.problem
            self.gradient_bias[at] = gradient_bias(descent, meant, before, now)
            self.network_model[at] = network_model(setup.descent, before, t - 1)
        self.state = now
        self.written = at + 1


def penalties(proximal: Proximal, models: FloatArray) -> FloatArray:
    """The penalty of every model; a constraint costs nothing, as averaged models obey it."""
    penalty = getattr(proximal, "penalty", proximal)
    return penalty.psi(models) if isinstance(penalty, L1 | SquaredL2) else np.zeros(len(models))


def gradient_bias(descent: Descent, judge: Judge, before: Snapshot, now: Snapshot) -> FloatArray:
    """The mean over nodes of the gradient taken minus the gradient meant.

    Taken: at the pair the node holds after the exchange; meant: of the node's share of the
    objective, over all pairs. Both at the models before the iteration.
    """
    problem = descent.problem
    taken = problem.gradient(before.theta, np.arange(problem.n), now.held)
    return (taken - judge.own_gradients(before.theta)).mean(axis=0)


def network_model(descent: Descent, before: Snapshot, t: int) -> FloatArray:
    """The model of the network's mean accumulator, T(mean z; gamma(t), t)."""
    gamma = descent.steps(np.array([max(t, 1)], dtype=np.float64))[0]
    return descent.proximal.map(before.z.mean(axis=0), gamma, t)
