"""A watched run that learns from averages: its rounds, at the exchanges that they take.

A round is computed at once and shown when the exchanges of its averages have passed, so that it can
be watched beside a run of single exchanges, at the same speed and on the same axis.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.engine.descent.trial import disagreement
from pairgossip.engine.solver_trials.trial import SolverSetup, SolverTrial
from pairgossip.solvers.solver import Round
from pairgossip.watch.simulation.runs import WatchedModels

_ABOUT = (
    "Nodes average sums over their rows, from which each computes the gradient over all pairs: a "
    "round ends when they know it."
)


class WatchedSolving(WatchedModels):
    """A network that learns a model in rounds.

    Iterations are exchanges here, whose number is not known beforehand.
    """

    curve_names = ("objective", "objective_of_mean", "disagreement", "exchanges")
    remark = _ABOUT
    _swaps = False
    _setup: SolverSetup
    _trial: SolverTrial

    @property
    def _how(self) -> str:
        return f"sketch ({self._setup.timetable.name})"

    def restart(self) -> None:
        """Go back to before the first round."""
        super().restart()
        self.checkpoints = np.empty(0, dtype=np.int64)
        self._passed = 0
        self._shown: Round | None = None
        self._sent = (0, 0, 0, 0)

    @property
    def iterations(self) -> int:
        """The number of exchanges of the rounds that are known until now."""
        return self._trial.traffic()[0]

    @property
    def done(self) -> int:
        """The number of exchanges that have passed."""
        return self._passed

    @property
    def is_over(self) -> bool:
        """Whether the model is at its best, or rounds are used up."""
        return self._trial.is_over and self._shown is self._trial.last

    @property
    def share(self) -> float:
        """The share that is done, from the expected gain of a further round."""
        if self.is_over or self._shown is None:
            return float(self.is_over)
        left = max(self._shown.promised, self._setup.tolerance)
        return min(math.log(min(left, 1.0)) / math.log(self._setup.tolerance), 1.0)

    def advance(self, iterations: int) -> None:
        """Let exchanges pass, and show the rounds that have ended."""
        if self._trial.last is None:
            self._trial.advance()
        self._passed += iterations
        while not self.is_over and self._passed >= self.iterations:
            self._show_round()
        if self.is_over:
            self._passed = self._sent[0]

    def step(self) -> None:
        """Let the exchanges of the next round pass."""
        if self._trial.last is None:
            self._trial.advance()
        self.advance(max(self.iterations - self._passed, 1))

    def _show_round(self) -> None:
        """Show the computed round, and compute the next one."""
        self._shown, self._sent = self._trial.last, self._trial.traffic()
        self.curves.append(self._curve_point(len(self.curves)))
        if not self._trial.is_over:
            self._trial.advance()

    def sent(self) -> dict[str, int]:
        """Return the number of exchanges of the shown rounds, and of messages and bytes in them."""
        made, local, messages, sent = self._sent
        return {"made": made, "local": local, "messages": messages, "bytes": sent}

    def _models(self) -> FloatArray:
        """Return the models of nodes, a single one if all nodes have the same."""
        assert self._shown is not None
        return self._shown.models

    def _curve_point(self, at: int) -> tuple[float, ...]:
        models, record = self._models(), self._trial.record
        return (
            float(record.objective[at]),
            self._objective_of_mean(models),
            disagreement(models),
            float(self._sent[0]),
        )

    def values(self) -> FloatArray:
        """Return the first coordinate of the models; NaN before the first round."""
        if self._shown is None:
            return np.full(self.graph.n, np.nan)
        return np.broadcast_to(self._models()[:, 0], self.graph.n).copy()

    def readouts(self, values: FloatArray) -> dict[str, Any]:
        """Return objectives and spread after the last round, and the number of rounds."""
        objective, of_mean, spread, _ = self.curves[-1] if self.curves else (np.nan,) * 4
        return {
            "objective": of_mean,
            "of_nodes": objective,
            "spread": spread,
            "rounds": len(self.curves),
        }

    def describe(self) -> dict[str, Any]:
        """Return the constant facts, including that it has rounds and ends by itself."""
        return {**super().describe(), "ends": True, "has_rounds": True}

    def theory(self) -> dict[str, Any]:
        """Return the reason for having no theory."""
        return {"absent": "Rounds of a sketch end at the best model, which has no error to bound."}
