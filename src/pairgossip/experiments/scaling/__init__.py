"""How bias and error of GoSta grow with the number of nodes and fall with the spectral gap."""

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
    Experiment,
    Plan,
    Simulation,
)
from pairgossip.experiments.framework.section import Section
from pairgossip.experiments.networks import income_quantiles, network
from pairgossip.experiments.scaling.figures import nodes_picture, time_picture
from pairgossip.experiments.scaling.findings import (
    about_gap,
    about_parts,
    bounds_claim,
    gap_table,
    nodes_table,
    time_claims,
    time_table,
)
from pairgossip.experiments.scaling.fits import Point, in_gap, in_nodes, in_time
from pairgossip.experiments.setting import dealt
from pairgossip.kernels import Pairs
from pairgossip.results import Run
from pairgossip.theory import (
    constants,
    expected_estimates,
    gosta_deviation_bound,
    gosta_expectation_bound,
)

KERNEL = "gini"
SIZES: Mapping[str, tuple[int, ...]] = {
    "complete": (49, 100, 196, 400, 784, 1600),
    "watts-strogatz": (49, 100, 196, 400, 784, 1600),
    "torus": (25, 49, 100, 196, 400, 784),
    "cycle": (16, 25, 49, 64, 81, 100),
}
"""Up to where 1/x, the time scale of the network, is a fraction of the iterations."""
QUICK_SIZES = 3
"""In quick, as many of the smallest networks."""
COMMON = 49
"""The size at which networks are compared with each other."""
LENGTHS = (200_000, 20_000)
"""Iterations, in full and quick."""
TRIALS_PER_TRIAL, LEAST_TRIALS = 2, 40
"""A standard deviation over few trials has no exponent."""
LATE = 10**9
"""Where t x bias no longer changes; the exact expectation costs the same at any t."""
FAR = (10.0, 1000.0)
"""Where the exponent of the exact bias in t is fitted, in time scales 1/x: far beyond any run."""
CHECKPOINTS = 25


def _cases(plan: Plan) -> Sequence[Case]:
    last, found = plan.choose(*LENGTHS), list[Case]()
    trials = max(LEAST_TRIALS, TRIALS_PER_TRIAL * plan.trials)
    for name, nodes in _settings(plan):
        run = partial(_run, name, nodes, last, plan)
        found.append(Simulation(f"{name}-{nodes}", last, trials, run))
        found.append(Computation(f"exact-{name}-{nodes}", partial(_exact, name, nodes, last, plan)))
    return found


def _settings(plan: Plan) -> list[tuple[str, int]]:
    return [
        (name, nodes)
        for name, sizes in SIZES.items()
        for nodes in sizes[: plan.choose(len(sizes), QUICK_SIZES)]
    ]


def _grid(last: int) -> IntArray:
    return np.unique(np.rint(np.geomspace(10, last, CHECKPOINTS)).astype(int))


def _data(nodes: int, seed: int) -> FloatArray:
    quantiles = income_quantiles(nodes)
    return dealt(quantiles, quantiles, nodes, seed).X


def _run(name: str, nodes: int, last: int, plan: Plan, **how: Any) -> Run:
    return estimate(
        _data(nodes, plan.seed),
        KERNEL,
        network(name, nodes, plan.seed),
        iterations=last,
        checkpoints=_grid(last),
        record="summary",
        seed=plan.seed,
        **how,
    )


def _exact(name: str, nodes: int, last: int, plan: Plan) -> Mapping[str, Any]:
    """Return exact biases and bounds per node: root mean squares over the nodes."""
    graph, grid, root = network(name, nodes, plan.seed), _grid(last), np.sqrt(nodes)
    H = Pairs(_data(nodes, plan.seed), KERNEL).matrix()
    # Estimates are linear in H and exact for constants: the bias comes without cancellation.
    c = constants(H, graph)
    far = np.rint(np.geomspace(*FAR, 9) / c.gap).astype(int)
    bias = expected_estimates(H - H.mean(), graph, np.concatenate([grid, far, [LATE]]))
    sizes, runs = np.linalg.norm(bias, axis=1) / root, len(grid)
    return {
        "gap": c.gap,
        "bias": sizes[:runs],
        "mean_bias": bias[:runs].mean(axis=1),
        "far": far,
        "far_bias": sizes[runs:-1],
        "late": LATE * sizes[-1],
        "late_bound": LATE * float(gosta_expectation_bound(c, LATE)) / root,
        "bias_bound": gosta_expectation_bound(c, grid) / root,
        "error_bound": gosta_deviation_bound(c, grid) / root,
    }


def _report(results: Mapping[str, Any]) -> Section:
    families: dict[str, dict[int, Point]] = {
        name: {
            nodes: Point(results[f"{name}-{nodes}"], results[f"exact-{name}-{nodes}"])
            for nodes in sizes
            if f"{name}-{nodes}" in results
        }
        for name, sizes in SIZES.items()
    }
    time = {name: in_time(points) for name, points in families.items()}
    gap = in_gap({name: points[COMMON] for name, points in families.items() if COMMON in points})
    nodes = {name: in_nodes(points) for name, points in families.items()}
    return Section(
        [
            _about(families["complete"][COMMON].run),
            *about_parts(families, time),
            about_gap(gap, COMMON),
        ],
        [nodes_picture(families), time_picture(families)],
        [nodes_table(nodes), gap_table(gap, COMMON), time_table(time, FAR)],
        [*time_claims(time), bounds_claim(families)],
    )


def _about(run: Run) -> str:
    return (
        "Gini mean difference of incomes; a network of n nodes holds n quantiles of the same "
        f"distribution, dealt at random. {run.trials} trials of {run.iterations[-1]:,} iterations "
        "give the error; the bias is exact. The sizes of a family end where its time scale "
        "|E|/lambda is no longer a fraction of the iterations. Bounds are upper bounds: an "
        "exponent below that of the bound is no contradiction."
    )


SCALING = Experiment(
    "scaling",
    "Scaling with the network",
    "How do bias and error of GoSta depend on the number of nodes, the spectral gap and the "
    "number of iterations, and do the bounds have the same exponents?",
    _cases,
    _report,
)
