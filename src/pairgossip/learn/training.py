"""From the parameters of an estimator to a fit: what the three estimators share."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from pairgossip.arrays import FloatArray
from pairgossip.checks import choice
from pairgossip.errors import InputError
from pairgossip.learn.auto_step import automatic_step
from pairgossip.losses import (
    L1,
    Ball,
    Loss,
    Proximal,
    SquaredL2,
    as_proximal,
    inverse_sqrt,
)
from pairgossip.losses.problem import LearningProblem
from pairgossip.minimization import CLOCKS, minimize
from pairgossip.results.fit import Fit

EXCHANGES_PER_NODE = 500
FEWEST_EXCHANGES = 20_000
"""The default length of a run: per node, and at least."""


class Standardized(NamedTuple):
    """Features of mean 0 and standard deviation 1, and how to go back."""

    features: FloatArray
    scale: FloatArray
    """What each column was divided by; 1 for a constant column."""


def standardized(features: FloatArray, wanted: bool) -> Standardized:
    """Center and scale every column, or only center it."""
    data = np.asarray(features, dtype=np.float64)
    centered = data - data.mean(axis=0)
    scale = np.ones(data.shape[1])
    if wanted:
        spread = centered.std(axis=0)
        # A column that is constant up to rounding stays as it is.
        varies = spread > 1e-12 * np.abs(data).max(axis=0)
        scale[varies] = spread[varies]
    return Standardized(centered / scale, scale)


class GossipEstimator(BaseEstimator):  # type: ignore[misc]
    """Parameters and methods common to the estimators; their classes document them."""

    def _train(
        self, features: FloatArray, labels: Any, loss: Loss, constraint: Any, groups: Any
    ) -> Fit:
        """Run gossip dual averaging on standardized features, one row per node or as grouped."""
        as_proximal(constraint, self._penalty())  # complains of what does not go together
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        clock = choice("clock", self.clock, CLOCKS)
        iterations = self.iterations
        if iterations is None:
            iterations = max(EXCHANGES_PER_NODE * len(features), FEWEST_EXCHANGES)
        return minimize(
            features,
            labels,
            loss,
            self.graph,
            groups=groups,
            clock=clock,
            law=self.law,
            iterations=iterations,
            checkpoints=1,
            step=self._step(LearningProblem(features, loss, labels), clock, seed),
            constraint=constraint,
            penalty=self._penalty(),
            trials=self.trials,
            seed=seed,
            bias=False,
            n_jobs=self.n_jobs,
            progress=False,
        )

    def _step(self, problem: LearningProblem, clock: str, seed: int) -> Any:
        if isinstance(self.step, str):
            choice("step", self.step, ("auto",))
            return automatic_step(problem, clock, seed)
        if isinstance(self.step, Real):
            return inverse_sqrt(float(self.step))
        return self.step

    def _penalty(self) -> Proximal | None:
        if self.l1 and self.l2:
            raise InputError("Both l1 and l2 are given: choose one of the two penalties.")
        if self.l1:
            return L1(self.l1)
        return SquaredL2(self.l2) if self.l2 else None

    def _ball(self) -> Ball | None:
        return None if self.radius is None else Ball(self.radius)


def linear_models(fit: Fit, scale: FloatArray) -> FloatArray:
    """Every node's linear model in the units of the features, shape (nodes, features)."""
    models = fit.models.mean(axis=0) / scale
    if not np.isfinite(models).all():
        raise InputError("Training diverged: give a smaller step or a radius.")
    return models
