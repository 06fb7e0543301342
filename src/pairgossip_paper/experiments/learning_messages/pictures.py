"""The figures of "learning-messages": loss and held-out AUC against what is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.results.curves import COLORS, EXACT
from pairgossip_paper.experiments.learning_messages.runs import (
    DATA,
    DIGITS,
    HELD_OUT,
    WAYS,
    WISCONSIN,
    LossCurve,
)
from pairgossip_paper.framework import Facts, Picture
from pairgossip_paper.framework.figures import Panel, Sheet
from pairgossip_paper.paper_setup import GRAPHS

_LARGE_NETWORK = "watts-strogatz"
"""The network that is drawn large."""
_AXES = {"exchanges": "exchanges (two messages each)", "bytes": "bytes of payload"}
MOMENTS = "class moments"
_MOMENTS_COLOR = COLORS[2]
_OPTIMUM = "optimum"
_BELOW = ("ordered", "tree")
_LABEL_OFFSETS = {"adaptive": (-8, 0, "right", "center"), "tuned": (8, 4, "left", "center")}
"""Offsets in points, and alignments, of the labels of curves that fall."""
_HIGHEST = 5.0
"""Largest loss that is drawn, in units of that of the zero model."""
_SMALLEST = 1e-5
"""Smallest 1 - AUC on the axis; smaller values, 0 included, are drawn at it."""

ByWay = Mapping[str, LossCurve]
Curves = Mapping[str, ByWay]
"""Curves by data set with graph, and by way."""
_Drawn = Mapping[str, tuple[FloatArray, FloatArray]]
"""The abscissas and ordinates of each way."""


class _CurveLook(NamedTuple):
    color: str
    line: str
    marker: str


_LOOKS = {
    "paper": _CurveLook("#000000", "-", ""),
    "tuned": _CurveLook(COLORS[4], "-", ""),
    "adaptive": _CurveLook(COLORS[1], "-", ""),
    "ordered": _CurveLook(COLORS[0], "--", "o"),
    "tree": _CurveLook("#882255", "-", "o"),
}


def overview_picture(curves: Curves, facts: Facts) -> Picture:
    """Draw the losses of both data sets on one network, with the names of curves beside them."""
    sheet = Sheet(2, size=(12.4, 4.9))
    for panel, data in zip(sheet.panels, DATA, strict=True):
        name = f"{data}-{_LARGE_NETWORK}"
        _draw_losses(panel, curves[name], facts[name], "exchanges", labels=True)
        panel.finish(_AXES["exchanges"], "loss", _title(name, facts), y_once=True)
        panel.axes.set_xlim(
            70, 7 * max(float(curve.exchanges[-1]) for curve in curves[name].values())
        )
    return Picture(
        "overview",
        f"Mean loss of the nodes' models on a {_LARGE_NETWORK} graph against exchanges, two "
        "messages each. Dotted: the optimum of one machine that holds all rows. The first point of "
        "a sketch is the closed form from class moments.",
        sheet,
    )


def loss_picture(curves: Curves, facts: Facts, against: str) -> Picture:
    """Draw losses against exchanges, or bytes, on the paper's networks."""
    sheet = Sheet(3, 2)
    for panel, data, graph in sheet.over(DATA, GRAPHS):
        name = f"{data}-{graph}"
        _draw_losses(panel, curves[name], facts[name], against)
        panel.finish(_AXES[against], "loss", _title(name, facts), y_once=True)
    sheet.add_legend(columns=7, panel=sheet.rows[0][1])
    return Picture(
        against,
        f"Mean loss of the nodes' models against {against}, on the paper's networks: above "
        f"{DATA[WISCONSIN].label}, below {DATA[DIGITS].label}, with a penalty. Dotted: "
        "the optimum of one machine that holds all rows.",
        sheet,
    )


