"""Summaries: counts, sums of parts, bytes, and what is read from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import pairgossip as pg

c = pg.cells
FUNCTION: Any = np.subtract
Array = np.ndarray


def draw(seed: int = 0, n: int = 200) -> tuple[Array, Array, Array]:
    """Return labels, a correlated column, and another column."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    x = rng.normal(label, 1.0)
    return label, x, x + rng.normal(size=n)


LABEL, X, Z = draw()
W, V = np.rint(3 * X) + 15, np.rint(3 * Z) + 20
BOTH, WHOLE = np.column_stack([X, Z]), np.column_stack([W, V])
EVENT = (np.arange(len(X)) % 3 > 0).astype(float)

KERNELS: list[tuple[str, Array, Array | None]] = [
    ("gini", W, None),
    ("gini-coefficient", W, None),
    ("variance", W, None),
    ("auc", W, LABEL),
    ("ranking-risk", W, LABEL),
    ("kendall", W, LABEL),
    ("kendall", WHOLE, None),
    ("kendall-b", WHOLE, None),
    ("somers-d", WHOLE, None),
    ("goodman-kruskal-gamma", WHOLE, None),
    ("concordance", WHOLE, None),
    ("concordance", np.column_stack([WHOLE, EVENT]), None),
    ("auc-difference", WHOLE, LABEL),
]


def test_counts_are_a_histogram() -> None:
    one = pg.summarize(X, "gini", cells=c.Even(-8, 8, 64))
    assert (one.counts == np.histogram(X, 64, (-8, 8))[0]).all()
    two = pg.summarize(BOTH, "kendall", cells=c.Even(-16, 16, 8))
    assert (two.counts == np.histogram2d(X, Z, 8, ((-16, 16),) * 2)[0]).all()
    by_class = pg.summarize(X, "auc", labels=LABEL, cells=c.Even(-8, 8, 64))
    for at in (0, 1):
        assert (by_class.counts[at] == np.histogram(X[at == LABEL], 64, (-8, 8))[0]).all()
    assert one.rows == two.rows == by_class.rows == len(X)


def test_the_positive_class_is_named_in_a_notebook_as_in_answers() -> None:
    summary = pg.summarize(X, "auc", labels=LABEL > 0, cells=c.Even(-9, 9))
    shown = summary._repr_html_()
    assert "True" in shown and "0, 1" not in shown
    assert summary.answer().positive == "True"


@pytest.mark.parametrize(("kernel", "data", "labels"), KERNELS)
@pytest.mark.parametrize("kind", ["v", "u"])
def test_whole_numbers_give_what_exact_says(
    kernel: str, data: Array, labels: Array | None, kind: str
) -> None:
    summary = pg.summarize(data, kernel, kind, labels, cells=c.Whole(0, 60))
    answer, exact = summary.answer(0.9), pg.exact(data, kernel, kind, labels, interval=0.9)
    assert answer.value == pytest.approx(exact.value, rel=1e-12, abs=1e-14)
    assert answer.bracket == pytest.approx((exact.value, exact.value), rel=1e-10, abs=1e-14)
    assert (answer.level, answer.scale) == (exact.level, exact.scale)
    if kernel == "auc-difference":  # two tables do not show the correlation of scores
        assert answer.error > exact.error and answer.low < exact.low < exact.high < answer.high
        return
    assert answer.error == pytest.approx(exact.error, rel=1e-9)
    assert (answer.low, answer.high) == pytest.approx((exact.low, exact.high), rel=1e-4)


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("count", [8, 64, 1024])
@pytest.mark.parametrize(
    ("kernel", "labels"), [("gini", None), ("variance", None), ("auc", LABEL), ("kendall", LABEL)]
)
def test_a_bracket_holds_the_value_of_the_rows(
    kernel: str, labels: Array | None, count: int, k: int
) -> None:
    given: dict[str, Any] = {} if labels is None else {"labels": labels, "classes": [0, 1]}
    summary = pg.summarize(X, kernel, cells=c.Even(-8, 8, count), least_cell=k, **given)
    answer, exact = summary.answer(), pg.exact(X, kernel, labels=labels, interval=0.95)
    assert answer.bracket[0] <= exact.value <= answer.bracket[1]
    assert answer.bracket[0] <= answer.value <= answer.bracket[1]
    assert answer.low < answer.bracket[0] and answer.bracket[1] < answer.high
    if count == 1024 and k == 1:
        assert answer.value == pytest.approx(exact.value, abs=exact.error / 20)
        assert answer.error == pytest.approx(exact.error, rel=0.01)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("kernel", ["kendall", "kendall-b", "somers-d", "concordance"])
