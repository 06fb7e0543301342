"""The theory of a run, at the run's own checkpoints and in its own units."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pairgossip.algorithms.methods import Expectation, Method
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import CONTINUIZED, RANDOM
from pairgossip.errors import InputError
from pairgossip.graphs import Changing, Graph
from pairgossip.graphs.laws import LawLike
from pairgossip.graphs.orders import RANDOM_COURSE, Course
from pairgossip.kernels import Combination, Problem
from pairgossip.theory import bounds
from pairgossip.theory.averaging import LARGEST_EXACT, averaging_error, sweep_error
from pairgossip.theory.bounds import check_size, constants, gossip_spectrum
from pairgossip.theory.expectation import BOUNDS, EXPECTED, known_expectation

_LARGEST_SWEPT = 50_000
"""The largest number of nodes for which sweeps are computed from several places: seconds."""


class TheoryCurves(NamedTuple):
    """Curves over checkpoints; errors are root mean squares over the nodes.

    ``expected_mean``: mean over nodes of E z(t). ``expected_error``: exact size of the bias
    E z(t) - target. ``expectation_bound`` bounds it. ``deviation_bound`` bounds the expected error
    itself. ``error`` is that error itself, where nodes only average. ``sampling`` is the error of
    the mean of as many random pairs, all different. Unknown numbers are NaN.
    """

    expected_mean: FloatArray
    expected_error: FloatArray
    expectation_bound: FloatArray
    deviation_bound: FloatArray
    error: FloatArray
    sampling: FloatArray


def theory_curves(
    problem: Problem,
    graph: Graph,
    iterations: IntArray,
    *,
    method: Method,
    clock: str,
    order: str,
    course: Course = RANDOM_COURSE,
) -> TheoryCurves:
    """Compute the exact expectation and the bounds that belong to a run."""
    if graph.n < 2:
        raise InputError("A network of one node has no exchanges, so it has no theory: add nodes.")
    check_known(method, clock, course.schedule)
    unknown = np.full(len(iterations), np.nan)
    if isinstance(graph, Changing):
        return _changing_curves(problem, graph, iterations, method, course)
    if method.averages and (
        method.sketches or course.schedule != RANDOM or course.relaxation != 0.5
    ):
        error = _averaging_error(problem, graph, iterations, course)
        return TheoryCurves(unknown, unknown, unknown, unknown, error, unknown)
    check_size(graph.n)
    known, law = known_expectation(method, clock), course.law
    deviation = error = sampling = unknown
    if method.averages:
        values, mean = problem.features[:, 0], problem.exact()
        gap = (1 - course.loss) * graph.normalized_gap(law)
        expectation = bounds.averaging_expectation_bound(values, gap, iterations)
        deviation = bounds.averaging_bound(values, gap, iterations)
        if graph.n <= LARGEST_EXACT:
            error = averaging_error(values, graph, iterations, law, loss=course.loss)
    elif isinstance(problem.kernel, Combination):
        raise InputError(
            f"'{problem.kernel.name}' is a function of averages, such as a ratio: theory is known "
            "for each of these averages, not for the function."
        )
    else:
        values = problem.matrix()
        mean = values.mean()
        sizes = constants(values, graph, law)
        sizes = replace(sizes, gap=(1 - course.loss) * sizes.gap)
        expectation = BOUNDS[known](sizes, iterations)
        if known is Expectation.GOSTA and graph.n > 2 and not course.loss:
            deviation = bounds.gosta_deviation_bound(sizes, iterations)
        if method.estimates == "statistic" and not course.loss:
            sampling = sampling_error(values, 2 * method.exchanges_per_iteration * iterations)
    # Estimates are linear in the values and exact for constants: no cancellation in the bias.
    axis = 1 if method.estimates == "row-mean" else None
    centered = values - values.mean(axis=axis, keepdims=True)
    centered -= centered.mean(axis=axis, keepdims=True)  # remove rounding errors
    at = EXPECTED[known](centered, gossip_spectrum(graph, law, course.loss), order)
    bias = np.array([at(t) for t in iterations.tolist()])
    size, root_n = np.sqrt(np.mean(bias**2, axis=1)), np.sqrt(graph.n)
    return TheoryCurves(
        mean + bias.mean(axis=1), size, expectation / root_n, deviation / root_n, error, sampling
    )


def _changing_curves(
    problem: Problem, graph: Changing, iterations: IntArray, method: Method, course: Course
) -> TheoryCurves:
    """Return the expected averages: products of the graphs' expected exchanges."""
    if not method.averages or method.sketches or course.relaxation != 0.5:
        raise InputError(
            "On a network that changes, theory knows the expectation of plain averages only: "
            "measure other methods."
        )
    values, mean = problem.features[:, 0], problem.exact()
    bias = expected_averages(values - values.mean(), graph, iterations, course.law)
    unknown = np.full(len(iterations), np.nan)
    size = np.sqrt(np.mean(bias**2, axis=1))
    return TheoryCurves(mean + bias.mean(axis=1), size, unknown, unknown, unknown, unknown)


