"""One trial of learning from averages, and the measurements after its rounds.

The first round averages means and second moments of the grades, which give a first model.
Every later one evaluates the objective and its gradient at the models that nodes propose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.engine.descent.engines import Snapshot, take_snapshot
from pairgossip.engine.descent.judge import Judge, build_judge
from pairgossip.engine.descent.trial import disagreement, penalties
from pairgossip.engine.solver_trials.passes import Passes
from pairgossip.engine.timetable import Timetable
from pairgossip.engine.trials import Record
from pairgossip.graphs import Graph
from pairgossip.graphs.laws import NamedOrGiven
from pairgossip.losses import Loss, Proximal
from pairgossip.losses.learning import LearningProblem
from pairgossip.losses.margins import Margin
from pairgossip.solvers.solver import Averaging, GradedRows, Round, Solver

_EXACT_SLOPES = 1e-5
"""The largest error of slopes, relative to their mean, with which values count as exact."""
_SLACK = 1e-9
"""The relative error of values by sketches, where averages are exact."""


class SolverProblem(NamedTuple):
    """The learning problem: rows with labels, their nodes, and their weights."""

    learning: LearningProblem
    site_of: IntArray | None
    """The node of every row; None where every row has its own node."""
    weights: FloatArray | None

    def rows(self, nodes: int, *, are_separate: bool) -> tuple[GradedRows, int]:
        """Return the rows in the order of nodes, or of grades, and the number of grades."""
        data, n = self.learning.data, self.learning.n
        site_of = own_observations(n) if self.site_of is None else self.site_of
        order = np.argsort(site_of if are_separate else data[:, -1], kind="stable")
        labels, grades = np.unique(data[order, -1], return_inverse=True)
        weights = np.ones(n) if self.weights is None else self.weights[order]
        rows = data[order, :-1], grades.reshape(-1), weights
        if are_separate:
            return GradedRows(*rows, site_of[order], nodes), len(labels)
        return GradedRows(*rows, None, 1), len(labels)


@dataclass(frozen=True)
class SolverSetup:
    """The setup of a trial, without its seed."""

    problem: SolverProblem
    proximal: Proximal
    graph: Graph
    law: NamedOrGiven
    timetable: Timetable
    checkpoints: IntArray
    """The rounds after which models are judged; the last one is the largest number of rounds."""
    judged: IntArray
    """The nodes whose models are judged; empty where the nodes' own objectives are enough."""
    tolerance: float
    """The run ends when the predicted gain of a round, relative to the zero model's objective, is
    less."""
    accuracy: float
    """The factor by which a pass of averaging shrinks the differences between nodes."""
    engine: str

    @property
    def phi(self) -> Margin:
        """The function of margins."""
        loss = self.problem.learning.loss
        assert isinstance(loss, Loss)
        return loss.phi

    @property
    def iterations(self) -> int:
        """The largest number of rounds of a trial."""
        return int(self.checkpoints[-1])

    def start(self, seed: SeedSequence) -> SolverTrial:
        """Return a trial at its start."""
        return SolverTrial(self, seed)


class SolverRecord(Record):
    """The results of one trial."""

    def __init__(self, setup: SolverSetup) -> None:
        count = len(setup.checkpoints)
        super().__init__(count)
        self.objective, self.spread, self.disagreement = np.full((3, count), np.nan)
        self.gradient_error = np.full(count, np.nan)
        self.promised = np.inf
        """The predicted gain of a further round, relative to the zero model's objective."""
        self.rounds = 0
        """The number of rounds made."""
        self.models: FloatArray | None = None
        """The models at the last checkpoint: one for all nodes, or one per node."""
        self._nodes = setup.graph.n

    @property
    def state(self) -> Snapshot | None:
        """The state of nodes after the last checkpoint, in the form of other trials."""
        if self.models is None:
            return None
        n, p = self._nodes, self.models.shape[1]
        everyone: Any = np.broadcast_to(self.models, (n, p))
        none: Any = np.broadcast_to(0.0, (n, p))
        return take_snapshot(own_observations(n), none, everyone, everyone)

    def repeat_last(self) -> None:
        """Fill in the checkpoints after the end with the last values."""
        curves = (self.objective, self.spread, self.disagreement, self.gradient_error, self.traffic)
        for curve in curves:
            curve[self.written :] = curve[self.written - 1]
        self.written = len(self.objective)


