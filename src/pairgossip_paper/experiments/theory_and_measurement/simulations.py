"""The runs of "theory": every algorithm, expectation and bound, and how they are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.estimation import estimate
from pairgossip.graphs import Graph, path
from pairgossip.kernels import Pairs
from pairgossip.results import Run
from pairgossip.theory import (
    Constants,
    constants,
    expected_estimates,
    gossip_spectrum,
    gosta_deviation_bound,
    gosta_expectation_bound,
    gosta_sharper_deviation_bound,
    u1_gossip_bound,
    u2_gossip_bound,
)
from pairgossip_paper.errata.erratum import clique_with_pendant
from pairgossip_paper.framework import (
    Arguments,
    Case,
    Computation,
    Facts,
    Plan,
    Results,
    geometric_grid,
)
from pairgossip_paper.paper_setup import exact_bias, incomes, network, root_mean_square

_NODES = 50
GRAPHS = ("complete", "watts-strogatz", "cycle")
_KERNEL = "gini"
_LENGTHS = (30_000, 5_000)
"""Iterations of a full and of a quick run."""
_CHECKPOINTS = 10
_REPEATS, _LEAST_TRIALS = 10, 60
"""Factor of the plan's trials and their least number; trials are short, and means need many."""
SYNC: Mapping[str, Arguments] = {
    "gosta": {"method": "gosta", "order": "update-first"},
    "gosta-exchange-first": {"method": "gosta", "order": "exchange-first"},
    "u1": {"method": "u1"},
    "u2": {"method": "u2"},
}
ASYNC: Mapping[str, Arguments] = {"gosta-async": {"method": "gosta", "clock": "async"}}
"""The asynchronous method, which has no closed form for its expectation."""
_DENSE_GRID = np.unique(np.geomspace(1, 10**6, 121).astype(int))
"""Iterations at which exact expectations are compared with bounds, which needs no simulation."""
EXAMPLES = {"gosta": 1_000, "u1": 200}
"""Iterations of each example; after more, noise hides t x bias, which no longer changes."""


def cases(plan: Plan) -> Sequence[Case]:
    """List the simulations and exact computations."""
    last, trials = plan.choose(*_LENGTHS), plan.repeat(_REPEATS, _LEAST_TRIALS)
    # Before the first checkpoint, most nodes have not exchanged.
    grid = geometric_grid(_NODES, last, _CHECKPOINTS)
    how = {"checkpoints": grid, "record": "nodes"}
    listed: list[Case] = []
    for graph in GRAPHS:
        problem = partial(_problem, graph, plan.seed)
        listed += [
            plan.simulate(f"{name}-{graph}", estimate, problem, last, trials, **how, **options)
            for name, options in {**SYNC, **ASYNC}.items()
        ]
        listed.append(Computation(f"exact-{graph}", partial(_exact, graph, grid, plan.seed)))
    for name, end in EXAMPLES.items():
        how["checkpoints"] = geometric_grid(3, end, _CHECKPOINTS)
        problem = partial(_hard_problem, name)
        listed.append(
            plan.simulate(f"example-{name}", estimate, problem, end, trials, method=name, **how)
        )
    examples = Computation(
        "examples",
        lambda: {"iterations": _DENSE_GRID} | {name: _example_curves(name) for name in EXAMPLES},
    )
    return [*listed, examples]


def _problem(name: str, seed: int) -> dict[str, Any]:
    data, graph = incomes(_NODES, seed), network(name, _NODES, seed)
    return {"data": data, "kernel": _KERNEL, "graph": graph}


def _exact(name: str, grid: IntArray, seed: int) -> Facts:
    data, kernel, graph = _problem(name, seed).values()
    H = Pairs(data, kernel).matrix()
    c, root = constants(H, graph), np.sqrt(_NODES)
    sharper = gosta_sharper_deviation_bound(H, gossip_spectrum(graph), int(grid[-1]))
    return {
        "iterations": _DENSE_GRID,
        "algorithms": {
            algorithm: {
                "expected": expected_estimates(H, graph, grid, **options),
                **_compare_with_bounds(H, graph, options),
            }
            for algorithm, options in SYNC.items()
        },
        "deviation": {
            "printed": gosta_deviation_bound(c, grid, printed=True) / root,
            "centered": gosta_deviation_bound(c, grid) / root,
            "sharper": sharper[grid - 1] / root,
        },
    }


def _compare_with_bounds(H: FloatArray, graph: Graph, options: Arguments) -> dict[str, FloatArray]:
    """Return bias and bounds, root mean squares over nodes, and the ratios of bias to bound."""
    bias = exact_bias(H, graph, _DENSE_GRID, **options)
    curves = {"bias": root_mean_square(bias)}
    for form in ("printed", "corrected"):
        bound = _bound(constants(H, graph), options["method"], printed=form == "printed")
        # U1-gossip is bounded node by node, the others in norm over all nodes.
        by_rows = options["method"] == "u1"
        left = np.abs(bias) if by_rows else np.linalg.norm(bias, axis=1)[:, None]
        ratios = np.divide(left, bound, out=np.zeros_like(left), where=left > 0)
        curves[form] = np.linalg.norm(bound, axis=1) / np.sqrt(graph.n)
        curves[f"ratio_{form}"] = ratios.max(axis=1)
    return curves


