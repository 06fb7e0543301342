"""How bias and error of GoSta grow with the number of nodes and fall with the spectral gap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.estimation import estimate
from pairgossip.kernels import Pairs
from pairgossip.results import Run
from pairgossip.theory import constants, gosta_deviation_bound, gosta_expectation_bound
from pairgossip_paper import framework as fw
from pairgossip_paper.framework.figures import Panel, Sheet
from pairgossip_paper.framework.paper import cite
from pairgossip_paper.paper_setup import (
    FRANCS,
    NETWORK_COLORS,
    ErrorParts,
    dealt_quantiles,
    error_parts,
    exact_bias,
    network,
    root_mean_square,
)

_KERNEL = "gini"
_SIZES: Mapping[str, tuple[int, ...]] = {
    "complete": (49, 100, 196, 400, 784, 1600),
    "watts-strogatz": (49, 100, 196, 400, 784, 1600),
    "torus": (25, 49, 100, 196, 400, 784),
    "cycle": (16, 25, 49, 64, 81, 100),
}
"""Numbers of nodes; the time scale 1/x of each network is a fraction of the iterations."""
_QUICK_SIZES = 3
"""Number of the smallest networks that a quick reproduction runs."""
_COMMON_SIZE = 49
"""Number of nodes at which networks are compared with each other."""
_LENGTHS = (200_000, 20_000)
"""Iterations of a full and of a quick run."""
_REPEATS, _LEAST_TRIALS = 2, 40
"""Factor of the plan's trials and their least number; with fewer, exponents are too noisy."""
_LIMIT_TIME = 10**9
"""Iterations after which t x bias no longer changes; an exact expectation costs the same there."""
_BIAS_FIT = (10.0, 1000.0)
"""Range of t, in time scales 1/x, in which the exponent of the exact bias is fitted."""
_CHECKPOINTS = 25
_DRAWN_SHARE = 0.1
"""Share of the error below which a disagreement is not drawn."""
_TICKS = (20, 50, 100, 200, 500, 1000)
"""Numbers of nodes with a tick."""
_SETTLING_SCALES = 2.0
"""Iterations, in time scales 1/x, from which on exponents of measured errors are fitted."""
_BIAS_IN_TIME, _ERROR_IN_TIME = -1.0, -0.5
"""The exponents of t in the bounds."""
_EXACT_TOLERANCE, _NOISY_TOLERANCE = 0.05, 0.15
"""Largest excess over the bound's exponent: of the exact bias, and of the noisy error."""
_QUANTITIES = {
    "bias": "bias",
    "error": "error",
    "fluctuation": "fluctuation of a node",
    "disagreement": "nodes' disagreement in it",
    "mean_fluctuation": "fluctuation of the network's mean in it",
}
_BOUND_NAMES = {"bias": "bias_bound", "error": "error_bound", "fluctuation": "error_bound"}
"""The bound on each quantity; a node's fluctuation is at most its error."""


@dataclass(frozen=True)
class _Point:
    """One network of one size: its run and its theory."""

    run: Run
    exact: fw.Facts

    @cached_property
    def parts(self) -> ErrorParts:
        """The parts of the error."""
        return error_parts(self.run, self.exact["bias"], self.exact["mean_bias"])

    def ratio(self, name: str, sizes: FloatArray) -> float:
        """Return the largest ratio of bias or error, both per node, to its bound."""
        return float((sizes / np.array(self.exact[f"{name}_bound"])).max())

    def measured(self) -> dict[str, FloatArray]:
        """Return the error and its parts that have no closed form, at the checkpoints."""
        parts = ("fluctuation", "disagreement", "mean_fluctuation")
        return {"error": self.run.error, **{key: getattr(self.parts, key) for key in parts}}


_Fits = Mapping[str, fw.Line]
_Families = Mapping[str, Mapping[int, _Point]]
_InTime = Mapping[str, Mapping[int, _Fits]]


