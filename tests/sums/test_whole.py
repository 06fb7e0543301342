"""Columns of whole numbers: every value has its own bin, and nothing is left open."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.peer.specification.spec import differences, parse_spec
from pairgossip.peer.storage.rows import read_rows
from pairgossip.peer.sums.results import Result
from tests.sums.running import deal, run_programs, start_programs
from tests.sums.specs import sums_text

RNG = np.random.default_rng(5)
N = 400
LABELS = (RNG.random(N) < 0.4).astype(float)
GRADES = np.clip(np.rint(RNG.normal(4 + 3 * LABELS, 2)), 1, 10)
OTHERS = np.clip(np.rint(RNG.normal(GRADES, 3)), 1, 10)
SCORED = np.column_stack([GRADES, LABELS])
BOTH = np.column_stack([GRADES, OTHERS, LABELS])
TWO = np.column_stack([GRADES, OTHERS])
FAILED = np.column_stack([GRADES, OTHERS, RNG.random(N) < 0.6])
AGES = np.clip(np.rint(RNG.normal(50 + 10 * LABELS, 20)), 0, 120)
OLD = np.column_stack([AGES, np.clip(AGES + RNG.integers(-30, 30, N), 0, 120), LABELS])
TOP = 'whole = ["a"]'


def text_for(
    kernel: str,
    columns: list[str],
    label: str | None,
    top: str = TOP,
    ranges: tuple[float, float] = (1, 10),
    algorithm: str = "",
) -> str:
    measure = f'kernel = "{kernel}"'
    algorithm = f"least_cell = 1\n{algorithm}"
    return sums_text(measure, columns, label, ranges=ranges, top=top, algorithm=algorithm)


def find(
    kernel: str, rows: np.ndarray, label: str | None, ranges: tuple[float, float] = (1, 10)
) -> Result:
    width = 1 if rows.ndim == 1 else rows.shape[1] - (label is not None)
    columns = ["a", "b", "c"][:width]
    text = text_for(kernel, columns, label, f"whole = {json.dumps(columns)}", ranges)
    return run_programs(start_programs(parse_spec(text), deal(rows, 5)))


@pytest.mark.parametrize(
    ("kernel", "rows", "label"),
    [
        ("auc", SCORED, "l"),
        ("gini", GRADES, None),
        ("gini-coefficient", GRADES, None),
        ("kendall", TWO, None),
        ("kendall-b", TWO, None),
        ("ranking-risk", SCORED, "l"),
        ("concordance", TWO, None),
        ("concordance", FAILED, None),
    ],
)
def test_the_answer_is_that_of_the_rows(kernel: str, rows: np.ndarray, label: str | None) -> None:
    found, exact = find(kernel, rows, label, (0, 10)), pg.exact(rows, kernel, interval=0.95)
    assert found.value == pytest.approx(float(exact), rel=1e-9)
    assert found.sampling_error == pytest.approx(exact.error, rel=1e-6)
    assert found.interval == pytest.approx((exact.low, exact.high), rel=1e-4)
    assert found.bracket == pytest.approx((float(exact), float(exact)), rel=1e-5)


def test_brackets_hold_pairs_of_an_event_and_a_censored_row_at_one_time() -> None:
    for bins in (8, 16):
        text = text_for("concordance", ["a", "b", "c"], None, "", (0, 10), f"bins = {bins}")
        found = run_programs(start_programs(parse_spec(text), deal(FAILED, 5)))
        assert found.bracket is not None
        assert found.bracket[0] <= pg.exact(FAILED, "concordance") <= found.bracket[1]


def test_statistics_of_order_are_those_of_the_rows() -> None:
    median = find("median", GRADES, None)
    assert median.value == median.bracket[0] == median.bracket[1] == np.median(GRADES)  # type: ignore[index]
    test = find("mann-whitney", SCORED, "l")
    assert test.p == pytest.approx(pg.test(GRADES, "mann-whitney", labels=LABELS).p, rel=1e-6)


@pytest.mark.parametrize("kernel", ["within-cluster-scatter", "shift"])
def test_rounding_takes_no_bracket_off_the_value(kernel: str) -> None:
    """Equal numbers have no scatter and no shift, to the last digit."""
    for number in range(1, 60, 4):
        rows = np.column_stack([np.full(23, float(number)), np.arange(23) % 4 == 0])
        low, high = find(kernel, rows, "l", (1, 200)).bracket or (1.0, 1.0)
        assert low <= 0.0 <= high < 1e-9


@pytest.mark.parametrize(("kernel", "label"), [("gini", None), ("auc", "l"), ("median", None)])
def test_few_rows_have_the_bins_that_members_were_told_of(kernel: str, label: str | None) -> None:
    """The number of bins for so few rows that are not whole does not matter."""
    spec = parse_spec(text_for(kernel, ["a"], label, ranges=(0, 120)))
    assert "121 values of 'a'" in " ".join(spec.leaves())
    rows = np.column_stack([AGES, LABELS])[:40, : 1 if label is None else 2]
    low, high = run_programs(start_programs(spec, deal(rows, 3))).bracket or (0.0, 1.0)
    assert high == pytest.approx(low, rel=1e-9)


@pytest.mark.parametrize(
    "text", [text_for("gini", ["a"], None), sums_text('loss = "auc-logistic"', ["a"], "l")]
)
def test_members_are_told_how_exactly_others_learn_their_size(text: str) -> None:
    assert "how many rows you have, rounded down to tens;" in " ".join(parse_spec(text).leaves())


@pytest.mark.parametrize(("rows", "high"), [(BOTH, 10.0), (OLD, 120.0)])
def test_two_scores_differ_as_the_rows_do(rows: np.ndarray, high: float) -> None:
    """Two tables do not give the error of the difference, so both errors are combined."""
    found = find("auc-difference", rows, "l", (0, high))
    exact = pg.exact(rows, "auc-difference", interval=0.95)
    assert found.value == pytest.approx(float(exact), rel=1e-9)
    errors = [pg.exact(rows[:, [at, 2]], "auc", interval=0.95).error for at in (0, 1)]
    assert found.sampling_error == pytest.approx(sum(errors), rel=1e-6)
    assert found.bracket == pytest.approx((float(exact), float(exact)), rel=1e-9)
    assert found.interval is not None
    assert found.interval[0] < exact.low < exact.high < found.interval[1]


def test_numbers_may_be_as_large_as_can_be_told_apart() -> None:
    top = 2.0**53 - 1
    found = find("gini", top - GRADES, None, (top - 10, top))
    assert found.value == pytest.approx(float(pg.exact(GRADES, "gini")), rel=1e-9)


def test_other_values_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("a\n1\n2.5\n3\n", encoding="utf-8")
    with pytest.raises(InputError, match="has 1 value outside the whole numbers, in line 3"):
        read_rows(file, parse_spec(text_for("gini", ["a"], None)))


KENDALL = text_for("kendall", ["a", "b"], None, 'whole = ["b"]', (0, 2000))
CONCORDANCE = text_for("concordance", ["a", "b", "c"], None, 'whole = ["c"]')
BEYOND = text_for("gini", ["a"], None, ranges=(2**53 - 9, 2**53))
BROKEN = sums_text('kernel = "gini"', ["a"], ranges=(0, 2.5), top=TOP)
NOISE = "[privacy]\nepsilon = 1"
DISTANCE = sums_text('kernel = "distance"', ["a", "b"], top=TOP, tables=NOISE)
WRONG = [
    (text_for("gini", ["a"], None, "whole = 3"), "whole must be a list of columns"),
    (text_for("gini", ["a"], None, 'whole = ["l"]'), "whole names 'l', which is not among"),
    (DISTANCE, "whole is of no use here: kernel 'distance'"),
    (CONCORDANCE, "kernel 'concordance' has no cells for c: remove it"),
    (KENDALL, "ranges.b holds 2,001 whole numbers, but a column has 1,024 cells at most: leave"),
    (text_for("gini", ["a"], None, ranges=(0, 1e15)), "1,000,000,000,000,001 whole numbers"),
    (BEYOND, "ranges.a goes beyond 9,007,199,254,740,991, where not every whole number"),
    (BROKEN, r"ranges.a is \[0, 2.5\], but whole names 'a'"),
    (sums_text('loss = "auc-logistic"', ["a"], "l", top=TOP), "whole is for a kernel"),
]


@pytest.mark.parametrize(("text", "sentence"), WRONG)
def test_wrong_specifications_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse_spec(text)


def test_a_file_without_it_keeps_its_hash() -> None:
    plain = text_for("gini", ["a"], None, "")
    assert "whole" not in parse_spec(plain).text
    assert parse_spec(plain).hash == parse_spec(text_for("gini", ["a"], None, "whole = []")).hash
    named = parse_spec(text_for("gini", ["a"], None))
    assert parse_spec(plain).hash != named.hash
    assert named.hash == parse_spec(text_for("gini", ["a"], None, 'whole = ["a", "a"]')).hash
    (told,) = differences(parse_spec(plain).text, named.text)
    assert told == 'whole is absent here but ["a"] there.'
