"""Pictures of a validation: its calibration, and its groups beside each other."""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.inference.group_table import GroupTable
from pairgossip.inference.number_text import spell
from pairgossip.pictures.picture import MUTED, SERIES, Dots, Line, Part, Picture, Rule
from pairgossip.validation.calibration import Calibration
from pairgossip.validation.placed import expit, logit

_POINTS = 200
"""Number of points of a fitted line."""
_ROOM = 1.05
"""End of the axes, relative to the largest value drawn."""


def picture_calibration(found: Calibration, level: float) -> Picture:
    """Draw the share with the outcome over the mean score, by bins, and the logistic fit."""
    bins = found.bins
    expected = np.array([one.expected for one in bins])
    low, high = (np.array([getattr(one.observed, end) for one in bins]) for end in ("low", "high"))
    top = min(1.0, _ROOM * max(float(high.max()), float(expected.max())))
    parts: list[Part] = [
        Line(np.array([0.0, top]), np.array([0.0, top]), "as expected", MUTED, "--", width=1)
    ]
    if not found.reason:
        x, y = _draw_fit(found, bins[0].low, bins[-1].high, top)
        parts.append(Line(x, y, f"logistic fit, slope {spell(found.slope)}", SERIES[1]))
    ends = np.array([one.bracket for one in bins]).T
    parts.append(
        Dots(
            expected,
            np.array([one.observed.value for one in bins]),
            f"{len(bins)} bins of rows, {100 * level:g} %",
            x_ends=(ends[0], ends[1]) if (ends[0] < ends[1]).any() else None,
            y_ends=(low, high),
        )
    )
    return Picture(
        tuple(parts),
        "mean score (expected share)",
        "share with the outcome",
        x_range=(0.0, top),
        y_range=(0.0, top),
        is_square=True,
        description=(
            f"Calibration in {len(bins)} bins: observed over expected "
            f"{spell(found.observed_expected)}, slope {spell(found.slope)}"
        ),
    )


def _draw_fit(
    found: Calibration, low: float, high: float, top: float
) -> tuple[FloatArray, FloatArray]:
    """Return the fitted line between two scores."""
    x = np.linspace(low, min(high, top), _POINTS)
    y = expit(found.intercept.value + found.slope.value * logit(x))
    inside = y <= top
    return x[inside], y[inside]


def picture_groups(table: GroupTable, reference: float) -> Picture:
    """Return the values of groups from the top down, beside the value of all rows."""
    known = {name: one for name, one in table.items() if one.value == one.value}
    values = np.array([one.value for one in known.values()])
    ends = np.array([(one.low, one.high) for one in known.values()]).T
    return Picture(
        (
            Rule(x=reference),
            Dots(values, np.arange(float(len(known))), x_ends=(ends[0], ends[1]), marker="s"),
        ),
        table.statistic.upper() if table.statistic == "auc" else table.statistic,
        "",
        rows=tuple(known),
        notes=tuple(map(spell, known.values())),
        notes_label=f"{100 * table.level:g} %",
        description="; ".join(f"{name}: {spell(one)}" for name, one in known.items()),
    )
