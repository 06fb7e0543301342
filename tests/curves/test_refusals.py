"""Data without a curve, and values that a curve does not have, are refused in one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pairgossip as pg

SCORES, ILL = [0.1, 0.3, 0.4, 0.2, 0.5, 0.7, 0.6, 0.9], [0, 0, 0, 0, 1, 1, 0, 1]
CELLS = pg.cells.Even(0, 1, 8)


def summarize(**options: Any) -> pg.Summary:
    arguments: dict[str, Any] = {"labels": ILL, "classes": [0, 1], "cells": CELLS}
    return pg.summarize(SCORES, "auc", **arguments | options)


def read(**options: Any) -> Callable[[], object]:
    arguments: dict[str, Any] = {"data": SCORES, "labels": ILL} | options
    return lambda: pg.roc(**arguments)


def use(read: Callable[[pg.Roc], object], **options: Any) -> Callable[[], object]:
    return lambda: read(pg.roc(SCORES, ILL, **options))


REFUSED: dict[str, Callable[[], object]] = {
    "Kernel 'auc' needs two classes, but the labels hold one class only (0): add observations of "
    "another class.": read(labels=[0] * 8),
    "A curve takes two classes, but the labels hold 8: give scores first, and then labels of two "
    "classes; several classes, with a column of scores for each, have kernel 'hand-till'.": read(
        data=ILL, labels=SCORES
    ),
    "A curve takes one column of scores, but the data has 2: choose one with columns=, or a column "
    "of an array.": read(data=[[1 - one, one] for one in SCORES]),
    "A curve counts rows, each a whole number of times: give other weights=.": read(
        weights=[0.5] * 8
    ),
    "The level of an interval is 1: give a number such as 0.95.": read(interval=1),
    "A threshold is a finite number, not nan: give such as 0.5.": read(thresholds=math.nan),
    "A threshold is a finite number, not inf: give such as 0.5.": read(thresholds=[0.5, math.inf]),
    "A threshold is a finite number, not 'x': give such as 0.5.": read(thresholds="x"),
    "No threshold is named: give thresholds=[0.5].": read(thresholds=[]),
    "Rows have no groups to choose from: leave group= out.": read(group="f"),
    "Rows have no groups to choose from: leave column= out.": read(column=0),
    "A summary has its columns, classes and weights already: leave labels= out.": read(
        data=summarize()
    ),
    "A summary has its columns, classes and weights already: leave positive= out.": read(
        data=summarize(), labels=None, positive=1
    ),
    "This summary has no groups: leave group= out.": read(data=summarize(), labels=None, group="f"),
    "Unknown group 'g': choose one of f, m.": read(
        data=summarize(by=["f", "m"] * 4), labels=None, group="g"
    ),
    "'auc' takes labels, which this summary does not have: read another statistic, or summarize "
    "the rows for this one.": read(data=pg.summarize(SCORES, "gini", cells=CELLS), labels=None),
    "No rows are counted, so there is nothing to read: add summaries.": read(
        data=pg.Summary.of("auc", cells=CELLS, classes=[0, 1]), labels=None
    ),
    "A threshold is a finite number, not [0.1, 0.2]: give such as 0.5.": use(
        lambda r: r.at([0.1, 0.2])  # type: ignore[arg-type]
    ),
    "A partial area is over a range of specificity or of sensitivity: give one of them, such as "
    "specificity=(0.9, 1.0).": use(lambda r: r.partial_auc()),
    "A range of specificity is two numbers, not 0.9: give specificity=(0.9, 1.0).": use(
        lambda r: r.partial_auc(0.9)  # type: ignore[arg-type]
    ),
    "The range of sensitivity is 1 to 0.9: give the smaller end first.": use(
        lambda r: r.partial_auc(sensitivity=(1, 0.9))
    ),
    "An end of a range of specificity must be a number between 0 and 1, not 1.2.": use(
        lambda r: r.partial_auc((0.9, 1.2))
    ),
    "Unknown band 'bootstrap': choose one of none, pointwise, simultaneous.": use(
        lambda r: r.picture(band="bootstrap")
    ),
    "Pointwise intervals hold at thresholds that were agreed on beforehand: name them with "
    "thresholds=[0.5].": use(lambda r: r.plot(band="pointwise")),
    "Scores are probabilities here, and thresholds= holds 2: give numbers between 0 and 1.": use(
        lambda r: r.net_benefit([0.5, 2])
    ),
    "Net benefit needs probabilities, but scores run from 1 to 9: give scores from 0 to 1.": (
        lambda: pg.roc([1, 2, 3, 9], [0, 1, 0, 1]).net_benefit([0.5])
    ),
    "The highest threshold is 1: give a number between 0 and 1.": use(
        lambda r: r.plot_net_benefit(highest=1)
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_refused(sentence: str) -> None:
    with pytest.raises(pg.InputError) as raised:
        REFUSED[sentence]()
    assert str(raised.value) == sentence


def test_net_benefit_needs_a_threshold() -> None:
    with pytest.raises(pg.InputError, match=r"^No threshold is named: give thresholds="):
        pg.roc(SCORES, ILL).net_benefit()


def test_thresholds_in_any_form() -> None:
    for form in (0.5, [0.5], (0.5,), np.array([0.5, 0.5]), np.float32(0.5)):
        r = pg.roc(SCORES, ILL, thresholds=form)  # type: ignore[arg-type]
        assert r.thresholds == (0.5,)
        assert list(r.net_benefit()) == list(r.net_benefit(form)) == [0.5]  # type: ignore[arg-type]
