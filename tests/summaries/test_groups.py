"""Groups, strata and weights of rows in a summary, against the rows themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import BoolArray
from pairgossip.errors import InputError, RowsDropped
from tests.summaries.parts import CELLS, KERNELS, Rows, compare, summarize


@pytest.mark.filterwarnings("ignore::pairgossip.errors.RowsDropped")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("least", [1, 3])
def test_brackets_hold_groups_within_strata(kernel: str, least: int) -> None:
    found = 0
    for seed, kind in enumerate("uvuvu"):
        rows = Rows(seed, 30 + 10 * seed, kernel)
        for exact, (low, high) in compare(rows, kernel, least, kind):
            assert low - 1e-9 <= exact <= high + 1e-9
            found += 1
    assert found > 6


@pytest.mark.parametrize("kernel", KERNELS)
def test_fine_cells_tell_what_all_rows_do(kernel: str) -> None:
    """With one value per cell, the answer and its error are those of the rows."""
    rows = Rows(3, 90, kernel)
    rows.data = np.floor(rows.data * 20)
    cells = pg.cells.Whole(0, 20)
    summary = summarize(rows, kernel, 1, cells=cells)
    for group in (None, "0", "1"):
        chosen = np.ones(90, bool) if group is None else rows.by == int(group)
        given = rows.take(chosen, "within", "weights")
        exact = pg.exact(kernel=kernel, interval=0.9, **given)
        answer = summary.answer(0.9, group=group)
        assert answer.value == pytest.approx(exact.value, rel=1e-9)
        assert answer.error == pytest.approx(exact.error, rel=1e-9)
        assert (answer.low, answer.high) == pytest.approx((exact.low, exact.high), rel=1e-6)
        del given["within"]
        plain = pg.exact(kernel=kernel, **given)
        assert summary.answer(0.9, group=group, within=False).value == pytest.approx(plain)


def test_statistics_of_order_of_groups() -> None:
    random = np.random.default_rng(1)
    x, by, weights = (
        random.integers(0, 30, 80),
        random.choice(["f", "m"], 80),
        np.arange(80) % 3 + 1,
    )
    summary = pg.summarize(x, "median", cells=pg.cells.Whole(0, 29), by=by, weights=weights)
    for group in "fm":
        repeated = np.repeat(x[by == group], weights[by == group])
        assert summary.answer(0.9, group=group).value == np.median(repeated)
        assert summary.answer(0.9, "quantile-0.9", group=group).value == np.quantile(repeated, 0.9)
    assert summary.answer(0.9).value == np.median(np.repeat(x, weights))
    assert summary.rows == 80 and summary.groups == ("f", "m") and summary.weights == (1, 2, 3)


def test_parts_add_up_and_bytes_come_back() -> None:
    rows = Rows(5, 60, "auc")
    given: dict[str, Any] = {"kernel": "auc", "cells": CELLS, "classes": [0, 1], "groups": [0, 1]}
    given |= {"strata": [0, 1, 2]}
    halves = [np.arange(60) < 20, np.arange(60) >= 20]
    parts = [pg.summarize(**given, **rows.take(one, "by", "within")) for one in halves]
    whole = pg.summarize(**given, **rows.take(np.ones(60, bool), "by", "within"))
    assert sum(parts) == whole
    back = pg.Summary.from_bytes(whole.to_bytes())
    assert back == whole and back.answer(0.9, group="1").value == whole.answer(0.9, group="1").value
    assert repr(whole).startswith(
        "<Summary for auc: 60 rows in Even(0, 1, 16), 2 classes, 2 groups, 3 strata; "
    )
    chosen = rows.by == 1
    del given["groups"]
    assert whole.select("1") == pg.summarize(**given, **rows.take(chosen, "within"))
    assert whole.select().rows == 60 and whole.select(within=False).strata is None


def test_parts_with_other_weights_add_up() -> None:
    x, ill, times = np.arange(8.0), np.arange(8) % 2, np.array([1, 1, 5, 5, 2, 2, 1, 1])
    given: dict[str, Any] = {"kernel": "auc", "cells": pg.cells.Whole(0, 9), "classes": [0, 1]}
    parts = [
        pg.summarize(x[one], labels=ill[one], weights=times[one], **given)
        for one in (slice(0, 4), slice(4, 8))
    ]
    assert [one.weights for one in parts] == [(1, 5), (1, 2)]
    both = parts[0] + parts[1]
    assert both == parts[1] + parts[0] == pg.summarize(x, labels=ill, weights=times, **given)
    assert both.answer().value == pytest.approx(pg.exact(x, "auc", labels=ill, weights=times))
    with pytest.raises(InputError, match="same weights"):
        parts[0] + parts[0].select()
    with pytest.raises(InputError, match="'mann-whitney' needs rows that count once"):
        both.answer(0.95, "mann-whitney")


def test_weights_are_added_beside_groups_and_strata() -> None:
    rows = Rows(2, 40, "auc")
    rows.weights = np.arange(40) // 20 + 1  # the first rows count once, the others twice
    halves = [np.arange(40) < 20, np.arange(40) >= 20]
    parts = [summarize_part(rows, one) for one in halves]
    whole = summarize_part(rows, np.ones(40, bool))
    assert parts[0] + parts[1] == whole and parts[0].weights == (1,)
    assert whole.count_groups() == {"0": 40 - rows.by.sum(), "1": rows.by.sum()}
    assert whole.select("1").rows == rows.weights[rows.by == 1].sum()
    assert whole.select().count_groups() == {}


def summarize_part(rows: Rows, chosen: BoolArray) -> pg.Summary:
    given = rows.take(chosen, "by", "within", "weights")
    listed: dict[str, Any] = {"groups": [0, 1], "strata": [0, 1, 2], "classes": [0, 1]}
    return pg.summarize(kernel="auc", cells=CELLS, **given, **listed)


def test_events_are_left_out_of_a_reading_within_strata() -> None:
    random = np.random.default_rng(4)
    x, y, seen, ward = random.integers(0, [[9], [9], [2], [3]], (4, 50)).astype(float)
    given: dict[str, Any] = {"cells": pg.cells.Whole(0, 8), "within": ward}
    summary = pg.summarize(np.column_stack([x, y, seen]), "concordance", **given)
    for reading, columns in (("concordance", (x, y, seen)), ("kendall-b", (x, y))):
        exact = pg.exact(np.column_stack(columns), reading, within=ward)
        assert summary.answer(0.9, reading).value == pytest.approx(exact)


def test_strata_of_one_row_are_left_out() -> None:
    x, within = np.array([1.0, 2, 5, 7, 9]), np.array([0, 0, 0, 0, 1])
    for kind in "uv":
        summary = pg.summarize(x, "gini", kind, cells=pg.cells.Whole(0, 9), within=within)
        assert summary.answer(0.9).value == pytest.approx(pg.exact(x[:4], "gini", kind))
        assert summary.bracket() == pytest.approx((pg.exact(x[:4], "gini", kind),) * 2)


def test_rows_of_rare_combinations_are_left_out_with_a_warning() -> None:
    x, by = np.linspace(0, 1, 12), np.array(["f"] * 10 + ["m"] * 2)
    with pytest.warns(RowsDropped, match="Left out 2 of 12 rows: fewer than 3 have the same class"):
        summary = pg.summarize(x, "gini", cells=CELLS, by=by, groups=["f", "m"], least_cell=3)
    assert summary.rows == 10


@pytest.mark.filterwarnings("ignore::pairgossip.errors.RowsDropped")
@pytest.mark.parametrize("kernel", [*KERNELS, "median", "spearman", "auc-difference"])
@pytest.mark.parametrize("least", [3, 5])
def test_counts_are_hidden_after_they_are_added_up(kernel: str, least: int) -> None:
    is_pair = kernel in ("spearman", "auc-difference")
    rows = Rows(8, 50, "kendall" if is_pair else kernel)
    rows.has_labels |= kernel == "auc-difference"
    rows.weights[:3] = 16
    is_of_pairs = kernel in KERNELS
    is_weighed = kernel != "spearman" and not rows.has_labels
    every = ["by", *(["within"] if is_of_pairs else []), *(["weights"] if is_weighed else [])]
    listed: dict[str, Any] = {"groups": [0, 1], "strata": [0, 1] if is_of_pairs else None}
    rows.within %= 2
    listed |= {"kernel": kernel, "cells": CELLS, "classes": [0, 1] if rows.has_labels else None}

    def summarize(chosen: BoolArray, least: int) -> pg.Summary:
        return pg.summarize(least_cell=least, **listed, **rows.take(chosen, *every))

    some = np.arange(50) % 3 > 0
    parts = summarize(some, 1) + summarize(~some, 1)
    hidden, whole = parts.hide(least), summarize(some | ~some, least)
    assert hidden == whole and hidden.least_cell == least and hidden.hide(least) == hidden
    assert ((hidden.counts == 0) | (hidden.counts >= least)).all()
    assert parts.hide(1) is parts
    with pytest.raises(InputError, match=f"are hidden in blocks of {least} rows or more already"):
        hidden.hide(10)
    with pytest.raises(InputError, match="Two rows in a cell"):
        parts.hide(2)


def test_hiding_counts_says_which_rows_are_left_out() -> None:
    x, by = np.linspace(0, 1, 12), np.array(["f"] * 10 + ["m"] * 2)
    summary = pg.summarize(x, "gini", cells=CELLS, by=by, groups=["f", "m"])
    with pytest.warns(RowsDropped, match="Left out 2 of 12 rows: fewer than 5 have the same class"):
        assert summary.hide(5).rows == 10


@pytest.mark.parametrize("lacking", ["cells", "classes", "groups", "strata"])
def test_what_follows_from_rows_is_not_hidden(lacking: str) -> None:
    rows = Rows(8, 50, "auc")
    listed: dict[str, Any] = {"groups": [0, 1], "strata": [0, 1, 2], "classes": [0, 1]}
    listed["cells"] = CELLS
    given: dict[str, Any] = rows.take(np.ones(50, bool), "by", "within") | {"kernel": "auc"}
    follows = pg.summarize(**given, **{**listed, lacking: None})
    summaries = [follows, pg.Summary.from_bytes(follows.to_bytes()), follows.select("1")]
    if lacking != "cells":
        summaries.append(pg.summarize(**given, **listed) + follows)
    for summary in summaries:
        with pytest.raises(InputError, match="follow from the rows reveal something about them"):
            summary.hide(3)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"by": list("ffm")}, r"The shape of by is \(3,\) but there are 4 rows"),
    ({"by": [list("fm")] * 4}, r"The shape of by is \(4, 2\) but there are 4 rows"),
    ({"by": ["f", "f", "m", "m\n"]}, "by holds text that cannot be printed"),
    ({"by": list("ffmm"), "groups": {"f", "m"}}, "The groups are a list of labels"),
    ({"by": list("ffmm"), "groups": 2}, "The groups are a list of labels"),
    ({"groups": ["f", "m"]}, "The groups belong to rows: give by=, too"),
    ({"by": list("ffmx"), "groups": ["f", "m"]}, "by holds 'x' in row 3"),
    ({"within": list("aabb"), "strata": ["a", "a"]}, "The strata name a label twice"),
    ({"by": list("ffff"), "groups": ["f"]}, "at least two groups, but one group is declared"),
    ({"kernel": "mann-whitney", "labels": [0, 1, 0, 1], "weights": [1] * 4}, "needs rows that cou"),
    ({"weights": [1, 2, 3, 17]}, "counts a row 1 to 16 times"),
    ({"weights": [1, 2, 3, 1.5]}, "counts a row 1 to 16 times"),
    ({"by": list("ffmm"), "least_cell": 3}, "The groups of the rows reveal something about them"),
    (
        {"within": list("aabb"), "least_cell": 3},
        "The strata of the rows reveal something about them",
    ),
    ({"kernel": "median", "within": list("aabb")}, "'median' uses all rows, not pairs"),
    (
        {"by": list("ffmm"), "groups": list("abcdefghijklm"), "within": list("abcd")}
        | {"strata": list("abcdef")},
        "have 78 combinations, but at most 64 are counted separately",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), REFUSED)
def test_refusals(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        usual: dict[str, Any] = {"data": [0.1, 0.2, 0.3, 0.4], "kernel": "gini", "cells": CELLS}
        pg.summarize(**(usual | given))


def test_readings_that_groups_and_strata_do_not_have() -> None:
    x, two = np.linspace(0, 1, 8), np.arange(8) % 2
    summary = pg.summarize(x, "gini", cells=CELLS, by=two, within=two)
    with pytest.raises(InputError, match="Unknown group 'x'"):
        summary.answer(0.9, group="x")
    with pytest.raises(InputError, match=r"'median' uses all rows, not pairs.* with within=False"):
        summary.answer(0.9, "median")
    assert summary.answer(0.9, "median", within=False).value == pytest.approx(0.5, abs=0.1)
    assert summary.answer(0.9, group=1).value == summary.answer(0.9, group="1").value
    with pytest.raises(InputError, match="or all with within=False: give True or False"):
        summary.answer(0.9, within="a")  # type: ignore[arg-type]
    listed = pg.summarize(x, "gini", cells=CELLS, by=two, groups=[0, 1, 2])
    with pytest.raises(InputError, match="Group '2' has no rows"):
        listed.answer(0.9, group=2)
    with pytest.raises(InputError, match="has no groups"):
        summary.select().answer(0.9, group="x")
    damaged = summary.to_bytes().replace(b"groups\x92\xa10\xa11", b"groups\x92\xa10\xa10")
    with pytest.raises(InputError, match="do not fit"):
        pg.Summary.from_bytes(damaged)
