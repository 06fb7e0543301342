"""How bias and error of GoSta grow with the number of nodes and fall with the spectral gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

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
from pairgossip.experiments.framework.fitting import Line, power_law
from pairgossip.experiments.framework.section import Section
from pairgossip.experiments.networks import income_quantiles, network
from pairgossip.experiments.scaling.figures import nodes_picture, time_picture
from pairgossip.experiments.scaling.findings import (
    bounds_claim,
    gap_claim,
    gap_table,
    nodes_table,
    time_claims,
    time_table,
)
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
SETTLED = 2.0
"""Exponents of measured errors in t are fitted from this many time scales 1/x on."""
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


class Point(NamedTuple):
    """One network of one size: its run and its theory."""

    run: Run
    exact: Mapping[str, Any]

    @property
    def settled(self) -> FloatArray:
        """Which checkpoints are late enough for a power law in t."""
        return np.asarray(self.run.iterations >= SETTLED / self.exact["gap"])

    @property
    def fluctuation(self) -> FloatArray:
        """Root mean square over trials of the network's mean about its exact expectation."""
        about = self.run.trial_mean - self.run.target - np.array(self.exact["mean_bias"])
        return np.asarray(np.sqrt(np.mean(about**2, axis=0)))


Families = Mapping[str, Mapping[int, Point]]


def _report(results: Mapping[str, Any]) -> Section:
    families: dict[str, dict[int, Point]] = {
        name: {
            nodes: Point(results[f"{name}-{nodes}"], results[f"exact-{name}-{nodes}"])
            for nodes in sizes
            if f"{name}-{nodes}" in results
        }
        for name, sizes in SIZES.items()
    }
    in_nodes = {name: _in_nodes(points) for name, points in families.items()}
    in_time = {name: _in_time(points) for name, points in families.items()}
    in_gap = _in_gap(
        {name: points[COMMON] for name, points in families.items() if COMMON in points}
    )
    return Section(
        _about(families),
        [nodes_picture(families), time_picture(families)],
        [nodes_table(in_nodes), gap_table(in_gap, COMMON), time_table(in_time, FAR, SETTLED)],
        [
            *time_claims(in_time),
            bounds_claim(in_nodes),
            gap_claim(in_gap),
        ],
    )


Fits = Mapping[str, Line]


def _in_nodes(points: Mapping[int, Point]) -> Fits:
    """Fit exponents in the number of nodes: of t x bias, of the error at the end, of bounds."""
    nodes = list(points)

    def fit(values: Sequence[float]) -> Line:
        return power_law(nodes, values)

    return {
        "scale": fit([1 / point.exact["gap"] for point in points.values()]),
        "bias": fit([point.exact["late"] for point in points.values()]),
        "bias_bound": fit([point.exact["late_bound"] for point in points.values()]),
        "error": fit([float(point.run.error[-1]) for point in points.values()]),
        "fluctuation": fit([float(point.fluctuation[-1]) for point in points.values()]),
        "error_bound": fit([point.exact["error_bound"][-1] for point in points.values()]),
    }


def _in_gap(points: Mapping[str, Point]) -> Fits:
    """Fit exponents in |E|/lambda over networks of the same size that hold the same data."""
    scales = [1 / point.exact["gap"] for point in points.values()]
    return {
        "bias": power_law(scales, [point.exact["late"] for point in points.values()]),
        "error": power_law(scales, [float(point.run.error[-1]) for point in points.values()]),
        "fluctuation": power_law(
            scales, [float(point.fluctuation[-1]) for point in points.values()]
        ),
    }


def _in_time(points: Mapping[int, Point]) -> Mapping[int, Fits]:
    """Fit exponents in t on every network, far beyond its time scale."""
    fits = {}
    for nodes, point in points.items():
        late = point.settled
        t = point.run.iterations[late]
        fits[nodes] = {
            "bias": power_law(point.exact["far"], point.exact["far_bias"]),
            "error": power_law(t, point.run.error[late]),
            "fluctuation": power_law(t, point.fluctuation[late]),
        }
    return fits


def _about(families: Families) -> list[str]:
    run = families["complete"][COMMON].run
    shares = [
        float(point.exact["bias"][-1] / point.run.error[-1])
        for points in families.values()
        for point in points.values()
    ]
    return [
        "Gini mean difference of incomes; a network of n nodes holds n quantiles of the same "
        f"distribution, dealt at random. {run.trials} trials of {run.iterations[-1]:,} iterations "
        "give the error; the bias is exact. The sizes of a family end where its time scale "
        "|E|/lambda is no longer a fraction of the iterations. Bounds are upper bounds: an "
        "exponent below that of the bound is no contradiction.",
        "The error has two parts: the bias, which falls like 1/t, and the fluctuation about the "
        "expectation, which falls like 1/sqrt(t) and prevails in the end. Here the end is far: "
        f"at the last iteration the bias is still {100 * min(shares):.0f} % to "
        f"{100 * max(shares):.0f} % of the error. So the fluctuation is also fitted by itself, as "
        "the root mean square over trials of the network's mean about its exact expectation.",
    ]


SCALING = Experiment(
    "scaling",
    "Scaling with the network",
    "How do bias and error of GoSta depend on the number of nodes, the spectral gap and the "
    "number of iterations, and do the bounds have the same exponents?",
    _cases,
    _report,
)