def held_out_picture(curves: Curves, facts: Facts) -> Picture:
    """Draw the share of wrongly ordered pairs among rows that no node sees."""
    sheet = Sheet(2, size=(11.0, 4.6))
    for panel, data in zip(sheet.panels, DATA, strict=True):
        name = f"{data}-{HELD_OUT}"
        _draw_ranking_errors(panel, curves[name], facts[name])
        y = "1 - AUC on rows held out"
        panel.finish(_AXES["exchanges"], y, _title(name, facts), y_once=True)
    sheet.add_legend(columns=6)
    return Picture(
        HELD_OUT,
        "One minus the AUC on rows held out, mean over nodes, against exchanges on a "
        f"{_LARGE_NETWORK} graph. Dotted: that of the optimum of one machine.",
        sheet,
    )


def _title(name: str, facts: Facts) -> str:
    data, _, graph = name.partition("-")
    fact = facts[name]
    if fact["held_out"]:
        return f"{DATA[data].label}: {fact['nodes']} nodes, {fact['held_out']} rows held out"
    return f"{DATA[data].label}, {graph}, {fact['nodes']} nodes"


def _draw_losses(
    panel: Panel, by: ByWay, fact: Facts, against: str, *, labels: bool = False
) -> None:
    """Draw all ways, the closed form, and the optimum."""
    drawn = {way: (getattr(curve, against), curve.loss) for way, curve in by.items()}
    _draw_ways(panel, drawn)
    panel.level(fact["optimum"], _OPTIMUM, EXACT, ":", linewidth=1.2)
    highest = max(float(y.max()) for _, y in drawn.values())
    panel.axes.set_ylim(0.62 * fact["optimum"], 1.2 * min(highest, _HIGHEST * fact["zero"]))
    if labels:
        _write_labels(panel, drawn, fact)


def _draw_ranking_errors(panel: Panel, by: ByWay, fact: Facts) -> None:
    """Draw one minus the held-out AUC of all ways, and of the optimum."""
    _draw_ways(
        panel,
        {
            way: (curve.exchanges, np.maximum(1.0 - curve.auc, _SMALLEST))
            for way, curve in by.items()
            if curve.auc is not None
        },
    )
    panel.level(max(1.0 - fact["auc"], _SMALLEST), _OPTIMUM, EXACT, ":", linewidth=1.2)


def _draw_ways(panel: Panel, drawn: _Drawn) -> None:
    for way, (x, y) in drawn.items():
        look = _LOOKS[way]
        style = look.marker + look.line
        panel.plot(x, y, WAYS[way].label, look.color, style, linewidth=1.5, markersize=3.5)
    x, y = drawn["tree"]
    panel.plot(x[:1], y[:1], MOMENTS, _MOMENTS_COLOR, "*", markersize=12, zorder=5)


def _write_labels(panel: Panel, drawn: _Drawn, fact: Facts) -> None:
    """Write the names of curves beside them, so that no legend is needed.

    Falling curves have their names beside the fall, on either side; sketches below the optimum.
    """
    middle = float(np.sqrt(fact["optimum"] * fact["zero"]))
    for way, (x, y) in drawn.items():
        if way == "paper":
            at, place = (x[-1], y[-1]), (6, 0, "left", "center")
        elif way in _BELOW:
            at, place = (x[-1], fact["optimum"]), (3, -5, "right", "top")
        else:
            last_above = np.flatnonzero(y > middle)[-1:]
            at, place = (float(x[last_above].sum()) or x[0], middle), _LABEL_OFFSETS[way]
        _write(panel, WAYS[way].label, at, _LOOKS[way].color, place)
    x, y = drawn["tree"]
    _write(panel, MOMENTS, (x[0], y[0]), _MOMENTS_COLOR, (-8, -2, "right", "center"))
    _write(panel, f"centralized {_OPTIMUM}", (85, fact["optimum"]), EXACT, (0, -5, "left", "top"))


def _write(
    panel: Panel, text: str, at: tuple[float, float], color: str, place: tuple[int, int, str, str]
) -> None:
    """Write a label at an offset from a place, in points."""
    right, up, ha, va = place
    panel.axes.annotate(
        text, at, (right, up), textcoords="offset points", color=color, ha=ha, va=va
    )
