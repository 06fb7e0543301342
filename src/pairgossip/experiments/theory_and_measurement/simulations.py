"""What "theory" runs: simulations of every algorithm, exact expectations, and all bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.estimation import estimate
from pairgossip.experiments.framework.experiment import (
    Case,
    Computation,
    Plan,
    Simulation,
    geometric_grid,
)
from pairgossip.experiments.paper_setup import incomes, network
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
from pairgossip.theory.errata.estimation import clique_with_pendant

NODES = 50
GRAPHS = ("complete", "watts-strogatz", "cycle")
KERNEL = "gini"
LENGTHS = (30_000, 5_000)
"""Iterations, in full and quick."""
CHECKPOINTS = 10
REPEATS, LEAST_TRIALS = 10, 60
"""Trials are short, and means over them are compared in standard errors: there are many."""
SYNC: Mapping[str, Mapping[str, Any]] = {
    "gosta": {"method": "gosta", "order": "update-first"},
    "gosta-exchange-first": {"method": "gosta", "order": "exchange-first"},
    "u1": {"method": "u1"},
    "u2": {"method": "u2"},
}
ASYNC: Mapping[str, Mapping[str, Any]] = {"gosta-async": {"method": "gosta", "clock": "async"}}
"""It has no closed form for its expectation."""
DENSE = np.unique(np.geomspace(1, 10**6, 121).astype(int))
"""Where exact expectations are compared with bounds: no simulation is needed for that."""
EXAMPLES = {"gosta": 1_000, "u1": 200}
"""Iterations: later, noise hides t x bias, which no longer changes."""


def cases(plan: Plan) -> Sequence[Case]:
    """List the simulations and exact computations."""
    last, trials = plan.choose(*LENGTHS), plan.repeat(REPEATS, LEAST_TRIALS)
    found: list[Case] = []
    for graph in GRAPHS:
        found += [
            Simulation(f"{name}-{graph}", last, trials, partial(_run, name, graph, last, plan))
            for name in (*SYNC, *ASYNC)
        ]
        found.append(Computation(f"exact-{graph}", partial(_exact, graph, last, plan)))
    found += [
        Simulation(f"example-{name}", last, trials, partial(_run_example, name, plan))
        for name, last in EXAMPLES.items()
    ]
    return [*found, Computation("examples", _examples)]


def _grid(first: int, last: int) -> IntArray:
    return geometric_grid(first, last, CHECKPOINTS)


def _run(name: str, graph: str, last: int, plan: Plan, **how: Any) -> Run:
    return estimate(
        incomes(NODES, plan.seed),
        KERNEL,
        network(graph, NODES, plan.seed),
        iterations=last,
        checkpoints=_grid(NODES, last),  # before, most nodes have not exchanged
        record="nodes",
        seed=plan.seed,
        **{**SYNC, **ASYNC}[name],
        **how,
    )


def _exact(name: str, last: int, plan: Plan) -> Mapping[str, Any]:
    graph = network(name, NODES, plan.seed)
    H = Pairs(incomes(NODES, plan.seed), KERNEL).matrix()
    grid = _grid(NODES, last)
    c, root = constants(H, graph), np.sqrt(NODES)
    sharper = gosta_sharper_deviation_bound(H, gossip_spectrum(graph), last)
    return {
        "iterations": DENSE,
        "algorithms": {
            algorithm: {
                "expected": expected_estimates(H, graph, grid, **options),
                **compare_with_bounds(H, graph, options),
            }
            for algorithm, options in SYNC.items()
        },
        "deviation": {
            "printed": gosta_deviation_bound(c, grid, printed=True) / root,
            "centered": gosta_deviation_bound(c, grid) / root,
            "sharper": sharper[grid - 1] / root,
        },
    }


def compare_with_bounds(
    H: FloatArray, graph: Graph, options: Mapping[str, Any]
) -> dict[str, FloatArray]:
    """Return bias and bounds, root mean squares over nodes, and the ratios that must be <= 1."""
    by_rows = options["method"] == "u1"
    # Estimates are linear in H and exact for constants: the bias comes without cancellation.
    about_target = H - H.mean(axis=1 if by_rows else None, keepdims=True)
    bias = expected_estimates(about_target, graph, DENSE, **options)
    found = {"bias": np.linalg.norm(bias, axis=1) / np.sqrt(graph.n)}
    for form in ("printed", "corrected"):
        bound = _bound(constants(H, graph), options["method"], printed=form == "printed")
        # U1-gossip is bounded node by node, the others in norm over all nodes.
        left = np.abs(bias) if by_rows else np.linalg.norm(bias, axis=1)[:, None]
        ratios = np.divide(left, bound, out=np.zeros_like(left), where=left > 0)
        found[form] = np.linalg.norm(bound, axis=1) / np.sqrt(graph.n)
        found[f"ratio_{form}"] = ratios.max(axis=1)
    return found


def _bound(c: Constants, method: str, *, printed: bool) -> FloatArray:
    """Return the bound at all iterations, one column per node if it is one per node."""
    if method == "u1":
        return u1_gossip_bound(c, DENSE, printed=printed)
    bound = gosta_expectation_bound if method == "gosta" else u2_gossip_bound
    return bound(c, DENSE, printed=printed)[:, None]


def first_only(x: FloatArray, y: FloatArray) -> FloatArray:
    """A kernel of its first argument only: not symmetric, hence beyond what the paper assumes."""
    return x + 0.0 * y


def pendant_row(x: FloatArray, y: FloatArray) -> FloatArray:
    """A symmetric kernel that is zero unless one of the two is the marked observation.

    The columns are a value v and the mark m (0 or 1): h is the other one's v.
    """
    (v, m), (w, k) = x.T, y.T
    return np.asarray(v * k + m * w - v * m * k)


def example(name: str) -> tuple[Graph, FloatArray, Any]:
    """Return graph, data and kernel that are hard for an algorithm.

    That of U1 breaks its printed bound; that of GoSta needs the bound for any kernel.
    """
    if name == "gosta":
        graph = path(10)
        return graph, gossip_spectrum(graph).vectors[:, 1], first_only
    graph = clique_with_pendant(8)
    n = graph.n
    # What the sums of W_1^s weigh most: the row of the pendant node is aligned with it.
    weights = np.linalg.pinv(graph.laplacian_dense("uniform-edges")) + 1 / n - np.eye(n)
    row = weights[n - 1] / np.linalg.norm(weights[n - 1])
    return graph, np.column_stack([row, np.eye(n)[n - 1]]), pendant_row


def _run_example(name: str, plan: Plan, **how: Any) -> Run:
    graph, data, kernel = example(name)
    return estimate(
        data,
        kernel,
        graph,
        method=name,
        iterations=EXAMPLES[name],
        checkpoints=_grid(3, EXAMPLES[name]),
        record="nodes",
        seed=plan.seed,
        **how,
    )


def _examples() -> Mapping[str, Any]:
    found = {}
    for name in EXAMPLES:
        graph, data, kernel = example(name)
        found[name] = _example_curves(Pairs(data, kernel).matrix(), graph, name)
    return {"iterations": DENSE, **found}


def _example_curves(H: FloatArray, graph: Graph, name: str) -> dict[str, Any]:
    """Return t x bias and t x bound: for U1 of the last node, else in norm over all nodes."""
    target = H.mean(axis=1) if name == "u1" else H.mean()
    bias = expected_estimates(H, graph, DENSE, method=name) - target
    c = constants(H, graph)
    return {
        "bias": DENSE * (np.abs(bias[:, -1]) if name == "u1" else np.linalg.norm(bias, axis=1)),
        # The paper speaks of symmetric kernels.
        "printed": float(_bound(c, name, printed=True)[0, -1]) if np.array_equal(H, H.T) else None,
        "corrected": float(_bound(c, name, printed=False)[0, -1]),
    }