def _cases(plan: fw.Plan) -> Sequence[fw.Case]:
    last, cases = plan.choose(*_LENGTHS), list[fw.Case]()
    trials = plan.repeat(_REPEATS, _LEAST_TRIALS)
    how = {"checkpoints": _grid(last), "record": "summary"}
    for name, sizes in _SIZES.items():
        for nodes in sizes[: plan.choose(len(sizes), _QUICK_SIZES)]:
            problem = partial(_problem, name, nodes, plan.seed)
            cases += [
                plan.simulate(f"{name}-{nodes}", estimate, problem, last, trials, **how),
                fw.Computation(f"exact-{name}-{nodes}", partial(_exact, problem, _grid(last))),
            ]
    return cases


def _grid(last: int) -> IntArray:
    return fw.geometric_grid(10, last, _CHECKPOINTS)


def _problem(name: str, nodes: int, seed: int) -> fw.Arguments:
    data, graph = dealt_quantiles(nodes, seed), network(name, nodes, seed)
    return {"data": data, "kernel": _KERNEL, "graph": graph}


def _exact(problem: Callable[[], fw.Arguments], grid: IntArray) -> fw.Facts:
    """Return exact biases and bounds per node: root mean squares over the nodes."""
    data, kernel, graph = problem().values()
    H, root = Pairs(data, kernel).matrix(), np.sqrt(graph.n)
    c = constants(H, graph)
    far = np.rint(np.geomspace(*_BIAS_FIT, 9) / c.gap).astype(int)
    bias = exact_bias(H, graph, np.concatenate([grid, far, [_LIMIT_TIME]]))
    sizes, runs = root_mean_square(bias), len(grid)
    return {
        "gap": c.gap,
        "bias": sizes[:runs],
        "mean_bias": bias[:runs].mean(axis=1),
        "far": far,
        "far_bias": sizes[runs:-1],
        "late": _LIMIT_TIME * sizes[-1],
        "late_bound": _LIMIT_TIME * float(gosta_expectation_bound(c, _LIMIT_TIME)) / root,
        "bias_bound": gosta_expectation_bound(c, grid) / root,
        "error_bound": gosta_deviation_bound(c, grid) / root,
    }


def _report(results: fw.Results) -> fw.Section:
    families = {
        name: {
            nodes: _Point(results[f"{name}-{nodes}"], results[f"exact-{name}-{nodes}"])
            for nodes in sizes
            if f"{name}-{nodes}" in results
        }
        for name, sizes in _SIZES.items()
    }
    time = {
        name: {nodes: _in_time(point) for nodes, point in points.items()}
        for name, points in families.items()
    }
    common = [points[_COMMON_SIZE] for points in families.values() if _COMMON_SIZE in points]
    gap = _fit_ends([1 / point.exact["gap"] for point in common], common)
    bias, error = _slopes(time, "bias"), _slopes(time, "error")
    return fw.Section(
        f"On {len(bias)} networks the bias of GoSta falls with time `t` like "
        f"`t^({bias.mean():.2f})`, and the error of a node like `t^({error.mean():.2f})`, on "
        f"average; the bounds fall like `t^({_BIAS_IN_TIME:g})` and `t^({_ERROR_IN_TIME:g})`.",
        [
            _about(families["complete"][_COMMON_SIZE].run),
            *_about_parts(families, time),
            _describe_gap(gap),
        ],
        [_nodes_picture(families), _time_picture(families)],
        [_nodes_table(families), _gap_table(gap), _time_table(time)],
        [*_time_claims(time), _bounds_claim(families)],
    )


def _fit_ends(x: Sequence[float], points: Iterable[_Point]) -> dict[str, fw.Line]:
    """Fit exponents in x of the limit of t x bias, of other errors at the end, and of bounds."""
    ends = [
        {key: curve[-1] for key, curve in point.measured().items()}
        | {
            "scale": 1 / point.exact["gap"],
            "bias": point.exact["late"],
            "bias_bound": point.exact["late_bound"],
            "error_bound": point.exact["error_bound"][-1],
        }
        for point in points
    ]
    return {key: fw.fit_power_law(x, [end[key] for end in ends]) for key in ends[0]}


