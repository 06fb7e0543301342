"""From the parameters of an estimator to a fit: what the three estimators share.

The step size chosen by default is constant: 1/C, with C the curvature of the objective, is what a
centralized gradient method would use, and the synchronous algorithm can use it too, as every
iteration takes a gradient at all nodes. In the asynchronous one two nodes weigh their gradients by
1/p_k, about n/2, and the noise of that asks for less: 0.3/(C sqrt(n)).
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from pairgossip.arrays import FloatArray
from pairgossip.checks import CLOCKS, choice
from pairgossip.errors import InputError
from pairgossip.inference import Answer, exact
from pairgossip.kernels import Combination, Kernel
from pairgossip.losses import (
    L1,
    Ball,
    Loss,
    Phi,
    PowerStep,
    Proximal,
    SquaredL2,
    as_proximal,
    constant,
    inverse_sqrt,
)
from pairgossip.losses.learning import LearningProblem
from pairgossip.minimization import minimize

_EXCHANGES_PER_NODE = 500
_FEWEST_EXCHANGES = 20_000
"""The default length of a run: per node, and at least."""
_BENDING = {
    Phi.LOGISTIC: 0.25,
    Phi.HINGE: 1.0,
    Phi.SQUARED_HINGE: 2.0,
    Phi.SMOOTHED_HINGE: 1.0,
    Phi.SQUARED: 2.0,
}
"""The largest second derivative of phi; the hinge is treated like its smoothed version."""
_ASYNCHRONOUS_SHARE = 0.3
_NUMBERS_SAMPLED = 2**20
_MOST_PAIRS = 20_000
_POWER_ITERATIONS = 30


def _default_step(problem: LearningProblem, clock: str, seed: int) -> PowerStep:
    """Choose a constant step size by the curvature of the objective."""
    steepness = curvature(problem, seed)
    if steepness <= 0:
        return constant(1.0)  # nothing can be learned, and no step does harm
    size = 1.0 / steepness
    if clock == "async":
        size *= _ASYNCHRONOUS_SHARE / math.sqrt(problem.n)
    return constant(size)


def curvature(problem: LearningProblem, seed: int) -> float:
    """Bound the curvature: sup phi'' times the largest eigenvalue of the mean of w a a^T.

    The mean is over a random sample of pairs.
    """
    loss = problem.loss
    assert isinstance(loss, Loss)
    count = max(64, min(_MOST_PAIRS, _NUMBERS_SAMPLED // problem.dimension))
    random = np.random.default_rng(seed)
    first, second = random.integers(problem.n, size=(2, count))
    a, w, _ = problem.pairs(first, second)
    rows = a * np.sqrt(w)[:, None]
    return _BENDING[loss.phi.code] * _largest_eigenvalue(rows)


def _largest_eigenvalue(rows: FloatArray) -> float:
    """Return the largest eigenvalue of rows^T rows / m, by power iteration."""
    lengths = np.einsum("ij,ij->i", rows, rows)
    direction = rows[int(lengths.argmax())]
    size = 0.0
    for _ in range(_POWER_ITERATIONS):
        norm = float(np.linalg.norm(direction))
        if not norm > 0:
            return size
        direction = rows.T @ (rows @ (direction / norm)) / len(rows)
        size = float(np.linalg.norm(direction))
    return size


def standardize(features: FloatArray, wanted: bool) -> tuple[FloatArray, FloatArray]:
    """Center every column and scale it to standard deviation 1, or only center it.

    Return also what each column was divided by: 1 for a constant column.
    """
    data = np.asarray(features, dtype=np.float64)
    centered = data - data.mean(axis=0)
    scale = np.ones(data.shape[1])
    if wanted:
        spread = centered.std(axis=0)
        # A column that is constant up to rounding stays as it is.
        varies = spread > 1e-12 * np.abs(data).max(axis=0)
        scale[varies] = spread[varies]
    return centered / scale, scale


@dataclass(eq=False, repr=False)
class GossipEstimator(BaseEstimator):  # type: ignore[misc]
    """Parameters and methods common to the estimators; their classes document them."""

    graph: Any = "complete"
    _: KW_ONLY
    phi: str = "logistic"
    clock: str = "async"
    law: str = "uniform-edges"
    iterations: int | None = None
    step: Any = "auto"
    radius: float | None = None
    l2: float = 0.0
    l1: float = 0.0
    standardize: bool = True
    trials: int = 1
    random_state: Any = None
    n_jobs: int | None = None

    def score_interval(self, X: Any, y: Any, level: float = 0.95, groups: Any = None) -> Answer:
        """Return how well rows X with labels y are told apart, with its sampling error.

        It is the share of pairs of rows that the model gets right, ties half: of the classifier
        the AUC, by DeLong, of the others their `score`. The interval is for all rows that could
        be drawn like these. With groups, a label of a site or a patient per row, it is that of
        drawing whole groups, whose rows may be alike.
        """
        data, kernel = self._judged(X, y)
        return exact(data, kernel, "u", interval=level, groups=groups)

    def _judged(self, X: Any, y: Any) -> tuple[FloatArray, Kernel | Combination]:
        """Return rows of what is predicted and the label, and what is counted over their pairs."""
        raise NotImplementedError

    def _train(
        self, X: FloatArray, labels: Any, loss: Loss, constraint: Any, groups: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Run gossip dual averaging on standardized features, one row per node or as grouped.

        Return every node's model, the mean over trials, and what each feature was divided by.
        """
        features, scale = standardize(X, self.standardize)
        as_proximal(constraint, self._penalty())  # raises where the two do not go together
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        clock = choice("clock", self.clock, CLOCKS)
        iterations = self.iterations
        if iterations is None:
            iterations = max(_EXCHANGES_PER_NODE * len(features), _FEWEST_EXCHANGES)
        self.fit_ = minimize(
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
        models: FloatArray = self.fit_.models.mean(axis=0)
        if not np.isfinite(models).all():
            raise InputError("Training diverged: give a smaller step or a radius.")
        return models, scale

    def _step(self, problem: LearningProblem, clock: str, seed: int) -> Any:
        if isinstance(self.step, str):
            choice("step", self.step, ("auto",))
            return _default_step(problem, clock, seed)
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


def refuse_one_class(classes: Any) -> None:
    """Raise `InputError` if all labels are the same."""
    if len(classes) < 2:
        raise InputError(
            f"The labels hold one class only ({classes[0]}): add observations of another class."
        )
