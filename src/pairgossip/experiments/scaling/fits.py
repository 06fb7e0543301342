"""Exponents of scaling: in the number of nodes, in |E|/lambda, in the number of iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.experiments.error_parts import ErrorParts, error_parts
from pairgossip.experiments.framework.fitting import Line, power_law
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
    return {"scale": power_law(list(points), scales), **_ends(list(points), points.values())}


def in_gap(points: Mapping[str, Point]) -> Fits:
    """Fit exponents in |E|/lambda over networks of the same size that hold the same data."""
    return _ends([1 / point.exact["gap"] for point in points.values()], points.values())


def _ends(x: Sequence[float], points: Any) -> dict[str, Line]:
    found = list(points)
    measured = {
        key: power_law(x, [float(point.measured()[key][-1]) for point in found])
        for key in found[0].measured()
    }
    return measured | {
        "bias": power_law(x, [point.exact["late"] for point in found]),
        "bias_bound": power_law(x, [point.exact["late_bound"] for point in found]),
        "error_bound": power_law(x, [point.exact["error_bound"][-1] for point in found]),
    }


def in_time(points: Mapping[int, Point]) -> Mapping[int, Fits]:
    """Fit exponents in t on every network, beyond its time scale."""
    fits = {}
    for nodes, point in points.items():
        late = point.settled
        t = point.run.iterations[late]
        curves = {key: power_law(t, curve[late]) for key, curve in point.measured().items()}
        bias = power_law(point.exact["far"], point.exact["far_bias"])
        fits[nodes] = {"bias": bias, **curves}
    return fits