def expected_averages(
    values: FloatArray, graph: Changing, iterations: IntArray, law: LawLike
) -> FloatArray:
    """Return E z(t) of averaging on a network that changes, shape (len(iterations), n)."""
    spectra = [gossip_spectrum(each, law) for each in graph.graphs]

    def serve(z: FloatArray, number: int, times: int) -> FloatArray:
        vectors, _, average = spectra[number % len(spectra)]
        return np.asarray(vectors @ ((average**times)[:, None] * (vectors.T @ z)))

    turn = np.eye(graph.n)
    for number in range(len(spectra)):
        turn = serve(turn, number, graph.every)
    expected = []
    for t in np.asarray(iterations).tolist():
        turns, rest = divmod(t, graph.every * len(spectra))
        z = np.linalg.matrix_power(turn, turns) @ values[:, None]
        whole, left = divmod(rest, graph.every)
        for number in range(whole):
            z = serve(z, number, graph.every)
        expected.append(serve(z, whole, left)[:, 0])
    return np.array(expected)


def check_known(method: Method, clock: str, schedule: str) -> None:
    """Raise `InputError` where there is no theory for the method on this schedule."""
    if method.averages:
        if schedule == CONTINUIZED:
            raise InputError(f"The exact error on schedule '{schedule}' is not known.")
        return
    if schedule != RANDOM:
        raise InputError("No exact expectation or bound is known for ordered exchanges of pairs.")
    known_expectation(method, clock)


def sampling_error(values: FloatArray, pairs: IntArray) -> FloatArray:
    """Return the root mean square error of the mean of ``pairs`` different pairs of rows.

    ``values`` is the matrix of all pairs.
    """
    left = np.maximum(1 - np.asarray(pairs) / values.size, 0.0)
    return np.asarray(values.std(ddof=1) * np.sqrt(left / pairs))


def _averaging_error(
    problem: Problem, graph: Graph, iterations: IntArray, course: Course
) -> FloatArray:
    """Return the error of averaging, and of the sketch if there is one, added in squares."""
    if len(problem.holders):
        raise InputError(
            "Theory does not know when all nodes know the range of the rows: declare it, as in "
            "pg.sketches.Bins(16, range=(0, 1)), to see the theory beside the run."
        )
    values, floor = problem.linearized()
    if course.schedule == RANDOM:
        how = course.law, course.relaxation, course.loss
        error = averaging_error(values, graph, iterations, *how)
    elif course.sweep is not None:
        if graph.n > _LARGEST_SWEPT:
            raise InputError(
                f"The exact error of sweeps is computed up to {_LARGEST_SWEPT:,} nodes, not for "
                f"{graph.n:,}."
            )
        error = sweep_error(values, course.sweep, iterations, course.relaxation)
    else:  # along a tree
        error = np.where(iterations < 2 * graph.n - 2, np.nan, 0.0)
    return np.asarray(np.hypot(error, floor))
