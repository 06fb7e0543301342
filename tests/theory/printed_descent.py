"""The asynchronous algorithm with the paper's mistakes, to show what each of them does.

Kept among the tests only: nothing here is meant to be used.
"""

from __future__ import annotations

import math
from operator import mul

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
    features, w, _ = problem.pairs(nodes, held)
    picked = graph.pick_probabilities("uniform-edges")
    weights = 1 / (np.full(n, picked.mean()) if flaw == "no weights" else picked)
    sign = -1.0 if flaw == "ascent sign" else 1.0
    # Lists: of rows so short, arrays take several times as long.
    a, pushes, rarity = features.tolist(), np.outer(weights, w).tolist(), picked.tolist()
    y, picks = list(range(n)), [0] * n
    z, theta, mean = ([[0.0] * p for _ in range(n)] for _ in range(3))
    for i, j in exchanges.tolist():
        y[i], y[j] = y[j], y[i]
        average = _middle(z[i], z[j])
        for k in (i, j):
            if flaw == "averaging inside":
                average = _middle(z[i], z[j])
            at = k * n + y[k]
            own = [0.0] * p if flaw == "overwritten" else average
            if pushes[k][at]:
                margin = sum(map(mul, theta[k], a[at]))
                push = pushes[k][at] * -0.5 * (1 - math.tanh(margin / 2))
                own = [x + push * u for x, u in zip(own, a[at], strict=True)]
            z[k] = own
            picks[k] += 1
            m = picks[k] / rarity[k]
            gamma = scale / math.sqrt(m)
            shrink = -sign * gamma / (1 + 2 * strength * m * gamma)
            theta[k] = [shrink * x for x in own]
            kept, new = 1 - 1 / picks[k], 0.0 if flaw == "no mean term" else 1 / picks[k]
            mean[k] = [kept * x + new * u for x, u in zip(mean[k], theta[k], strict=True)]
    return np.array(mean)


def _middle(one: list[float], other: list[float]) -> list[float]:
    return [(x + u) / 2 for x, u in zip(one, other, strict=True)]
