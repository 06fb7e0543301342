"""Survival curves as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import choice
from pairgossip.inference.group_text import ALL_ROWS
from pairgossip.pictures.picture import SERIES, Area, Line, Part, Picture
from pairgossip.pictures.scales import linear_ticks
from pairgossip.survival.curve import Curve, Points

_BANDS = {"pointwise": ("low", "high"), "simultaneous": ("band_low", "band_high"), "none": ()}
"""The kinds of bands, and their columns."""
_MOST_MARKS = 200
"""Largest number of censoring times that have a mark; more would hide the curve."""
_MARK = 0.012
"""Half the height of such a mark, as a share."""
_TICKS = 6


def make_picture(
    curves: Sequence[Curve], level: float, band: str, time_label: str, name: str = ""
) -> Picture:
    """Return curves in different colors, with bands and with the numbers at risk below."""
    ends = _BANDS[choice("band", band, _BANDS)]
    noun = "interval for each time" if band == "pointwise" else "band for all times"
    label = f"{100 * level:g} % {noun}"
    parts: list[Part] = []
    for number, curve in enumerate(curves):
        own = " ".join(text for text in (name, curve.name or "") if text)
        color = SERIES[number % len(SERIES)]
        parts += _draw_curve(curve, own, color, ends, label if number == 0 else "")
    ticks = choose_ticks(curves)
    return Picture(
        tuple(parts),
        time_label,
        "share that survives",
        x_range=(0.0, _find_last(curves)),
        y_range=(0.0, 1.0),
        below=tuple(_count_at_risk(curve, ticks) for curve in curves),
        below_at=tuple(ticks.tolist()),
        below_label="Number at risk",
        description=_describe(curves),
    )


def choose_ticks(curves: Sequence[Curve]) -> FloatArray:
    """Return the round times of the axis, from 0 to the end of the longest curve."""
    return linear_ticks(0.0, _find_last(curves), _TICKS)


def _find_last(curves: Sequence[Curve]) -> float:
    return max(float(curve.times[-1]) for curve in curves) or 1.0


def _draw_curve(
    curve: Curve, name: str, color: str, ends: Sequence[str], label: str
) -> Iterator[Part]:
    """Return the parts of a curve: its band, its certain region, the curve and its censorings."""
    times, bounds = curve.times, curve.bounds
    x = times if times[0] == 0 else np.append(0.0, times)
    points = curve.read(x)
    if ends:
        low, high = (getattr(points, end) for end in ends)
        yield Area(x, low, high, label, color, opacity=0.16, steps=True)
    if bounds is not None:
        certain = "certain for these rows" if label else ""
        yield Area(x, points.least, points.most, certain, color, opacity=0.4, steps=True)
    is_stepped = bounds is None or bounds.axis.ties_known
    y = points.survival if is_stepped else curve.read(x, before=True).survival
    yield Line(x, y, name, color, steps=is_stepped)
    if has_marks(curve):
        yield _mark_censored(curve, points, color)


def has_marks(curve: Curve) -> bool:
    """Return whether times of censoring have marks: they are known, and not too many."""
    return curve.bounds is None and 0 < int((curve.table.censored > 0).sum()) <= _MOST_MARKS


def _mark_censored(curve: Curve, points: Points, color: str) -> Line:
    """Return short upright lines where rows are censored."""
    at = curve.table.times[curve.table.censored > 0]
    y = points.survival[np.searchsorted(points.time, at)]
    gap = np.full(len(at), np.nan)
    x = np.column_stack((at, at, gap)).ravel()
    return Line(x, np.column_stack((y - _MARK, y + _MARK, gap)).ravel(), "", color, width=1.2)


def _count_at_risk(curve: Curve, ticks: FloatArray) -> tuple[str, tuple[str, ...]]:
    counts = curve.read(ticks).at_risk
    return curve.name or ALL_ROWS, tuple(f"{round(one):,}" for one in counts.tolist())


def _describe(curves: Sequence[Curve]) -> str:
    """Return a description of the picture in words."""
    medians = (
        f"{curve.name or ALL_ROWS}: {curve.rows:,} rows, {curve.events:,} events, "
        f"median {curve.median.value:.4g}"
        for curve in curves
    )
    return f"Survival curves. {'; '.join(medians)}."
