"""Rows counted in blocks of cells: no small number leaves a site, and bounds hold for all rows."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

import pairgossip as pg
from pairgossip.counts.axes import Grid
from pairgossip.counts.bounds import Blocks
from pairgossip.counts.readings import place_points
from pairgossip.counts.tree import lay_tree
from pairgossip.peer.protocol.program import Disagreement, Words
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.statistics import cells_of
from pairgossip.peer.sums.tables import StatisticsProgram
from tests.sums.running import deal, run_programs, start_programs
from tests.sums.specs import kernel_spec

RNG = np.random.default_rng(12)
N = 240
LABELS = (np.arange(N) % 3 == 0).astype(float)
SCORES = 1 / (1 + np.exp(-RNG.normal(size=N) - LABELS))
OTHERS = np.clip(SCORES + 0.2 * RNG.normal(size=N), 0, 1)
SCORED = np.column_stack([SCORES, LABELS])
TWO = np.column_stack([SCORES, OTHERS])
BOTH = np.column_stack([SCORES, OTHERS, LABELS])
CASES: list[tuple[str, np.ndarray, list[str], str | None]] = [
    ("auc", SCORED, ["a"], "l"),
    ("auc-difference", BOTH, ["a", "b"], "l"),
    ("gini", SCORES[:, None], ["a"], None),
    ("gini-coefficient", SCORES[:, None], ["a"], None),
    ("variance", SCORES[:, None], ["a"], None),
    ("kendall", TWO, ["a", "b"], None),
    ("kendall-b", TWO, ["a", "b"], None),
    ("somers-d", TWO, ["a", "b"], None),
    ("goodman-kruskal-gamma", TWO, ["a", "b"], None),
    ("ranking-risk", SCORED, ["a"], "l"),
    ("within-cluster-scatter", BOTH, ["a", "b"], "l"),
    ("concordance", TWO, ["a", "b"], None),
    ("concordance", BOTH, ["a", "b", "e"], None),
    ("median", SCORES[:, None], ["a"], None),
    ("trimmed-mean-0.1", SCORES[:, None], ["a"], None),
    ("shift", SCORED, ["a"], "l"),
    ("mann-whitney", SCORED, ["a"], "l"),
    ("spearman", TWO, ["a", "b"], None),
]


def spec_for(kernel: str, columns: list[str], label: str | None, least: int, bins: int) -> Spec:
    return kernel_spec(kernel, columns, label, algorithm=f"least_cell = {least}\nbins = {bins}")


def exact(kernel: str, rows: np.ndarray) -> float:
    flat = rows[:, 0]
    if kernel == "median":
        return float(pg.quantile(flat, 0.5))
    if kernel == "trimmed-mean-0.1":
        return float(pg.trimmed_mean(flat, 0.1))
    if kernel == "shift":
        return float(pg.hodges_lehmann(flat, labels=rows[:, 1]))
    if kernel == "mann-whitney":
        return float(pg.test(flat, kernel, labels=rows[:, 1]).value)
    if kernel == "spearman":
        return float(pg.test(rows, kernel).value)
    return float(pg.exact(flat if rows.shape[1] == 1 else rows, kernel))


def place(tables: tuple[Blocks, ...], columns: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows with these counts, anywhere in their blocks: at random or at their ends."""
    kind = rng.integers(4)
    made = []
    for table in tables:
        first, last = table.tree.boxes
        parts = []
        for number, counts in enumerate(table.by_class):
            at = np.repeat(np.arange(table.tree.size), counts.astype(int))
            share = rng.random((len(at), first.shape[1]))
            share = (
                share
                if kind == 0
                else np.round(share)
                if kind == 1
                else np.full_like(share, kind - 2)
            )
            if kind > 1 and number == 1:
                share = 1 - share
            ends = [axis.places for axis in table.axes[: first.shape[1]]]
            low = np.column_stack([end[first[at, k]] for k, end in enumerate(ends)])
            high = np.column_stack([end[last[at, k] + 1] for k, end in enumerate(ends)])
            share *= 1 - 1e-9  # an edge belongs to the next cell
            parts.append(np.column_stack([low + share * (high - low), np.full(len(at), number)]))
        made.append(np.concatenate(parts))
    values = np.column_stack([part[:, :-1] for part in made])
    return np.column_stack([values, made[0][:, -1]]) if values.shape[1] < columns else values


@pytest.mark.parametrize("least", [3, 5])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{len(case[2])}")
def test_the_bracket_holds_all_rows_that_have_these_counts(
    case: tuple[str, np.ndarray, list[str], str | None], least: int
) -> None:
    kernel, rows, columns, label = case
    spec = spec_for(kernel, columns, label, least, 16)
    totals: list[np.ndarray] = []
    result = run_programs(start_programs(spec, deal(rows, 4)), totals)
    assert result.bracket is not None and result.value is not None
    low, high = result.bracket
    assert low <= result.value <= high and low < high
    assert low <= exact(kernel, rows) <= high
    sums, rng = cells_of(spec).read_sums(totals[0].view(np.int64)), np.random.default_rng(least)
    assert sums.n == N
    for _ in range(24):
        moved = place(sums.tables, rows.shape[1], rng)
        assert len(moved) == N
        value = exact(kernel, moved)
        assert np.isnan(value) or low - 1e-12 <= value <= high + 1e-12


