"""A watched learning run: the same numbers as `pairgossip.minimize` with the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.engine.descent import Descent, build_descent
from pairgossip.engine.descent_trial import penalties
from pairgossip.engine.judging import build_judge
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.watch.course import Course
from pairgossip.watch.following import Follower

MOST_JUDGED = 64
"""How many nodes' models are judged at a checkpoint: enough for a curve, few enough for a film."""


class DescentCourse(Course):
    """A network that learns a model; nodes are colored by the model's first coordinate."""

    curve_names = ("objective", "objective_of_mean", "disagreement")

    def __init__(
        self,
        descent: Descent,
        graph: Graph,
        law: str,
        root: SeedSequence,
        checkpoints: IntArray,
        first_coordinate: str,
    ) -> None:
        self._descent = descent
        self._judge = build_judge("auto", descent.problem)
        self._judged = np.unique(
            np.linspace(0, graph.n - 1, min(graph.n, MOST_JUDGED)).astype(np.int64)
        )
        self._first_coordinate = first_coordinate
        self.title = f"dual averaging ({descent.clock}) on {graph.family}"
        super().__init__(graph, law, root, checkpoints)

    def _build(self) -> None:
        self._engine = build_descent("auto", self._descent)
        self.follower = Follower(self.graph.n)
        self._last_objective = np.nan

    def _carry_out(self, drawn: tuple[PairArray, ...]) -> None:
        self._engine.advance(drawn[0])

    def _models(self) -> FloatArray:
        models = self._engine.snapshot().mean
        if not np.isfinite(models).all():
            raise InputError("The models left the floating range: choose a smaller step.")
        return models

    def values(self) -> FloatArray:
        """Return the first coordinate of every node's averaged model."""
        return self._models()[:, 0].copy()

    def deviations(self, values: FloatArray) -> tuple[FloatArray, float | None]:
        """Return how far the coordinates are from their mean, and the mean."""
        middle = float(values.mean())
        return values - middle, middle

    def _objectives(self, models: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._judge.objectives(models) + penalties(self._descent.proximal, models)

    def _curve_point(self) -> tuple[float, ...]:
        models = self._models()
        self._last_objective = float(self._objectives(models[self._judged]).mean())
        of_mean = float(self._objectives(models.mean(axis=0, keepdims=True))[0])
        return self._last_objective, of_mean, _disagreement(models)

    def readouts(self, values: FloatArray) -> dict[str, Any]:
        """Return the objective of the mean model, how far models disagree, and the last mean."""
        models = self._models()
        return {
            "objective": float(self._objectives(models.mean(axis=0, keepdims=True))[0]),
            "of_nodes": self._last_objective,
            "spread": _disagreement(models),
        }

    def described(self) -> dict[str, Any]:
        """Return the kind of run and what colors mean."""
        return {
            "kind": "learning",
            "exact": None,
            "colored": f"weight of {self._first_coordinate}",
            "middle": "mean of the network",
            "judged": len(self._judged),
        }

    def theory(self) -> dict[str, Any]:
        """Say why no bound is drawn."""
        return {"absent": "The bounds on learning need the minimizer, which nobody knows here."}


def _disagreement(models: FloatArray) -> float:
    center = models.mean(axis=0)
    return float(np.sqrt(np.mean(np.sum((models - center) ** 2, axis=1))))
