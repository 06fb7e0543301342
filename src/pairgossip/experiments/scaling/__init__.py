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
    geometric_grid,
)
from pairgossip.experiments.framework.figures import Panel, Sheet
from pairgossip.experiments.framework.section import Picture, Section
from pairgossip.experiments.paper_setup import (
    FRANCS,
    NETWORK_COLORS,
    deal_rows,
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

CLEAR = 0.1
"""A disagreement of less than this share of the error is not drawn."""
TICKS = (20, 50, 100, 200, 500, 1000)
"""Numbers of nodes."""


def nodes_picture(families: Mapping[str, Mapping[int, Point]]) -> Picture:
    """Draw t x bias and the error at the end, with their bounds, against the number of nodes."""
    sheet = Sheet(2)
    left, right = sheet.panels
    for name, points in families.items():
        color, nodes, found = NETWORK_COLORS[name], list(points), list(points.values())
        left.plot(nodes, [p.exact["late"] for p in found], name, color, "o-")
        right.plot(nodes, [p.run.error[-1] for p in found], name, color, "o-")
        bounds = [p.exact["late_bound"] for p in found], [p.exact["error_bound"][-1] for p in found]
        for panel, bound in zip(sheet.panels, bounds, strict=True):
            panel.plot(nodes, bound, f"{name}: bound", color, ":", legend=False)
    run = families["complete"][next(iter(families["complete"]))].run
    left.finish("nodes", f"t x bias ({FRANCS})", "bias, t to infinity", y_log=True, legend=False)
    title = f"error after {run.iterations[-1]:,} iterations"
    right.finish("nodes", f"RMS error ({FRANCS})", title, y_log=True, legend=False)
    for panel in sheet.panels:
        low, high = panel.axes.get_xlim()
        panel.number_ticks([tick for tick in TICKS if low <= tick <= high])
    sheet.add_legend(columns=4)
    sheet.figure.set_size_inches(9.6, 4.0)
    return Picture(
        "nodes",
        "Left: the limit of t x bias, exact (dots), and the corrected bound (dotted). Right: root "
        f"mean square error over nodes and {run.trials} trials (dots), and the bound (dotted). "
        "Root mean squares over nodes.",
        sheet,
    )


def time_picture(families: Mapping[str, Mapping[int, Point]]) -> Picture:
    """Draw bias and error of the largest network of every family against time in units 1/x."""
    sheet = Sheet(2)
    left, right = sheet.panels
    for name, points in families.items():
        nodes, color = max(points), NETWORK_COLORS[name]
        run, exact, parts = points[nodes].run, points[nodes].exact, points[nodes].parts
        units = run.iterations * exact["gap"]
        left.plot(units, exact["bias"], f"{name}, {nodes} nodes", color)
        right.plot(units, run.error, f"{name}: error", color)
        # What is small beside the bias it is found by subtracting is noise.
        clear = parts.disagreement > CLEAR * run.error
        right.plot(units[clear], parts.disagreement[clear], f"{name}: disagreement", color, "--")
        right.plot(units, parts.mean_fluctuation, f"{name}: fluctuation of the mean", color, ":")
    _guide(left, -1.0, "slope -1")
    _guide(right, -0.5, "slope -1/2")
    unit = "iterations / (|E|/lambda)"
    left.finish(unit, f"bias ({FRANCS})", "exact bias", y_log=True, legend=False)
    right.finish(unit, f"RMS error ({FRANCS})", "error and its parts", y_log=True, legend=False)
    sheet.add_legend(columns=4)
    sheet.figure.set_size_inches(9.6, 4.0)
    return Picture(
        "time",
        "The largest network of every family, against iterations in units of its time scale "
        "|E|/lambda. Left: exact bias. Right: measured error of a node (solid), the "
        "nodes' disagreement (dashed, where it can be told from noise) and the fluctuation of the "
        "network's mean about its exact expectation (dotted). Black: slopes -1 and -1/2.",
        sheet,
    )


def _guide(panel: Panel, slope: float, label: str) -> None:
    ends = np.array([3.0, 300.0])
    drawn = [(placed.x, placed.curve.y) for placed in panel.curves]
    low = min(float(np.interp(ends[0], x, y)) for x, y in drawn if x is not None and len(x))
    line = 0.4 * low * (ends / ends[0]) ** slope
    panel.plot(ends, line, label, "#000000", linewidth=0.9, legend=False)
    panel.axes.annotate(label, (ends[0], 0.4 * low), ha="right", va="center", fontsize="small")


KERNEL = "gini"
SIZES: Mapping[str, tuple[int, ...]] = {
    "complete": (49, 100, 196, 400, 784, 1600),
    "watts-strogatz": (49, 100, 196, 400, 784, 1600),
    "torus": (25, 49, 100, 196, 400, 784),
    "cycle": (16, 25, 49, 64, 81, 100),
}
"""Up to where 1/x, the time scale of the network, is a fraction of the iterations."""
QUICK_SIZES = 3
"""How many of the smallest networks a quick reproduction runs."""
COMMON = 49
"""The size at which networks are compared with each other."""
LENGTHS = (200_000, 20_000)
"""Iterations, in full and quick."""
REPEATS, LEAST_TRIALS = 2, 40
"""A standard deviation over few trials has no exponent."""
LATE = 10**9
"""Where t x bias no longer changes; the exact expectation costs the same at any t."""
FAR = (10.0, 1000.0)
"""Where the exponent of the exact bias in t is fitted, in time scales 1/x: far beyond any run."""
CHECKPOINTS = 25


def _cases(plan: Plan) -> Sequence[Case]:
    last, found = plan.choose(*LENGTHS), list[Case]()
    trials = plan.repeat(REPEATS, LEAST_TRIALS)
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
    return geometric_grid(10, last, CHECKPOINTS)


def _data(nodes: int, seed: int) -> FloatArray:
    quantiles = income_quantiles(nodes)
    return deal_rows(quantiles, quantiles, nodes, seed).X


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
