"""One trial of gossip dual averaging, and the measurements at its checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.engine.descent.engines import (
    Descent,
    DescentEngine,
    PlainAdaptive,
    PlainDescent,
    Snapshot,
    check_descent_engine,
)
from pairgossip.engine.descent.judge import build_judge
from pairgossip.engine.descent.spoiled import RowsEngine, SpoiledDescent
from pairgossip.engine.faulty_schedule import spoil_trial, with_faults
from pairgossip.engine.schedule import TRIAL_PROBLEM, Schedule, child, random_schedule
from pairgossip.engine.trials import Meter, Payload, Record, Trial
from pairgossip.errors import needed_for_speed
from pairgossip.faults.network import FaultyNetwork
from pairgossip.graphs import Graph
from pairgossip.graphs.laws import NamedOrGiven
from pairgossip.kernels.data import column_count
from pairgossip.losses import L1, Proximal, SquaredL2
from pairgossip.losses.steps import AdaptiveStep
from pairgossip.privacy import RandomizedResponse
from pairgossip.privacy.response import Cells


@dataclass(frozen=True)
class Origin:
    """The states from which trials continue; by default every trial is new."""

    iterations: int = 0
    states: Mapping[int, Snapshot] = field(default_factory=dict)
    """The networks' states, by the numbers of the trials."""
    reports: Mapping[int, Cells] = field(default_factory=dict)
    """The reports of each trial, where observations are private."""


@dataclass(frozen=True)
class DescentSetup:
    """The setup of a trial, without its seed."""

    descent: Descent
    graph: Graph
    law: NamedOrGiven
    checkpoints: IntArray
    judged: IntArray
    """The nodes whose models' objectives are computed: all, or a sample of a large network."""
    keep_bias: bool
    engine: str
    origin: Origin = Origin()
    """The state from which the trial continues."""
    privacy: RandomizedResponse | None = None
    """The mechanism that randomizes observations before nodes use them."""
    faulty: FaultyNetwork | None = None
    """The faults and the nodes that they concern; None without faults."""

    @property
    def iterations(self) -> int:
        """The number of iterations that a trial makes."""
        return int(self.checkpoints[-1]) - self.origin.iterations

    def schedule(self, seed: SeedSequence) -> Schedule:
        """Return the exchanges of a trial that take place."""
        return with_faults(
            random_schedule(self.graph, self.law, seed),
            self.faulty,
            seed,
            keeps_iterations=self.descent.clock == "sync",
            compiled=self.engine != "plain",
        )

    def start(self, seed: SeedSequence) -> DescentTrial:
        """Return a trial at its start, or at the state from which it continues."""
        return DescentTrial(self, seed)


def build_descent(name: str, descent: Descent) -> DescentEngine:
    """Build the engine of this name: "auto" (the fastest that can run the problem), or "plain"."""
    is_adaptive = isinstance(descent.steps, AdaptiveStep)
    problem = descent.problem
    if name == "auto" and problem.own_slope is not None:
        with needed_for_speed():
            from pairgossip.engine.descent import own
        return own.OwnAdaptive(descent) if is_adaptive else own.OwnDescent(descent)
    if name == "plain" or (name == "auto" and not problem.compilable):
        return PlainAdaptive(descent) if is_adaptive else PlainDescent(descent)
    check_descent_engine(name, descent)
    with needed_for_speed():
        from pairgossip.engine.descent import fast
    if is_adaptive:
        is_async = descent.clock == "async"
        return fast.AdaptiveAsync(descent) if is_async else fast.AdaptiveSync(descent)
    if descent.clock == "async":
        return fast.AsyncDescent(descent)
    lines = descent.proximal.on_line and name != "vectors"
    return fast.LineDescent(descent) if lines else fast.VectorDescent(descent)


class DescentRecord(Record):
    """The results of one trial of learning."""

    def __init__(self, setup: DescentSetup) -> None:
        count, p = len(setup.checkpoints), setup.descent.problem.dimension
        super().__init__(count)
        self.objective, self.spread, self.disagreement = np.full((3, count), np.nan)
        self.gradient_bias, self.network_model = np.full((2, count, p), np.nan)
        self.state: Snapshot | None = None
        self.reports: Cells | None = None