def _bound(c: Constants, method: str, *, printed: bool) -> FloatArray:
    """Return the bound at all iterations, with a column per node if each node has its own."""
    if method == "u1":
        return u1_gossip_bound(c, _DENSE_GRID, printed=printed)
    bound = gosta_expectation_bound if method == "gosta" else u2_gossip_bound
    return bound(c, _DENSE_GRID, printed=printed)[:, None]


def first_only(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the first argument: a kernel beyond what the paper assumes, not symmetric."""
    return x + 0.0 * y


def pendant_row(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return a symmetric kernel that is zero unless one of the two is the marked observation.

    The columns are a value v and the mark m (0 or 1); the kernel is the v of the other one.
    """
    (v, m), (w, k) = x.T, y.T
    return np.asarray(v * k + m * w - v * m * k)


def _hard_problem(name: str) -> dict[str, Any]:
    """Return data, kernel and graph that are hard for an algorithm.

    Those for U1 break its printed bound; those for GoSta need the bound for any kernel.
    """
    if name == "gosta":
        graph = path(10)
        data = gossip_spectrum(graph).vectors[:, 1]
        return {"data": data, "kernel": first_only, "graph": graph}
    graph = clique_with_pendant(8)
    n = graph.n
    # The row of the pendant node is aligned with the largest weight in sums of W_1^s.
    weights = np.linalg.pinv(graph.laplacian_dense("uniform-edges")) + 1 / n - np.eye(n)
    row = weights[n - 1] / np.linalg.norm(weights[n - 1])
    data = np.column_stack([row, np.eye(n)[n - 1]])
    return {"data": data, "kernel": pendant_row, "graph": graph}


def _example_curves(name: str) -> dict[str, Any]:
    """Return t x bias and t x bound: for U1 of the last node, else in norm over all nodes."""
    data, kernel, graph = _hard_problem(name).values()
    H = Pairs(data, kernel).matrix()
    target = H.mean(axis=1) if name == "u1" else H.mean()
    bias = expected_estimates(H, graph, _DENSE_GRID, method=name) - target
    c = constants(H, graph)
    return {
        "bias": _DENSE_GRID
        * (np.abs(bias[:, -1]) if name == "u1" else np.linalg.norm(bias, axis=1)),
        # The printed bounds are for symmetric kernels.
        "printed": float(_bound(c, name, printed=True)[0, -1]) if np.array_equal(H, H.T) else None,
        "corrected": float(_bound(c, name, printed=False)[0, -1]),
    }


# Comparison of the runs with the computations.


_STANDARD_ERRORS = 4.0
"""Largest difference that is put down to chance, in standard errors."""
ROUNDING = 1e-9
"""Largest relative excess of a bias over a bound that it attains."""
_SHARPER_ORDER = "gosta-exchange-first"
"""The order for which the sharper deviation bound is proved."""
Runs = Mapping[tuple[str, str], Run]
"""Runs by algorithm and graph."""


class ScaledDifferences(NamedTuple):
    """Means over trials minus exact expectations, in standard errors, per checkpoint and node."""

    scores: FloatArray

    @property
    def beyond(self) -> int:
        """The number of cells beyond four standard errors."""
        return int((np.abs(self.scores) > _STANDARD_ERRORS).sum())

    @property
    def largest(self) -> float:
        """The largest difference, in standard errors."""
        return float(np.abs(self.scores).max())


def agree(run: Run, expected: FloatArray) -> ScaledDifferences:
    """Compare the mean over trials with the exact expectation, at every node and checkpoint."""
    assert run.history is not None
    standard_error = run.history.std(axis=0, ddof=1) / np.sqrt(run.trials)
    difference = run.history.mean(axis=0) - expected
    # Where all trials agree there is no scatter to compare with; rounding is no difference.
    unit = np.maximum(standard_error, ROUNDING * np.abs(expected).max())
    return ScaledDifferences((difference / unit).ravel())


class MeasuredBias(NamedTuple):
    """t x bias at the checkpoints, from the mean over trials, and its standard error."""

    values: FloatArray
    errors: FloatArray


def measure_example(run: Run, name: str) -> MeasuredBias:
    """Return t x the size of the mean over trials minus the target, at every checkpoint."""
    assert run.history is not None
    nodes = slice(-1, None) if name == "u1" else slice(None)
    bias = (run.history.mean(axis=0) - run.target)[:, nodes]
    errors = run.history.std(axis=0, ddof=1)[:, nodes] / np.sqrt(run.trials)
    return MeasuredBias(
        run.iterations * np.linalg.norm(bias, axis=1),
        run.iterations * np.linalg.norm(errors, axis=1),
    )


def deviation_ratios(runs: Runs, exact: Results) -> dict[tuple[str, str], dict[str, FloatArray]]:
    """Return root mean square errors over the bounds, at every checkpoint."""
    return {
        (order, graph): {
            form: runs[order, graph].error / np.array(bound)
            for form, bound in exact[graph]["deviation"].items()
            if form != "sharper" or order == _SHARPER_ORDER
        }
        for order in ("gosta", _SHARPER_ORDER)
        for graph in GRAPHS
    }
