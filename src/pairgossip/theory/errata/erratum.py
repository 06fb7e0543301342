"""One row of the errata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.graphs import Graph
from pairgossip.losses import Proximal
from pairgossip.losses.learning import LearningProblem
from pairgossip.losses.steps import PowerStep


class Evidence(NamedTuple):
    """Numbers in a sentence, and whether they show what the row claims."""

    text: str
    shown: bool
    hypotheses: Mapping[str, bool] = {}
    """By the paper's hypotheses, whether the example satisfies them, computed from the example."""


@dataclass(frozen=True)
class Erratum:
    """A place where the paper and the truth differ, shown within the paper's own hypotheses.

    Severity A breaks an implementation, B makes a bound or claim wrong, C is a slip of the pen,
    an inference, or a remark that does no harm.
    """

    lines: str
    severity: Literal["A", "B", "C"]
    printed: str
    correct: str
    evidence: Callable[[], Evidence]
    assumed: Mapping[str, str] = field(default_factory=dict)
    """The hypotheses of what is printed, and the lines that state them."""

    @property
    def hypotheses(self) -> str:
        """The hypotheses in words, each with its lines; empty if the statement has none."""
        return "; ".join(f"{words} ({lines})" for words, lines in self.assumed.items())


# The hypotheses of the paper, and whether an example satisfies them.
#
# An erratum counts only where the paper's own hypotheses hold: every function here looks at the
# example itself and returns its verdict under the words that the row uses.


SYMMETRIC = "h symmetric"
NOT_BIPARTITE = "graph connected and not bipartite"
NOT_COMPLETE = "graph not complete"
CONVEX = "losses convex and L-Lipschitz"
BALL = "models within radius D"
FALLING = "step sizes not increasing"
POWER = "step size proportional to t^alpha, -1 < alpha < 0"
ASYNCHRONOUS_POWER = "step size c/t^(1/2 + alpha), 0 < alpha < 1/2"

PROBES = 20
"""Pairs of models at which the gradients of a loss are compared."""


def symmetric(*pair_values: FloatArray) -> dict[str, bool]:
    """Look whether all matrices of pair values are symmetric."""
    return {SYMMETRIC: all(np.array_equal(H, H.T) for H in pair_values)}


def not_bipartite(*graphs: Graph) -> dict[str, bool]:
    """Look whether no graph is bipartite; that it is connected, `Graph` has checked."""
    return {NOT_BIPARTITE: not any(graph.is_bipartite() for graph in graphs)}


def not_complete(*graphs: Graph) -> dict[str, bool]:
    """Look whether every graph lacks an edge."""
    return {NOT_COMPLETE: all(2 * g.edge_count < g.n * (g.n - 1) for g in graphs)}


def convex(problem: LearningProblem, steepness: float) -> dict[str, bool]:
    """Look whether the gradients at all pairs are monotone in the model, and short enough."""
    nodes, held = np.divmod(np.arange(problem.n**2), problem.n)
    models = np.random.default_rng(0).normal(size=(2, PROBES, problem.dimension))
    holds = True
    for first, second in zip(*models, strict=True):
        one, other = (
            problem.gradient(np.tile(model, (len(nodes), 1)), nodes, held)
            for model in (first, second)
        )
        holds &= bool(((one - other) @ (first - second) >= -1e-12).all())
        holds &= bool((np.linalg.norm(one, axis=1) <= steepness * (1 + 1e-12)).all())
    return {CONVEX: holds}


def linear(slopes: FloatArray, steepness: float) -> dict[str, bool]:
    """Look whether linear losses, convex by themselves, are flat enough."""
    return {CONVEX: bool((np.abs(slopes) <= steepness).all())}


def in_ball(models: FloatArray, radius: float) -> dict[str, bool]:
    """Look whether no model, given in the last axis, is longer than the radius."""
    return {BALL: bool((np.linalg.norm(models, axis=-1) <= radius * (1 + 1e-12)).all())}


def mapped_into_ball(proximal: Proximal, dimension: int, radius: float) -> dict[str, bool]:
    """Look whether a map from accumulators to models ends in the ball, from however far."""
    far = np.random.default_rng(0).normal(size=(PROBES, dimension)) * 1e6
    return in_ball(proximal.map(far, 1.0, 1.0), radius)


def not_increasing(step: Callable[[FloatArray], FloatArray], horizon: int) -> dict[str, bool]:
    """Look at the step sizes up to the horizon."""
    return {FALLING: bool((np.diff(step(np.arange(1.0, horizon + 1))) <= 0).all())}


def power_step(step: PowerStep) -> dict[str, bool]:
    """Look at the exponent of the synchronous theorems."""
    return {POWER: 0 < step.exponent < 1}


def asynchronous_step(step: PowerStep) -> dict[str, bool]:
    """Look at the exponent of the asynchronous theorems."""
    return {ASYNCHRONOUS_POWER: 0.5 < step.exponent < 1}