class DescentTrial(Trial[DescentRecord]):
    """A network that learns a model."""

    def __init__(self, setup: DescentSetup, seed: SeedSequence) -> None:
        self._setup, problem = setup, setup.descent.problem
        # The problem itself judges models, also where a trial takes gradients of something else.
        self._judge = build_judge(setup.engine, problem)
        payload = Payload(column_count(problem.data), setup.descent.averaged, problem.set_sizes)
        meter = Meter(setup.graph, payload, compiled=setup.engine != "plain")
        origin, number = setup.origin, seed.spawn_key[-1]
        if number in origin.reports:  # a continued trial keeps its reports
            problem = problem.with_reports(origin.reports[number])
        else:
            problem = problem.for_trial(child(seed, TRIAL_PROBLEM))
        self._descent = setup.descent._replace(problem=problem)
        self._engine = build_descent(setup.engine, self._descent)
        self._spoil = spoil_trial(setup.faulty, seed)
        if self._spoil is not None:
            self._engine = SpoiledDescent(cast(RowsEngine, self._engine), self._spoil)
        self._before: Snapshot | None = None
        record, schedule = DescentRecord(setup), setup.schedule(seed)
        record.reports = problem.reports
        timed = setup.descent.clock == "async"
        super().__init__(setup.checkpoints, schedule, meter, record, timed=timed)
        if origin.states:  # skip the exchanges made before, and restore the state after them
            for exchanges in schedule.skip(origin.iterations):
                meter.count(*schedule.account(exchanges))
                if self._spoil is not None:
                    self._spoil.half_losses.take(exchanges[0])
            self._engine.restore(origin.states[number], origin.iterations)
            self.done = origin.iterations

    def read(self) -> Snapshot:
        """Return the state of every node."""
        return self._engine.snapshot()

    def objectives(self, models: FloatArray) -> FloatArray:
        """Return the objective of every model, penalty included; NaN where it diverged."""
        # Steps that are too long make models diverge: the curves show this, without warnings.
        with np.errstate(over="ignore", invalid="ignore"):
            return self._judge.objectives(models) + penalties(self._descent.proximal, models)

    def _next_stop(self) -> int:
        checkpoint = super()._next_stop()
        if not self._setup.keep_bias:
            return checkpoint
        # The bias of an iteration needs the models just before it.
        if self.done < checkpoint - 1:
            return checkpoint - 1
        self._before = self.read()
        return checkpoint

    def _exchange(self, exchanges: tuple[PairArray, ...]) -> None:
        self._engine.advance(exchanges[0])

    def _measure(self, at: int) -> None:
        record, now = self.record, self.read()
        objectives = self.objectives(now.mean[self._setup.judged])
        with np.errstate(over="ignore", invalid="ignore"):
            record.objective[at], record.spread[at] = objectives.mean(), objectives.std()
            faulty = self._setup.faulty
            record.disagreement[at] = disagreement(
                now.mean if faulty is None else now.mean[faulty.honest]
            )
        if self._before is not None:
            self._measure_bias(at, self._before, now)
        record.state = now

    def _measure_bias(self, at: int, before: Snapshot, now: Snapshot) -> None:
        """Write the bias of gradients, averaged over nodes.

        It is the gradient at the pair that the node holds after the exchange, minus the gradient
        of the node's share of the objective, over all pairs; both are at the models before the
        iteration. Also write the model of the network's mean accumulator, T(mean z; gamma(t), t).
        """
        record, problem, t = self.record, self._descent.problem, self.done - 1
        judge = self._judge if record.reports is None else problem
        taken = problem.gradient(before.theta, np.arange(problem.n), now.held)
        record.gradient_bias[at] = (taken - judge.own_gradients(before.theta)).mean(axis=0)
        gamma = self._descent.sizes(np.array([max(t, 1)], dtype=np.float64))[0]
        record.network_model[at] = self._descent.proximal.map(before.z.mean(axis=0), gamma, t)


def disagreement(models: FloatArray) -> float:
    """Return the root mean square distance of models, shape (n, p), from their mean."""
    center = models.mean(axis=0)
    return float(np.sqrt(np.mean(np.sum((models - center) ** 2, axis=1))))


def penalties(proximal: Proximal, models: FloatArray) -> FloatArray:
    """Return the penalty of every model; a constraint costs nothing, as averaged models obey it."""
    penalty = getattr(proximal, "penalty", proximal)
    return penalty.psi(models) if isinstance(penalty, L1 | SquaredL2) else np.zeros(len(models))
