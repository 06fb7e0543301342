"""One statistic or test, for the rows of every group."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError, RowsDropped, notify
from pairgossip.inference.answer import Answer, answer_without_error
from pairgossip.inference.answering import answer
from pairgossip.inference.group_table import GroupTable
from pairgossip.inference.projection import Projection, project
from pairgossip.kernels import Pairs, check_data
from pairgossip.kernels.blocks import Progress
from pairgossip.kernels.data import format_label
from pairgossip.kernels.orders import sharing_orders
from pairgossip.kernels.rows import Rows
from pairgossip.kernels.weighing import number_labels
from pairgossip.order_statistics.comparisons import TestResult
from pairgossip.rows.columns import as_array, as_ordered
from pairgossip.text import format_count

MOST_GROUPS = 50
"""Largest number of groups in a table; a column with more names single rows."""


class Measured(NamedTuple):
    """The result for the rows of one group."""

    answer: Answer
    projection: Projection | None = None
    """The contribution of each row; None if nothing shows how sure the answer is."""
    problem: InputError | None = None
    """The reason for having no value, or no error."""
    test: TestResult | None = None


Measure = Callable[[Pairs, IntArray | None, Progress | None], Measured]


def measure(
    pairs: Pairs, clusters: IntArray | None, progress: Progress | None, *, level: float | None
) -> Measured:
    """Return the statistic of pairs, with its error if there is a level and an error."""
    with sharing_orders(rows_follow=level is not None):
        value = pairs.exact(progress)
        plain = answer_without_error(value, pairs.positive)
        if math.isnan(value):
            why = f"'{pairs.kernel.name}' has no value on these rows: no pair counts."
            return Measured(plain, None, InputError(why))
        if level is None:
            return Measured(plain)
        projected = project(pairs, clusters)._replace(value=value)
    try:
        return Measured(answer(projected, level), projected)
    except InputError as problem:
        return Measured(plain, None, problem)


@dataclass(frozen=True)
class GroupQuestion:
    """A statistic or test of all rows, and of those of every group."""

    prepare: Callable[[Rows], tuple[Pairs, IntArray | None]]
    """Return the pairs of rows, with the cluster of each."""
    measure: Measure
    by: str
    """The name of the column that holds the groups."""
    progress: Progress | None = None

    def ask(self, rows: Rows, pairs: Pairs, clusters: IntArray | None) -> GroupTable:
        """Return the answers; a group without an answer has the reason.

        ``pairs`` and ``clusters`` are those of all rows; errors in these are raised.
        """
        names, group_of = name_groups(rows.columns["by"], pairs.n)
        whole = self.measure(pairs, clusters, self._share(0, len(names) + 1))
        if whole.problem is not None and whole.test is None:
            raise whole.problem
        parts = split_rows(rows, names, group_of)
        found = {
            name: self._ask_part(part, pairs.positive, self._share(at, len(names) + 1))
            for at, (name, part) in enumerate(parts.items(), start=1)
        }
        if all(math.isnan(one.answer) for one in found.values()):
            raise InputError(f"No group has a value; group '{names[0]}': {found[names[0]].problem}")
        return _make_table(pairs.kernel.name, self.by, whole, parts, found)

    def _ask_part(self, part: Rows, positive: str | None, progress: Progress | None) -> Measured:
        try:
            if not len(part.columns["data"]):
                raise InputError("Every row is alone in its stratum, where no pair counts.")
            pairs, clusters = self.prepare(part)  # the kernel was tried on all rows
            pairs.positive = positive  # its name; None where all rows have more classes
            return self.measure(pairs, clusters, progress)
        except InputError as problem:
            value = self._find_value(part, progress)
            return Measured(answer_without_error(value, positive), None, problem)

    def _find_value(self, part: Rows, progress: Progress | None) -> float:
        """Return the statistic of rows whose clusters give no error; NaN if there is none."""
        columns = {name: column for name, column in part.columns.items() if name != "groups"}
        if len(columns) == len(part.columns) or not len(columns["data"]):
            return math.nan
        try:
            return self.prepare(part._replace(columns=columns))[0].exact(progress)
        except InputError:
            return math.nan

    def _share(self, at: int, count: int) -> Progress | None:
        """Return progress of one of several groups as its share of the whole."""
        report = self.progress
        return None if report is None else lambda fraction: report((at + fraction) / count)


def _make_table(
    statistic: str,
    by: str,
    whole: Measured,
    parts: Mapping[str, Rows],
    found: Mapping[str, Measured],
) -> GroupTable:
    projections = {name: one.projection for name, one in found.items()}
    laws = {name: one.law() for name, one in projections.items() if one is not None}
    return GroupTable(
        {name: one.answer for name, one in found.items()},
        whole.answer,
        statistic,
        by,
        rows={name: len(part.columns["data"]) for name, part in parts.items()},
        reasons={name: one.problem for name, one in found.items() if one.problem is not None},
        covariance=_find_covariance(parts, projections),
        freedoms={name: min(law.freedom, law.effective_freedom) for name, law in laws.items()},
        tests={name: one.test for name, one in found.items() if one.test is not None},
        test=whole.test,
    )


def _find_covariance(
    parts: Mapping[str, Rows], projections: Mapping[str, Projection | None]
) -> FloatArray | None:
    """Return the covariance of groups' errors from the clusters; None without clusters."""
    if not all("groups" in part.columns for part in parts.values()):
        return None
    count = 1 + max(int(part.columns["groups"].max(initial=0)) for part in parts.values())
    added = np.zeros((len(parts), count))
    for at, (name, part) in enumerate(parts.items()):
        projection, inside = projections[name], np.unique(part.columns["groups"])
        added[at, inside] = np.nan if projection is None else projection.cluster_shares()
    return np.asarray(added @ added.T)