class SolverTrial:
    """A network that learns a model from averages."""

    def __init__(self, setup: SolverSetup, seed: SeedSequence) -> None:
        self._setup, self.record = setup, SolverRecord(setup)
        self._passes = Passes(
            setup.graph, setup.law, setup.timetable, setup.accuracy, seed,
            compiled=setup.engine != "plain",
        )  # fmt: skip
        learning = setup.problem.learning
        assert isinstance(learning.loss, Loss)
        rows, grades = setup.problem.rows(setup.graph.n, are_separate=not self._passes.shared)
        slack = _SLACK if self._passes.shared else setup.accuracy
        # Below the square of the error of averages, gains are chance.
        tolerance = max(setup.tolerance, 0.0 if self._passes.shared else setup.accuracy**2)
        solver = Solver(rows, grades, learning.loss.phi, setup.proximal, tolerance, slack)
        self._asking = solver.run()
        self._answer: Any = None
        self.last: Round | None = None
        """The nodes' state after the last round."""
        self.is_over = False

    def run(self, on_progress: Callable[[int], None]) -> None:
        """Run until the model is optimal, or no rounds are left."""
        made = 0
        while not self.is_over:
            self.advance()
            on_progress(self.record.rounds - made)
            made = self.record.rounds
        on_progress(self._setup.iterations - made)

    def advance(self) -> None:
        """Make the next round; where the model is optimal, end the trial."""
        record = self.record
        while True:
            try:
                asked = self._asking.send(self._answer)
            except StopIteration:
                self._end()
                return
            self._answer = None
            if isinstance(asked, Averaging):
                self._answer = self._passes.average(asked.sums, asked.largest)
            elif not isinstance(asked, Round):
                self._answer = self._passes.agree(*asked)
            else:
                self.last = asked
                record.rounds += 1
                if record.rounds == self._setup.checkpoints[record.written]:
                    self._write(asked)
                if record.rounds == self._setup.iterations:
                    self._end()
                return

    def _end(self) -> None:
        record, last = self.record, self.last
        assert last is not None
        self.is_over = True
        record.promised = last.promised
        if record.written < len(self._setup.checkpoints):
            self._write(last)
            record.repeat_last()

    def traffic(self) -> tuple[int, int, int, int]:
        """Return the traffic until now, in the form of other trials."""
        passes = self._passes
        return passes.exchanges, 0, passes.messages, passes.bytes

    def objectives(self, models: FloatArray) -> FloatArray:
        """Return the objective of every model, penalty included."""
        return self._judge.objectives(models) + penalties(self._setup.proximal, models)

    def _write(self, now: Round) -> None:
        record, at = self.record, self.record.written
        objectives = self._objectives(now)
        if len(now.models) > 1:
            record.objective[at], record.spread[at] = objectives.mean(), objectives.std()
            record.disagreement[at] = disagreement(now.models)
        else:
            record.objective[at], record.spread[at] = objectives[0], 0.0 * objectives[0]
            record.disagreement[at] = 0.0
        record.gradient_error[at] = now.gradient_error
        record.traffic[at] = self.traffic()
        record.models = now.models
        record.written = at + 1

    def _objectives(self, now: Round) -> FloatArray:
        """Return the objectives of the judged nodes' models, or the nodes' own objectives.

        The nodes' own ones are used with weighted rows, where there are no others, and where only
        the end is read and averages are exact. They are NaN before the first evaluation.
        """
        setup = self._setup
        is_exact = self._passes.shared and now.gradient_error <= _EXACT_SLOPES
        only_end = len(setup.checkpoints) == 1 and is_exact
        unjudged = not len(setup.judged) and setup.iterations > 1
        if setup.problem.weights is not None or only_end or unjudged:
            return np.where(np.isfinite(now.objective), now.objective, np.nan)
        judged = now.models[setup.judged] if 0 < len(setup.judged) < len(now.models) else now.models
        return self.objectives(judged)

    @cached_property
    def _judge(self) -> Judge:
        return build_judge(self._setup.engine, self._setup.problem.learning)
