"""Pictures of curves: ROC, precision and recall, and the net benefit of decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import real
from pairgossip.errors import InputError
from pairgossip.pictures.picture import MUTED, SERIES, Dots, Line, Part, Picture, Region
from pairgossip.text import format_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pairgossip.curves.roc import Roc
    from pairgossip.curves.thresholds import OperatingPoint
    from pairgossip.inference.answer import Answer

_UNIT = (0.0, 1.0)
_BAND_OPACITY, _CERTAIN_OPACITY = 0.15, 0.35
"""Opacity of the region for the population's curve, and of that for the rows' own."""
_POINTS_PER_PIECE = 8
"""Number of points on each straight piece of a ROC path, which is bent in a picture of
precision."""
_DECISIONS = 100
"""Number of thresholds at which net benefit is drawn."""
_HIGHEST = 0.99
"""Largest threshold at which net benefit is drawn: at 1, the odds are infinite."""


def picture_roc(curves: Mapping[str, Roc], band: str, first: int = 0) -> Picture:
    """Return ROC curves on one picture; a single curve has its regions around it.

    Colors begin with the one that has the number ``first``.
    """
    parts: list[Part] = [Line(np.array(_UNIT), np.array(_UNIT), color=MUTED, style="--", width=1)]
    is_alone = len(curves) == 1
    for number, (name, roc) in enumerate(curves.items()):
        color = SERIES[(first + number) % len(SERIES)]
        if is_alone and band == "simultaneous":
            label = f"{100 * roc.level:g} % band for the population's curve"
            parts.append(_fill(roc.band.lower, roc.band.upper, label, color, _BAND_OPACITY))
        if is_alone and not roc.scores.is_known:
            parts.append(_fill(*roc.certain, "certain for these rows", color, _CERTAIN_OPACITY))
        parts.append(Line(roc.fpr, roc.tpr, _name_curve(name, roc), color))
        if roc.thresholds:
            points = [roc.at(threshold) for threshold in roc.thresholds]
            parts.append(_mark(points, color, has_ends=band == "pointwise"))
    return Picture(
        tuple(parts),
        "1 - specificity",
        "sensitivity",
        x_range=_UNIT,
        y_range=_UNIT,
        is_square=True,
        description="; ".join(_describe(name, roc) for name, roc in curves.items()),
    )


def count_curves(ax: Axes | None) -> int:
    """Return the number of curves already on axes, so that the next one has its own color."""
    used = set() if ax is None else {line.get_color() for line in ax.lines}
    return sum(color in used for color in SERIES)


def _fill(
    lower: tuple[FloatArray, FloatArray],
    upper: tuple[FloatArray, FloatArray],
    label: str,
    color: str,
    opacity: float,
) -> Region:
    """Return the region between two paths from the lower left to the upper right."""
    x, y = (np.concatenate([low, high[::-1]]) for low, high in zip(lower, upper, strict=True))
    return Region(x, y, label, color, opacity)


def _name_curve(name: str, roc: Roc) -> str:
    area = _describe_number(roc.auc)
    return f"{name}: AUC {area}" if name else f"AUC {area}"


def _describe_number(number: Answer) -> str:
    return format_interval(number.value, (number.low, number.high))


def _mark(points: Sequence[OperatingPoint], color: str, *, has_ends: bool) -> Dots:
    """Return the points of the agreed thresholds, with their intervals if ``has_ends``."""
    up = [point.sensitivity for point in points]
    right = [point.specificity for point in points]
    x_ends = _array(1 - one.high for one in right), _array(1 - one.low for one in right)
    y_ends = _array(one.low for one in up), _array(one.high for one in up)
    return Dots(
        _array(1 - one.value for one in right),
        _array(one.value for one in up),
        _name_thresholds([point.threshold for point in points]),
        color,
        x_ends if has_ends else None,
        y_ends if has_ends else None,
    )


def _name_thresholds(thresholds: Sequence[float]) -> str:
    return "at " + ", ".join(f"{one:g}" for one in thresholds)


def _array(numbers: Iterable[float]) -> FloatArray:
    return np.array(list(numbers), dtype=float)


def _describe(name: str, roc: Roc) -> str:
    """Describe a curve for people who cannot see it."""
    of = f" of {name}" if name else ""
    rates = [f"{roc.tpr[np.searchsorted(roc.fpr, at, 'right') - 1]:.2f}" for at in (0.1, 0.2, 0.5)]
    return (
        f"ROC curve{of}, area {_describe_number(roc.auc)}: at 0.1, 0.2 and 0.5 on the horizontal "
        f"axis the sensitivity is {rates[0]}, {rates[1]} and {rates[2]}"
    )


def picture_precision(roc: Roc, name: str = "", first: int = 0) -> Picture:
    """Return precision over recall, with the precision of chance."""
    share = roc.positives / (roc.positives + roc.negatives)
    color = SERIES[first % len(SERIES)]
    area = f"average precision {_describe_number(roc.average_precision)}"
    parts: list[Part] = [
        Line(np.array(_UNIT), np.full(2, share), "by chance", MUTED, "--", width=1)
    ]
    if not roc.scores.is_known:
        lower, upper = (_trace_precision(roc, path) for path in roc.certain)
        parts.append(_fill(lower, upper, "certain for these rows", color, _CERTAIN_OPACITY))
    # Up to a recall, precision is that of the threshold that reaches it, as in its mean.
    recall, precision = np.append(roc.tpr[:0:-1], 0.0), np.append(roc.precision[:0:-1], np.nan)
    precision[-1] = precision[-2]
    label = f"{name}: {area}" if name else area
    parts.append(Line(recall, precision, label, color, steps=roc.scores.ties_known))
    return Picture(
        tuple(parts),
        "recall (sensitivity)",
        "precision (positive predictive value)",
        x_range=_UNIT,
        y_range=_UNIT,
        is_square=True,
        description=f"Precision over recall: {area}, by chance {share:.3g}",
    )


def _trace_precision(
    roc: Roc, path: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return recall and precision along a path of rates; a higher path has higher precision."""
    x, y = (_refine(one) for one in path)
    true, false = roc.positives * y, roc.negatives * x
    is_any = true + false > 0
    return y[is_any], true[is_any] / (true + false)[is_any]


