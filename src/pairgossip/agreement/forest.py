"""The forest plot: every site, the mean, and the range of a new site."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pairgossip.pictures.picture import MUTED, SERIES, Dots, Line, Part, Picture, Region, Rule
from pairgossip.text import format_ends, format_interval

if TYPE_CHECKING:
    from pairgossip.agreement.heterogeneity import Heterogeneity

_MEAN, _NEW = "mean", "a new site"
_HALF_HEIGHT = 0.3
"""Half the height of the diamond, in rows."""


class ForestLine(NamedTuple):
    """One site in a forest plot."""

    name: str
    value: float
    ends: tuple[float, float]
    weight: float


class Forest(NamedTuple):
    """The values of sites, their mean, and the range of a new site."""

    reading: str
    level: float
    lines: Sequence[ForestLine]
    mean: float
    interval: tuple[float, float]
    new: tuple[float, float]
    """NaN if there is no range for a new site."""

    def draw(self) -> Picture:
        """Return the picture with sites from the top down, and the mean and a new site below."""
        lines, (low, high), count = self.lines, self.new, len(self.lines)
        rows = [*(one.name for one in lines), _MEAN]
        notes = [format_interval(one.value, one.ends) for one in lines]
        notes.append(format_interval(self.mean, self.interval))
        parts: list[Part] = [Rule(x=self.mean)]
        if lines:
            values, weights = np.array([(one.value, one.weight) for one in lines]).T
            ends, at = np.array([one.ends for one in lines]).T, np.arange(float(count))
            dots = Dots(values, at, x_ends=(ends[0], ends[1]), sizes=weights, marker="s")
            parts.append(dots)
        parts.append(_draw_diamond(self.mean, self.interval, count))
        if not math.isnan(low):
            at_new = np.full(2, count + 1.0)
            parts.append(Line(np.array([low, high]), at_new, color=MUTED, width=3.0))
            rows.append(_NEW)
            notes.append("{} to {}".format(*format_ends(self.mean, (low, high))[1:]))
        label = f"{self.reading} ({100 * self.level:g} %)"
        return Picture(
            tuple(parts), self.reading, "", rows=tuple(rows), notes=tuple(notes), notes_label=label
        )


def draw_forest(found: Heterogeneity) -> Picture:
    """Return the forest plot of a comparison made from summaries or rows."""
    lines = [
        ForestLine(one.name, float(one.value), (one.low, one.high), one.weight)
        for one in found.sites
    ]
    ends = found.interval, found.prediction_interval
    return Forest(found.reading, found.level, lines, found.mean, *ends).draw()


def _draw_diamond(mean: float, ends: tuple[float, float], at: int) -> Region:
    """Return a diamond as wide as the interval of the mean."""
    x = np.array([ends[0], mean, ends[1], mean])
    y = at + _HALF_HEIGHT * np.array([0.0, -1.0, 0.0, 1.0])
    return Region(x, y, color=SERIES[1], opacity=1.0)
