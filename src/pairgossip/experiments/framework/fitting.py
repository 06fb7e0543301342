"""Straight lines through curves on logarithmic axes: exponents and geometric rates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Line(NamedTuple):
    """The least-squares line through points."""

    slope: float
    error: float
    """Standard error of the slope, from the scatter about the line."""
    explained: float
    """Share of the variance that the line explains (R squared)."""


def straight_line(x: ArrayLike, y: ArrayLike) -> Line:
    """Fit y = slope x + constant; two points leave no scatter."""
    across, up = (np.asarray(values, dtype=np.float64) for values in (x, y))
    dx, dy = across - across.mean(), up - up.mean()
    slope = float(dx @ dy / (dx @ dx))
    residual = float(((dy - slope * dx) ** 2).sum())
    error = np.sqrt(residual / max(len(dx) - 2, 1) / (dx @ dx))
    return Line(slope, float(error), 1.0 - residual / float(dy @ dy))


def power_law(x: ArrayLike, y: ArrayLike) -> Line:
    """Fit y = constant x^slope to the points whose y is above 0."""
    across, up = (np.asarray(values, dtype=np.float64) for values in (x, y))
    positive = up > 0
    return straight_line(np.log(across[positive]), np.log(up[positive]))
