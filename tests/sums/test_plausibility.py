"""Sums that no rows have are refused, whatever members contributed."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from pairgossip.peer.protocol.program import Disagreement, Words
from pairgossip.peer.specification.spec import Spec, parse_spec
from pairgossip.peer.sums.noise import NoiseLaw
from pairgossip.peer.sums.programs import SumsProgram
from pairgossip.peer.sums.statistics import cells_of, noise_law
from tests.sums.running import deal, run_programs, start_programs
from tests.sums.specs import kernel_spec, sums_text

RNG = np.random.default_rng(1)
N = 120
LABELS = (RNG.random(N) < 0.4).astype(float)
SCORES = RNG.random(N) * 0.8 + 0.1 * LABELS
SCORED = np.column_stack([SCORES, LABELS])
BOTH = np.column_stack([SCORES, RNG.random(N), LABELS])
AUC = kernel_spec("auc", ["a"], "l")
VARIANCE = kernel_spec("variance", ["a"])
PAIR = kernel_spec("auc-difference", ["a", "b"], "l")
Lie = Callable[[np.ndarray], None]


def take_after(spec: Spec, rows: np.ndarray, lie: Lie) -> SumsProgram:
    """Let one of three members add a lie to its contribution; the first member gets the sum."""
    programs = start_programs(spec, deal(rows, 3))
    ask = programs[0].ask()
    assert ask is not None
    total: Words = np.sum([one.contribute(ask) for one in programs], axis=0, dtype=np.uint64)
    lie(total.view(np.int64))
    programs[0].take(ask, total)
    return programs[0]


def add(*places: int, by: int = 1) -> Lie:
    """Add a number at each of these places of the sum."""

    def change(words: np.ndarray) -> None:
        for place in places:
            words[place] += by

    return change


def move(taken: int, added: int, by: int) -> Lie:
    def change(words: np.ndarray) -> None:
        words[taken] -= by
        words[added] += by

    return change


def tilt(words: np.ndarray) -> None:
    """Take ten from each of the lower half of the cells, and add them to the upper one."""
    counts = words[1:]
    counts[: len(counts) // 2] -= 10
    counts[len(counts) // 2 :] += 10


def add_class(table: np.ndarray) -> None:
    """Move half of the rows of one class to the other."""
    table[: len(table) // 2] -= 2
    table[len(table) // 2 :] += 2


def swap(table: np.ndarray) -> None:
    """Move a row of one class to the other."""
    table[np.flatnonzero(table)[0]] -= 1
    table[-1] += 1


@pytest.mark.parametrize(
    ("spec", "rows", "lie", "sentence"),
    [
        (AUC, SCORED, add(0, by=28), "add 120 to 147 rows, but counted 148"),
        (AUC, SCORED, add(1, 30), "cells hold 122 rows, and members have 120"),
        (AUC, SCORED, move(1, 5, 1000), "a negative number of rows"),
        (AUC, SCORED, move(1, 2, N), "a negative number of rows"),
        (AUC, SCORED, add(1, by=1 << 40), "rows, and members have 120"),
        # One row less in one class and one more in the other, only in the second score's table.
        (PAIR, BOTH, lambda words: swap(words[513:-4]), "one table holds other rows"),
    ],
)
def test_impossible_sums_are_refused(spec: Spec, rows: np.ndarray, lie: Lie, sentence: str) -> None:
    with pytest.raises(Disagreement, match=sentence):
        take_after(spec, rows, lie)


def test_possible_sums_are_taken() -> None:
    """A lie that is possible for some rows is not detected: a member may have any rows."""
    honest = take_after(AUC, SCORED, lambda words: None).result
    moved = take_after(AUC, SCORED, move(int(np.argmax(counts_of(AUC, SCORED))) + 1, 1, 1)).result
    assert honest is not None and moved is not None and honest.value != moved.value


def counts_of(spec: Spec, rows: np.ndarray) -> np.ndarray:
    """Return the counts of the first class, 0 elsewhere."""
    counts = cells_of(spec).add_up(rows)[1:].copy()
    counts[len(counts) // 2 :] = 0
    return counts


LEARN = sums_text('loss = "auc-logistic"', ["a", "b"], "l")
HINGE = LEARN.replace("logistic", "hinge")


def learn_until(loss: str, name: bytes, lie: Lie) -> SumsProgram:
    """Learn honestly up to a question with this name, and then add a lie."""
    programs = start_programs(parse_spec(loss), deal(BOTH, 3))
    while (ask := programs[0].ask()) is not None:
        total: Words = np.sum([one.contribute(ask) for one in programs], axis=0, dtype=np.uint64)
        is_reached = name in ask.public[:12]
        if is_reached:
            lie(total.view(np.int64))
        for one in programs:
            one.take(ask, total)
        assert not is_reached, "the lie was taken"
    return programs[0]


@pytest.mark.parametrize(
    ("loss", "name", "lie", "sentence"),
    [
        (LEARN, b"moments", add(0, by=8 << 52), "classes have 128 rows, and members have 120"),
        (LEARN, b"moments", add(0, by=1 << 50), "a part of a row"),
        (LEARN, b"moments", add(1, by=1 << 61), "the sum of a feature is beyond"),
        (LEARN, b"moments", add(4, by=30 << 52), "a negative variance"),
        (LEARN, b"scores", add(0, by=-(1 << 52)), "another number of rows than before"),
        (LEARN, b"scores", add(2, by=1 << 61), "the sum of a polynomial of scores is beyond"),
        (HINGE, b"scores", add(7, by=1 << 50), "a part of a row"),
        (LEARN, b"gradient", add(0, by=1 << 62), "steeper than the loss"),
        (LEARN, b"gradient", lambda words: words.__setitem__(0, -(1 << 63)), "steeper than"),
    ],
)
def test_impossible_sums_of_learning_are_refused(
    loss: str, name: bytes, lie: Lie, sentence: str
) -> None:
    with pytest.raises(Disagreement, match=sentence):
        learn_until(loss, name, lie)


NOISY = kernel_spec("auc", ["a"], "l", tables="[privacy]\nepsilon = 1")


@pytest.mark.parametrize(
    ("lie", "sentence"),
    [
        (add(1, by=-500), "farther from those of rows than noise"),
        (add(1, by=500), "farther from those of rows than noise"),
        (add(*range(1, 65), by=9), "do not add up to the rows, by more than noise"),
    ],
)
def test_noise_does_not_hide_what_it_never_does(lie: Lie, sentence: str) -> None:
    with pytest.raises(Disagreement, match=sentence):
        take_after(NOISY, SCORED, lie)


@pytest.mark.parametrize(("epsilon", "members", "honest"), [(1.0, 3, 2), (0.1, 5, 1)])
def test_noise_reaches_about_as_far_as_it_may(epsilon: float, members: int, honest: int) -> None:
    law = NoiseLaw(epsilon, 1, honest, members)
    drawn = np.sum([law.draw(50_000) for _ in range(members)], axis=0)
    for chance in (1e-2, 1e-3):
        beyond = float((np.abs(drawn) > law.reach(1, chance)).mean())
        assert beyond <= 2 * chance
    assert law.reach(1, 1e-9) < 60 * np.sqrt(law.variance)
    several = drawn.reshape(-1, 50).sum(axis=1)
    assert (np.abs(several) <= law.reach(50, 1e-6)).all()


def test_honest_noise_is_never_refused() -> None:
    for _ in range(20):
        assert run_programs(start_programs(NOISY, deal(SCORED, 3))).noise is not None
    assert noise_law(NOISY, 3).reach(1, 1e-9 / 129) < 300


@pytest.mark.parametrize(
    ("kernel", "rows", "epsilon", "lie"),
    [
        # Within the reach of noise in every cell, and far beyond it together.
        ("gini", SCORES, 5, tilt),
        ("kendall", BOTH[:, :2], 5, tilt),
        ("concordance", BOTH, 5, tilt),
        ("auc-difference", BOTH, 50, lambda words: add_class(words[65:])),
    ],
)
def test_noise_does_not_hide_many_small_lies(
    kernel: str, rows: np.ndarray, epsilon: float, lie: Lie
) -> None:
    columns = {"gini": ["a"], "concordance": ["a", "b", "e"]}.get(kernel, ["a", "b"])
    label = "l" if kernel == "auc-difference" else None
    tables = f"[privacy]\nepsilon = {epsilon}"
    with pytest.raises(Disagreement, match="noise"):
        take_after(kernel_spec(kernel, columns, label, tables=tables), rows, lie)


def test_random_words_are_refused() -> None:
    """Masks that do not cancel leave words that are not a sum of rows."""

    def scramble(words: np.ndarray) -> None:
        words[1:] = RNG.integers(-(2**62), 2**62, len(words) - 1)

    for spec, rows in ((AUC, SCORED), (VARIANCE, SCORES), (PAIR, BOTH), (NOISY, SCORED)):
        with pytest.raises(Disagreement):
            take_after(spec, rows, scramble)


def test_rows_at_the_corners_of_their_ranges_are_no_lie() -> None:
    for columns in (2, 3):
        corners = np.array(list(itertools.product([0.0, 1.0], repeat=columns)) * 4)
        for top in ("", 'target = "u"'):
            noise = "[privacy]\nepsilon = 50"
            spec = kernel_spec("distance", ["a", "b", "c"][:columns], top=top, tables=noise)
            assert run_programs(start_programs(spec, deal(corners, 3))).value is not None
