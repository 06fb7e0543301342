"""Exponents in the number of nodes, in |E|/lambda and in time, beside those of the bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.experiments.framework.experiment import Line, fit_power_law, grade
from pairgossip.experiments.framework.section import Cell, Claim, Table
from pairgossip.experiments.paper_setup import ErrorParts, error_parts
from pairgossip.results import Run

SETTLED = 2.0
"""Exponents of measured errors in t are fitted from this many time scales 1/x on."""
PARTS = ("fluctuation", "disagreement", "mean_fluctuation")
"""Of the error beside the bias: a node's own fluctuation, and the two parts of that."""

Fits = Mapping[str, Line]


class Point:
    """One network of one size: its run and its theory."""

    def __init__(self, run: Run, exact: Mapping[str, Any]) -> None:
        self.run = run
        self.exact = exact

    @cached_property
    def parts(self) -> ErrorParts:
        """What the error consists of."""
        return error_parts(self.run, self.exact["bias"], self.exact["mean_bias"])

    @property
    def settled(self) -> BoolArray:
        """Which checkpoints are late enough for a power law in t."""
        return np.asarray(self.run.iterations >= SETTLED / self.exact["gap"])

    def below_bounds(self) -> dict[str, float]:
        """Return the largest ratios of bias and error, both per node, to their bounds."""
        sizes = {"bias": np.array(self.exact["bias"]), "error": self.run.error}
        return {
            name: float((size / np.array(self.exact[f"{name}_bound"])).max())
            for name, size in sizes.items()
        }

    def measured(self) -> dict[str, FloatArray]:
        """Return the error and its parts that have no closed form, at the checkpoints."""
        return {"error": self.run.error, **{key: getattr(self.parts, key) for key in PARTS}}


def in_nodes(points: Mapping[int, Point]) -> Fits:
    """Fit exponents in the number of nodes: of t x bias, of the error at the end, of bounds."""
    scales = [1 / point.exact["gap"] for point in points.values()]
    return {"scale": fit_power_law(list(points), scales), **_ends(list(points), points.values())}


def in_gap(points: Mapping[str, Point]) -> Fits:
    """Fit exponents in |E|/lambda over networks of the same size that hold the same data."""
    return _ends([1 / point.exact["gap"] for point in points.values()], points.values())


def _ends(x: Sequence[float], points: Any) -> dict[str, Line]:
    found = list(points)
    measured = {
        key: fit_power_law(x, [float(point.measured()[key][-1]) for point in found])
        for key in found[0].measured()
    }
    return measured | {
        "bias": fit_power_law(x, [point.exact["late"] for point in found]),
        "bias_bound": fit_power_law(x, [point.exact["late_bound"] for point in found]),
        "error_bound": fit_power_law(x, [point.exact["error_bound"][-1] for point in found]),
    }


def in_time(points: Mapping[int, Point]) -> Mapping[int, Fits]:
    """Fit exponents in t on every network, beyond its time scale."""
    fits = {}
    for nodes, point in points.items():
        late = point.settled
        t = point.run.iterations[late]
        curves = {key: fit_power_law(t, curve[late]) for key, curve in point.measured().items()}
        bias = fit_power_law(point.exact["far"], point.exact["far_bias"])
        fits[nodes] = {"bias": bias, **curves}
    return fits


BIAS_IN_TIME, ERROR_IN_TIME = -1.0, -0.5
"""The exponents of t in the bounds."""
EXACT_TOLERANCE, NOISY_TOLERANCE = 0.05, 0.15
"""How near an exponent must be: exact biases carry no noise, errors that of few trials."""

Families = Mapping[str, Mapping[int, Point]]
InTime = Mapping[str, Mapping[int, Fits]]
QUANTITIES = {
    "bias": "bias",
    "error": "error",
    "fluctuation": "fluctuation of a node",
    "disagreement": "of it, the nodes' disagreement",
    "mean_fluctuation": "of it, fluctuation of the network's mean",
}
BOUNDED = {"bias": "bias_bound", "error": "error_bound", "fluctuation": "error_bound"}
"""What a bound per node speaks of; a node's fluctuation is at most its error."""


def about_parts(families: Families, time: InTime) -> list[str]:
    """Say what the error consists of at the end, and how its parts fall."""
    points = [point for by_nodes in families.values() for point in by_nodes.values()]
    shares = {
        "bias": [p.parts.bias[-1] / p.run.error[-1] for p in points],
        "nodes' disagreement": [p.parts.disagreement[-1] / p.run.error[-1] for p in points],
        "fluctuation of the network's mean": [
            p.parts.mean_fluctuation[-1] / p.run.error[-1] for p in points
        ],
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
        f"of the error, but for what chance leaves ({100 * left:.1f} % of it at most at the last "
        f"iteration). There, relative to the error, {listed}.",
        f"From {SETTLED:g} |E|/lambda iterations on, the exponent of the nodes' disagreement in t "
        f"is {_describe_slopes(slopes['disagreement'])}, that of the fluctuation of the network's "
        f"mean {_describe_slopes(slopes['mean_fluctuation'])}"
        + _slowest(slopes, _slopes(time, "bias")),
    ]