@pytest.mark.parametrize("count", [16, 80])
def test_two_columns_have_brackets_too(kernel: str, count: int, k: int) -> None:
    summary = pg.summarize(BOTH, kernel, cells=c.Even(-16, 16, count), least_cell=k)
    answer, exact = summary.answer(), pg.exact(BOTH, kernel)
    assert answer.bracket[0] <= exact <= answer.bracket[1]
    assert answer.bracket[0] <= answer.value <= answer.bracket[1]


def test_other_statistics_are_read_from_the_same_counts() -> None:
    summary = pg.summarize(X, "auc", labels=LABEL, cells=c.Even(-8, 8, 4096))
    first, other = X[LABEL == 0], X[LABEL == 1]
    test = stats.mannwhitneyu(other, first, use_continuity=False, method="asymptotic")
    answer = summary.answer(0.95, "mann-whitney")
    assert answer.p_bracket[0] <= test.pvalue <= answer.p_bracket[1]
    assert answer.p == pytest.approx(test.pvalue, rel=0.2)
    for reading, value in (
        ("median", np.median(X)),
        ("quantile-0.9", np.quantile(X, 0.9)),
        ("trimmed-mean-0.1", stats.trim_mean(X, 0.1)),
        ("gini", pg.exact(X, "gini")),
        ("variance", np.var(X)),
        ("kolmogorov-smirnov", stats.ks_2samp(first, other).statistic),
    ):
        low, high = summary.bracket(reading)
        assert low <= value <= high <= low + 0.02
    assert summary.answer(0.9, "median").positive is None
    assert summary.answer(0.9, "auc").positive == "1"


def test_one_of_two_columns_is_read() -> None:
    for k in (1, 3):
        summary = pg.summarize(BOTH, "spearman", cells=c.Even(-16, 16, 64), least_cell=k)
        rank = stats.spearmanr(X, Z)
        low, high = summary.bracket()
        assert low <= rank.statistic <= high
        for at in (0, 1):
            low, high = summary.bracket("median", column=at)
            assert low <= np.median(BOTH[:, at]) <= high
    with pytest.raises(pg.InputError, match="takes one column, and the summary has 2: give column"):
        summary.answer(0.95, "median")


@pytest.mark.parametrize("k", [1, 3])
def test_parts_add_up(k: int) -> None:
    def summarize(rows: Any) -> pg.Summary:
        return pg.summarize(
            X[rows],
            "auc",
            labels=LABEL[rows],
            cells=c.Even(-8, 8, 64),
            least_cell=k,
            classes=(0, 1),
        )

    parts = [summarize(slice(at, None, 3)) for at in range(3)]
    only_positive = summarize(LABEL == 1)
    assert only_positive.counts[0].sum() == 0
    assert sum(parts) == parts[2] + (parts[0] + parts[1])
    if k == 1:
        assert sum(parts) == summarize(slice(None)) == only_positive + summarize(LABEL == 0)
    low, high = (parts[0] + parts[1] + parts[2]).bracket()
    assert low <= pg.exact(X, "auc", labels=LABEL) <= high


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"cells": c.Even(-8, 8, 32)}, "the same cells, but one has .Even.-8, 8, 64.,. and the"),
        ({"kernel": "variance"}, "the same reading, but one has gini and the other variance"),
        ({"kind": "u"}, "the same kind"),
        ({"least_cell": 3}, "the same least_cell"),
    ],
)
def test_other_summaries_do_not_add_up(change: dict[str, Any], sentence: str) -> None:
    right: dict[str, Any] = {"kernel": "gini", "cells": c.Even(-8, 8, 64)}
    with pytest.raises(pg.InputError, match=sentence):
        pg.summarize(X, **right) + pg.summarize(X, **{**right, **change})


def test_refusals_name_what_to_do() -> None:
    summary = pg.summarize(X, "gini", cells=c.Even(-8, 8, 64))
    for call, sentence in (
        (lambda: summary.answer(0.95, "auc"), "'auc' takes labels, which this summary does not"),
        (lambda: summary.answer(0.95, "kendall"), "'kendall' takes 2 columns, which this summary"),
        (lambda: summary.answer(0.95, "ginni"), "Unknown kernel 'ginni'"),
        (
            lambda: summary.answer(0.95, "gini-coefficient"),
            "but the cells begin at -8: give cells=",
        ),
        (lambda: summary.answer(2), "The level of an interval must be"),
        (lambda: pg.summarize(X, "gini", cells=c.Even(0, 1)), r"Even\(0, 1, 256\) leaves out"),
        (lambda: pg.summarize(X, "gini", cells=c.Whole(-9, 9)), "is not a whole number in"),
        (lambda: pg.summarize(X, "gini", least_cell=2), "Two rows in a cell"),
        (lambda: pg.summarize(X, "gini", least_cell=3), "Cells that follow from the values"),
        (lambda: pg.summarize(BOTH, "distance"), "'distance' cannot be read from counts"),
        (lambda: pg.summarize(X, FUNCTION), "A summary is read by name"),
        (lambda: pg.summarize(X, "kendall", labels=Z), "The labels hold more than 64"),
    ):
        with pytest.raises(pg.InputError, match=sentence):
            call()


