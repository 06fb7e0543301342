"""What the page shows of results: the curves of a run or fit, the chapters of a reproduction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import PairgossipError
from pairgossip.results import Fit, Run
from pairgossip.results.curves import Chart, axis_label, describe, fit_charts, run_charts
from pairgossip.results.traffic import AGAINST

if TYPE_CHECKING:  # experiments take a second to import, and not everybody looks at them
    from pairgossip.experiments.framework import Experiment, Plan, Section
    from pairgossip.experiments.framework.figures import Panel, PlacedCurve
    from pairgossip.experiments.framework.store import Store

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


Chapters = Callable[[], list[dict[str, Any]]]
"""Makes what the page shows of reproductions, a chapter per experiment; this takes seconds."""


def find_chapters(folders: Sequence[Path]) -> Chapters | None:
    """Return what makes the chapters of these reproductions; None if there are none."""
    if not folders:
        return None
    from pairgossip.experiments.framework.store import Store

    stores = [Store(folder) for folder in folders]
    plans = [store.saved_plan() for store in stores]  # damaged settings are refused at once

    def make() -> list[dict[str, Any]]:
        pairs = zip(stores, plans, strict=True)
        return [chapter for store, plan in pairs for chapter in _chapters(store, plan)]

    return make


def _chapters(store: Store, plan: Plan) -> list[dict[str, Any]]:
    from pairgossip.experiments import CATALOG

    begun = [one for one in CATALOG.values() if store.has_begun(one)]
    return [_chapter(experiment, store, plan) for experiment in begun]


def _chapter(experiment: Experiment, store: Store, plan: Plan) -> dict[str, Any]:
    problem, section = "", None
    try:
        results = store.results_of(experiment, plan)
        if results is None:
            problem = "Some of its results are missing: resume the reproduction."
        else:
            section = experiment.report(results)
    except PairgossipError as wrong:  # damaged, or of another plan
        problem = str(wrong)
    return {
        "key": experiment.name,
        "title": experiment.title,
        "question": experiment.question,
        "problem": problem,
        **section_content(section),
    }


def section_content(section: Section | None) -> dict[str, Any]:
    """Return what the page shows of a section of the report."""
    if section is None:
        return {"findings": [], "claims": [], "figures": []}
    return {
        "findings": section.findings,
        "claims": [(one.verdict, one.statement, one.evidence) for one in section.claims],
        "figures": [
            {
                "name": picture.name,
                "caption": picture.caption,
                "panels": [_panel_content(one) for one in picture.sheet.panels if one.curves],
            }
            for picture in section.pictures
        ],
    }


def _panel_content(panel: Panel) -> dict[str, Any]:
    placed = [placed for placed in panel.curves if placed.x is None or len(placed.x)]
    known = np.concatenate([one.x for one in placed if one.x is not None])
    ends = np.array([known.min(), known.max()])
    return {
        "title": panel.title,
        "x_label": panel.x_label,
        "y_label": panel.y_label,
        "x_log": panel.x_log,
        "y_log": panel.y_log,
        "x_ticks": list(enumerate(panel.x_names)) or None,
        "y_ticks": list(enumerate(panel.y_names)) or None,
        "curves": [_placed_content(one, ends if one.x is None else one.x) for one in placed],
    }


def _placed_content(placed: PlacedCurve, x: FloatArray) -> dict[str, Any]:
    curve = placed.curve
    band = None
    if curve.band is not None:
        band = {"x": x, "low": curve.band[0], "high": curve.band[1]}
    return {
        "label": curve.label,
        "x": x,
        "y": curve.y,
        "color": curve.color,
        "dash": DASHES[curve.style],
        "points": placed.points,
        "band": band,
    }
