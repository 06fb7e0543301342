"""The asynchronous algorithm with the paper's mistakes, to show what each of them does.

Kept among the tests only: nothing here is meant to be used.
"""

from __future__ import annotations

import math

import numpy as np

from pairgossip.arrays import FloatArray, PairArray
from pairgossip.graphs import Graph
from pairgossip.losses.learning import LearningProblem

FLAWS = ("ascent sign", "averaging inside", "overwritten", "no mean term", "no weights")


def flawed_run(
    problem: LearningProblem,
    graph: Graph,
    exchanges: PairArray,
    scale: float,
    strength: float,
    flaw: str | None = None,
) -> FloatArray:
    """Return the averaged models after an asynchronous run with one of the `FLAWS`, or none.

    Logistic loss, step size scale/sqrt(t), penalty strength ||theta||^2.
    """
    n, p = problem.n, problem.dimension
    nodes, held = np.divmod(np.arange(n * n), n)
    a, w, _ = problem.pairs(nodes, held)
    picked = graph.pick_probabilities("uniform-edges")
    weights = 1 / (np.full(n, picked.mean()) if flaw == "no weights" else picked)
    sign = -1.0 if flaw == "ascent sign" else 1.0
    y, picks = list(range(n)), [0] * n
    z, theta, mean = np.zeros((n, p)), np.zeros((n, p)), np.zeros((n, p))
    for i, j in exchanges.tolist():
        y[i], y[j] = y[j], y[i]
        average = (z[i] + z[j]) / 2
        for k in (i, j):
            if flaw == "averaging inside":
                average = (z[i] + z[j]) / 2
            at = k * n + y[k]
            z[k] = 0.0 if flaw == "overwritten" else average
            if w[at]:
                slope = -0.5 * (1 - math.tanh(float(theta[k] @ a[at]) / 2))
                z[k] += weights[k] * w[at] * slope * a[at]
            picks[k] += 1
            m = picks[k] / picked[k]
            gamma = scale / math.sqrt(m)
            theta[k] = -sign * gamma / (1 + 2 * strength * m * gamma) * z[k]
            mean[k] *= 1 - 1 / picks[k]
            if flaw != "no mean term":
                mean[k] += theta[k] / picks[k]
    return mean