def _in_time(point: _Point) -> _Fits:
    """Fit exponents in t on a network, beyond its time scale."""
    late = point.run.iterations >= _SETTLING_SCALES / point.exact["gap"]
    t = point.run.iterations[late]
    bias = fw.fit_power_law(point.exact["far"], point.exact["far_bias"])
    curves = point.measured().items()
    return {"bias": bias, **{key: fw.fit_power_law(t, curve[late]) for key, curve in curves}}


def _about(run: Run) -> str:
    return (
        "Gini mean difference of incomes; a network of `n` nodes holds `n` quantiles of the same "
        f"distribution, dealt at random. {run.trials} trials of {run.iterations[-1]:,} iterations "
        "give the error; the bias is exact. The sizes of a family end where its time scale "
        "`|E|/lambda` is no longer a fraction of the iterations. Bounds are upper bounds: an "
        "exponent below that of the bound is no contradiction."
    )


def _about_parts(families: _Families, time: _InTime) -> list[str]:
    points = [point for by_nodes in families.values() for point in by_nodes.values()]
    named = {
        "bias": "bias",
        "disagreement": "nodes' disagreement",
        "mean_fluctuation": "fluctuation of the network's mean",
    }
    shares = {
        words: [getattr(p.parts, key)[-1] / p.run.error[-1] for p in points]
        for key, words in named.items()
    }
    left = max(abs(float(p.parts.remainder[-1] / p.run.error[-1] ** 2)) for p in points)
    listed = ", ".join(
        f"the {name} {100 * min(s):.0f} % to {100 * max(s):.0f} %" for name, s in shares.items()
    )
    slopes = {key: _slopes(time, key) for key in ("disagreement", "mean_fluctuation")}
    return [
        "The error of a node has three parts: its bias, which is exact; the nodes' disagreement, "
        "by which a node fluctuates about the network's mean; and the fluctuation of the "
        "network's mean about its exact expectation. All are root mean squares. The squares of "
        "the last two add up to that of a node's own fluctuation, and those of all three to that "
        f"of the error, except for chance ({100 * left:.1f} % of it at most at the last "
        f"iteration). There, relative to the error, {listed}.",
        f"From {_SETTLING_SCALES:g} `|E|/lambda` iterations on, the exponent of the nodes' "
        f"disagreement in `t` is {_describe_slopes(slopes['disagreement'])}, that of the "
        f"fluctuation of the network's mean {_describe_slopes(slopes['mean_fluctuation'])}"
        + _conclude_exponent(slopes, _slopes(time, "bias")),
    ]


def _describe_gap(gap: _Fits) -> str:
    """Compare the fitted exponents of |E|/lambda with those of the bounds; they may differ."""
    apart = {key: gap[key].slope - gap[_BOUND_NAMES[key]].slope for key in ("bias", "error")}
    listed = ", ".join(
        f"{gap[key].slope:.2f} for the {key} (its bound: {gap[_BOUND_NAMES[key]].slope:.2f})"
        for key in apart
    )
    less = " Both are below those of the bounds." if max(apart.values()) < 0 else ""
    return (
        f"Over networks of {_COMMON_SIZE} nodes that hold the same incomes, the exponents of "
        f"`|E|/lambda` are {listed}; that of the error changes with the number of iterations, "
        f"since its parts depend on the network differently.{less}"
    )


def _slopes(time: _InTime, key: str) -> FloatArray:
    return np.array([fits[key].slope for by_nodes in time.values() for fits in by_nodes.values()])


def _describe_slopes(slopes: FloatArray) -> str:
    return f"{slopes.mean():.2f} on average ({slopes.min():.2f} to {slopes.max():.2f})"


