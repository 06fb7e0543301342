"""Intervals for statistics that are known up to a bracket."""

from __future__ import annotations

import math
from statistics import NormalDist

from pairgossip.counts.bounds import UNKNOWN, Ends
from pairgossip.inference.answer import Law, interval
from pairgossip.kernels.kernel import Scale

LEVEL = 0.95
"""Default confidence level of all intervals."""
_HALVINGS = 60
"""Number of bisections, after which an end is as exact as a float."""
POSSIBLE: dict[Scale, Ends] = {
    "logit": (0.0, 1.0),
    "log": (0.0, math.inf),
    "fisher": (-1.0, 1.0),
    "plain": (-math.inf, math.inf),
}
"""The possible values of statistics, by the scale of their intervals."""


def interval_about(
    bracket: Ends, value: float, error: float, scale: Scale, law: Law, level: float = LEVEL
) -> Ends:
    """Return an interval for a statistic that is known up to a bracket.

    Where the bracket is wide, the statistic can err on one side only (Imbens and Manski 2004).
    Noise may leave the value outside of the bracket, and beyond the limits of its scale.
    """
    low, high = (value, value) if math.isnan(bracket[0]) else bracket
    if not (error > 0 and low <= high):
        return UNKNOWN
    low, high = min(low, value), max(high, value)
    at_most, slope = level_of_ends(level, (high - low) / error), _slope(scale, value)
    sizes = [error * _slope(scale, end) / slope if slope > 0 else error for end in (low, high)]
    return (
        interval(low, sizes[0], at_most, scale, law)[0],
        interval(high, sizes[1], at_most, scale, law)[1],
    )


def _slope(scale: Scale, value: float) -> float:
    """Return the slope of numbers along the scale; 0 beyond its ends."""
    slopes = {"logit": value * (1 - value), "log": value, "fisher": 1 - value**2, "plain": 1.0}
    return max(slopes[scale], 0.0)


def level_of_ends(level: float, width: float) -> float:
    """Return the level of intervals about both ends of a bracket; its width is in errors."""
    law = NormalDist()
    low, high = law.inv_cdf(level), law.inv_cdf((1 + level) / 2)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if law.cdf(middle + width) - law.cdf(-middle) < level:
            low = middle
        else:
            high = middle
    return 2 * law.cdf(high) - 1
