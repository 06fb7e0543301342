"""What theory says about a run, at the run's own checkpoints and in its own units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.algorithms import Method
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.kernels import PairProblem
from pairgossip.kernels.means import Means
from pairgossip.theory import bounds
from pairgossip.theory.constants import constants
from pairgossip.theory.expectation import expected_estimates
from pairgossip.theory.gossip_spectrum import check_size


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
    if isinstance(problem, Means):
        return _averaging_curves(problem, graph, iterations, law)
    if clock == "async":
        raise InputError(
            "No exact expectation or explicit bound is known for the asynchronous clock."
        )
    if problem.components > 1:
        raise InputError(
            f"'{problem.kernel.name}' is a ratio: theory speaks of its numerator and denominator, "
            "not of their quotient."
        )
    H = problem.matrix()
    by_rows = method.estimates == "row-mean"
    # Estimates are linear in H and exact for constants: the bias comes without cancellation.
    bias = expected_estimates(
        _about_mean(H, axis=1 if by_rows else None),
        graph,
        iterations,
        method=method.name,
        order=order,
        law=law,
    )
    c = constants(H, graph, law)
    root_n = np.sqrt(graph.n)
    deviation = np.full(len(iterations), np.nan)
    if method.name == "gosta":
        expectation = bounds.gosta_expectation_bound(c, iterations) / root_n
        if graph.n > 2:
            deviation = bounds.gosta_deviation_bound(c, iterations) / root_n
    elif method.name == "u1":
        per_node = bounds.u1_gossip_bound(c, iterations)
        expectation = np.linalg.norm(per_node, axis=1) / root_n
    else:
        expectation = bounds.u2_gossip_bound(c, iterations) / root_n
    return TheoryCurves(H.mean() + bias.mean(axis=1), _rms(bias), expectation, deviation)


def _averaging_curves(means: Means, graph: Graph, iterations: IntArray, law: str) -> TheoryCurves:
    centered = _about_mean(means.data)
    bias = expected_estimates(centered, graph, iterations, method="averaging", law=law)
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
