"""The forest plot: every site, the mean, and where a new site may be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.pictures.picture import MUTED, SERIES, Dots, Line, Part, Picture, Region, Rule
from pairgossip.text import format_alike

if TYPE_CHECKING:
    from pairgossip.agreement.heterogeneity import Heterogeneity

_MEAN, _NEW = "mean", "a new site"
_HALF_HEIGHT = 0.3
"""Half of the height of the diamond, in rows."""
_DIGITS = 4
"""Part of an interval, one in so many, that the last digit of its ends may hide."""


def draw_forest(found: Heterogeneity) -> Picture:
    """Return the picture of sites from the top down, with the mean and a new site below."""
    sites, (low, high), count = found.sites, found.prediction_interval, len(found.sites)
    ends = np.array([(one.low, one.high) for one in sites]).T
    values = np.array([float(one.value) for one in sites])
    weights = np.array([one.weight for one in sites])
    rows = [*(one.name for one in sites), _MEAN]
    notes = [describe(float(one.value), (one.low, one.high)) for one in sites]
    notes.append(describe(found.mean, found.interval))
    at = np.arange(float(count))
    parts: list[Part] = [
        Rule(x=found.mean),
        Dots(values, at, x_ends=(ends[0], ends[1]), sizes=weights, marker="s"),
        _draw_diamond(found.mean, found.interval, count),
    ]
    if not math.isnan(low):
        parts.append(Line(np.array([low, high]), np.full(2, count + 1.0), color=MUTED, width=3.0))
        rows.append(_NEW)
        notes.append("{} to {}".format(*format_ends(found.mean, (low, high))[1:]))
    label = f"{found.reading} ({100 * found.level:g} %)"
    return Picture(
        tuple(parts), found.reading, "", rows=tuple(rows), notes=tuple(notes), notes_label=label
    )


def _draw_diamond(mean: float, ends: tuple[float, float], at: int) -> Region:
    """Return the diamond that is as wide as the interval of the mean."""
    x = np.array([ends[0], mean, ends[1], mean])
    y = at + _HALF_HEIGHT * np.array([0.0, -1.0, 0.0, 1.0])
    return Region(x, y, color=SERIES[1], opacity=1.0)


def describe(value: float, ends: tuple[float, float]) -> str:
    """Write a value with its interval, if it has one."""
    shown, low, high = format_ends(value, ends)
    return shown if math.isnan(ends[0]) else f"{shown} ({low} to {high})"


def format_ends(value: float, ends: tuple[float, float]) -> list[str]:
    """Write a value and the ends of its interval with digits that go with its width."""
    width = (ends[1] - ends[0]) / _DIGITS
    return format_alike((value, *ends), width)
