"""One row of the errata, and whether its example satisfies the hypotheses of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from pairgossip.algorithms.descent import gossip_dual_averaging_sync as sync
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.graphs import Graph, complete
from pairgossip.losses import Loss, Proximal
from pairgossip.losses.learning import LearningProblem
from pairgossip.losses.steps import PowerStep
from pairgossip_paper.framework.typesetting import Marked, mark_fields, with_marks

_NO_HYPOTHESES: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Evidence:
    """Numbers in a sentence, and whether they show what the row claims."""

    text: str
    shown: bool
    hypotheses: Mapping[str, bool] = field(default_factory=dict)
    """For each hypothesis of the paper, whether the example satisfies it."""

    def __post_init__(self) -> None:
        mark_fields(self, "text")


@dataclass(frozen=True)
class Erratum:
    """An error in print, with evidence within the paper's own hypotheses.

    Severity A breaks an implementation of what is printed, B makes a printed bound or claim
    wrong, C leaves it standing: a slip of the pen, a gap in a proof whose result may hold, an
    inference, or a remark.
    """

    lines: str
    severity: Literal["A", "B", "C"]
    printed: str
    correct: str
    assumed: Mapping[str, str]
    """The hypotheses of what is printed, and the lines that state them."""
    evidence: Callable[[], Evidence]

    def __post_init__(self) -> None:
        mark_fields(self, "printed", "correct")

    @property
    def hypotheses(self) -> str:
        """The hypotheses in words, each with its lines; empty if the statement has none."""
        listed = [f"{with_marks(words)} ({lines})" for words, lines in self.assumed.items()]
        return Marked("; ".join(listed))


def erratum(
    lines: str,
    severity: Literal["A", "B", "C"],
    printed: str,
    correct: str,
    assumed: Mapping[str, str] = _NO_HYPOTHESES,
) -> Callable[[Callable[[], Evidence]], Erratum]:
    """Turn the function that computes a row's evidence into the row."""
    return partial(Erratum, lines, severity, printed, correct, assumed)


# An erratum counts only where the paper's own hypotheses hold. Each function below checks one of
# them on an example, and returns the result under the words that the row uses.


SYMMETRIC = Marked("`h` symmetric")
NOT_BIPARTITE = "graph connected and not bipartite"
NOT_COMPLETE = "graph not complete"
CONVEX = "losses convex and L-Lipschitz"
BALL = Marked("models within radius `D`")
FALLING = "step sizes not increasing"
POWER = Marked("step size proportional to `t^alpha`, `-1 < alpha < 0`")
ASYNCHRONOUS_POWER = Marked("step size `c/t^(1/2 + alpha)`, `0 < alpha < 1/2`")

_PROBES = 20
"""Number of random probes of a hypothesis: pairs of models, or accumulators."""


def symmetric(*pair_values: FloatArray) -> dict[str, bool]:
    """Check that all matrices of pair values are symmetric."""
    return {SYMMETRIC: all(np.array_equal(H, H.T) for H in pair_values)}


def not_bipartite(*graphs: Graph) -> dict[str, bool]:
    """Check that no graph is bipartite; every `Graph` is connected."""
    return {NOT_BIPARTITE: not any(graph.is_bipartite() for graph in graphs)}


def not_complete(*graphs: Graph) -> dict[str, bool]:
    """Check that every graph lacks an edge."""
    return {NOT_COMPLETE: all(2 * g.edge_count < g.n * (g.n - 1) for g in graphs)}


def convex(problem: LearningProblem, steepness: float) -> dict[str, bool]:
    """Check that the gradients at all pairs are monotone in the model, and not longer than L."""
    nodes, held = np.divmod(np.arange(problem.n**2), problem.n)
    models = np.random.default_rng(0).normal(size=(2, _PROBES, problem.dimension))
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
    """Check that linear losses, which are always convex, have slopes of at most L."""
    return {CONVEX: bool((np.abs(slopes) <= steepness).all())}


def in_ball(models: FloatArray, radius: float) -> dict[str, bool]:
    """Check that no model, given in the last axis, is longer than the radius."""
    return {BALL: bool((np.linalg.norm(models, axis=-1) <= radius * (1 + 1e-12)).all())}


def mapped_into_ball(proximal: Proximal, dimension: int, radius: float) -> dict[str, bool]:
    """Check that accumulators, even large ones, are mapped to models in the ball."""
    far = np.random.default_rng(0).normal(size=(_PROBES, dimension)) * 1e6
    return in_ball(proximal.map(far, 1.0, 1.0), radius)


def not_increasing(step: Callable[[FloatArray], FloatArray], horizon: int) -> dict[str, bool]:
    """Check that no step size up to the horizon exceeds the one before."""
    return {FALLING: bool((np.diff(step(np.arange(1.0, horizon + 1))) <= 0).all())}


