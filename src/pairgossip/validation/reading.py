"""The front door `validate`: rows of scores and outcomes, or a summary of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from pairgossip.checks import REFUSE, refuse_given
from pairgossip.counts.bounds import Ends
from pairgossip.curves.reading import KERNEL, OF_SUMMARY, read_rows, read_summary
from pairgossip.curves.roc import Roc
from pairgossip.curves.thresholds import check_thresholds
from pairgossip.errors import InputError
from pairgossip.inference.answer import Answer, answer_without_error, check_level
from pairgossip.inference.by_groups import GroupQuestion, measure, name_groups, split_rows
from pairgossip.inference.group_table import GroupTable
from pairgossip.kernels import Pairs
from pairgossip.kernels.rows import Rows, prepare_rows
from pairgossip.summaries.summary import Summary
from pairgossip.validation.calibration import Calibration, read_calibration
from pairgossip.validation.groups import Group, Groups, compare_calibration
from pairgossip.validation.validation import Validation

_GROUP = "group"
"""The name for groups that came as an array or in counts, without a column's name."""


def validate(
    data: Any,
    labels: Any = None,
    *,
    by: Any = None,
    within: Any = None,
    weights: Any = None,
    thresholds: Sequence[float] | float | None = None,
    columns: Sequence[Any] | str | None = None,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    missing: str = REFUSE,
    interval: float = 0.95,
) -> Validation:
    """Validate scores against an outcome, from rows or from a `Summary` of them.

    Discrimination is read from any scores, calibration from probabilities, and sensitivity,
    specificity and net benefit at agreed thresholds.

    Parameters
    ----------
    data, labels, columns, classes, positive, missing
        The scores and the outcome, as in `exact`; or a `Summary` of one score and two classes,
        which has labels, groups, strata and weights already.
    by
        The group of every row, such as a sex, to compare.
    The group of each row, such as sex; groups are compared.
        The stratum of every row: also compute the AUC of pairs within strata.
    The stratum of each row: also compute the AUC of pairs within strata.
        How often each row counts: whole numbers.
    The number of times that each row counts, whole numbers.
        Thresholds that were agreed on before anyone saw the rows. A row with this score or a higher
        Thresholds agreed on before anyone saw the rows. A row with this score or a higher one
        counts as positive.
        The level of all intervals.

    Examples
    --------
    >>> import pairgossip as pg
    >>> risk, died = [0.1, 0.3, 0.4, 0.2, 0.5, 0.7, 0.6, 0.9], [0, 0, 0, 0, 1, 1, 0, 1]
    >>> v = validate(risk, died, thresholds=[0.5])
    >>> v.calibration.observed_expected
    0.81 (95 %: 0.13 to 1.92)
    >>> v.thresholds[0].sensitivity
    1.000 (95 %: 0.439 to 1.000)
    """
    level = check_level(interval)
    agreed = () if thresholds is None else check_thresholds(thresholds)
    if isinstance(data, Summary):
        given = {"labels": labels, "by": by, "within": within, "columns": columns}
        given |= {"weights": weights, "classes": classes, "positive": positive}
        refuse_given(given, OF_SUMMARY)
        return validate_summary(data, level, agreed)
    factors = {"weights": weights, "within": within, "by": by}
    rows = prepare_rows(
        missing, classes, {"data": data, "labels": labels, **factors}, positive, columns
    )
    return _validate_rows(rows, level, agreed, by if isinstance(by, str) else _GROUP)


def validate_summary(summary: Summary, level: float, thresholds: tuple[float, ...]) -> Validation:
    """Return the validation of counts."""
    roc = read_summary(summary, level, thresholds)
    _check_inside(roc, *_find_ends(roc))
    within = None
    if summary.strata is not None:
        within = summary.answer(level, KERNEL, kind="v")
    calibration, reason = _calibrate(roc)
    groups = None
    if summary.groups is not None:
        rows = summary.count_groups()
        parts = {
            name: _read_group(
                name, rows[name], partial(read_summary, summary, level, thresholds, name)
            )
            for name in summary.groups
        }
        groups = _gather(parts, roc, calibration, _GROUP)
    return Validation(roc, calibration, reason, within, groups)


