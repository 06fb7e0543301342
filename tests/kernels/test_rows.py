"""Rows with missing values, and classes with a declared order."""

from __future__ import annotations

import math
import re
import warnings
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip import InputError, RowsDropped
from pairgossip.kernels.rows import code_labels, prepare_rows

NAN = math.nan
SCORE = [0.3, 0.1, NAN, 0.7, 0.2, 0.9]
LABEL = ["no", "no", "yes", "yes", None, "yes"]
SITE = ["a", "b", "b", "a", "b", "a"]
WHOLE = [0, 1, 3, 5]
"""The rows without missing values."""


def whole(column: list[Any]) -> list[Any]:
    return [column[row] for row in WHOLE]


@pytest.mark.parametrize(
    "column",
    [
        [1.0, NAN, 2.0],
        [1, None, 2],
        ["a", NAN, "b"],
        ["a", None, "b"],
        ["a", " ", "b"],
        [[1.0, 2.0], [3.0, NAN], [0.0, 0.0]],
        np.array(["2024-01-01", "NaT", "2024-01-02"], "datetime64[D]"),
        np.ma.masked_array([1, 2, 3], mask=[False, True, False]),
        np.ma.masked_array(["a", "x", "b"], mask=[False, True, False]),
    ],
)
def test_what_is_missing(column: Any) -> None:
    with pytest.warns(RowsDropped, match=r"^Left out 1 of 3 rows, .*: row 1 \(counting from 0\)"):
        rows = prepare_rows("drop", None, {"data": column, "labels": None})
    assert rows.dropped == 1
    np.testing.assert_array_equal(rows.columns["data"], [column[0], column[2]])
    assert "labels" not in rows.columns
    with pytest.raises(InputError, match=r"^Values are missing in data \(row 1\), counting from 0"):
        prepare_rows("refuse", None, {"data": column})


def test_pandas_columns_stay_what_they_are() -> None:
    pandas = pytest.importorskip("pandas")
    grades = pandas.Categorical(["low", "high", None, "low"], ["low", "high"], ordered=True)
    values = pandas.Series([1, None, 3, 4], dtype="Int64")
    columns = {"data": values, "labels": grades, "groups": pandas.Series(["a", "b", "c", None])}
    with pytest.warns(RowsDropped, match="Left out 3 of 4 rows"):
        rows = prepare_rows("drop", None, columns)
    assert rows.columns["labels"].ordered and list(rows.columns["labels"]) == ["low"]
    assert rows.columns["data"].tolist() == [1] and rows.columns["groups"].tolist() == ["a"]
    series = pandas.Series(grades)
    with pytest.warns(RowsDropped):
        value = pg.exact([0.1, 0.5, 0.2, 0.9], "auc", labels=series, missing="drop")
    assert value == pg.exact([0.1, 0.5, 0.9], "auc", labels=[0, 1, 0])


