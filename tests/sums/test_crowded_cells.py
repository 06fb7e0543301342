"""Rank tests where most rows share a cell: nothing uncertain is stated as certain."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.order_statistics.comparisons import OF_CLASSES
from pairgossip.peer.protocol.program import Disagreement
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.sums.disclosure import describe_crowded_cells
from pairgossip.peer.sums.results import Result, decode_figures, follow_result
from pairgossip.peer.sums.statistics import cells_of
from tests.sums.running import deal, run_programs, start_programs
from tests.sums.specs import kernel_spec

RNG = np.random.default_rng(29)
N = 400
LABELS = (np.arange(N) % 2).astype(float)
NUMBERS = 0.55 + 0.013 * (RNG.normal(size=N) + 1.3 * LABELS)
SCORED = np.column_stack([NUMBERS, LABELS])
TWO = np.column_stack([NUMBERS, NUMBERS + 0.01 * RNG.normal(size=N)])


def spec_for(kernel: str, high: float, **more: str) -> Spec:
    columns, label = (["a", "b"], None) if kernel == "spearman" else (["a"], "l")
    return kernel_spec(kernel, columns, label, ranges=(0, high), **more)  # type: ignore[arg-type]


def find(kernel: str, high: float, **more: str) -> Result:
    rows = TWO if kernel == "spearman" else SCORED
    return run_programs(start_programs(spec_for(kernel, high, **more), deal(rows, 3)))


def test_a_range_that_is_far_too_wide_is_told() -> None:
    """All rows are in one cell, so there seems to be no difference."""
    exact, found = pg.test(NUMBERS, "mann-whitney", labels=LABELS), find("mann-whitney", 100)
    assert exact.p < 1e-20
    assert (found.value, found.p, found.crowded_cells) == (0.5, 1.0, (1.0,))
    assert found.bracket == (0.0, 1.0) and found.p_bracket is not None
    assert found.p_bracket[0] <= exact.p and found.p_bracket[1] == 1.0
    advice = found.advise_bins() or ""
    assert advice.startswith("100 % of all rows share one cell of 'a', so that their order is not")
    assert "narrower range" in advice


@pytest.mark.parametrize("name", [*OF_CLASSES, "spearman"])
@pytest.mark.parametrize("high", [1, 3, 10])
def test_the_test_of_the_rows_is_in_its_brackets_however_wide_the_range(
    name: str, high: float
) -> None:
    found = find(name, high)
    exact = pg.test(TWO, name) if name == "spearman" else pg.test(NUMBERS, name, labels=LABELS)
    assert found.bracket is not None and found.p_bracket is not None
    assert found.bracket[0] <= exact.value <= found.bracket[1]
    assert found.p_bracket[0] <= exact.p <= found.p_bracket[1]
    for number, ends in ((found.value, found.bracket), (found.p, found.p_bracket)):
        assert number is not None and ends[0] <= number <= ends[1]
    assert found.crowded_cells is not None or high < 10
    assert found.crowded_cells is None or 0.5 < max(found.crowded_cells) <= 1.0


def test_rows_that_share_a_value_leave_nothing_open() -> None:
    rows = np.column_stack([(NUMBERS > 0.58).astype(float), LABELS])
    spec = kernel_spec("mann-whitney", ["a"], "l", ranges=(0, 9), top='whole = ["a"]')  # type: ignore[arg-type]
    found = run_programs(start_programs(spec, deal(rows, 3)))
    exact = pg.test(rows[:, 0], "mann-whitney", labels=LABELS)
    assert found.crowded_cells is None and found.advise_bins() is None
    assert found.p_bracket == pytest.approx((exact.p, exact.p), rel=1e-9)
    assert found.bracket == pytest.approx((exact.value, exact.value), rel=1e-9)


@pytest.mark.parametrize("name", ["mann-whitney", "spearman"])
def test_noisy_counts_have_no_bracket_and_warn_all_the_same(name: str) -> None:
    found = find(name, 10, tables="[privacy]\nepsilon = 50")
    columns = 2 if name == "spearman" else 1
    assert (found.bracket, found.p, found.p_bracket) == (None, None, None)
    assert found.crowded_cells is not None and max(found.crowded_cells) <= 1.0
    assert (found.advise_bins() or "").count("share one cell of '") == columns


def test_what_members_sign_is_the_same_bytes_without_a_test() -> None:
    """Results of former versions, which have no ends of p, can still be checked."""
    gini = run_programs(start_programs(kernel_spec("gini", ["a"]), deal(NUMBERS, 3)))
    assert gini.p_bracket is None and gini.crowded_cells is None
    assert b"p_bracket" not in gini.state() and b"crowded" not in gini.state()
    assert gini.take_over(decode_figures(gini.state())) == gini
    old = msgspec.json.decode(msgspec.json.encode(gini))
    del old["p_bracket"], old["crowded_cells"]
    assert msgspec.convert(old, Result) == gini
    found = find("mann-whitney", 1)
    assert found.take_over(decode_figures(found.state())) == found


def test_half_of_the_rows_in_a_cell_are_no_crowd() -> None:
    """All members must judge this alike, however their share is rounded."""
    spec = kernel_spec("mann-whitney", ["a"], "l")
    for rows in range(2, 60):
        numbers = np.where(np.arange(rows) < (rows + 1) // 2, 0.1, np.arange(rows) / rows)
        found = run_programs(start_programs(spec, [np.column_stack([numbers, LABELS[:rows]])]))
        in_one = int(np.histogram(numbers, 256, (0, 1))[0].max())
        assert (found.crowded_cells is None) == (2 * in_one <= rows)
        assert (found.crowded_cells or (in_one / rows,))[0] == pytest.approx(in_one / rows)


def test_ends_of_p_are_followed_but_for_rounding() -> None:
    programs = start_programs(spec_for("mann-whitney", 1), deal(SCORED, 3))
    mine = run_programs(programs)
    assert mine.p_bracket is not None
    low, high = mine.p_bracket
    near = msgspec.structs.replace(mine, p_bracket=(low * (1 + 1e-11), high))
    assert follow_result(mine, near.state()) == near
    far = msgspec.structs.replace(mine, p_bracket=(low * (1 + 1e-6), high))
    with pytest.raises(Disagreement, match="p_bracket is"):
        follow_result(mine, far.state())
    with pytest.raises(Disagreement, match="p_bracket is"):
        follow_result(mine, msgspec.structs.replace(mine, p_bracket=None).state())
    # An empty list would be read as None, and members would sign other bytes than its sender.
    told = msgspec.json.decode(mine.state()) | {"crowded_cells": []}
    with pytest.raises(Disagreement, match="cannot be read"):
        follow_result(mine, msgspec.json.encode(told, order="sorted"))


@pytest.mark.parametrize("shares", [(0.25,), (0.0, 0.75), (-1.0,)])
def test_a_file_whose_crowded_cells_name_no_column_can_be_shown(shares: tuple[float, ...]) -> None:
    found = msgspec.structs.replace(find("mann-whitney", 1), crowded_cells=shares)
    assert "share one cell" not in (found.advise_bins() or "")


def test_an_operator_hears_of_the_own_rows_before_any_run() -> None:
    def describe(spec: Spec, rows: FloatArray) -> str | None:
        return describe_crowded_cells(spec, cells_of(spec).count_cells(rows))

    told = describe(spec_for("mann-whitney", 100), SCORED)
    assert told is not None and "100 % of this site's rows share one cell of 'a'" in told
    assert describe(spec_for("mann-whitney", 1), SCORED) is None
    median = kernel_spec("median", ["a"], ranges=(0, 10))  # type: ignore[arg-type]
    assert describe(median, NUMBERS[:, None]) is None
    both = describe(spec_for("spearman", 10), TWO) or ""
    assert "cell of 'a'" in both and "cell of 'b'" in both
