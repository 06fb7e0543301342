"""Errata of the proofs of the ergodic theorem and of the lower bound."""

from __future__ import annotations

import numpy as np

from pairgossip.graphs import star
from pairgossip.losses import Ball, inverse_sqrt
from pairgossip.theory.errata.erratum import Erratum, Evidence


def decomposition() -> Evidence:
    """The regret taken apart, for arbitrary functions: an identity or not."""
    T, tau = 12, 3
    rng = np.random.default_rng(0)
    f, f_best = rng.normal(size=T), float(rng.normal())
    F = rng.normal(size=(T, T))  # F[t, s]: the model of time t at the observation of time s
    F_best = rng.normal(size=T)
    early, late = np.arange(T - tau), np.arange(tau, T)
    rest = (F[early, late] - F[late, late]).sum() + (F[late, late] - F_best[late]).sum()
    rest += (f[T - tau :] - f_best).sum()
    mixing = F[early, late] - F_best[late]
    regret = (f - f_best).sum()
    printed, corrected = (
        float((f[early] - f_best + sign * mixing).sum() + rest - regret) for sign in (1, -1)
    )
    return Evidence(
        f"arbitrary values, T = 12, tau = 3: the printed sum is off by {abs(printed):.2f}, the "
        f"corrected one by {abs(corrected):.0f}",
        abs(printed) > 0.1 and abs(corrected) < 1e-9,
    )


def error_after_mixing() -> Evidence:
    """Two observations that pull a model to opposite ends of the interval."""
    L, D = 1.0, 1.0
    slopes = np.array([L, -L])
    stationary, now = np.array([0.5, 0.5]), np.array([0.0, 1.0])
    model, best = D, -D
    left = float((stationary - now) @ (slopes * (model - best)))
    distance = float(np.abs(stationary - now).sum() / 2)
    return Evidence(
        f"f = L theta and -L theta on [-D, D], L = D = 1, the walk at the second: left side "
        f"{left:g}, 2LD TV = {2 * L * D * distance:g}, 4LD TV = {4 * L * D * distance:g}",
        2 * L * D * distance < left <= 4 * L * D * distance,
    )


def partial_regret() -> Evidence:
    """Gradients that turn around after tau iterations, and regret counted from there."""
    T, tau, ball, step = 200, 100, Ball(1.0), inverse_sqrt(1.0)
    z, left = np.zeros(1), 0.0
    best = 1.0
    for t in range(1, T + 1):
        theta = ball.map(z, float(step(max(t - 1, 1))), t)
        gradient = 1.0 if t <= tau else -1.0
        if t > tau:
            left += gradient * (float(theta[0]) - best)
        z = z + gradient
    printed = (
        best**2 / (2 * float(step(T))) + sum(float(step(t)) for t in range(tau + 1, T + 1)) / 2
    )
    return Evidence(
        f"gradient 1 for 100 iterations, then -1, in [-1, 1]: regret of the second hundred "
        f"{left:.0f}, printed bound {printed:.1f}, with 2LD tau added {printed + 2 * tau:.0f}",
        printed < left <= printed + 2 * tau,
    )


def running_gap() -> Evidence:
    """How far a model moves in tau iterations under equal gradients."""
    T, tau = 1_000, 20
    t = np.arange(1, T - tau + 1)
    moved = float((np.sqrt(t + tau) - np.sqrt(t)).sum())
    sizes = 1 / np.sqrt(t)
    printed = float((3 * (1 + 1 / (2 * t + 1)) / 2 * sizes).sum())
    corrected = float((1.5 * tau * sizes).sum())
    return Evidence(
        f"equal gradients, gamma = 1/sqrt(t), tau = 20, T = 1,000: models move {moved:.0f} in all, "
        f"printed bound {printed:.0f}, times tau {corrected:.0f}; the last terms of f = L theta at "
        "theta = D against -D are 2LD each",
        printed < moved <= corrected,
    )


def another_walk() -> Evidence:
    """Where the cited theorem's walk ends, and where an auxiliary observation does."""
    graph = star(10)
    theirs = graph.degrees / graph.degrees.sum()
    apart = float(np.abs(theirs - 1 / graph.n).sum() / 2)
    ours = np.linalg.matrix_power(np.eye(10) - graph.laplacian_dense("uniform-edges"), 1_000)
    uniform = float(np.abs(ours - 1 / graph.n).max())
    bound = graph.edge_count / (2 * graph.degrees.min())
    lazy = 1 - graph.spectral_gap() / graph.degrees.max()
    picked = graph.pick_probabilities()
    rate = float((1 - picked + picked * lazy).max())
    tau = np.arange(1, 201)
    spectral = 0.5 * np.sqrt(graph.n - 1) * (1 - graph.normalized_gap()) ** tau
    loose = bool((bound * rate**tau >= spectral).all())
    return Evidence(
        f"star of 10: the walk of the theorem tends to a law {apart:.2f} from uniform in total "
        f"variation, the observation's to {uniform:.0f}; its bound after 100 steps "
        f"{bound * rate**100:.2g}, the corrected one {spectral[99]:.2g}",
        apart > 0.3 and uniform < 1e-12 and loose,
    )


def sums_and_averages() -> Evidence:
    """What one chain term weighs in the objective, printed and corrected."""
    n, slope = 10, 1.0
    separable = n * slope / n
    printed, corrected = n * slope / n**2, n**2 * slope / n**2
    return Evidence(
        f"n = 10: a term n beta theta at one node weighs {separable:g} beta in F, at one pair "
        f"{printed:g} beta, with n^2 {corrected:g} beta",
        printed != separable and corrected == separable,
    )


ROWS = (
    Erratum(
        "1392, 1404, 1836",
        "B",
        "mixing gap f(theta) - f(theta*) + F(theta, xi) - F(theta*, xi)",
        "- F(theta, xi) + F(theta*, xi), as in the main text (517)",
        decomposition,
    ),
    Erratum(
        "1405, 1564",
        "B",
        "2LD TV, from ||theta - theta*|| <= D",
        "4LD TV: D is a radius, so the distance is up to 2D",
        error_after_mixing,
    ),
    Erratum(
        "1478",
        "B",
        "regret from tau + 1 on <= ||theta*||^2/(2 gamma(T)) + (L^2/2) sum gamma",
        "+ 2LD tau: at tau + 1 the accumulator is not zero",
        partial_regret,
    ),
    Erratum(
        "1491, 1499",
        "B",
        "3L^2 sum (1 + 1/(2t + 1))(1 + alpha) gamma for tau iterations; tau LD for the last terms",
        "times tau; 2 tau LD",
        running_gap,
    ),
    Erratum(
        "1846-1858",
        "B",
        "TV <= c(G) c'(G)^tau by the theorem on simple random walks",
        "(1/2) sqrt(n - 1) (1 - x)^tau: that theorem is about another walk",
        another_walk,
    ),
    Erratum(
        "2219, 2229-2234",
        "B",
        "f_i = sum_j f_ij, terms with coefficient n",
        "(1/n) sum_j f_ij, coefficient n^2",
        sums_and_averages,
    ),
)
