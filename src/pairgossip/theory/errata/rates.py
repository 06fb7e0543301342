"""Errata of the general rate of gossip dual averaging and of the lemmas it rests on."""

from __future__ import annotations

import numpy as np

from pairgossip.algorithms import dual_averaging
from pairgossip.arrays import FloatArray
from pairgossip.graphs import complete, cycle, path, star, torus
from pairgossip.losses import Ball, Unconstrained, inverse_sqrt, power
from pairgossip.theory.disagreement import dispersion_bound
from pairgossip.theory.errata.erratum import Erratum, Evidence
from pairgossip.theory.errata.paths import (
    biased_problem,
    exchanges,
    optimum_of,
    ranking_problem,
    run_path,
    steepness,
)
from pairgossip.theory.optimization import descent_constants, general_rate


def dispersion() -> Evidence:
    """Half of the nodes always push up, half always push down."""
    graph, runs, iterations = complete(4), 1_000, 300
    gradients = np.array([1.0, 1.0, -1.0, -1.0])
    z, rows = np.zeros((runs, graph.n)), np.arange(runs)[:, None]
    rng, apart = np.random.default_rng(0), 0.0
    for t in range(iterations):
        pairs = graph.edges[rng.integers(graph.edge_count, size=runs)]
        z[rows, pairs] = z[rows, pairs].mean(axis=1, keepdims=True)
        z += gradients
        if t >= 100:
            apart += float(np.abs(z - z.mean(axis=1, keepdims=True)).mean()) / (iterations - 100)
    x = graph.normalized_gap()
    printed, corrected = dispersion_bound(1.0, x, printed=True), dispersion_bound(1.0, x)
    return Evidence(
        f"complete graph on 4 nodes, constant gradients 1 and -1: mean distance of accumulators "
        f"from their mean {apart:.2f}, printed bound {printed:.2f}, corrected {corrected:.2f}",
        printed < apart <= corrected,
    )


def bias_sign() -> Evidence:
    """The general rate on every path, with measured disagreement and either sign of the bias."""
    ball, runs, violated, worst, corrected = Ball(1.0), 0, 0, 0.0, 0
    for graph in (complete(10), cycle(9), star(10), torus(4, 4)):
        for seed in range(5):
            problem = biased_problem(graph.n, seed)
            L, optimum = steepness(problem), optimum_of(problem, ball, 100)
            gap = -float(problem.objectives(optimum[None])[0])
            c, step = descent_constants(graph, optimum, L, 1.0), inverse_sqrt(1 / L)
            for T in (3, 8):
                run = run_path(problem, graph, T, step, ball, seed)
                rate = general_rate(
                    c, T, step, bias=run.bound_term(optimum), disagreement=run.disagreement
                )
                excess = gap + run.objective - rate.total
                runs, corrected = runs + 1, corrected + (excess > 1e-9)
                violated += excess + 2 * rate.C3 > 1e-9
                worst = max(worst, excess + 2 * rate.C3)
    return Evidence(
        f"{runs} short runs on four graphs: the printed sign is violated in {violated}, by up to "
        f"{worst:.2f}, the corrected one in {corrected}",
        violated > 0 and corrected == 0,
    )


def any_node() -> Evidence:
    """The step of the proof that takes one node for another."""
    z = np.array([-1.0, 0.0, 1.0])
    between = np.abs(z[:, None] - z[None]).mean(axis=1)
    center = 2 * np.abs(z - z.mean())
    return Evidence(
        f"accumulators -1, 0, 1: the middle node's mean distance to the others is "
        f"{between[1]:.2f}, printed bound {center[1]:.2f}; averaged over nodes, "
        f"{between.mean():.2f} and {center.mean():.2f}",
        between[1] > center[1] and between.mean() <= center.mean(),
    )


def first_step_size() -> Evidence:
    """The regret of one step against the best comparison."""
    gradient, size = 1.0, 1.0
    comparison = -size * gradient
    left = gradient * (0 - comparison)
    right = [first / 2 * gradient**2 + comparison**2 / (2 * size) for first in (0.0, size)]
    return Evidence(
        f"T = 1, gradient 1, gamma(1) = 1, comparison -1: left side {left:g}, right side "
        f"{right[0]:g} with gamma(0) = 0, {right[1]:g} with gamma(0) = gamma(1)",
        right[0] < left <= right[1],
    )