@pytest.mark.parametrize(("kernel", "data", "labels"), KERNELS)
def test_blocks_of_whole_numbers_leave_values_open(
    kernel: str, data: Array, labels: Array | None
) -> None:
    more: dict[str, Any] = {} if labels is None else {"classes": (0, 1)}
    summary = pg.summarize(data, kernel, labels=labels, cells=c.Whole(0, 60), least_cell=3, **more)
    low, high = summary.bracket()
    assert low < pg.exact(data, kernel, labels=labels) < high


def test_a_rank_test_of_blocks_leaves_p_open() -> None:
    summary = pg.summarize(
        W, "mann-whitney", labels=LABEL, cells=c.Whole(0, 60), least_cell=3, classes=(0, 1)
    )
    test = stats.mannwhitneyu(
        W[LABEL == 1], W[LABEL == 0], use_continuity=False, method="asymptotic"
    )
    low, high = summary.answer().p_bracket
    assert low < test.pvalue < high


def test_classes_that_follow_from_labels_tell_about_them() -> None:
    labels = np.append(np.zeros(len(X) - 1), 7.0)
    with pytest.raises(pg.InputError, match="give classes=, all possible ones"):
        pg.summarize(X, "kendall", labels=labels, cells=c.Even(-8, 8, 64), least_cell=3)


def test_parts_with_some_of_the_classes_add_up() -> None:
    cells, labels = c.Even(-8, 8, 16), np.arange(len(X)) % 3
    first, second = (
        pg.summarize(X[at], "kendall", labels=labels[at], cells=cells, classes=[0, 1, 2])
        for at in (labels < 2, labels == 2)
    )
    assert (first + second).rows == len(X)


@pytest.mark.parametrize("reading", ["spearman", "auc-difference"])
def test_readings_of_two_columns_do_not_take_labels_for_one(reading: str) -> None:
    summary = pg.summarize(X, "auc", labels=LABEL, cells=c.Even(-8, 8, 16))
    with pytest.raises(pg.InputError, match=f"'{reading}' takes 2 columns, which this summary"):
        summary.answer(0.95, reading)


@pytest.mark.parametrize("reading", ["trimmed-mean-0.4", "winsorized-mean-0.4"])
@pytest.mark.parametrize("rows", [1, 3])
def test_means_of_which_one_row_is_left_have_no_interval(reading: str, rows: int) -> None:
    for cells, slack in ((c.Whole(0, 4), 1e-9), (c.Even(0, 4, 8), 0.5)):
        answer = pg.summarize(np.arange(1.0, rows + 1), reading, cells=cells).answer()
        low, high = answer.bracket
        assert low <= (rows + 1) / 2 <= high <= low + 2 * slack
        assert low <= answer.value <= high and np.isnan([answer.low, answer.high]).all()


def test_columns_that_are_counted_apart() -> None:
    rows = np.column_stack([BOTH, LABEL])
    both = pg.summarize(rows, "auc-difference", cells=c.Even(-16, 16, 64))
    assert both.rows == len(X) and both.counts.shape == (256,)
    assert pg.Summary.from_bytes(both.to_bytes()) == both
    for at in (0, 1):
        alone = pg.summarize(BOTH[:, at], "auc", labels=LABEL, cells=c.Even(-16, 16, 64))
        assert both.answer(0.95, "auc", column=at).bracket == alone.bracket()
        assert both.bracket("median", column=at) == alone.bracket("median")
    with pytest.raises(pg.InputError, match="'auc-difference' counts every column separately"):
        both.answer(0.95, "kendall")
    scatter = both.bracket("within-cluster-scatter")
    assert scatter[0] <= pg.exact(rows, "within-cluster-scatter") <= scatter[1]


def test_a_p_that_is_told_from_nothing_is_small() -> None:
    rows, labels = np.arange(20_000.0), np.arange(20_000) >= 10_000
    answer = pg.summarize(
        rows, "mann-whitney", labels=labels.astype(float), cells=c.Even(0, 20_000, 64)
    ).answer()
    assert "p < 1e-300 (< 1e-300 to < 1e-300)" in str(answer)


