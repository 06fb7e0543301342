"""Checks of a site's own rows, and attempts to read single rows from a sum."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.counts.axes import Grid
from pairgossip.errors import InputError
from pairgossip.peer.specification.spec import Spec, parse_spec
from pairgossip.peer.sums.disclosure import check_own_rows, describe_small_cells
from pairgossip.peer.sums.learning import count_told
from pairgossip.peer.sums.statistics import cells_of
from tests.sums.running import deal, run_programs, start_programs
from tests.sums.specs import kernel_spec, sums_text

RNG = np.random.default_rng(4)
LEARN = sums_text('loss = "auc-logistic"', ["a", "b"], "l")


def scored(rows: int, positives: int) -> np.ndarray:
    labels = (np.arange(rows) < positives).astype(float)
    return np.column_stack([RNG.random(rows), RNG.random(rows), labels])


def check(spec: Spec, rows: np.ndarray, least_rows: int = 10, *allowed: str) -> None:
    check_own_rows(spec, rows.reshape(len(rows), -1), least_rows, allowed)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (scored(40, 1), "This site has 1 row with 'l' 1, which totals are over, and least_rows is"),
        (scored(40, 9), "This site has 9 rows with 'l' 1"),
        (
            np.column_stack([np.arange(40) < 3, RNG.random(40), np.arange(40) % 2]),
            "This site has 3 rows in which 'a' is not at its most common value",
        ),
        (scored(200, 40), "up to 4,395 totals would be told of a class whose rows .* 80 numbers"),
    ],
)
def test_few_rows_behind_a_total_are_refused(rows: np.ndarray, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        check(parse_spec(LEARN), rows.astype(float))


def rare(of_one_class: int) -> np.ndarray:
    """Return rows with a feature that is 1 in eleven rows of a class and in some of the other."""
    rows = scored(5000, 2500)
    rows[:, 0] = 0.0
    rows[[*range(11), *range(4999, 4999 - of_one_class, -1)], 0] = 1.0
    return rows


def nested(apart: int) -> np.ndarray:
    """Return rows with two features that differ in only this many rows."""
    rows = scored(5000, 2500)
    rows[:, 0] = rows[:, 1] = np.arange(5000) % 3 == 0
    rows[1 : 1 + apart, 1] = 1.0 - rows[1 : 1 + apart, 1]
    return rows


def test_a_row_that_dominates_a_combination_of_totals_is_refused() -> None:
    """Class totals would reveal its features, and so would the difference of two features."""
    spec = parse_spec(LEARN)
    for rows in (rare(1), nested(1)):
        with pytest.raises(InputError, match="more than half of a combination of its totals"):
            check(spec, rows)
        check(spec, rows, 10, "auc-logistic")
    for rows in (rare(5), nested(15), rare(0)):
        check(spec, rows)


@pytest.mark.parametrize("start", [1e9, -1e12])
def test_features_far_from_0_hide_no_row_that_dominates(start: float) -> None:
    far = parse_spec(LEARN.replace("a = [0, 1]", f"a = [{start}, {start + 1}]"))
    moved = np.array([start, 0.0, 0.0])
    check(far, rare(5) + moved)
    with pytest.raises(InputError, match="more than half of a combination of its totals"):
        check(far, rare(1) + moved)


def test_totals_are_those_that_learning_asks_for() -> None:
    """Products of this many features by class would make too long a message, and are left out."""
    many = sums_text('loss = "auc-squared"', [f"x{k}" for k in range(300)], "l")
    assert count_told(parse_spec(many)) == 601 + 49 * (64 + 303)


def test_counts_and_enough_rows_are_not_refused() -> None:
    check(kernel_spec("auc", ["a"], "l"), scored(3, 1)[:, [0, 2]])
    check(kernel_spec("variance", ["a"]), RNG.random(2))
    check(parse_spec(LEARN), scored(20, 0)[:, [0, 1, 2]], 10, "auc-logistic")  # none of a class
    check(parse_spec(LEARN), scored(40, 12), 10, "auc-logistic")
    check(parse_spec(LEARN), scored(8000, 4000))
    few = LEARN.replace('name = "sums"', 'name = "sums"\nrounds = 5')  # need fewer rows
    check(parse_spec(few), scored(200, 90))
    check(parse_spec(LEARN.replace("logistic", "squared")), scored(60, 20))
    with pytest.raises(InputError, match="This site has 1 row with 'l' 1"):
        check(parse_spec(LEARN), scored(40, 1), 10, "auc-logistic")  # whatever is allowed


def test_counts_of_scores_need_permission() -> None:
    spec, rows = parse_spec(LEARN.replace("logistic", "hinge")), scored(60, 30)
    with pytest.raises(InputError, match=r"allow it at this site with allow = \[\"auc-hinge\"\]"):
        check(spec, rows)
    check(spec, rows, 10, "auc-hinge")
    check(kernel_spec("distance", ["a"]), rows[:, 0])


def test_small_cells_are_told() -> None:
    spec = kernel_spec("auc", ["a"], "l")
    rows = np.array([[0.01, 0.0], [0.5, 1.0], *[[0.99, 1.0]] * 6])
    told = describe_small_cells(spec, cells_of(spec).count_cells(rows))
    assert told is not None and "rows in 3 cells, of which 2 hold fewer than 5" in told
    assert describe_small_cells(spec, cells_of(spec).count_cells(rows[2:])) is None
    noisy = kernel_spec("auc", ["a"], "l", tables="[privacy]\nepsilon = 1")
    assert describe_small_cells(noisy, cells_of(noisy).count_cells(rows)) is None


# Attacks on version 0.2.0, in which a count came with the sum of the rows' places in their cell.


def read_lone_rows(spec: Spec, parts: list[np.ndarray]) -> list[tuple[float, float]]:
    """Return the bounds that a member can give for every row that is alone in its cell."""
    cells, axis = cells_of(spec), cells_of(spec).axes[0]
    assert isinstance(axis, Grid)
    totals: list[np.ndarray] = []
    run_programs(start_programs(spec, parts), totals)
    counts = cells.read_sums(totals[0].view(np.int64)).tables[0].spread()
    lone = np.flatnonzero((counts.reshape(-1, axis.bins) == 1).any(axis=0))
    return [(float(axis.edges[at]), float(axis.edges[at + 1])) for at in lone]


def test_a_lone_row_is_known_no_better_than_its_cell() -> None:
    """In version 0.2.0, 7 of 300 rows of an AUC were read exactly, with their class."""
    spec, rows = kernel_spec("auc", ["a"], "l"), scored(300, 120)[:, [0, 2]]
    rows[:, 0] = rows[:, 0] ** 3
    lone = read_lone_rows(spec, deal(rows, 5))
    assert lone and all(high - low == pytest.approx(1 / 256) for low, high in lone)
    # Every place in the cell gives the same sum, so no attack can do better.
    (low, high), *_ = lone
    totals = []
    for share in (0.1, 0.9):
        moved, inside = rows.copy(), (rows[:, 0] >= low) & (rows[:, 0] < high)
        moved[inside, 0] = low + share * (high - low)
        seen: list[np.ndarray] = []
        run_programs(start_programs(spec, deal(moved, 5)), seen)
        totals.append(seen[0].tobytes())
    assert totals[0] == totals[1]


def test_the_largest_income_is_known_no_better_than_its_cell() -> None:
    """In version 0.2.0, the largest income was revealed exactly in 23 of 40 runs."""
    spec = kernel_spec("gini", ["a"], ranges=(100, 1_000_000))  # type: ignore[arg-type]
    lone = read_lone_rows(spec, deal(1000 * (1 + RNG.pareto(2.5, 300)), 5))
    ratio = pytest.approx(10_000 ** (1 / 256), rel=1e-6)
    assert lone and all(high / low == ratio for low, high in lone)