def _conclude_exponent(slopes: Mapping[str, FloatArray], bias: FloatArray) -> str:
    """Draw the conclusion on the exponent of the whole error, if the numbers allow it."""
    faster = np.maximum(slopes["disagreement"], bias) < slopes["mean_fluctuation"]
    if not faster.all():
        return (
            f": the mean's fluctuation falls slowest on {faster.sum()} of {len(faster)} networks."
        )
    return (
        ". On every network the mean's fluctuation falls slowest of the three parts: the error "
        "falls faster than it as long as bias or disagreement are a large part."
    )


def _nodes_table(families: _Families) -> fw.Table:
    fitted = {name: _fit_ends(list(points), points.values()) for name, points in families.items()}
    return fw.Table.from_records(
        "Exponents in the number of nodes `n`",
        [
            {"graph": name, **_beside_bound(fits, key), "of `|E|/lambda`": fits["scale"].slope}
            for name, fits in fitted.items()
            for key in _QUANTITIES
        ],
        "Least squares on log-log axes: of the limit of `t x bias`, and of the others at the last "
        "iteration. Quantities and bounds are those of one node, root mean squares over nodes, "
        "except for the network's mean, which has no bound of its own.",
    )


def _gap_table(gap: _Fits) -> fw.Table:
    return fw.Table.from_records(
        f"Exponents in `|E|/lambda` over networks of {_COMMON_SIZE} nodes with the same incomes",
        [_beside_bound(gap, key) for key in _QUANTITIES],
        "The exponents of the bounds are fitted on the same networks.",
    )


def _beside_bound(fits: _Fits, key: str) -> dict[str, fw.Cell]:
    fitted = fits[key]
    bound = fits[_BOUND_NAMES[key]].slope if key in _BOUND_NAMES else None
    return {
        "quantity": _QUANTITIES[key],
        "fitted": fitted.slope,
        "standard error": fitted.error,
        "of the bound": bound,
        "difference": None if bound is None else fitted.slope - bound,
    }


def _time_table(time: _InTime) -> fw.Table:
    return fw.Table.from_records(
        "Exponents in the number of iterations `t`",
        [
            {"graph": name, "nodes": nodes}
            | {words: by_nodes[nodes][key].slope for key, words in _QUANTITIES.items()}
            for name, by_nodes in time.items()
            for nodes in (min(by_nodes), max(by_nodes))
        ],
        f"The bound on the bias falls with exponent {_BIAS_IN_TIME:g}, that on the error with "
        f"{_ERROR_IN_TIME:g}. In units of `|E|/lambda` iterations, the exact bias is fitted "
        f"between {_BIAS_FIT[0]:g} and {_BIAS_FIT[1]:g}, measurements from {_SETTLING_SCALES:g} "
        "on.",
    )


def _time_claims(time: _InTime) -> list[fw.Claim]:
    """Check the rates in t on every network; bounds are upper bounds, so faster is fine."""
    bias, error = _slopes(time, "bias"), _slopes(time, "error")
    return [
        fw.Claim(
            "bias-in-time",
            "The bias of GoSta falls at least as fast as `1/t`.",
            cite("312"),
            fw.grade(bias <= _BIAS_IN_TIME + _EXACT_TOLERANCE),
            f"Exact exponents on {len(bias)} networks are between {bias.min():.3f} and "
            f"{bias.max():.3f} (rule: at most {_BIAS_IN_TIME + _EXACT_TOLERANCE:g}).",
        ),
        fw.Claim(
            "error-in-time",
            "The error of GoSta falls at least as fast as `1/sqrt(t)`.",
            cite("329"),
            fw.grade(error <= _ERROR_IN_TIME + _NOISY_TOLERANCE),
            f"Over {len(error)} networks the exponent of a node's error is "
            f"{_describe_slopes(error)} (rule: at most {_ERROR_IN_TIME + _NOISY_TOLERANCE:g}). "
            "That of the fluctuation of the network's mean alone is "
            f"{_describe_slopes(_slopes(time, 'mean_fluctuation'))}.",
        ),
    ]


