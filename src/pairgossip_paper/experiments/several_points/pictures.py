"""The figures of "several-points": errors against what is sent, and what precision costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pairgossip.checks import CONSTRUCTIONS
from pairgossip.results.curves import COLORS, percentile_band
from pairgossip_paper.experiments.several_points.places import SITES, UNWEIGHTED, SiteCurve
from pairgossip_paper.framework import Facts, Picture
from pairgossip_paper.framework.figures import Panel, Sheet

_STYLES = {
    "lexicographic": (COLORS[0], "-", "o", "lexicographic"),
    "blow-up": (COLORS[1], "--", "s", "blow-up"),
    "whole-sets": (COLORS[2], "-", "^", "whole sets"),
    UNWEIGHTED: (COLORS[3], "-.", "", "whole sets, sizes forgotten"),
}
_SENT = {"messages": "messages between sites", "bytes": "bytes between sites"}
_FIRST_MESSAGE = 100
"""Messages at which x axes begin; before, all estimates are about as wrong as the answer 0."""
LEVEL = 0.1
"""The relative error for which messages and bytes are counted."""

ByConstruction = Mapping[str, SiteCurve]
Curves = Mapping[str, ByConstruction]
"""Curves by place and construction."""


def sent_picture(equal: Curves) -> Picture:
    """Draw errors against messages and bytes, at the sites with most rows."""
    sheet = Sheet(len(SITES), len(_SENT), sharey=True)
    for panel, against, graph in sheet.over(_SENT, SITES):
        name = largest(equal, graph)
        _draw_errors(panel, equal[name], against)
        title = f"{graph}, {name.rpartition('-')[2]} rows at each of {SITES[graph]} sites"
        title = title if against == "messages" else ""
        panel.finish(_SENT[against], "relative error", title, y_once=True)
    sheet.add_legend(columns=3)
    trials = next(iter(equal.values()))["lexicographic"].run.trials
    return Picture(
        "sent",
        f"Root mean square error over nodes and {trials} trials, relative to the statistic, "
        "against messages (above) and bytes of payload (below) that sites sent to each other; "
        "bands are the 10th to 90th percentiles of single trials.",
        sheet,
    )


def price_picture(curves: Curves, facts: Facts) -> Picture:
    """Draw the messages and bytes needed for one error, against the rows per site."""
    sheet = Sheet(len(SITES), len(_SENT), sharey="row")
    for panel, against, graph in sheet.over(_SENT, SITES):
        places = _equal_places(graph, curves)
        sizes = [facts[name]["sizes"][0] for name in places]
        _draw_prices(panel, sizes, [curves[name] for name in places], against)
        y = f"{_SENT[against]}\nto an error of {LEVEL:g}"
        title = f"{graph} of {SITES[graph]} sites" if against == "messages" else ""
        panel.finish("rows per site k", y, title, y_once=True)
        panel.number_ticks(sizes)
    sheet.add_legend(columns=4)
    return Picture(
        "prices",
        f"Messages (above) and bytes (below) after which the relative error stays below "
        f"{LEVEL:g}, against the rows per site: the more rows, the longer rows take to travel one "
        "by one. The gray line grows like `k`.",
        sheet,
    )


def unequal_picture(unequal: Curves, facts: Facts) -> Picture:
    """Draw errors against messages and bytes, at sites of unequal sizes."""
    sheet = Sheet(len(unequal), len(_SENT), sharey=True)
    above, below = sheet.rows
    for panel, (name, by) in zip(above, unequal.items(), strict=True):
        _draw_errors(panel, by, "messages")
        fact, graph = facts[name], name.partition("-")[0]
        away = abs(fact["unweighted"] / fact["value"] - 1)
        panel.level(away, "its exact bias", COLORS[3], ":", linewidth=1)
        sizes = fact["sizes"]
        title = f"{graph}, {min(sizes)} to {max(sizes)} rows at {len(sizes)} sites"
        panel.finish(_SENT["messages"], "relative error", title, y_once=True)
    for panel, by in zip(below, unequal.values(), strict=True):
        # Sites that ignore sizes would send as many bytes as those that do not.
        weighted = {key: curve for key, curve in by.items() if key != UNWEIGHTED}
        _draw_errors(panel, weighted, "bytes")
        panel.finish(_SENT["bytes"], "relative error", y_once=True)
    sheet.add_legend(columns=5)
    return Picture(
        "unequal",
        "Sites of unequal sizes: the relative error of the three constructions against messages "
        "(above) and bytes (below), and of sites that swap whole sets as if these were all of one "
        "size.",
        sheet,
    )


def largest(equal: Curves, graph: str) -> str:
    """Return the place of a graph with most rows per site."""
    return max(_equal_places(graph, equal), key=lambda name: int(name.rpartition("-")[2]))


def _equal_places(graph: str, curves: Curves) -> list[str]:
    """Return the places of a graph with equally many rows at each site."""
    return [n for n in curves if n.startswith(f"{graph}-") and n.rpartition("-")[2].isdecimal()]


def _draw_errors(panel: Panel, by: ByConstruction, against: str) -> None:
    for construction, curve in by.items():
        color, line, _, label = _STYLES[construction]
        x, band = getattr(curve, against), percentile_band(curve.trial_error)
        panel.plot(x, curve.error, label, color, line, band=band, linewidth=1.4)
    bytes_each = by["lexicographic"].bytes_per_message
    panel.axes.set_xlim(left=_FIRST_MESSAGE * (bytes_each if against == "bytes" else 1.0))


def _draw_prices(
    panel: Panel, sizes: list[int], places: list[ByConstruction], against: str
) -> None:
    for construction in CONSTRUCTIONS:
        color, line, marker, label = _STYLES[construction]
        # With one row per site, all constructions are the same.
        curves = [by.get(construction, by["lexicographic"]) for by in places]
        prices = [curve.needed(LEVEL, against) for curve in curves]
        reached = [(k, price) for k, price in zip(sizes, prices, strict=True) if price is not None]
        x, y = np.array(reached, dtype=np.float64).reshape(-1, 2).T  # also if none is reached
        panel.plot(x, y, label, color, f"{marker}{line}")
    alone = places[0]["lexicographic"].needed(LEVEL, against)
    if alone is not None:
        k = np.array([1.0, max(sizes)])
        panel.plot(k, alone * k, "grows like k", "#999999", linewidth=0.9)
