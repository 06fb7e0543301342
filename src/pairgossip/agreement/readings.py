"""The values of sites, read from summaries, from one summary with groups, or from rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pairgossip.agreement.scales import place, place_evenly
from pairgossip.errors import InputError
from pairgossip.inference.answer import Answer
from pairgossip.inference.answering import answer_or_value
from pairgossip.kernels import Combination, Kernel, Pairs
from pairgossip.kernels.data import format_label
from pairgossip.kernels.rows import prepare_rows
from pairgossip.rows.columns import as_array
from pairgossip.summaries.summary import Summary
from pairgossip.summaries.summary_file import SummaryFile
from pairgossip.summaries.summary_reading import SummaryAnswer, find_measure

_OPEN = 0.25
"""Largest uncertainty from cells, as a share of the standard error, that needs no note."""

_KINDS = (Summary, SummaryFile)


class Reading(NamedTuple):
    """A statistic of one site."""

    reading: str
    rows: int
    answer: Answer
    """The value; its error and interval are NaN where the rows do not determine them."""
    smaller: int
    """The number of rows of the smaller of two classes; 0 without classes."""
    is_open: bool = False
    """Whether cells leave the value uncertain by more than `_OPEN` standard errors."""

    def place(self, *, is_centered: bool) -> tuple[float, float]:
        """Return the value and its variance on the scale of the statistic; NaN if not known.

        A share of 0 or 1, or one without an error of its own, is taken as that of the smaller
        class. With ``is_centered`` other shares are corrected for bias, as a mean with equal
        weights needs.
        """
        value, error, scale = self.answer.value, self.answer.error, self.answer.scale
        y, v = place(value, error, scale)
        if scale != "logit":
            return y, v
        if math.isnan(y) and not self.smaller:
            return y, v
        return place_evenly(value, error, self.smaller) if is_centered or math.isnan(y) else (y, v)


def read_sites(parts: Mapping[str, Callable[[], Reading]]) -> dict[str, Reading]:
    """Return the values of all sites that have one; raise `InputError` if none has one."""
    found: dict[str, Reading] = {}
    problems = []
    for name, read in parts.items():
        try:
            found[name] = read()
        except InputError as problem:
            problems.append(problem)
    if problems and not found:
        raise problems[0]
    return found


def split_summaries(data: Any, reading: Any, level: float) -> dict[str, Callable[[], Reading]]:
    """Return a function that reads each summary of a list or dict, or each group of a summary."""
    named = name_summaries(data)
    readings = sorted({_name_reading(part, reading) for part in named.values()})
    if len(readings) > 1:
        raise InputError(
            f"Summaries are for '{readings[0]}' and '{readings[1]}': say what to read of all with "
            "{argument}.",
            "reading",
        )
    return {
        name: partial(_read_summary, part.select(), readings[0], level)
        for name, part in named.items()
    }


def name_summaries(data: Any) -> dict[str, Any]:
    """Return summaries, also those from files, by the names of their sites."""
    if isinstance(data, _KINDS):
        whole = _unwrap(data)
        if whole.groups is None:
            raise InputError(
                "A summary without groups is one site: give one summary of each, or count all rows "
                "with the site of each, {argument}.",
                "by",
            )
        return {name: whole.select(name) for name in whole.groups}
    if isinstance(data, Mapping):
        return {format_label(name): _unwrap(part) for name, part in data.items()}
    return {f"site {at}": _unwrap(part) for at, part in enumerate(data, 1)}


def _unwrap(part: Any) -> Any:
    return part.summary if isinstance(part, SummaryFile) else part


def are_summaries(data: Any) -> bool:
    """Return whether the data are summaries and not rows."""
    if isinstance(data, Mapping | Sequence) and not isinstance(data, str):
        parts = data.values() if isinstance(data, Mapping) else data
        return any(isinstance(part, _KINDS) for part in parts)
    return isinstance(data, _KINDS)


def _name_reading(summary: Any, reading: Any) -> str:
    if not isinstance(summary, Summary):
        raise InputError(
            f"Sites cannot mix summaries with a {type(summary).__name__}: give summaries alone, or "
            "rows with the site of each, {argument}.",
            "by",
        )
    measure = find_measure(summary.reading if reading is None else reading)
    if isinstance(measure, Kernel | Combination):
        return measure.name
    raise InputError(
        f"'{measure.name}' has no scale on which sites are compared: give a kernel, such as "
        "{argument}.",
        "reading",
        "auc",
    )


def _read_summary(part: Summary, reading: str, level: float) -> Reading:
    found = part.answer(level, reading)
    sizes = [0]
    if part.classes is not None and not part.has_events:
        counts = part.layout.split(part.counts)[0]
        sizes = counts.reshape(len(counts), -1).sum(axis=1).tolist()
    return Reading(reading, part.rows, found, min(sizes), _is_open(found))


def _is_open(found: SummaryAnswer) -> bool:
    return (found.bracket[1] - found.bracket[0]) / 2 > _OPEN * found.error


def split_rows(
    data: Any,
    kernel: Any,
    level: float,
    *,
    labels: Any,
    by: Any,
    columns: Sequence[Any] | str | None,
    missing: str,
    classes: Sequence[Any] | None,
    positive: Any,
) -> dict[str, Callable[[], Reading]]:
    """Return a function that reads the rows of each site."""
    given = {"data": data, "labels": labels, "by": by}
    rows, _, higher = prepare_rows(missing, classes, given, positive, columns)
    pairs = Pairs(rows["data"], kernel, "v", rows.get("labels"), positive=higher)
    pairs.check()
    kernel, table = pairs.unweighted
    sites = as_array(rows["by"], "by")
    if sites.shape != (pairs.n,):
        raise InputError(
            f"There are {pairs.n:,} rows, but {{argument}} has shape {sites.shape}: give one site "
            "per row.",
            "by",
        )
    names = sites if sites.dtype.kind in "fiubUS" else sites.astype(str)
    found, numbers = np.unique(names, return_inverse=True)
    return {
        format_label(name): partial(_read_rows, table[numbers == at], kernel, pairs.positive, level)
        for at, name in enumerate(found.tolist())
    }


def _read_rows(table: Any, kernel: Any, positive: str | None, level: float) -> Reading:
    pairs = Pairs(table, kernel, "v", positive=positive)
    value = pairs.exact()
    if not math.isfinite(value):
        raise InputError(f"'{pairs.kernel.name}' has no value on the rows of a site.")
    smaller = 0 if pairs.classes is None else int(np.bincount(pairs.classes).min())
    return Reading(pairs.kernel.name, pairs.n, answer_or_value(pairs, value, level), smaller)
