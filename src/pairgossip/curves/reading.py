"""The front door `roc`: the rows of two classes, or their counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pairgossip.arrays import distinct
from pairgossip.checks import REFUSE, refuse_given
from pairgossip.curves.roc import Roc
from pairgossip.curves.scores import Scores
from pairgossip.curves.thresholds import check_thresholds
from pairgossip.errors import InputError
from pairgossip.inference.answer import check_level
from pairgossip.inference.answering import answer_or_value
from pairgossip.kernels import Pairs
from pairgossip.kernels.data import check_data, column_count
from pairgossip.kernels.rows import prepare_rows
from pairgossip.kernels.weighing import are_frequencies
from pairgossip.summaries.summary import Summary

KERNEL = "auc"
OF_SUMMARY = "A summary has its columns, classes and weights already"
"""Start of the message that refuses columns, classes and weights beside a summary."""


def roc(
    data: Any,
    labels: Any = None,
    *,
    columns: Sequence[Any] | str | None = None,
    weights: Any = None,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    missing: str = REFUSE,
    interval: float = 0.95,
    thresholds: Sequence[float] | float | None = None,
    group: Any = None,
    column: int | None = None,
) -> Roc:
    """Read the ROC curve of scores for two classes, from rows or from a `Summary` of them.

    Parameters
    ----------
    data, labels, columns, classes, positive, missing
        As in `exact`; or a `Summary` of one score and two classes, which has labels already.
    weights
        The number of times that each row counts: whole numbers.
    interval
        The confidence level of intervals and bands.
    thresholds
        Thresholds that were agreed on before anyone saw the rows; figures and tables show them.
    group
        The group to read from a summary by groups; by default all rows.
    column
        The number, 0 or 1, of one of two scores, if the summary has both.

    Examples
    --------
    >>> import pairgossip as pg
    >>> score, ill = [0.1, 0.3, 0.4, 0.2, 0.5, 0.7, 0.6, 0.9], [0, 0, 0, 0, 1, 1, 0, 1]
    >>> r = roc(score, ill)
    >>> r.at(0.5).sensitivity
    1.000 (95 %: 0.439 to 1.000)
    >>> round(r.partial_auc(specificity=(0.8, 1)), 3)
    0.133
    >>> pg.roc(pg.summarize(score, "auc", labels=ill, cells=pg.cells.Even(0, 1, 10))).fpr.tolist()
    [0.0, 0.0, 0.0, 0.0, 0.2, 0.2, 0.2, 0.4, 0.8, 1.0, 1.0]
    """
    level = check_level(interval)
    agreed = () if thresholds is None else check_thresholds(thresholds)
    if isinstance(data, Summary):
        given = {"labels": labels, "columns": columns, "weights": weights, "classes": classes}
        refuse_given(given | {"positive": positive}, OF_SUMMARY)
        return read_summary(data, level, agreed, group, column)
    refuse_given({"group": group, "column": column}, "Rows have no groups to choose from")
    listed = {"data": data, "labels": labels, "weights": weights}
    rows = prepare_rows(missing, classes, listed, positive, columns)
    return read_rows(rows.columns, rows.positive, level, agreed)


def read_rows(
    columns: dict[str, Any], positive: str | None, level: float, thresholds: tuple[float, ...]
) -> Roc:
    """Return the curve of prepared rows: data, labels and weights."""
    _check_shape(columns["data"], columns.get("labels"))
    pairs = Pairs(
        columns["data"],
        KERNEL,
        "v",
        columns.get("labels"),
        weights=columns.get("weights"),
        positive=positive,
    )
    pairs.check()
    if not are_frequencies(pairs.weights):
        raise InputError(
            "A curve counts rows, each a whole number of times: give other {argument}.", "weights"
        )
    return Roc(
        Scores.of_pairs(pairs),
        answer_or_value(pairs, pairs.exact(), level),
        pairs.positive,
        level,
        1,
        thresholds,
    )


def _check_shape(scores: Any, labels: Any) -> None:
    """Refuse several columns of scores, and more than two classes."""
    data = check_data(scores, labels)
    if (columns := column_count(data) - 1) > 1 and labels is not None:
        raise InputError(
            f"A curve takes one column of scores, but the data has {columns}: choose one with "
            "{argument}, or a column of an array.",
            "columns",
        )
    if columns == 1 and (classes := len(distinct(data[:, -1]))) > 2:
        raise InputError(
            f"A curve takes two classes, but the labels hold {classes:,}: give scores first, and "
            "then labels of two classes; several classes, with a column of scores for each, have "
            "kernel 'hand-till'."
        )


def read_summary(
    summary: Summary,
    level: float,
    thresholds: tuple[float, ...],
    group: Any = None,
    column: int | None = None,
) -> Roc:
    """Return the curve read from counts, of all rows or of one group."""
    found = summary.answer(level, KERNEL, group=group, column=column, kind="v", within=False)
    part = summary.select(group, within=False)
    scores = Scores.of_blocks(part.blocks_of(column or 0))
    return Roc(scores, found, found.positive, level, summary.least_cell, thresholds)
