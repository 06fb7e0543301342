"""The figures of "messages": errors against what is sent, the cost of a precision, and theory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pairgossip.results.curves import COLORS, EXACT
from pairgossip.theory import fewest_messages
from pairgossip_paper.experiments.messages.networks import OTHERS, PAPER, WAYS, WayCurve
from pairgossip_paper.framework import Facts, Picture
from pairgossip_paper.framework.figures import Panel, Sheet
from pairgossip_paper.paper_setup import NETWORK_COLORS

LEVEL = 0.01
"""The relative error for which messages and bytes are counted."""
_LARGE_NETWORK = "torus"
"""The network that is drawn large."""
_LOWEST = 1e-4
"""Smallest relative error on the axes; curves are cut off below it."""
_BYTES = 8
"""Bytes of one number, the shortest message."""
_AXES = {"messages": "messages", "bytes": "bytes of payload"}
_NETWORK_COLORS = NETWORK_COLORS | {"grid": "#E69F00", "geometric": "#000000"}

ByWay = Mapping[str, WayCurve]
Curves = Mapping[str, ByWay]
"""Curves by network and way."""


class _Look(NamedTuple):
    """The look of a way's curve: its color, line, marker and line width in points."""

    color: str
    line: str
    marker: str
    width: float = 1.8


_LOOKS = {
    "gosta": _Look("#000000", "-", "s"),
    "tracking": _Look(COLORS[4], "--", "D", 1.3),
    "tracking-ordered": _Look(COLORS[1], "-", "D"),
    "sketch": _Look(COLORS[5], "--", "o", 1.3),
    "sketch-continuized": _Look(COLORS[2], "-.", "v", 1.5),
    "sketch-ordered": _Look(COLORS[0], "-", "o"),
    "sketch-flooded": _Look(COLORS[0], ":", "^", 1.5),
    "sketch-tree": _Look("#882255", "-", "*"),
    "collect": _Look(COLORS[3], "-", "P", 1.3),
}
_HOLLOW_WAYS = ("tracking", "sketch", "sketch-flooded")
"""Ways with hollow marks."""


def overview_picture(curves: Curves, facts: Facts) -> Picture:
    """Draw one network large, beside the cost of a precision on all of them."""
    sheet = Sheet(2, size=(12.4, 5.2), width_ratios=(1.15, 1))
    left, right = sheet.panels
    fact = facts[_LARGE_NETWORK]
    _draw_errors(left, curves[_LARGE_NETWORK], fact, "messages", marks=True)
    left.axes.axhline(LEVEL, color="#999999", linewidth=0.8, linestyle=":")
    left.finish(_AXES["messages"], "relative error", f"{_LARGE_NETWORK} of {fact['nodes']} nodes")
    _draw_prices(right, curves, facts)
    right.finish(f"messages to an error of {100 * LEVEL:g} %", "", "all networks", y_log=False)
    right.axes.grid(visible=False, axis="y")
    names = list(curves)[::-1]
    right.name_places(y=[f"{name} ({facts[name]['nodes']})" for name in names])
    sheet.add_legend(columns=5, fontsize="small")
    return Picture(
        "overview",
        f"Left: root mean square error over nodes and trials on the {_LARGE_NETWORK}, relative to "
        "the statistic, against messages sent. Right: messages after which the error stays below "
        f"{100 * LEVEL:g} %, on all networks; arrows where more are needed than were sent. Gray: "
        "with fewer than `2n - 2` messages no way can collect all rows and inform every node.",
        sheet,
    )


def sent_picture(curves: Curves, facts: Facts, against: str) -> Picture:
    """Draw errors against messages, or bytes, on all networks."""
    sheet = Sheet(4, 2, sharey=True)
    above, below = sheet.rows
    for panel, name in zip([*above[:3], *below], (*PAPER, *OTHERS), strict=True):
        _draw_errors(panel, curves[name], facts[name], against)
        title = f"{name}, {facts[name]['nodes']} nodes"
        panel.finish(_AXES[against], "relative error", title, y_once=True)
    corner = above[3]
    corner.axes.set_axis_off()
    handles, labels = _longest_legend(sheet)
    corner.axes.legend(handles, labels, loc="center", frameon=False, fontsize="medium")
    wall = "`2n - 2` messages" + ("" if against == "messages" else " of one number each")
    return Picture(
        against,
        f"Root mean square error over nodes and trials, relative to the statistic, against "
        f"{against} sent: above the paper's networks, below others. Gray: fewer than {wall}, "
        "with which no way can collect all rows and inform every node.",
        sheet,
    )