def test_an_answer_says_what_cells_leave_open() -> None:
    blocks = pg.summarize(X, "gini", cells=c.Even(-8, 8, 256), least_cell=5).answer()
    assert "because blocks of 5 rows or more leave" in str(blocks) and "finer" not in str(blocks)
    assert "read these two ends" in str(blocks)
    many = pg.summarize(np.tile(X, 20), "median", cells=c.Even(-8, 8, 256), least_cell=5).answer()
    assert many.bracket[1] > many.bracket[0] and "read these two ends" not in str(many)
    coarse, fine = (
        str(pg.summarize(X, "gini", cells=c.Even(-8, 8, n)).answer()) for n in (16, 4096)
    )
    assert "finer ones leave less" in coarse and "finer" not in fine
    assert "certain: " in coarse and "certain: " in fine
    assert "p = " in str(
        pg.summarize(X, "mann-whitney", labels=LABEL, cells=c.Even(-8, 8, 16)).answer()
    )


def test_amounts_are_those_of_the_column_that_is_read() -> None:
    both = pg.summarize(
        np.column_stack([W, X]), "kendall", cells=[c.Whole(0, 60), c.Even(-8, 8, 64)]
    )
    assert both.answer(0.95, "gini-coefficient", column=0).value == pytest.approx(
        pg.exact(W, "gini-coefficient"), rel=1e-12
    )
    turned = pg.summarize(
        np.column_stack([X, W]), "kendall", cells=[c.Even(-8, 8, 64), c.Whole(0, 60)]
    )
    assert turned.answer(0.95, "gini-coefficient", column=1) == both.answer(
        0.95, "gini-coefficient", column=0
    )
    for summary, column in ((both, 1), (turned, 0)):
        with pytest.raises(pg.InputError, match="for amounts that are not negative, but the cells"):
            summary.answer(0.95, "gini-coefficient", column=column)


@pytest.mark.parametrize(
    ("data", "kernel", "kind", "more"),
    [
        ([0.0, 0.0], "gini-coefficient", "v", {}),
        ([1.0], "gini", "u", {}),
        ([1, 2, 3], "auc", "v", {"labels": [1, 1, 1], "classes": [0, 1]}),
        ([1, 2, 3], "mann-whitney", "v", {"labels": [1, 1, 1], "classes": [0, 1]}),
        ([1, 2, 3], "gini", "v", {"within": [1, 2, 3]}),
        (np.ones((3, 2)), "kendall-b", "v", {}),
    ],
)
def test_what_has_no_value_is_refused(
    data: Any, kernel: str, kind: str, more: dict[str, Any]
) -> None:
    summary = pg.summarize(data, kernel, kind, **more)
    for read in (summary.answer, summary.bracket):
        with pytest.raises(pg.InputError, match=rf"^'{kernel}' has no value for \d counted row"):
            read()


def test_the_kind_of_an_answer_is_checked() -> None:
    summary = pg.summarize([1, 2, 3], "gini")
    assert float(summary.answer(kind="U")) == pytest.approx(4 / 3)
    wrong: Any
    for wrong in ("q", "", 3):
        with pytest.raises(pg.InputError, match=r"^Unknown kind of statistic"):
            summary.answer(kind=wrong)


@pytest.mark.parametrize("cells", [None, c.Even(0, 1, 4), c.Quantiles(4)])
def test_no_rows(cells: Any) -> None:
    with pytest.raises(pg.InputError, match=r"^data is None: give rows"):
        pg.summarize(None, "gini", cells=cells)
    with pytest.raises(pg.InputError, match=r"^data is empty"):
        pg.summarize({"x": []}, "gini", cells=cells)


@pytest.mark.parametrize(
    ("kernel", "more", "sentence"),
    [
        ("gini", {"groups": ["a\n", "b"]}, "The groups hold text that cannot be printed"),
        ("gini", {"groups": [1, "1"]}, "The groups name a label twice"),
        ("gini", {"weights": []}, "No weights are listed: give weights="),
        (
            "median",
            {"strata": ["a", "b"]},
            "'median' uses all rows, not pairs within strata: leave strata=",
        ),
        ("mann-whitney", {"classes": [0, 1], "weights": [1, 2]}, "Test 'mann-whitney' needs rows"),
    ],
)
def test_what_a_summary_of_no_rows_cannot_have(
    kernel: str, more: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(pg.InputError) as refused:
        pg.Summary.of(kernel, cells=c.Even(0, 1, 16), **more)
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize("seen", [0.0, 1.0])
def test_events_that_are_all_seen_or_all_censored(seen: float) -> None:
    times, risks = np.array([1.0, 2.0, 3.0, 4.0]), np.array([4.0, 2.0, 3.0, 1.0])
    rows = np.column_stack([times, risks, np.full(4, seen)])
    counted = pg.summarize(rows, "concordance", cells=pg.cells.Whole(1, 4))
    assert counted.rows == 4
    if seen:
        low, high = counted.answer().bracket
        assert low <= pg.exact(rows, "concordance") <= high
