"""Small problems, and runs of the plain algorithms on them, for the evidence on optimization."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.algorithms import gossip_dual_averaging_sync as sync
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.graphs import Graph
from pairgossip.losses import Loss, Proximal
from pairgossip.losses.problem import LearningProblem
from pairgossip.losses.steps import PowerStep


class Path(NamedTuple):
    """What one synchronous run leaves behind, at the models where gradients were taken."""

    bias: FloatArray
    """The mean gradient taken minus the mean gradient meant, shape (T, p)."""
    network_model: FloatArray
    """omega(t), the model of the mean accumulator, shape (T, p)."""
    disagreement: FloatArray
    """Mean distance of two nodes' models plus that of a model from omega(t), shape (T,)."""
    objective: float
    """Mean over nodes of F at the mean of a node's models."""

    def bound_term(self, optimum: FloatArray) -> FloatArray:
        """(theta* - omega(t)) . eps(t), shape (T,)."""
        return np.einsum("tp,tp->t", optimum - self.network_model, self.bias)


def ranking_problem(n: int = 10, seed: int = 0) -> LearningProblem:
    """Two overlapping classes of three features, to be ranked."""
    labels = np.arange(n) % 2
    noise = np.random.default_rng(seed).normal(size=(n, 3))
    features = noise + 0.8 * np.outer(labels, [1.0, -0.5, 0.3])
    return LearningProblem(np.column_stack([features, labels]), "auc-logistic")


def apart(first: FloatArray, second: FloatArray) -> FloatArray:
    """Pair features between -1, for a node's own pair, and 1, for distant observations."""
    return 1 - 2 * np.exp(-((first - second) ** 2))


def biased_problem(n: int, seed: int = 0, phi: str = "smoothed-hinge") -> LearningProblem:
    """Far apart observations: until they have moved, every node's gradient points backward."""
    data = 10 * np.random.default_rng(seed).normal(size=(n, 2))
    return LearningProblem(data, Loss(apart, phi, name="apart"))


def exchanges(graph: Graph, count: int, seed: int = 0) -> PairArray:
    """Edges drawn uniformly."""
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
    """Run the synchronous algorithm and write down what the general rate speaks of."""
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
    """The best model of the constraint's set, by projected gradient descent."""
    theta = np.zeros(problem.dimension)
    for _ in range(iterations):
        theta = proximal.project(theta - mean_gradient(problem, theta))
    return theta


def mean_gradient(problem: LearningProblem, theta: FloatArray) -> FloatArray:
    """The gradient of F at one model."""
    return problem.own_gradients(np.tile(theta, (problem.n, 1))).mean(axis=0)


def steepness(problem: LearningProblem) -> float:
    """L: the largest norm of a gradient at a pair."""
    assert isinstance(problem.loss, Loss)
    return problem.loss.lipschitz(problem.data)