def test_whole_rows_are_passed_on_untouched() -> None:
    data, labels = np.arange(3.0), ["a", "b", "a"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = prepare_rows("drop", None, {"data": data, "labels": labels})
    assert rows.columns["data"] is data and rows.columns["labels"] is labels and rows.dropped == 0


def test_a_row_is_left_out_of_all_columns_together() -> None:
    how: dict[str, Any] = {"iterations": 40, "seed": 0}
    with pytest.warns(RowsDropped, match=r"Left out 2 of 6 rows.*rows 2 and 4 \(") as caught:
        run = pg.estimate(
            SCORE, "auc", labels=LABEL, groups=SITE, missing="drop", positive="yes", **how
        )
    same = pg.estimate(
        whole(SCORE), "auc", labels=whole(LABEL), groups=whole(SITE), positive="yes", **how
    )
    assert caught[0].filename == __file__
    assert (run.rows_dropped, same.rows_dropped, run.rows) == (2, 0, 4)
    np.testing.assert_array_equal(run.estimates, same.estimates)
    np.testing.assert_array_equal(run.groups, same.groups)


@pytest.mark.filterwarnings("ignore::pairgossip.RowsDropped")
def test_a_graph_of_all_rows_does_not_fit_those_that_remain() -> None:
    how: dict[str, Any] = {"missing": "drop", "iterations": 9, "seed": 0}
    asks: list[Any] = [
        lambda **network: pg.estimate(SCORE, "auc", labels=LABEL, positive="yes", **network, **how),
        lambda **network: pg.quantile([1.0, 2.0, NAN, 4.0, NAN, 3.0], 0.5, **network, **how),
    ]
    for ask in asks:
        with pytest.raises(InputError, match=r"6 nodes, one per row, but 4 rows remain, since 2 "):
            ask(graph=pg.graphs.cycle(6))
        with pytest.raises(InputError, match="4 rows but the graph has 9 nodes"):
            ask(graph=pg.graphs.cycle(9))


def test_the_other_front_doors_leave_out_the_same_rows() -> None:
    labels = ["no", "no", "yes", "yes", NAN, "yes"]
    ordered: dict[str, Any] = {"positive": "yes"}
    settings: dict[str, Any] = {"iterations": 30, "seed": 0, **ordered}
    with pytest.warns(RowsDropped) as caught:
        value = pg.exact(SCORE, "auc", labels=labels, missing="drop", **ordered)
        fit = pg.minimize(SCORE, labels, missing="drop", **settings)
        made = pg.plan(SCORE, "auc", labels=labels, missing="drop", error=0.4, **ordered)
    assert [warning.filename for warning in caught] == [__file__] * 3
    assert value == pg.exact(whole(SCORE), "auc", labels=whole(labels), **ordered)
    assert fit.rows_dropped == 2
    np.testing.assert_array_equal(
        fit.model, pg.minimize(whole(SCORE), whole(labels), **settings).model
    )
    assert made.target == value


def test_all_missing_values_are_named_at_once() -> None:
    data = [NAN if row > 3 else 1.0 for row in range(24)]
    sentence = (
        "Values are missing in data (rows 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 and 10 more) and groups "
        "(row 2), counting from 0: fill them in, or leave these rows out with missing='drop'."
    )
    with pytest.raises(InputError, match=re.escape(sentence)):
        pg.estimate(data, "gini", groups=["a", "b", None] + ["c"] * 21)


@pytest.mark.parametrize("kernel", ["auc", "ranking-risk"])
def test_classes_count_in_their_order(kernel: str) -> None:
    data, labels = [0.1, 0.4, 0.2, 0.9], ["young", "old", "old", "young"]
    for classes, codes in ((["young", "old"], [0, 1, 1, 0]), (["old", "young"], [1, 0, 0, 1])):
        assert pg.exact(data, kernel, labels=labels, classes=classes) == pg.exact(
            data, kernel, labels=codes
        )


def test_text_is_ordered_for_learning_and_gossip_too() -> None:
    data, labels = [0.1, 0.4, 0.2, 0.9], ["mild", "severe", "none", "severe"]
    grades, codes = ["none", "mild", "severe"], [1, 2, 0, 2]
    settings: dict[str, Any] = {"iterations": 50, "seed": 0}
    run = pg.estimate(data, "ranking-risk", labels=labels, classes=grades, **settings)
    same = pg.estimate(data, "ranking-risk", labels=codes, **settings)
    np.testing.assert_array_equal(run.estimates, same.estimates)
    fit = pg.minimize(data, labels, "ranking-logistic", classes=grades, **settings)
    again = pg.minimize(data, codes, "ranking-logistic", **settings)
    np.testing.assert_array_equal(fit.model, again.model)
    made = pg.plan(data, "ranking-risk", labels=labels, classes=grades, error=0.4)
    assert made.target == same.target


def test_codes_of_any_labels() -> None:
    assert code_labels([2.0, 4, None], (4, 2)).tolist()[:2] == [1.0, 0.0]
    assert np.isnan(code_labels([2, None], (4, 2))[1])
    assert code_labels([[True], [False]], (False, True)).tolist() == [[1.0], [0.0]]
    with pytest.raises(InputError, match=r"^Column x has others in line 3, but the declared"):
        code_labels(["a", "secret"], ["a", "b"], "Column x has", lambda _: "line 3",
                    is_private=True)  # fmt: skip


def test_a_private_mechanism_declares_classes_itself() -> None:
    mechanism = pg.privacy.RandomizedResponse(2.0, 4, (0, 1), classes=["no", "yes"])
    labels = ["no", "yes", "yes", "no"]
    settings: dict[str, Any] = {"labels": labels, "privacy": mechanism, "iterations": 9, "seed": 0}
    run = pg.estimate([0.1, 0.3, 0.4, 0.7], "auc", **settings, classes=["no", "yes"])
    assert run.target == pg.exact([0.1, 0.3, 0.4, 0.7], "auc", labels=[0, 1, 1, 0])
    with pytest.raises(InputError, match="declares other classes, or another order"):
        pg.estimate([0.1, 0.3, 0.4, 0.7], "auc", **settings, classes=["yes", "no"])


def test_labels_that_are_lists_are_refused() -> None:
    labels = np.empty(2, dtype=object)
    labels[:] = [[1], [2, 3]]
    with pytest.raises(pg.InputError, match=r"labels hold a list in rows 0 and 1 .*: give one num"):
        code_labels(labels, [1, 2])


TWO: dict[str, Any] = {"labels": ["no", "yes"]}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"data": [NAN, NAN], "missing": "drop"}, "All 2 rows have missing values: fill in some"),
        ({"data": [1.0, NAN, math.inf], "missing": "drop"}, "NaN or infinite values in row 1 "),
        ({"data": [1.0, NAN], "labels": [1], "missing": "drop"}, "NaN or infinite values in row 1"),
        ({"classes": ["no", "yes"]}, "Classes are declared, but there are no labels: give labels="),
        (
            TWO | {"classes": "no,yes"},
            r"The classes are a list of labels, such as \(0, 1\), not 'no",
        ),
        (TWO | {"classes": {"no"}}, "The classes are a list of labels"),  # sets have no order
        (TWO | {"classes": [["no"], ["yes"]]}, "one list of labels, not a list of lists"),
        (TWO | {"classes": ["no", "no"]}, "The classes name a label twice: give each label once"),
        (TWO | {"classes": ["no"]}, "Labels need at least two classes, but one class is declared"),
        (
            {"labels": ["no", "Yes"], "classes": ["no", "yes"]},
            r"^labels hold 'Yes' in row 1 \(count",
        ),
        ({"labels": [0, 1], "classes": ["0", "1"]}, r"^labels hold 0 in row 0 .* and 1 in row 1 "),
        ({"labels": ["x", None], "missing": "drop", "classes": ["no", "yes"]}, "hold 'x' in row 0"),
    ],
)
@pytest.mark.filterwarnings("ignore::pairgossip.RowsDropped")
def test_wrong_input_is_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        pg.exact(**{"data": [0.5, 0.7], "kernel": "auc"} | arguments)