def _validate_rows(rows: Rows, level: float, thresholds: tuple[float, ...], by: str) -> Validation:
    """Return the validation of prepared rows."""
    roc = read_rows(rows.columns, rows.positive, level, thresholds)
    calibration, reason = _calibrate(roc)
    if calibration is not None:
        _check_inside(roc, 0.0, 1.0)
    within = None
    if "within" in rows.columns:
        within = measure(_pair(rows, "within"), None, None, level=level).answer
    groups = None
    if "by" in rows.columns:
        groups = _compare_rows(rows, roc, calibration, by)
    return Validation(roc, calibration, reason, within, groups)


def _find_ends(roc: Roc) -> Ends:
    """Return the ends of all cells."""
    low, high = roc.scores.axis.ends
    return float(low[0]), float(high[-1])


def _check_inside(roc: Roc, low: float, high: float) -> None:
    """Raise `InputError` for thresholds below or above all possible scores."""
    for one in roc.thresholds:
        if not low <= one <= high:
            raise InputError(
                f"Scores are from {low:.10g} to {high:.10g}, and {{argument}} holds {one:.10g}: "
                "give numbers between these.",
                "thresholds",
            )


def _pair(rows: Rows, *factors: str) -> Pairs:
    """Return the pairs of rows whose scores are compared."""
    columns = rows.columns
    given = {name: columns.get(name) for name in ("weights", *factors)}
    pairs = Pairs(
        columns["data"], KERNEL, "v", columns.get("labels"), **given, positive=rows.positive
    )
    pairs.check()
    return pairs


def _compare_rows(rows: Rows, roc: Roc, calibration: Calibration | None, by: str) -> Groups:
    used = {name: column for name, column in rows.columns.items() if name != "within"}
    rows = rows._replace(columns=used)
    pairs = _pair(rows)
    question = GroupQuestion(
        lambda part: (_pair(part), None), partial(measure, level=roc.level), by
    )
    table = question.ask(rows, pairs, None)
    rows_by_group = split_rows(rows, *name_groups(rows.columns["by"], pairs.n))
    parts = {
        name: _read_group(
            name,
            _count_rows(part),
            partial(read_rows, part.columns, roc.positive, roc.level, roc.thresholds),
        )
        for name, part in rows_by_group.items()
    }
    return _gather(parts, roc, calibration, by, table)


def _count_rows(rows: Rows) -> int:
    """Return the number of rows, with multiplicity if they have weights."""
    weights = rows.columns.get("weights")
    return len(rows.columns["data"]) if weights is None else round(float(np.sum(weights)))


def _read_group(name: str, rows: int, read: Any) -> Group:
    """Return the validation of a group, with the reason if there is none."""
    try:
        roc: Roc = read()
    except InputError as problem:
        return Group(name, rows, None, None, problem)
    return Group(name, rows, roc, _calibrate(roc)[0])


def _gather(
    parts: dict[str, Group],
    roc: Roc,
    calibration: Calibration | None,
    by: str,
    table: GroupTable | None = None,
) -> Groups:
    """Return the groups side by side; groups read from counts are independent."""
    if table is None:
        missing = answer_without_error(math.nan, roc.positive)
        answers: dict[str, Answer] = {
            name: missing if one.roc is None else one.roc.auc for name, one in parts.items()
        }
        rows = {name: one.rows for name, one in parts.items()}
        reasons = {name: one.reason for name, one in parts.items() if one.reason}
        # With few rows errors are uncertain; the smaller class gives their degrees of freedom.
        curves = {name: one.roc for name, one in parts.items() if one.roc is not None}
        freedoms = {
            name: max(min(one.positives, one.negatives) - 1, 1) for name, one in curves.items()
        }
        table = GroupTable(
            answers, roc.auc, KERNEL, by, rows=rows, reasons=reasons, freedoms=freedoms
        )
    return Groups(parts, by, table, compare_calibration(parts, calibration, by))


def _calibrate(roc: Roc) -> tuple[Calibration | None, str]:
    """Return the calibration, or None and the reason."""
    try:
        return read_calibration(roc.scores, roc.level, roc.least_cell), ""
    except InputError as problem:
        return None, str(problem)