def consecutive_iterates() -> Evidence:
    """A gradient that turns around after many equal ones."""
    step, alpha, last = power(1.0, 0.9), -0.9, 1_000

    def up(theta: FloatArray) -> FloatArray:
        return np.ones_like(theta)

    def down(theta: FloatArray) -> FloatArray:
        return -np.ones_like(theta)

    state, moved = dual_averaging.init(1), 0.0
    for t in range(1, last + 2):
        before = state.theta
        state = dual_averaging.step(state, up if t <= last else down, Unconstrained().map, step(t))
        moved = float(np.abs(state.theta - before).max())
    printed = 3 * (1 + 1 / (2 * last + 1)) * (1 + alpha)
    ratio, sharp = moved / step(last), 1 + abs(alpha)
    return Evidence(
        f"alpha = {alpha:g}, {last:,} equal gradients and one opposite: the model moves "
        f"{ratio:.2f} L gamma, printed bound {printed:.2f} L gamma, corrected {sharp:.2f} L gamma",
        printed < ratio <= sharp + 0.01,
    )


def node_jumps() -> Evidence:
    """One node of a long path, when it averages with a neighbor."""
    graph, step, T = path(30), inverse_sqrt(1.0), 10_000
    gradients = np.where(np.arange(graph.n) < graph.n // 2, 1.0, -1.0)
    z, worst = np.zeros(graph.n), 0.0
    before = z
    for t, (i, j) in enumerate(exchanges(graph, T), start=1):
        z[i] = z[j] = (z[i] + z[j]) / 2
        z += gradients
        theta = -step(t) * z
        worst = max(worst, float(np.abs(theta - before).max()) / (6 * step(t)))
        before = theta
    return Evidence(
        f"path of 30 nodes, gradients 1 and -1 on its halves: a node's model moves by up to "
        f"{worst:.0f} times the printed bound 6 L gamma",
        worst > 2,
    )


def plotted_bias() -> Evidence:
    """The plotted term and the term of the bound at the first iteration."""
    graph, ball = complete(10), Ball(2.0)
    problem = ranking_problem(graph.n)
    run = run_path(problem, graph, 1, inverse_sqrt(1.0), ball)
    plotted = float(run.bias[0] @ run.network_model[0])
    term = float(run.bound_term(optimum_of(problem, ball))[0])
    size = float(np.linalg.norm(run.bias[0]))
    return Evidence(
        f"complete graph on 10 nodes, t = 1: plotted term {abs(plotted):g}, term of the bound "
        f"{term:.2f}, size of the bias {size:.2f}",
        plotted == 0 and term > 0.01,
    )


ROWS = (
    Erratum(
        "425, 499, 540, 558, 1719",
        "B",
        "K = 1/(1 - sqrt(1 - lambda/|E|))",
        "1/(1 - sqrt(1 - lambda/(2|E|)))",
        dispersion,
    ),
    Erratum(
        "426, 1930, 1958",
        "B",
        "C_3 = (1/T) sum E (omega - theta*) . eps",
        "the opposite sign: (1/T) sum E (theta* - omega) . eps",
        bias_sign,
    ),
    Erratum(
        "416, 492, 1826",
        "B",
        "the rates hold for any node i",
        "on average over the nodes; for one node 3 becomes 2 + sqrt(n)",
        any_node,
    ),
    Erratum(
        "424, 1117, 1122, 1174, 1227",
        "B",
        "gamma(0) = 0, sums of gamma(1) .. gamma(T-1)",
        "gamma(0) = gamma(1), sums of gamma(0) .. gamma(T-1)",
        first_step_size,
    ),
    Erratum(
        "1426, 1430, 1652",
        "B",
        "consecutive models differ by at most 3L(1 + 1/(2t + 1))(1 + alpha) gamma",
        "(1 + |alpha|) L gamma; 6 L gamma is true",
        consecutive_iterates,
    ),
    Erratum(
        "1860",
        "B",
        "a node's model moves by at most 6 L gamma per iteration",
        "only the network's model does; a node's jumps when it averages",
        node_jumps,
    ),
    Erratum(
        "643",
        "B",
        "the bias term is eps . omega",
        "(theta* - omega) . eps enters the bound",
        plotted_bias,
    ),
)
