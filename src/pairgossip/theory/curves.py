"""What theory says about a run, at the run's own checkpoints and in its own units."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pairgossip.algorithms import Expectation, Method
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.kernels import PairProblem
from pairgossip.kernels.pairs import Means
from pairgossip.theory import bounds
from pairgossip.theory.constants import Constants, check_size, constants
from pairgossip.theory.expectation import expected_at, known_expectation

Bounds = tuple[FloatArray, FloatArray]


class TheoryCurves(NamedTuple):
    """Curves over checkpoints; errors are root mean squares over the nodes.

    ``expected_mean``: mean over nodes of E z(t). ``expected_error``: exact size of the bias
    E z(t) - target. ``expectation_bound`` bounds it. ``deviation_bound`` bounds the expected error
    itself (NaN where the paper has no such bound).
    """

    expected_mean: FloatArray
    expected_error: FloatArray
    expectation_bound: FloatArray
    deviation_bound: FloatArray


def theory_curves(
    problem: PairProblem | Means,
    graph: Graph,
    iterations: IntArray,
    *,
    method: Method,
    clock: str,
    order: str,
    law: str,
) -> TheoryCurves:
    """Compute the exact expectation and the bounds that belong to a run."""
    if graph.n < 2:
        raise InputError("A network of one node has no exchanges, so theory says nothing of it.")
    check_size(graph.n)
    known = known_expectation(method, clock)
    if isinstance(problem, Means):
        return _averaging_curves(problem, graph, iterations, known, law)
    if problem.components > 1:
        raise InputError(
            f"'{problem.kernel.name}' is a ratio: theory speaks of its numerator and denominator, "
            "not of their quotient."
        )
    H = problem.matrix()
    by_rows = method.estimates == "row-mean"
    # Estimates are linear in H and exact for constants: the bias comes without cancellation.
    centered = _about_mean(H, axis=1 if by_rows else None)
    bias = expected_at(known, centered, graph, iterations.tolist(), order, law)
    expectation, deviation = BOUNDS[known](constants(H, graph, law), iterations)
    root_n = np.sqrt(graph.n)
    return TheoryCurves(
        H.mean() + bias.mean(axis=1), _rms(bias), expectation / root_n, deviation / root_n
    )


def _gosta_bounds(c: Constants, t: IntArray) -> Bounds:
    deviation = bounds.gosta_deviation_bound(c, t) if c.n > 2 else _unknown(t)
    return bounds.gosta_expectation_bound(c, t), deviation


def _u1_bounds(c: Constants, t: IntArray) -> Bounds:
    return np.linalg.norm(bounds.u1_gossip_bound(c, t), axis=1), _unknown(t)


def _u2_bounds(c: Constants, t: IntArray) -> Bounds:
    return bounds.u2_gossip_bound(c, t), _unknown(t)


BOUNDS: dict[Expectation, Callable[[Constants, IntArray], Bounds]] = {
    Expectation.GOSTA: _gosta_bounds,
    Expectation.U1: _u1_bounds,
    Expectation.U2: _u2_bounds,
}
"""Bounds on the norm over all nodes of the bias, and of the error: NaN where there is none."""


def _averaging_curves(
    means: Means, graph: Graph, iterations: IntArray, known: Expectation, law: str
) -> TheoryCurves:
    centered = _about_mean(means.data)
    bias = expected_at(known, centered, graph, iterations.tolist(), "update-first", law)
    gap, root_n = graph.normalized_gap(law), np.sqrt(graph.n)
    return TheoryCurves(
        means.exact() + bias.mean(axis=1),
        _rms(bias),
        bounds.averaging_expectation_bound(means.data, gap, iterations) / root_n,
        bounds.averaging_bound(means.data, gap, iterations) / root_n,
    )


def _about_mean(values: FloatArray, axis: int | None = None) -> FloatArray:
    """Subtract the mean, and then the mean of what rounding left of it."""
    centered = values - values.mean(axis=axis, keepdims=True)
    return centered - centered.mean(axis=axis, keepdims=True)


def _rms(deviations: FloatArray) -> FloatArray:
    return np.sqrt(np.mean(deviations**2, axis=1))


def _unknown(t: IntArray) -> FloatArray:
    return np.full(len(t), np.nan)
