"""Errata of the ergodic theorem, its corollary and the lower bound."""

from __future__ import annotations

import math

import numpy as np

from pairgossip.graphs import Graph, complete, cycle, path, star
from pairgossip.losses import Ball, inverse_sqrt
from pairgossip.theory.ergodic import (
    ergodic_bound,
    leading_constant,
    mixing_horizon,
    optimal_step_constant,
)
from pairgossip.theory.errata.erratum import Erratum, Evidence
from pairgossip.theory.errata.hypotheses import (
    BALL,
    CONVEX,
    NOT_BIPARTITE,
    POWER,
    convex,
    mapped_into_ball,
    not_bipartite,
    power_step,
)
from pairgossip.theory.errata.paths import optimum_of, ranking_problem, run_path, steepness
from pairgossip.theory.lower_bounds import claimed_pairwise_lower_bound, separable_lower_bound
from pairgossip.theory.optimization import DescentConstants, descent_constants


def ergodic_theorem() -> Evidence:
    """The theorem beside a run."""
    graph, T, ball = complete(10), 1_000, Ball(2.0)
    problem = ranking_problem(graph.n)
    L, optimum = steepness(problem), optimum_of(problem, ball)
    step = inverse_sqrt(2.0 / L)
    gap = run_path(problem, graph, T, step, ball).objective
    gap -= float(problem.objectives(optimum[None])[0])
    c = descent_constants(graph, optimum, L, 2.0)
    printed = ergodic_bound(c, T, step, 1 / T, printed=True).total
    corrected = ergodic_bound(c, T, step, 1 / T).total
    return Evidence(
        f"complete graph on 10 nodes, T = 1,000, logistic ranking in a ball: measured gap "
        f"{gap:.3f}, printed bound {printed:.2f}, corrected {corrected:.0f}",
        printed < 0 < gap <= corrected,
        not_bipartite(graph)
        | convex(problem, L)
        | mapped_into_ball(ball, problem.dimension, 2.0)
        | power_step(step),
    )


def ergodic_corollary_terms() -> Evidence:
    """What stands for the mixing time in the two terms of the corollary."""
    T, listed, times, leading = 10_000, [], [], []
    graphs = {"complete 30": complete(30), "cycle 31": cycle(31)}
    for name, graph in graphs.items():
        c = _unit(graph)
        exact, corrected = graph.exact_mixing_time(1 / T), mixing_horizon(c, T)
        speed = abs(math.log(c.gap * (1 - c.gap / 2)))
        first, second = math.log(T) / speed, math.log(T) * speed
        times.append(exact <= corrected and max(first, second) < exact)
        leading.append((first, exact))
        listed.append(f"{name}: {exact} exact, {first:.1f} and {second:.0f} printed, {corrected:g}")
    slower = leading[1][1] > leading[0][1] and leading[1][0] < leading[0][0]
    return Evidence(
        f"mixing time at 1/T = 1e-4: {' corrected; '.join(listed)} corrected; the first printed "
        "one makes the slower graph look faster",
        all(times) and slower,
        not_bipartite(*graphs.values()),
    )


def step_constant() -> Evidence:
    """The printed leading term at the printed and at its best step constant."""
    graph, T = complete(10), 10_000
    c = _unit(graph, radius=1.0)
    C = leading_constant(c, T, printed=True)

    def leading(a: float) -> float:
        return 1 / (2 * a) + a * C

    grid = np.geomspace(1e-3, 10, 2_000)
    found = float(grid[int(np.argmin([leading(float(a)) for a in grid]))])
    printed, best = optimal_step_constant(c, T, printed=True), 1 / math.sqrt(2 * C)
    return Evidence(
        f"complete graph on 10 nodes, T = 10,000, L = ||theta*|| = 1, the printed constants with "
        f"C = {C:.0f}: leading constant {leading(printed):.0f} at a = {printed:g} as printed, "
        f"{leading(best):.0f} at a = {best:.3f}; a search finds {found:.3f}",
        leading(best) < leading(printed) and abs(found / best - 1) < 0.01,
        not_bipartite(graph),
    )


def pairwise_lower_bound() -> Evidence:
    """The printed pairwise bound beside the separable one that already applies."""
    t = np.arange(1, 1_001)
    graphs = {"path 10": path(10), "complete 10": complete(10), "star 10": star(10)}
    listed, shown = [], True
    for name, graph in graphs.items():
        separable = separable_lower_bound(t, 1.0, 1.0, graph.diameter())
        detour = graph.delta_tilde().value
        claimed = claimed_pairwise_lower_bound(t, 1.0, 1.0, detour, printed=True)
        ratio = claimed / separable
        shown &= bool((ratio <= 1 + 1e-12).all())
        listed.append(f"{name} {ratio.min():.2f} to {ratio.max():.2f}")
    return Evidence(f"printed bound over separable bound, t <= 1,000: {', '.join(listed)}", shown)


def _unit(graph: Graph, radius: float = math.inf) -> DescentConstants:
    """L = ||theta*|| = 1."""
    return DescentConstants(graph.n, graph.normalized_gap(), 1.0, 1.0, radius)


ROWS = (
    Erratum(
        "490-508",
        "B",
        "ergodic theorem: C1 with (1 + 12 tau)/2, C2 with 3K, C3 = 2LD(eps + tau/T), tau of 507",
        "proved with 1/2 + (1 + beta) tau, 5K and 4LD(eps + tau/T), the corrected tau and K, and "
        "total variation as half the L1 norm",
        ergodic_theorem,
        {NOT_BIPARTITE: "490", CONVEX: "338", BALL: "338", POWER: "490"},
    ),
    Erratum(
        "541-544, 559-563",
        "B",
        "log(T)/|log c| in one term, |log c| log(T) in the other, both for tau(1/T)",
        "tau_T in both, and D in the last",
        ergodic_corollary_terms,
        {NOT_BIPARTITE: "533"},
    ),
    Erratum(
        "551",
        "B",
        "a = ||theta_0 - theta*||/L minimizes the leading constant",
        "a = ||theta*||/(L sqrt(2C)), where the constant is ||theta*||^2/(2a) + a L^2 C",
        step_constant,
        {NOT_BIPARTITE: "533"},
    ),
    Erratum(
        "585, 2251",
        "C",
        "pairwise lower bound with t/Delta~",
        "true where the separable bound (2213) is, and never above it; its own argument gives "
        "t/(2 Delta~), which is unproved",
        pairwise_lower_bound,
    ),
)
