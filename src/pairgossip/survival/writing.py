"""Curves and tests for readers: tables of text, parts of a page, and figures by name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import real
from pairgossip.inference.group_text import ALL_ROWS, format_p
from pairgossip.pages.page import Facts, Figure, Paragraph, Part, Table
from pairgossip.survival.curve import Curve, Survival
from pairgossip.survival.drawing import choose_ticks, has_marks
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.survival.kaplan_meier import KaplanMeier
    from pairgossip.survival.log_rank import LogRank

_TESTS = {"log-rank": "Log-rank", "gehan": "Gehan-Breslow"}
_CAPTION = (
    "Share of rows that survive each time; the lighter region is the {level:g} % interval for each "
    "time{certain}. {marks}Below the axis: how many rows are at risk."
)
_CERTAIN = ", and in the darker one the share of these rows lies for certain"
_MARKS = "Short upright lines are rows that were censored then. "
_AT_EDGES = (
    "A row that fails at the very time is counted after it, so that these are the shares that "
    "reach each time."
)
_OPEN = (
    "Somewhere here counts leave more open than the error of sampling is: there read the two ends "
    "that are certain, and not the share or the median. More rows, or smaller blocks, leave less."
)


def show_medians(made: KaplanMeier) -> Table:
    """Return the table of groups, their rows and their medians."""
    has_bounds = any(one.bounds is not None for one in made.curves)
    head = ("group", "rows", "events", "median", f"{100 * made.level:g} %")
    lines = []
    for one in made.curves:
        value, *ends = one.median
        median = "not reached" if math.isnan(value) else f"{value:.4g}"
        texts = [_write_times(*end) for end in ends[: 1 + has_bounds]]
        lines.append((one.name or ALL_ROWS, f"{one.rows:,}", f"{one.events:,}", median, *texts))
    return Table((*head, *["certain"] * has_bounds), tuple(lines), "Median time")


def _is_open(curve: Curve, times: Sequence[float]) -> bool:
    """Return whether counts leave more open than sampling does, at one of some times."""
    points = curve.read(np.array(times), before=curve.is_of_cells)
    return bool(((points.most - points.least) / 2 > points.error).any())


def _write_times(low: float, high: float) -> str:
    """Return the text of the ends of a median; the upper one or both may not be reached."""
    if math.isfinite(high):
        return f"{low:.4g} to {high:.4g}"
    return f"{low:.4g} or later" if math.isfinite(low) else "not reached"


def choose_times(made: KaplanMeier, times: Sequence[float] | None) -> list[float]:
    """Return the given times, or by default those of the picture's axis except 0."""
    if times is None:
        return [one for one in choose_ticks(made.curves).tolist() if one > 0]
    return [real("A time", one, 0.0, np.inf) for one in times]


def list_curves(made: KaplanMeier, times: Sequence[float] | None) -> dict[str, Any]:
    """Return the figures of all curves by name, with their shares at some times."""
    at = choose_times(made, times)
    return {
        "level": made.level,
        "curves": {one.name or ALL_ROWS: _list_curve(one, at) for one in made.curves},
    }


def _list_curve(curve: Curve, times: Sequence[float]) -> dict[str, Any]:
    shares = [curve.at(one, before=curve.is_of_cells)._asdict() for one in times]
    return {
        "rows": curve.rows,
        "events": curve.events,
        "end": curve.end,
        "median": curve.median._asdict(),
        "at": [{"time": one, **share} for one, share in zip(times, shares, strict=True)],
    }


def lay_curves(made: KaplanMeier, times: Sequence[float] | None, time_label: str) -> Iterator[Part]:
    """Return the parts of a page about curves: the picture, medians, and shares at times."""
    curves = made.curves
    has_bounds = any(one.bounds is not None for one in curves)
    caption = _CAPTION.format(
        level=100 * made.level,
        certain=_CERTAIN * has_bounds,
        marks=_MARKS * any(map(has_marks, curves)),
    )
    yield Figure(made.picture(time_label=time_label), caption)
    yield show_medians(made)
    at = choose_times(made, times)
    if not at:
        return
    head = (time_label, "group", "at risk", "share", f"{100 * made.level:g} %")
    rows = [
        (f"{time:,.6g}", one.name or ALL_ROWS, *_write_share(share, has_bounds=has_bounds))
        for time in at
        for one in curves
        for share in [one.at(time, before=one.is_of_cells)]
        if not math.isnan(share.survival)
    ]
    is_of_cells = any(one.is_of_cells for one in curves)
    title = "Share that reaches a time" if is_of_cells else "Share that survives a time"
    is_text = (True, True, *[False] * (3 + has_bounds))
    yield Table((*head, *["certain"] * has_bounds), tuple(rows), title, is_text)
    if is_of_cells:
        yield Paragraph(_AT_EDGES)
    if any(_is_open(one, at) for one in curves):
        yield Paragraph(_OPEN)


def _write_share(share: Survival, *, has_bounds: bool) -> list[str]:
    """Return the number at risk, the share, its interval and its bracket; "" for unknown ones."""
    ends = [share.interval, share.bracket][: 1 + has_bounds]
    texts = ("" if math.isnan(low) else f"{low:.3f} to {high:.3f}" for low, high in ends)
    return [f"{share.at_risk:,}", f"{share.survival:.3f}", *texts]


def name_test(test: LogRank) -> str:
    """Return the name of a test, as the beginning of a sentence."""
    return f"{_TESTS[test.weights]} test"


def show_scores(test: LogRank) -> Table:
    """Return the table of groups and their events."""
    lines = (
        (name, *(f"{one:,.2f}" for one in numbers))
        for name, *numbers in zip(test.groups, test.observed, test.expected, strict=True)
    )
    title = "Events, and the number expected if all failed alike"
    return Table(("group", "observed", "expected"), tuple(lines), title)


def lay_test(test: LogRank) -> Iterator[Part]:
    """Return the parts of a page about a test: the statistic, and the events of the groups."""
    freedom = format_count(test.freedom, "degree")
    p = format_p(test.p)
    said = f"{test.statistic:.4g} with {freedom} of freedom, p {p if '<' in p else f'= {p}'}"
    facts = [(name_test(test), said)]
    if not math.isnan(test.bracket[0]):
        low, high = test.bracket
        ends = f"between {low:.4g} and {high:.4g} for certain, p at most {test.p_bracket[1]:.2g}"
        facts.append(("over all rows", ends))
    yield Facts(tuple(facts))
    yield show_scores(test)


def spread_columns(curve: Curve) -> dict[str, FloatArray | str]:
    """Return the columns of a frame."""
    times, table = curve.times, curve.table
    points: dict[str, Any] = curve.read(times, before=curve.bounds is not None)._asdict()
    if curve.bounds is None:
        del points["least"], points["most"]
        points |= {"events": table.events.astype(int), "censored": table.censored.astype(int)}
    return {"group": curve.name} | points if curve.name is not None else points