def _refine(path: FloatArray) -> FloatArray:
    """Return a coordinate of a path with more points between its corners."""
    numbers = np.arange(len(path))
    return np.interp(
        np.arange(_POINTS_PER_PIECE * (len(path) - 1) + 1) / _POINTS_PER_PIECE, numbers, path
    )


def picture_decisions(
    roc: Roc, highest: float | None = None, name: str = "", first: int = 0
) -> Picture:
    """Return the net benefit of treating by score, everybody and nobody, over thresholds.

    Thresholds run up to ``highest``, by default three times the share of positive rows.
    """
    roc.check_probabilities("Net benefit")
    share = roc.positives / (roc.positives + roc.negatives)
    top = min(3 * share, _HIGHEST) if highest is None else _check_highest(highest)
    color = SERIES[first % len(SERIES)]
    x = np.linspace(0, top, _DECISIONS + 1)[1:]
    gains = [roc.at(one).net_benefit for one in x.tolist()]
    everybody = share - (1 - share) * x / (1 - x)
    y = _array(one.value for one in gains)
    low, high = (_array(one.bracket[side] for one in gains) for side in (0, 1))
    parts: list[Part] = [
        Line(x, np.zeros(len(x)), "nobody", MUTED, width=1),
        Line(x, everybody, "everybody", MUTED, "--", width=1),
    ]
    if not roc.scores.is_known:
        label = "certain for these rows"
        parts.append(_fill((x, low), (x, high), label, color, _CERTAIN_OPACITY))
    parts.append(Line(x, y, name or "those above the threshold", color))
    if agreed := [one for one in roc.thresholds if 0 < one <= top]:
        at = [roc.at(one).net_benefit for one in agreed]
        ends = _array(one.low for one in at), _array(one.high for one in at)
        values = _array(one.value for one in at)
        parts.append(Dots(_array(agreed), values, _name_thresholds(agreed), color, y_ends=ends))
    return Picture(
        tuple(parts),
        "threshold probability",
        "net benefit",
        x_range=(0.0, top),
        y_range=(-0.1 * share, 1.1 * max(share, float(y.max()))),
        description=f"Net benefit over thresholds from 0 to {top:.2g}, at most {y.max():.3g}",
    )


def _check_highest(highest: float) -> float:
    number = real("The highest threshold", highest, 0.0, 1.0)
    if not 0 < number < 1:
        raise InputError(
            f"The highest threshold is {number:g}: give a number between 0 and 1.", "highest"
        )
    return min(number, _HIGHEST)