def name_groups(by: Any, n: int) -> tuple[list[str], IntArray]:
    """Return the names of groups in their order, and the number of every row's group."""
    codes = number_labels(by, n, "by", "group")
    ordered = as_ordered(by)
    if ordered is not None:
        used, codes = np.unique(ordered.codes, return_inverse=True)
        entries = [ordered.categories[code] for code in used]
    else:
        firsts = np.unique(codes, return_index=True)[1]
        entries = as_array(by, "by").ravel()[firsts].tolist()
    names = [format_label(entry) for entry in entries]
    book = list(dict.fromkeys(names))  # entries with the same spelling are one
    if not 2 <= len(book) <= MOST_GROUPS:
        what = "All rows are in one group, so there is nothing to compare"
        if len(book) > 1:
            what = f"A table compares at most {MOST_GROUPS} groups, and there are {len(book):,}"
        raise InputError(f"{what}: leave {{argument}} out, or give other groups.", "by")
    return book, np.array([book.index(name) for name in names])[codes]


def split_rows(rows: Rows, names: Sequence[str], group_of: IntArray) -> dict[str, Rows]:
    """Return the rows of every group, with labels, strata and clusters as numbers."""
    given = {name: column for name, column in rows.columns.items() if name != "by"}
    table = check_data(given.pop("data"), given.get("labels"))
    columns: dict[str, Any] = {"data": table}
    if given.pop("labels", None) is not None:
        columns = {"data": table[:, :-1], "labels": table[:, -1]}
    if "weights" in given:
        columns["weights"] = check_data(given.pop("weights"))
    columns |= {name: number_labels(one, len(table), name, name) for name, one in given.items()}
    found = {}
    for at, name in enumerate(names):
        part = {key: column[group_of == at] for key, column in columns.items()}
        found[name] = Rows(_drop_alone(name, part), 0, rows.positive)
    return found


def _drop_alone(name: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the rows of a group that are alone in their stratum, where no pair counts."""
    if "within" not in part:
        return dict(part)
    strata = part["within"]
    alone = np.bincount(strata)[strata] < 2
    if alone.any():
        what = format_count(int(alone.sum()), "row")
        notify(RowsDropped(f"Left out {what} of group '{name}', alone in its stratum there."))
    return {key: column[~alone] for key, column in part.items()}
