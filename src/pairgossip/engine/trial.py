"""One trial: a schedule, an engine, and what is written down at the checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms import Method
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.engine.engines import Engine, build_engine
from pairgossip.engine.schedule import Schedule
from pairgossip.graphs import Graph
from pairgossip.kernels import Pairs
from pairgossip.kernels.means import Means

BLOCK = 1 << 13
"""Iterations per block: small enough for the cache and for a quick Ctrl-C."""

OnProgress = Callable[[int], None]


@dataclass(frozen=True)
class Setup:
    """All that a trial needs besides its seed."""

    problem: Pairs | Means
    graph: Graph
    method: Method
    clock: str
    order: str
    law: str
    checkpoints: IntArray
    target: float | FloatArray
    keep_history: bool
    engine: str

    def schedule(self, seed: SeedSequence) -> Schedule:
        """The exchanges of the trial with this seed."""
        return Schedule(self.graph, self.law, seed, self.method.exchanges_per_iteration)

    def new_engine(self) -> Engine:
        """A fresh network."""
        return build_engine(self.engine, self.problem, self.method, self.clock, self.order)

    def read(self, engine: Engine) -> FloatArray:
        """Every node's estimate of the statistic, shape (n,)."""
        values = engine.estimates()
        if isinstance(self.problem, Means):
            return values[:, 0]
        return self.problem.kernel.combine(values)


class TrialRecord:
    """What one trial leaves behind; ``written`` checkpoints of it are filled in."""

    def __init__(self, setup: Setup) -> None:
        checkpoints, nodes = len(setup.checkpoints), setup.graph.n
        self.written = 0
        self.mean = np.full(checkpoints, np.nan)
        self.spread = np.full(checkpoints, np.nan)
        self.error = np.full(checkpoints, np.nan)
        self.time = np.full(checkpoints, np.nan)
        self.estimates = np.full(nodes, np.nan)
        self.history = np.full((checkpoints, nodes), np.nan) if setup.keep_history else None

    def write(self, estimates: FloatArray, target: float | FloatArray, time: float) -> None:
        """Fill in the next checkpoint; estimates that are still undefined (NaN) are left out."""
        at = self.written
        defined = ~np.isnan(estimates)
        deviation = (estimates - target)[defined]
        if deviation.size:
            self.mean[at] = estimates[defined].mean()
            # Where every node has a target of its own, nodes differ even without error.
            self.spread[at] = (deviation if np.ndim(target) else estimates[defined]).std()
            self.error[at] = np.sqrt(np.mean(deviation**2))
        self.time[at] = time
        self.estimates = estimates
        if self.history is not None:
            self.history[at] = estimates
        self.written = at + 1


def run_trial(
    setup: Setup, seed: SeedSequence, record: TrialRecord, on_progress: OnProgress
) -> TrialRecord:
    """Run one trial to its last checkpoint, filling ``record`` as it goes."""
    schedule, engine = setup.schedule(seed), setup.new_engine()
    done = 0
    for checkpoint in setup.checkpoints.tolist():
        while done < checkpoint:
            block = min(BLOCK, checkpoint - done)
            engine.advance(schedule.draw(block))
            done += block
            on_progress(block)
        time = schedule.time_of(done) if setup.clock == "async" else np.nan
        record.write(setup.read(engine), setup.target, time)
    return record
