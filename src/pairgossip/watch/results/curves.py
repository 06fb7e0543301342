"""A saved run or fit as curves: what was measured, what is expected, what is guaranteed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairgossip.results import Fit, Run
from pairgossip.results.curves import Chart, axis_label, describe, fit_charts, run_charts
from pairgossip.results.traffic import AGAINST

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection
    from matplotlib.figure import Figure


DASHES = {"-": "solid", "--": "dashed", "-.": "dash-dotted", ":": "dotted"}
"""What the page calls the line styles of matplotlib."""


def result_content(result: Run | Fit) -> dict[str, Any]:
    """Everything a page needs to draw a result in several ways."""
    charts = fit_charts(result) if result.kind == "fit" else run_charts(result, result.known_theory)
    return {
        "title": describe(result),
        "facts": _facts(result),
        "axes": _axes(result),
        "charts": {name: _chart_content(chart) for name, chart in charts.items()},
    }


def _facts(result: Run | Fit) -> list[tuple[str, Any]]:
    facts: list[tuple[str, Any]] = [
        ("trials", result.trials),
        ("iterations", int(result.iterations[-1])),
        ("messages", float(result.messages[-1])),
        ("law", result.law),
        ("seed", str(result.seed)),
        ("status", result.status),
    ]
    if result.kind == "fit":
        return [("last objective", float(result.objective[-1])), *facts, ("step", result.step)]
    exact = "one per node" if np.ndim(result.target) else float(result.target)
    return [
        ("last mean", float(result.mean[-1])),
        ("exact value", exact),
        ("last error", float(result.error[-1])),
        *facts,
    ]


def _axes(result: Run | Fit) -> dict[str, dict[str, Any]]:
    """The x axes that the result has."""
    names = [name for name in AGAINST if name != "time" or result.times is not None]
    return {
        name: {"label": axis_label(result, name), "values": result.axis(name)} for name in names
    }


def _chart_content(chart: Chart) -> dict[str, Any]:
    curves = [
        {
            "label": curve.label,
            "values": curve.y,
            "dash": DASHES[curve.style],
            "aside": curve.aside,
            "band": curve.band,
        }
        for curve in chart.curves
    ]
    return {"label": chart.label, "log": chart.log, "curves": curves}


# Figures of a report as curves again: read back from the drawings, so that they are the same.


_DASHES = {"-": "solid", "--": "dashed", "-.": "dashed", ":": "dotted"}
_UNNAMED = re.compile(r"_(child|line|container)\d+|_nolegend_|_?")
"""What matplotlib calls curves that were given no name."""
_POWER = re.compile(r"\^\{?(-?[0-9a-z])\}?")
SUPERSCRIPTS = str.maketrans("-0123456789n", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ")
MOST_POINTS = 2_000


class FigureSource(NamedTuple):
    """One figure of a report."""

    name: str
    caption: str
    figure: Figure


class Chapter(NamedTuple):
    """One experiment of a report: its figures, and what it says."""

    key: str
    title: str
    question: str
    findings: Sequence[str]
    claims: Sequence[tuple[str, str, str]]
    """Verdict, statement, evidence."""
    figures: Sequence[FigureSource]
    problem: str = ""
    """Why there is nothing to show, if so."""


Chapters = Callable[[], list[Chapter]]
"""Makes the chapters of a reproduction from its saved results."""


def chapter_content(chapter: Chapter) -> dict[str, Any]:
    """All that a page shows of a chapter."""
    return {
        "key": chapter.key,
        "title": chapter.title,
        "question": chapter.question,
        "findings": chapter.findings,
        "claims": chapter.claims,
        "problem": chapter.problem,
        "figures": [
            {
                "name": one.name,
                "caption": one.caption,
                "panels": _panels(one.figure),
            }
            for one in chapter.figures
        ],
    }


def _panels(figure: Figure) -> list[dict[str, Any]]:
    """The panels that have curves; an unnamed line is called after the named one of its color."""
    panels = [panel for panel in map(_panel, figure.axes) if panel["curves"]]
    curves = [curve for panel in panels for curve in panel["curves"]]
    names = {curve["color"]: curve["label"] for curve in reversed(curves) if curve["label"]}
    for panel in panels:
        taken: set[str] = set()
        for number, curve in enumerate(panel["curves"]):
            curve["near"] = _near(curve, panel["x_ticks"])
            curve["label"] = _distinct(curve, names, taken, number)
            taken.add(curve["label"])
            del curve["near"]
    return panels


def _near(curve: dict[str, Any], ticks: list[tuple[float, str]] | None) -> str:
    """The one word on the axis that all points of a curve belong to, if there is one."""
    if not ticks or not curve["points"]:
        return ""
    places = np.array([place for place, _ in ticks])
    nearest = {int(np.argmin(np.abs(places - x))) for x in curve["x"]}
    return ticks[nearest.pop()][1] if len(nearest) == 1 else ""


def _distinct(curve: dict[str, Any], names: dict[str, str], taken: set[str], number: int) -> str:
    label = curve["label"]
    if not label and curve["color"] in names:
        how = "points" if curve["points"] else curve["dash"]
        label = f"{names[curve['color']]} ({how})"
    if not label and curve["near"]:
        label = curve["near"]
    label = label or (f"guide {number + 1}" if len(curve["x"]) == 2 else f"line {number + 1}")
    return label if label not in taken else f"{label}, {number + 1}"


def _panel(axes: Axes) -> dict[str, Any]:
    bands = _bands(axes)
    bars: list[Any] = [one for one in axes.containers if hasattr(one, "has_yerr")]
    # What marks the ends of error bars is no curve, and their name is that of the whole.
    ends = {id(line) for bar in bars for line in bar.lines[1]}
    named = {id(bar.lines[0]): str(bar.get_label()) for bar in bars if bar.lines[0] is not None}
    curves: list[dict[str, Any]] = []
    for line in axes.get_lines():
        if id(line) in ends:
            continue
        x = np.asarray(line.get_xdata(orig=False), dtype=np.float64)
        y = np.asarray(line.get_ydata(orig=False), dtype=np.float64)
        if line.get_transform() != axes.transData:
            x, y = _across(axes, line)
        color, style = _hex(line.get_color()), str(line.get_linestyle())
        curves.append(
            {
                "label": _named(named.get(id(line), str(line.get_label()))),
                "x": x[:MOST_POINTS],
                "y": y[:MOST_POINTS],
                "color": color,
                "dash": _DASHES.get(style, "solid"),
                "points": style in ("None", "none", "", " "),
                "band": bands.pop(color, None),
            }
        )
    curves += [_columns(one) for one in axes.containers if hasattr(one, "patches")]
    return {
        "title": plain(axes.get_title()),
        "x_label": plain(axes.get_xlabel()),
        "y_label": plain(axes.get_ylabel()),
        "x_log": axes.get_xscale() in ("log", "symlog"),
        "y_log": axes.get_yscale() == "log",
        "x_ticks": _words(axes.get_xticks(), axes.get_xticklabels()),
        "y_ticks": _words(axes.get_yticks(), axes.get_yticklabels()),
        "curves": [curve for curve in curves if len(curve["x"])],
    }


def _columns(bars: Any) -> dict[str, Any]:
    """The tops of a bar chart."""
    boxes = bars.patches
    return {
        "label": _named(str(bars.get_label())),
        "x": np.array([box.get_x() + box.get_width() / 2 for box in boxes]),
        "y": np.array([box.get_y() + box.get_height() for box in boxes]),
        "color": _hex(boxes[0].get_facecolor()[:3]) if boxes else "",
        "dash": "solid",
        "points": True,
        "band": None,
    }


def _named(label: str) -> str:
    """Return the name of a curve: one that a legend leaves out begins with an underscore."""
    return "" if _UNNAMED.fullmatch(label) else plain(label.removeprefix("_"))


def _words(places: Any, labels: Sequence[Any]) -> list[tuple[float, str]] | None:
    """Where an axis has words instead of numbers."""
    if any("\\math" in label.get_text() for label in labels):  # powers of ten
        return None
    texts = [plain(label.get_text()) for label in labels]
    if len(texts) != len(places) or not any(re.search("[A-Za-z]{2}", text) for text in texts):
        return None
    return [(float(place), text) for place, text in zip(places, texts, strict=True)]


def _across(axes: Axes, line: Any) -> tuple[Any, Any]:
    """The ends of `axhline`; other lines in parts of the panel are left out."""
    y = np.asarray(line.get_ydata(orig=False), dtype=np.float64)
    if line.get_transform() == axes.get_yaxis_transform(which="grid") and len(set(y)) == 1:
        known = [one for one in axes.get_lines() if one.get_transform() == axes.transData]
        ends = [np.asarray(one.get_xdata(orig=False), dtype=np.float64) for one in known]
        ends = [x for x in ends if len(x)]
        if ends:
            return np.array([min(map(np.min, ends)), max(map(np.max, ends))]), y[:2]
    return np.array([]), np.array([])


def _bands(axes: Axes) -> dict[str, dict[str, Any]]:
    """The filled areas between two curves, by their color."""
    found: dict[str, dict[str, Any]] = {}
    for area in axes.collections:
        paths = area.get_paths()
        if type(area).__name__ not in ("PolyCollection", "FillBetweenPolyCollection") or not paths:
            continue
        band = _drawn_band(paths[0].vertices)
        if band is not None:
            found[_face(area)] = band
    return found


def _drawn_band(vertices: Any) -> dict[str, Any] | None:
    """Take the outline apart again: there along the one curve, back along the other."""
    points = np.asarray(vertices, dtype=np.float64)
    half = (len(points) - 3) // 2
    if len(points) != 2 * half + 3 or half < 1:
        return None
    there, back = points[1 : 1 + half], points[half + 2 : 2 * half + 2][::-1]
    if not np.array_equal(there[:, 0], back[:, 0]):
        return None
    low, high = np.minimum(there[:, 1], back[:, 1]), np.maximum(there[:, 1], back[:, 1])
    return {"x": there[:, 0], "low": low, "high": high}


def _face(area: Collection) -> str:
    colors = np.asarray(area.get_facecolor())
    return _hex(colors[0][:3]) if len(colors) else ""


def _hex(color: Any) -> str:
    from matplotlib.colors import to_hex

    return str(to_hex(color))


def plain(text: str) -> str:
    """Write a label without the signs of TeX."""
    raised = _POWER.sub(lambda power: power[1].translate(SUPERSCRIPTS), text.replace("$", ""))
    return (
        re.sub(r"\\(?:mathrm|mathbf|text|sqrt|hat|bar)?\s?", "", raised)
        .replace("{", "")
        .replace("}", "")
    )