def theory_picture(curves: Curves, facts: Facts) -> Picture:
    """Draw measured errors of averaging over exact ones."""
    sheet = Sheet(2, size=(11.0, 4.6), sharey=True)
    shown = (("sketch", "random", "random exchanges"), ("sketch-ordered", "ordered", "sweeps"))
    for panel, (way, key, title) in zip(sheet.panels, shown, strict=True):
        for name, by in curves.items():
            if way in by and key in facts[name]:
                curve, color = by[way], _NETWORK_COLORS[name]
                x = curve.messages / 2 / facts[name]["nodes"]
                panel.plot(x, facts[name][key], f"{name}, theory", color, "-", legend=False)
                panel.plot(x, curve.error, name, color, "o", markersize=3.5, fillstyle="none")
        along = f"sketch averaged along {title}"
        panel.finish("exchanges per node", "relative error", along, y_once=True)
        panel.axes.set_ylim(_LOWEST, 2)
    sheet.add_legend(columns=7)
    return Picture(
        "theory",
        "Measured errors of averaging a sketch (circles) and exact ones (lines), computed from the "
        "network and the rows with nothing fitted. They meet where errors are small, so that "
        "the statistic is nearly linear in the averages; in the end the error of the "
        "sketch stays.",
        sheet,
    )


def _draw_errors(
    panel: Panel, by: ByWay, fact: Facts, against: str, *, marks: bool = False
) -> None:
    """Draw all ways that run on a network, and the fewest messages that any can need."""
    fewest = fewest_messages(fact["nodes"]) * (1 if against == "messages" else _BYTES)
    first = 0.3 * fewest
    panel.axes.axvspan(first, fewest, color=EXACT, alpha=0.1, linewidth=0)
    panel.axes.axvline(fewest, color=EXACT, linewidth=1)
    words = "2n - 2 messages" if against == "messages" else "2n - 2 numbers"
    panel.axes.text(0.76 * fewest, 1.3 * _LOWEST, words, rotation=90, ha="right", fontsize="small")
    for way, curve in by.items():
        look, x = _LOOKS[way], getattr(curve, against)
        y = np.maximum(curve.error, _LOWEST / 10)
        style = look.marker + look.line if marks else look.line
        # A tree has its answer with the last message; the marks of the other ways tell them apart.
        step = max(len(x) // 6, 1)
        at = [len(x) - 1] if way == "sketch-tree" else slice(step, None, step)
        panel.plot(
            x, y, WAYS[way].label, look.color, style,
            linewidth=look.width, markevery=at, **_mark_look(way),
        )  # fmt: skip
        if way == "sketch-tree":
            panel.axes.plot(x[-1:], y[-1:], look.marker, color=look.color, **_mark_look(way))
    panel.axes.set_xlim(first, max(getattr(curve, against)[-1] for curve in by.values()))
    panel.axes.set_ylim(_LOWEST, 2)


def _mark_look(way: str) -> dict[str, Any]:
    """Return the size of a way's marks, and whether they are filled."""
    filled = "none" if way in _HOLLOW_WAYS else "full"
    return {"markersize": 12 if way == "sketch-tree" else 6.5, "fillstyle": filled}


def _longest_legend(sheet: Sheet) -> tuple[list[Any], list[str]]:
    """Return the legend of the panel with most curves."""
    fullest = max(sheet.panels, key=lambda panel: len(panel.curves))
    handles, labels = fullest.axes.get_legend_handles_labels()
    return handles, labels


def _draw_prices(panel: Panel, curves: Curves, facts: Facts) -> None:
    """Draw a row of marks per network."""
    names = list(curves)[::-1]
    for way, look in _LOOKS.items():
        reached = []
        for row, name in enumerate(names):
            curve = curves[name].get(way)
            price = curve and curve.needed(LEVEL)
            if price is not None:
                reached.append((price, row))
            elif curve is not None:
                last = curve.messages[-1]
                panel.axes.plot(last, row, ">", color=look.color, markersize=7)
        x, y = np.array(reached, dtype=np.float64).reshape(-1, 2).T
        panel.plot(x, y, WAYS[way].label, look.color, look.marker, **_mark_look(way))
    for row, name in enumerate(names):
        fewest, height = fewest_messages(facts[name]["nodes"]), [row - 0.4, row + 0.4]
        panel.axes.fill_betweenx(height, 10, fewest, color=EXACT, alpha=0.1, linewidth=0)
        panel.axes.axhline(row, color="#cccccc", linewidth=0.6, zorder=0)
    first = 0.7 * min(fewest_messages(fact["nodes"]) for fact in facts.values())
    panel.axes.set_xlim(first, 1.2 * max(by["gosta"].messages[-1] for by in curves.values()))