@pytest.mark.parametrize(
    ("case", "least"),
    [(case, 1 + 2 * (at % 2)) for at, case in enumerate(CASES)],
    ids=lambda part: f"{part[0]}-{len(part[2])}" if isinstance(part, tuple) else None,
)
def test_the_sum_is_a_summary_that_is_kept_and_read_again(
    case: tuple[str, np.ndarray, list[str], str | None], least: int
) -> None:
    kernel, rows, columns, label = case
    programs = start_programs(spec_for(kernel, columns, label, least, 16), deal(rows, 4))
    result = run_programs(programs)
    assert isinstance(programs[0], StatisticsProgram) and programs[0].summary is not None
    kept = pg.Summary.from_bytes(programs[0].summary.to_bytes())
    answer = kept.answer(0.95)
    assert result.value == pytest.approx(answer.value, rel=1e-11)
    assert result.bracket == pytest.approx(answer.bracket, rel=1e-10)
    assert (result.p_bracket or (np.nan, np.nan)) == pytest.approx(answer.p_bracket, nan_ok=True)
    assert kept.rows == N
    low, high = kept.bracket("median", column=0)
    assert low <= np.median(rows[:, 0]) <= high


def find(rows: list[np.ndarray], least: int) -> Result:
    return run_programs(start_programs(spec_for("auc", ["a"], "l", least, 256), rows))


def test_a_site_without_enough_rows_of_a_class_is_left_out_of_all() -> None:
    parts = [*deal(SCORED, 4), SCORED[LABELS == 0][:30]]
    with_it, without = find(parts, 3), find(parts[:4], 3)
    assert (with_it.value, with_it.bracket) == (without.value, without.bracket)
    assert with_it.rows == without.rows == N
    assert (with_it.left_out, without.left_out) == (("member 4",), None)
    assert find(parts, 1).value != with_it.value
    groups = 'by = "sex"\ngroups = ["f", "m"]'
    for spec, few in (
        (kernel_spec("auc", ["a"], "l"), "too few to fill every class with 3 rows"),
        (kernel_spec("gini", ["a"]), "fewer than 3"),
        (kernel_spec("gini", ["a"], top=groups), "too few to fill every sex with 3 rows"),
        (kernel_spec("auc", ["a"], "l", top=groups), "every combination of l and sex with 3 rows"),
    ):
        said = dict(replace(with_it, specification=spec.text).describe_table())["left out"]
        assert said.startswith("member 4: rows are ") and said.endswith(few)


def test_brackets_widen_with_the_least_number() -> None:
    rows = np.tile(SCORED, (10, 1))
    rows[:, 0] = np.clip(rows[:, 0] + RNG.uniform(-0.05, 0.05, len(rows)), 0, 1)
    found = [find(deal(rows, 4), least) for least in (1, 3, 10)]
    widths = [one.bracket[1] - one.bracket[0] for one in found if one.bracket is not None]
    assert widths == sorted(widths) and widths[0] < 0.005 < widths[2] < 0.2
    truth = pg.exact(rows, "auc")
    for one in found:
        assert one.value == pytest.approx(truth, abs=0.02)


@pytest.mark.parametrize(
    ("by", "sentence"),
    [(-2, "holds fewer than 3 rows"), (1, "cells hold 241 rows"), (-9, "a negative number")],
)
def test_blocks_that_nobody_counts_are_refused(by: int, sentence: str) -> None:
    programs = start_programs(spec_for("auc", ["a"], "l", 3, 256), deal(SCORED, 4))
    ask = programs[0].ask()
    assert ask is not None
    total: Words = np.sum([one.contribute(ask) for one in programs], axis=0, dtype=np.uint64)
    words = total.view(np.int64)
    words[1 + np.flatnonzero(words[1:-4] == 3)[0]] += by
    with pytest.raises(Disagreement, match=sentence):
        programs[0].take(ask, total)


def test_rows_are_placed_alike_on_machines_that_round_otherwise() -> None:
    tree = lay_tree((4,))
    counts = np.zeros(tree.size)
    counts[0] = 6.0  # one and a half in every cell
    axes = (Grid(np.arange(5.0)),)
    plain = place_points(Blocks(axes, tree, counts))
    for off in (-1e-12, 1e-12):
        moved = place_points(Blocks(axes, tree, counts * (1 + off)))
        assert all((one == other).all() for one, other in zip(plain, moved, strict=True))