def power_step(step: PowerStep) -> dict[str, bool]:
    """Check the exponent of t against the hypothesis of the synchronous theorems."""
    return {POWER: 0 < step.exponent < 1}


def asynchronous_step(step: PowerStep) -> dict[str, bool]:
    """Check the exponent of t against the hypothesis of the asynchronous theorems."""
    return {ASYNCHRONOUS_POWER: 0.5 < step.exponent < 1}


# The examples: small graphs and problems, and runs of the plain algorithms on them.


def clique_with_pendant(clique: int) -> Graph:
    """Return a complete graph with one more node attached to it: a small bottleneck."""
    edges = complete(clique).edges.tolist()
    return Graph(clique + 1, [*edges, [clique - 1, clique]])


class Path(NamedTuple):
    """The record of one synchronous run, at the models where gradients were taken."""

    bias: FloatArray
    """The mean gradient taken minus the mean of nodes' exact gradients, shape (T, p)."""
    network_model: FloatArray
    """omega(t), the model of the mean accumulator, shape (T, p)."""
    disagreement: FloatArray
    """Mean distance of two nodes' models plus that of a model from omega(t), shape (T,)."""
    objective: float
    """Mean over nodes of F at the mean of a node's models."""

    def bound_term(self, optimum: FloatArray) -> FloatArray:
        """Return (theta* - omega(t)) . eps(t), shape (T,)."""
        return np.einsum("tp,tp->t", optimum - self.network_model, self.bias)


def ranking_problem(n: int = 10, seed: int = 0) -> LearningProblem:
    """Return the ranking problem of two overlapping classes with three features."""
    labels = np.arange(n) % 2
    noise = np.random.default_rng(seed).normal(size=(n, 3))
    features = noise + 0.8 * np.outer(labels, [1.0, -0.5, 0.3])
    return LearningProblem(np.column_stack([features, labels]), "auc-logistic")


def _apart(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return pair features between -1, for a node's own pair, and 1, for distant observations."""
    return 1 - 2 * np.exp(-((first - second) ** 2))


def biased_problem(n: int, seed: int = 0, phi: str = "smoothed-hinge") -> LearningProblem:
    """Return a problem whose gradients point backward until the observations have moved."""
    data = 10 * np.random.default_rng(seed).normal(size=(n, 2))
    return LearningProblem(data, Loss(_apart, phi, name="apart"))


def exchanges(graph: Graph, count: int, seed: int = 0) -> PairArray:
    """Draw edges uniformly, one per exchange."""
    drawn = np.random.default_rng(seed).integers(graph.edge_count, size=count)
    return graph.edges[drawn]


def run_path(
    problem: LearningProblem,
    graph: Graph,
    horizon: int,
    step: PowerStep,
    proximal: Proximal,
    seed: int = 0,
) -> Path:
    """Run the synchronous algorithm and record the terms of the general rate."""
    everyone = np.arange(problem.n)
    state = sync.init(problem.n, problem.dimension)
    bias, network_model, disagreement = [], [], []
    total = np.zeros_like(state.models.theta)
    for t, pair in enumerate(exchanges(graph, horizon, seed)[:, None], start=1):
        theta, z = state.models.theta, state.models.z
        state = sync.step(state, pair, problem.gradient, proximal.map, step(t))
        taken = problem.gradient(theta, everyone, state.held)
        omega = proximal.map(z.mean(axis=0), step(t - 1), t - 1)
        bias.append((taken - problem.own_gradients(theta)).mean(axis=0))
        network_model.append(omega)
        between = np.linalg.norm(theta[:, None] - theta[None], axis=2).mean()
        disagreement.append(between + np.linalg.norm(theta - omega, axis=1).mean())
        total += theta
    objective = float(problem.objectives(total / horizon).mean())
    return Path(np.array(bias), np.array(network_model), np.array(disagreement), objective)


def optimum_of(problem: LearningProblem, proximal: Proximal, iterations: int = 400) -> FloatArray:
    """Return the best model within the constraint, by projected gradient descent."""
    theta = np.zeros(problem.dimension)
    for _ in range(iterations):
        theta = proximal.project(theta - mean_gradient(problem, theta))
    return theta


def mean_gradient(problem: LearningProblem, theta: FloatArray) -> FloatArray:
    """Return the gradient of F at one model."""
    return problem.own_gradients(np.tile(theta, (problem.n, 1))).mean(axis=0)


def steepness(problem: LearningProblem) -> float:
    """Return L, the largest norm of a gradient at a pair."""
    assert isinstance(problem.loss, Loss)
    return problem.loss.lipschitz(problem.data)
