"""The figures of "faults"."""

from __future__ import annotations

from collections.abc import Mapping

from pairgossip.results.curves import COLORS, EXACT
from pairgossip_paper import framework as fw
from pairgossip_paper.experiments.faults.curves import WINDOW, Curve, Curves, run_attacks
from pairgossip_paper.experiments.faults.runs import METHODS, NETWORKS, NUMBERS, WAYS
from pairgossip_paper.framework.figures import Panel, Sheet

LOSS_LOOKS = {
    "none": (EXACT, "-"),
    "loss-1": (COLORS[5], "--"),
    "loss-30": (COLORS[0], "--"),
    "churn": (COLORS[2], "-."),
    "delay": (COLORS[2], ":"),
    "half-01": (COLORS[4], "-"),
    "half-1": (COLORS[1], "-"),
    "half-10": (COLORS[3], "-"),
}
_METHOD_COLORS = dict(zip(METHODS, (COLORS[1], COLORS[0]), strict=True))
_NUMBER_STYLES = dict(zip(NUMBERS, ("--", "-"), strict=True))
_SHOWN = (0.03, 3000.0)
"""Ends of the axis of errors where nodes lie, in percent: some attacks know no bounds."""


def draw_losses(curves: Curves) -> fw.Picture:
    """Draw GoSta above and averaging below, where exchanges fail."""
    sheet = Sheet(len(NETWORKS), 2, sharex="row", sharey="row")
    for row, method in zip(sheet.rows, ("gosta", "averaging"), strict=True):
        is_gosta = method == "gosta"
        for panel, (name, by) in zip(row, curves.items(), strict=True):
            for fault, (color, style) in LOSS_LOOKS.items():
                key = f"{method}-{fault}"
                if key in by:
                    x, y = by[key].run.iterations / 1000, by[key].error
                    seen = y > WINDOW[0]
                    panel.plot(x[seen], y[seen], WAYS[key].label, color, style, linewidth=1.7)
            unit = "% of the statistic" if is_gosta else "sd of the rows"
            panel.finish(
                "thousand exchanges",
                f"error ({unit})",
                f"{'GoSta' if is_gosta else 'averaging'}, {name}",
                x_log=is_gosta,
                y_once=True,
            )
    sheet.add_legend(columns=4)
    return fw.Picture(
        "lost-exchanges",
        "Root mean square errors over nodes and trials against exchanges, those that were lost "
        "included: of GoSta (above), and of averaging one number per node (below). Dashed and "
        "dash-dotted: exchanges that take place as a whole or not at all. Solid: some take place "
        "at one of the two nodes only.",
        sheet,
    )


def draw_liars(curves: Curves) -> fw.Picture:
    """Draw a row of panels per network and a column per attack."""
    attacks = run_attacks(curves)
    sheet = Sheet(len(attacks), len(NETWORKS), sharex=True, sharey=True)
    for row, (name, by) in zip(sheet.rows, curves.items(), strict=True):
        for panel, attack in zip(row, attacks, strict=True):
            _draw_attack(panel, by, attack)
            x = "exchanges" if name == NETWORKS[-1] else ""
            panel.finish(x, "error of honest nodes (%)", f"{attack}, {name}", y_once=True)
            panel.axes.set_ylim(_SHOWN)
    sheet.add_legend(columns=len(attacks) + 1)
    return fw.Picture(
        "liars",
        "Median errors of honest nodes against exchanges, with one liar (dashed) and with one in a "
        "hundred nodes (solid), under several attacks. Dotted: clipped GoSta where nobody lies. A "
        "clip cannot tell a liar who stays inside it from an honest node (right).",
        sheet,
    )


def _draw_attack(panel: Panel, by: Mapping[str, Curve], attack: str) -> None:
    keys = {
        f"{method}-{attack}-{number}": (_METHOD_COLORS[method], _NUMBER_STYLES[number])
        for method in METHODS
        for number in NUMBERS
    }
    for key, (color, style) in ({"clipped-gosta-nobody": (EXACT, ":")} | keys).items():
        curve = by[key]
        panel.plot(curve.run.iterations, curve.error, WAYS[key].label, color, style, linewidth=1.7)