def _bounds_claim(families: _Families) -> fw.Claim:
    points = [point for by_nodes in families.values() for point in by_nodes.values()]
    largest = {
        "bias": max(point.ratio("bias", np.array(point.exact["bias"])) for point in points),
        "error": max(point.ratio("error", point.run.error) for point in points),
    }
    return fw.check(
        "below-bounds",
        "Bias and error of a node stay below their bounds.",
        f"theory: the bound on the bias for any kernel; {cite('325')}, in its centered form",
        largest,
        fw.at_most(1.0),
        "On {networks} networks and at all checkpoints the exact bias is at most {bias:.3g} of its "
        "bound, the root mean square error {error:.3g} of its own.",
        networks=len(points),
        **largest,
    )


def _nodes_picture(families: _Families) -> fw.Picture:
    sheet = Sheet(2, size=(9.6, 4.0))
    left, right = sheet.panels
    for name, points in families.items():
        color, nodes, drawn = NETWORK_COLORS[name], list(points), list(points.values())
        left.plot(nodes, [p.exact["late"] for p in drawn], name, color, "o-")
        right.plot(nodes, [p.run.error[-1] for p in drawn], name, color, "o-")
        bounds = [p.exact["late_bound"] for p in drawn], [p.exact["error_bound"][-1] for p in drawn]
        for panel, bound in zip(sheet.panels, bounds, strict=True):
            panel.plot(nodes, bound, f"{name}: bound", color, ":", legend=False)
    run = families["complete"][_COMMON_SIZE].run
    left.finish("nodes", f"t x bias ({FRANCS})", "bias, t to infinity")
    title = f"error after {run.iterations[-1]:,} iterations"
    right.finish("nodes", f"RMS error ({FRANCS})", title)
    for panel in sheet.panels:
        low, high = panel.axes.get_xlim()
        panel.number_ticks([tick for tick in _TICKS if low <= tick <= high])
    sheet.add_legend(columns=4)
    return fw.Picture(
        "nodes",
        "Left: the limit of `t x bias`, exact (dots), and the corrected bound (dotted). Right: "
        f"root mean square error over nodes and {run.trials} trials (dots), and the bound "
        "(dotted). Root mean squares over nodes.",
        sheet,
    )


def _time_picture(families: _Families) -> fw.Picture:
    sheet = Sheet(2, size=(9.6, 4.0))
    left, right = sheet.panels
    for name, points in families.items():
        nodes, color = max(points), NETWORK_COLORS[name]
        run, exact, parts = points[nodes].run, points[nodes].exact, points[nodes].parts
        units = run.iterations * exact["gap"]
        left.plot(units, exact["bias"], f"{name}, {nodes} nodes", color)
        right.plot(units, run.error, f"{name}: error", color)
        # A small part is noise beside the bias, since it is found by subtracting.
        clear = parts.disagreement > _DRAWN_SHARE * run.error
        right.plot(units[clear], parts.disagreement[clear], f"{name}: disagreement", color, "--")
        right.plot(units, parts.mean_fluctuation, f"{name}: fluctuation of the mean", color, ":")
    _guide(left, -1.0, "slope -1")
    _guide(right, -0.5, "slope -1/2")
    unit = "iterations / (|E|/lambda)"
    left.finish(unit, f"bias ({FRANCS})", "exact bias")
    right.finish(unit, f"RMS error ({FRANCS})", "error and its parts")
    sheet.add_legend(columns=4)
    return fw.Picture(
        "time",
        "The largest network of every family, against iterations in units of its time scale "
        "`|E|/lambda`. Left: exact bias. Right: measured error of a node (solid), the "
        "nodes' disagreement (dashed, where it is well above noise) and the fluctuation of the "
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


SCALING = fw.Experiment(
    "scaling",
    "Scaling with the network",
    "How do bias and error of GoSta depend on the number of nodes, the spectral gap and the "
    "number of iterations, and do the bounds have the same exponents?",
    _cases,
    _report,
    place=10,
)
