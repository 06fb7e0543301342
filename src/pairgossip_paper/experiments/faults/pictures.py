"""The figures of "faults"."""

from __future__ import annotations

from itertools import product

from pairgossip.results.curves import COLORS, EXACT
from pairgossip_paper import framework as fw
from pairgossip_paper.experiments.faults.runs import FAILURES, LIARS, METHODS, NETWORKS, Curves
from pairgossip_paper.framework.figures import Sheet

_UNITS = {"gosta": "% of the statistic", "averaging": "sd of the rows"}
_LIAR_LOOKS = dict(
    zip(product(METHODS, LIARS), product((COLORS[1], COLORS[0]), ("--", "-")), strict=True)
)
_ERROR_ENDS = (0.03, 3000.0)
"""Ends of the error axis of runs with liars, in percent; some attacks exceed any axis."""


def draw_failures(curves: Curves) -> fw.Picture:
    """Draw GoSta above and averaging below, for exchanges that fail."""
    sheet = Sheet(len(curves), len(_UNITS), sharex="row", sharey="row")
    for panel, method, name in sheet.over(_UNITS, curves):
        for key, failure in FAILURES.items():
            curve = curves[name][f"{method}-{key}"]
            seen = curve.error > fw.DECAY_WINDOW[0]
            x, y = curve.iterations[seen] / 1000, curve.error[seen]
            panel.plot(x, y, failure.label, failure.color, failure.style, linewidth=1.7)
        y_label, is_log = f"error ({_UNITS[method]})", method == "gosta"
        title = f"{method}, {name}"
        panel.finish("thousand exchanges", y_label, title, x_log=is_log, y_once=True)
    sheet.add_legend(columns=4)
    return fw.Picture(
        "lost-exchanges",
        "Root mean square errors over nodes and trials against exchanges, those that were lost "
        "included: of GoSta (above), and of averaging one number per node (below). Dashed and "
        "dotted: exchanges that take place as a whole or not at all. Solid: some take place at one "
        "of the two nodes only.",
        sheet,
    )


def draw_liars(curves: Curves, attacks: list[str]) -> fw.Picture:
    """Draw a row of panels per network and a column per attack."""
    sheet = Sheet(len(attacks), len(curves), sharex=True, sharey=True)
    for panel, name, attack in sheet.over(curves, attacks):
        by = curves[name]
        calm = by["clipped-gosta-nobody"]
        panel.plot(calm.iterations, calm.error, "clipped-gosta, nobody lies", EXACT, ":")
        for (method, number), (color, style) in _LIAR_LOOKS.items():
            curve = by[f"{method}-{attack}-{number}"]
            label = f"{method}, {number} {'lies' if number == 'one' else 'lie'}"
            panel.plot(curve.iterations, curve.error, label, color, style, linewidth=1.7)
        x, y = "exchanges" if name == NETWORKS[-1] else "", "error of honest nodes (%)"
        panel.finish(x, y, f"{attack}, {name}", y_once=True)
        panel.axes.set_ylim(_ERROR_ENDS)
    sheet.add_legend(columns=5)
    return fw.Picture(
        "liars",
        "Median errors of honest nodes against exchanges, with one liar (dashed) and with one in a "
        "hundred nodes (solid), under several attacks. Dotted: clipped GoSta where nobody lies. A "
        "clip cannot tell a liar who stays inside it from an honest node (right).",
        sheet,
    )
