"""The step size that an estimator chooses by itself.

The constant 1/C, with C the curvature of the objective, is what a centralized gradient method
would use, and the synchronous algorithm can use it too: every iteration takes a gradient at all
nodes. In the asynchronous one two nodes weigh their gradients by 1/p_k, about n/2, and the noise
of that asks for less: 0.3/(C sqrt(n)).
"""

from __future__ import annotations

import math

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.losses import Loss, Phi, PowerStep, constant
from pairgossip.losses.problem import LearningProblem

BENDING = {Phi.LOGISTIC: 0.25, Phi.HINGE: 1.0, Phi.SQUARED_HINGE: 2.0, Phi.SMOOTHED_HINGE: 1.0}
"""The largest second derivative of phi; the hinge is treated like its smoothed version."""
ASYNCHRONOUS_SHARE = 0.3
NUMBERS_SAMPLED = 2**20
MOST_PAIRS = 20_000
POWER_ITERATIONS = 30


def automatic_step(problem: LearningProblem, clock: str, seed: int) -> PowerStep:
    """Choose a constant step size by the curvature of the objective."""
    steepness = curvature(problem, seed)
    if steepness <= 0:
        return constant(1.0)  # nothing can be learned, and no step does harm
    size = 1.0 / steepness
    if clock == "async":
        size *= ASYNCHRONOUS_SHARE / math.sqrt(problem.n)
    return constant(size)


def curvature(problem: LearningProblem, seed: int) -> float:
    """Bound the curvature: sup phi'' times the largest eigenvalue of the mean of w a a^T.

    The mean is over a random sample of pairs.
    """
    loss = problem.loss
    assert isinstance(loss, Loss)
    count = max(64, min(MOST_PAIRS, NUMBERS_SAMPLED // problem.dimension))
    random = np.random.default_rng(seed)
    first, second = random.integers(problem.n, size=(2, count))
    a, w, _ = problem.pairs(first, second)
    rows = a * np.sqrt(w)[:, None]
    return BENDING[loss.phi.code] * _largest_eigenvalue(rows)


def _largest_eigenvalue(rows: FloatArray) -> float:
    """The largest eigenvalue of rows^T rows / m, by power iteration from the longest row."""
    lengths = np.einsum("ij,ij->i", rows, rows)
    direction = rows[int(lengths.argmax())]
    size = 0.0
    for _ in range(POWER_ITERATIONS):
        norm = float(np.linalg.norm(direction))
        if not norm > 0:
            return size
        direction = rows.T @ (rows @ (direction / norm)) / len(rows)
        size = float(np.linalg.norm(direction))
    return size
