"""How bias and error of GoSta grow with the number of nodes and fall with the spectral gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.estimation import estimate
from pairgossip.experiments.framework.experiment import (
    Case,
    Computation,
    Experiment,
    Plan,
    Simulation,
)
from pairgossip.experiments.framework.section import (
    Picture,
    Section,
    finish_panel,
    legend_below,
    panels,
)
from pairgossip.experiments.paper_setup import (
    FRANCS,
    NETWORK_COLORS,
    dealt,
    income_quantiles,
    network,
)
from pairgossip.experiments.scaling.findings import (
    Point,
    about_gap,
    about_parts,
    bounds_claim,
    gap_table,
    in_gap,
    in_nodes,
    in_time,
    nodes_table,
    time_claims,
    time_table,
)
from pairgossip.kernels import Pairs
from pairgossip.results import Run
from pairgossip.theory import (
    constants,
    expected_estimates,
    gosta_deviation_bound,
    gosta_expectation_bound,
)

# The figures of scaling: bias and error against the number of nodes, and against time.


CLEAR = 0.1
"""A disagreement of less than this share of the error is not drawn."""
TICKS = (20, 50, 100, 200, 500, 1000)
"""Numbers of nodes."""


def nodes_picture(families: Mapping[str, Mapping[int, Point]]) -> Picture:
    """Draw t x bias and the error at the end, with their bounds, against the number of nodes."""
    figure, (left, right) = panels(2)
    for name, points in families.items():
        color, nodes, found = NETWORK_COLORS[name], list(points), list(points.values())
        left.plot(nodes, [p.exact["late"] for p in found], "o-", color=color, label=name)
        bound = f"_{name}: bound"
        left.plot(nodes, [p.exact["late_bound"] for p in found], ":", color=color, label=bound)
        right.plot(nodes, [p.run.error[-1] for p in found], "o-", color=color, label=name)
        bounds = [p.exact["error_bound"][-1] for p in found]
        right.plot(nodes, bounds, ":", color=color, label=bound)
    run = families["complete"][next(iter(families["complete"]))].run
    finish_panel(left, "nodes", f"t x bias ({FRANCS})", "bias, t to infinity", legend=False)
    title = f"error after {run.iterations[-1]:,} iterations"
    finish_panel(right, "nodes", f"RMS error ({FRANCS})", title, legend=False)
    for axes in (left, right):
        axes.set_yscale("log")
        low, high = axes.get_xlim()
        ticks = [tick for tick in TICKS if low <= tick <= high]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.set_xticks([], minor=True)
    legend_below(figure, left, columns=4)
    figure.set_size_inches(9.6, 4.0)
    return Picture(
        "nodes",
        "Left: the limit of t x bias, exact (dots), and the corrected bound (dotted). Right: root "
        f"mean square error over nodes and {run.trials} trials (dots), and the bound (dotted). "
        "Root mean squares over nodes.",
        figure,
    )


def time_picture(families: Mapping[str, Mapping[int, Point]]) -> Picture:
    """Draw bias and error of the largest network of every family against time in units 1/x."""
    figure, (left, right) = panels(2)
    for name, points in families.items():
        nodes = max(points)
        run, exact = points[nodes].run, points[nodes].exact
        units = run.iterations * exact["gap"]
        label, color = f"{name}, {nodes} nodes", NETWORK_COLORS[name]
        left.plot(units, exact["bias"], color=color, label=label)
        right.plot(units, run.error, color=color, label=f"_{name}: error")
        parts = points[nodes].parts
        # What is small beside the bias it is found by subtracting is noise.
        clear = parts.disagreement > CLEAR * run.error
        apart, label = parts.disagreement[clear], f"_{name}: disagreement"
        right.plot(units[clear], apart, "--", color=color, label=label)
        label = f"_{name}: fluctuation of the mean"
        right.plot(units, parts.mean_fluctuation, ":", color=color, label=label)
    _guide(left, -1.0, "slope -1")
    _guide(right, -0.5, "slope -1/2")
    unit = "iterations / (|E|/lambda)"
    finish_panel(left, unit, f"bias ({FRANCS})", "exact bias", legend=False)
    finish_panel(right, unit, f"RMS error ({FRANCS})", "error and parts of it", legend=False)
    for axes in (left, right):
        axes.set_yscale("log")
    legend_below(figure, left, columns=4)
    figure.set_size_inches(9.6, 4.0)
    return Picture(
        "time",
        "The largest network of every family, against iterations in units of its time scale "
        "|E|/lambda. Left: exact bias. Right: measured error of a node (solid), the "
        "nodes' disagreement (dashed, where it can be told from noise) and the fluctuation of the "
        "network's mean about its exact expectation (dotted). Black: slopes -1 and -1/2.",
        figure,
    )


def _guide(axes: Axes, slope: float, label: str) -> None:
    x = np.array([3.0, 300.0])
    drawn = [line.get_data() for line in axes.get_lines()]
    low = min(float(np.interp(3.0, *curve)) for curve in drawn if len(curve[0]))  # type: ignore[arg-type]
    axes.plot(x, 0.4 * low * (x / x[0]) ** slope, "k-", linewidth=0.9, label=f"_{label}")
    axes.annotate(label, (x[0], 0.4 * low), ha="right", va="center", fontsize="small")


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