def about_gap(gap: Fits, nodes: int) -> str:
    """Set how the network enters beside how it enters the bounds, which need not be the same."""
    apart = {key: gap[key].slope - gap[BOUNDED[key]].slope for key in ("bias", "error")}
    listed = ", ".join(
        f"{gap[key].slope:.2f} for the {key} (its bound: {gap[BOUNDED[key]].slope:.2f})"
        for key in apart
    )
    less = " Both are below those of the bounds." if max(apart.values()) < 0 else ""
    return (
        f"Over networks of {nodes} nodes that hold the same incomes, the exponents of |E|/lambda "
        f"are {listed}; that of the error changes with the number of iterations, since the "
        f"network weighs differently on its parts.{less}"
    )


def _slopes(time: InTime, key: str) -> FloatArray:
    return np.array([fits[key].slope for by_nodes in time.values() for fits in by_nodes.values()])


def _describe_slopes(slopes: FloatArray) -> str:
    return f"{slopes.mean():.2f} on average ({slopes.min():.2f} to {slopes.max():.2f})"


def _slowest(slopes: Mapping[str, FloatArray], bias: FloatArray) -> str:
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


def nodes_table(nodes: Mapping[str, Fits]) -> Table:
    """List exponents in the number of nodes beside those of the bounds."""
    rows: list[tuple[Cell, ...]] = [
        (name, *_beside_bound(fits, key), fits["scale"].slope)
        for name, fits in nodes.items()
        for key in QUANTITIES
    ]
    columns = ("quantity", "fitted", "standard error", "of the bound", "difference")
    return Table(
        "Exponents in the number of nodes n",
        ("graph", *columns, "of |E|/lambda"),
        rows,
        "Least squares on log-log axes: of the limit of t x bias, and of the others at the last "
        "iteration. Quantities and bounds are those of one node, root mean squares over nodes, "
        "but for the network's mean, on which there is no bound of its own.",
    )


def gap_table(gap: Fits, nodes: int) -> Table:
    """List exponents in |E|/lambda over networks of one size."""
    return Table(
        f"Exponents in |E|/lambda over networks of {nodes} nodes that hold the same incomes",
        ("quantity", "fitted", "standard error", "of the bound", "difference"),
        [_beside_bound(gap, key) for key in QUANTITIES],
        "The exponents of the bounds are fitted on the same networks.",
    )


def _beside_bound(fits: Fits, key: str) -> tuple[Cell, ...]:
    fitted = fits[key]
    if key not in BOUNDED:
        return (QUANTITIES[key], fitted.slope, fitted.error, None, None)
    bound = fits[BOUNDED[key]].slope
    return (QUANTITIES[key], fitted.slope, fitted.error, bound, fitted.slope - bound)


def time_table(time: InTime, far: tuple[float, float]) -> Table:
    """List exponents in t for the smallest and the largest network of every family."""
    rows: list[tuple[Cell, ...]] = [
        (name, nodes, *(by_nodes[nodes][key].slope for key in QUANTITIES))
        for name, by_nodes in time.items()
        for nodes in (min(by_nodes), max(by_nodes))
    ]
    return Table(
        "Exponents in the number of iterations t",
        ("graph", "nodes", *QUANTITIES.values()),
        rows,
        f"The bound on the bias falls with exponent {BIAS_IN_TIME:g}, that on the error with "
        f"{ERROR_IN_TIME:g}. In units of |E|/lambda iterations, the exact bias is fitted between "
        f"{far[0]:g} and {far[1]:g}, what is measured from {SETTLED:g} on.",
    )


def time_claims(time: InTime) -> list[Claim]:
    """Check the rates in t on every network; bounds are upper bounds, so faster is fine."""
    bias, error = _slopes(time, "bias"), _slopes(time, "error")
    return [
        Claim(
            "bias-in-time",
            "The bias of GoSta falls at least as fast as 1/t.",
            "paper, line 312",
            grade(bias <= BIAS_IN_TIME + EXACT_TOLERANCE),
            f"Exact exponents on {len(bias)} networks are between {bias.min():.3f} and "
            f"{bias.max():.3f}; at most {BIAS_IN_TIME + EXACT_TOLERANCE:g} was asked for.",
        ),
        Claim(
            "error-in-time",
            "The error of GoSta falls at least as fast as 1/sqrt(t).",
            "paper, line 329",
            grade(error <= ERROR_IN_TIME + NOISY_TOLERANCE),
            f"Over {len(error)} networks the exponent of a node's error is "
            f"{_describe_slopes(error)}; "
            f"at most {ERROR_IN_TIME + NOISY_TOLERANCE:g} was asked for. That of the fluctuation "
            "of "
            f"the network's mean alone is {_describe_slopes(_slopes(time, 'mean_fluctuation'))}.",
        ),
    ]


def bounds_claim(families: Families) -> Claim:
    """Check that bias and error of a node stay below their bounds, on all networks."""
    ratios = [point.below_bounds() for by_n in families.values() for point in by_n.values()]
    largest = {key: max(found[key] for found in ratios) for key in ("bias", "error")}
    return Claim(
        "below-bounds",
        "Bias and error of a node stay below their bounds.",
        "theory: the bound on the bias for any kernel; paper, line 325, in its centered form",
        grade(value <= 1.0 for value in largest.values()),
        f"On {len(ratios)} networks and at all checkpoints the exact bias is at most "
        f"{largest['bias']:.3g} of its bound, the root mean square error {largest['error']:.3g} "
        "of its own.",
    )
