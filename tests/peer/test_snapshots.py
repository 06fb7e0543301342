"""Disclosure by totals of two studies of the same people together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping import overlaps
from pairgossip.peer.bookkeeping.entries import Entries
from pairgossip.peer.bookkeeping.places import registers_of
from pairgossip.peer.bookkeeping.registers import Release
from pairgossip.peer.bookkeeping.releases import check_release, tell_release
from pairgossip.peer.bookkeeping.snapshots import Combined, Snapshot, count_difference
from tests.peer.snapshots import note, prepare

ROWS = 140
IDS = [f"P{k}" for k in range(ROWS)]


def read_texts(texts: Mapping[str, list[str]]) -> Callable[[str], Entries | None]:
    return lambda name: Entries.of(texts[name]) if name in texts else None


def difference_by_force(old: IntArray, of_old: IntArray, of_new: IntArray, new: int) -> int:
    """Enumerate all sums of totals of one study, minus all of the other."""
    left = abs(old - np.bincount(of_old, minlength=len(old)))
    found = []
    for first in product((False, True), repeat=len(old)):
        for second in product((False, True), repeat=new):
            differ = np.array(first)[of_old] != np.array(second)[of_new]
            found.append(int(differ.sum() + left[np.array(first)].sum()))
    return min((one for one in found if one), default=0)


def test_the_least_difference_of_totals_is_found() -> None:
    rng = np.random.default_rng(1)
    nonzero = set()
    for _ in range(150):
        sizes, rows = rng.integers(1, 5, 2), int(rng.integers(1, 25))
        of_old, of_new = rng.integers(0, sizes[0], rows), rng.integers(0, sizes[1], rows)
        if rng.random() < 0.7:  # two studies that have nearly the same classes
            of_new = np.where(rng.random(rows) < 0.1, of_new, of_old % sizes[1])
        old = np.bincount(of_old, minlength=sizes[0])
        old = np.maximum(0, old + rng.integers(-1, 2, sizes[0]) * (rng.random(sizes[0]) < 0.3))
        names = [[b"%d" % one for one in range(size)] for size in sizes]
        both = (
            Combined(names[1], of_new, np.bincount(of_new, minlength=sizes[1])),
            Combined(names[0], of_old, np.bincount(of_old, minlength=sizes[0])),
        )
        least = difference_by_force(old, of_old, of_new, int(sizes[1]))
        assert count_difference(old, *both) == least
        nonzero.add(least)
    assert len(nonzero) > 6


def draw(rows: int = ROWS, seed: int = 2) -> dict[str, FloatArray]:
    """Draw people; two die late; surgery has all men and one woman."""
    rng = np.random.default_rng(seed)
    died, sex = rng.random(rows) < 0.3, rng.random(rows) < 0.5
    later = died.copy()
    later[np.flatnonzero(~died)[:2]] = True
    ward = np.where(sex, 0, rng.integers(1, 3, rows))
    ward[np.flatnonzero(~sex)[0]] = 0
    age = rng.integers(20, 95, rows)
    drawn = {
        "risk": rng.random(rows),
        "crp": rng.random(rows),
        "age": age,
        "died": died,
        "later": later,
        "sex": sex,
        "ward": ward,
        "clinic": rng.integers(0, 3, rows),
        "old": np.digitize(age, [50, 65, 80]),
    }
    return {name: column.astype(float) for name, column in drawn.items()}


def release(
    source: Path,
    drawn: Mapping[str, FloatArray],
    column: str,
    *classes: str,
    file: Mapping[str, FloatArray] | None = None,
    least: int = 3,
) -> Snapshot:
    texts = {name: [f"{one:g}" for one in values] for name, values in (file or drawn).items()}
    return Snapshot(
        source,
        {column: drawn[column]},
        {name: drawn[name] for name in classes},
        IDS[: len(drawn[column])],
        least_cell=least,
        read=read_texts(texts),
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("died",), ("later",)),
        (("died",), ("later", "sex")),
        (("died", "clinic"), ("later", "sex")),
        (("died", "sex"), ("died", "ward")),
    ],
)
def test_people_by_whom_classes_differ_are_told_by_totals(
    data: Path, first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    drawn, other = draw(), data.with_name("b.csv")
    note(release(data, drawn, "risk", *first))
    sentence = (
        r"^Other columns of 140 of these rows went out on .*, and totals of the two tables differ "
        r"by one or a few rows, and with .* take the same rows and classes, or give --visible\.$"
    )
    given = release(other, drawn, "crp", *second)
    with pytest.raises(InputError, match=sentence):
        check_release(registers_of(other), given)
    assert len(check_release(registers_of(other), given, is_visible=True)) == 1
    assert check_release(registers_of(other), given, has_noise=True) == []
    same = release(other, drawn, "crp", *first)
    assert check_release(registers_of(other), same) == []


@pytest.mark.parametrize(("old", "new", "is_refused"), [(2, 2, False), (3, 2, True), (2, 3, True)])
def test_the_larger_number_of_rows_counts(data: Path, old: int, new: int, is_refused: bool) -> None:
    drawn, other = draw(), data.with_name("b.csv")
    note(release(data, drawn, "risk", "died", least=old))
    given = release(other, drawn, "crp", "later", least=new)
    if is_refused:
        with pytest.raises(InputError, match="differ by one or a few rows"):
            check_release(registers_of(other), given)
    else:
        assert check_release(registers_of(other), given) == []


def test_totals_under_noise_are_no_exact_ones(data: Path) -> None:
    drawn, other = draw(), data.with_name("b.csv")
    note(release(data, drawn, "risk", "died"), has_noise=True)
    assert check_release(registers_of(other), release(other, drawn, "crp", "later")) == []


def test_classes_that_have_nothing_to_do_with_each_other_pass(data: Path) -> None:
    refused = 0
    for seed in range(20):
        drawn = draw(seed=seed)
        old, new = data.with_name(f"{seed}.csv"), data.with_name(f"{seed}-new.csv")
        ids = [f"{seed}-{k}" for k in range(ROWS)]
        for place, column, classes in ((old, "risk", ("died", "sex")), (new, "crp", ("clinic",))):
            given = replace(release(place, drawn, column, *classes), ids=ids)
            try:
                note(given, place.name)
            except InputError:
                refused += 1
    assert refused == 0


def test_classes_that_are_not_in_the_file_are_compared_by_any_total(data: Path) -> None:
    drawn, other = draw(), data.with_name("b.csv")
    note(release(data, drawn, "risk", "died"))
    few = {name: drawn[name] for name in ("crp", "later", "sex")}
    given = release(other, drawn, "crp", "later", file=few)
    with pytest.raises(InputError, match="classes, or put 'died' of that study into this file to"):
        check_release(registers_of(other), given)


@pytest.mark.parametrize(
    ("first", "second", "mine", "theirs"),
    [
        (("age", "died"), ("crp", "died", "old"), "old", "age"),
        (("crp", "died", "old"), ("age", "died"), "age", "old"),
        (("age", "died"), ("old", "died"), "old", "age"),
    ],
)
def test_groups_that_are_intervals_of_a_released_column_are_refused(
    data: Path, first: tuple[str, ...], second: tuple[str, ...], mine: str, theirs: str
) -> None:
    drawn, other = draw(), data.with_name("b.csv")
    note(release(data, drawn, *first))
    given = release(other, drawn, *second)
    sentence = (
        rf"^Column '{theirs}' of 140 of these rows went out on .*, and it and '{mine}' tell each "
        rf"other, and with a second release others can subtract: leave '{mine}' out, or give --vis"
    )
    with pytest.raises(InputError, match=sentence):
        check_release(registers_of(other), given)
    assert len(check_release(registers_of(other), given, is_visible=True)) == 1
    assert check_release(registers_of(other), release(other, drawn, "risk", "died", "clinic")) == []


def test_gaps_of_a_released_column_do_not_hide_its_intervals(data: Path) -> None:
    drawn, other = draw(), data.with_name("b.csv")
    note(release(data, drawn, "age", "died"))
    texts = {name: [f"{one:g}" for one in values] for name, values in drawn.items()}
    texts["age"][:3] = ["", "NA", "unknown"]
    given = replace(release(other, drawn, "crp", "died", "old"), read=read_texts(texts))
    with pytest.raises(InputError, match=r"^Column 'age' .* it and 'old' tell each other"):
        check_release(registers_of(other), given)
    texts["age"][5:] = [""] * (ROWS - 5)  # nothing can be said about few rows
    given = replace(release(other, drawn, "crp", "died", "clinic"), read=read_texts(texts))
    assert check_release(registers_of(other), given) == []


def test_columns_of_many_combinations_are_no_classes(data: Path) -> None:
    drawn = draw()
    numbers = np.arange(float(2 * ROWS))
    drawn["even"], drawn["third"] = np.mod(numbers[:ROWS], 20), np.floor(numbers[:ROWS] / 20)
    given = release(data, drawn, "risk")
    both = given.combine(["even", "third"])
    assert both is not None and len(both.entries) == ROWS
    drawn = {name: np.tile(column, 2) for name, column in drawn.items()}
    drawn["half"] = np.floor(numbers / ROWS)
    assert release(data, drawn, "risk").combine(["even", "third", "half"]) is None


def test_rows_are_compared_once_with_each_release(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, other, calls = draw(), data.with_name("b.csv"), list[str]()
    key = note(release(data, drawn, "risk", "died"))
    usual = overlaps.NamedRows._compare

    def noting(self: overlaps.NamedRows, old: Release) -> Any:
        calls.append(old.key)
        return usual(self, old)

    monkeypatch.setattr(overlaps.NamedRows, "_compare", noting)
    given = release(other, drawn, "risk", "died")
    with pytest.raises(InputError, match="as a table, unless"):
        check_release(registers_of(other), given)
    tell_release(registers_of(data), key, "table")
    with pytest.raises(InputError, match="as a table, and"):  # its outcome is up to date
        prepare(given)
    assert calls == [key]


def test_what_is_prepared_beside_keeps_why(data: Path) -> None:
    drawn, other = draw(), data.with_name("b.csv")
    first = prepare(release(data, drawn, "risk", "died"), "one")
    note(release(other, drawn, "crp", "later"), "two")
    with pytest.raises(InputError, match=r"^Other columns of 140 .*peer init --visible\.$"):
        tell_release(registers_of(data), first)


def test_what_is_told_meanwhile_names_columns_as_each_study_does(data: Path) -> None:
    drawn, other = draw(), data.with_name("b.csv")
    first = prepare(release(data, drawn, "age", "died"), "one")
    note(release(other, drawn, "crp", "died", "old"), "two")
    with pytest.raises(InputError, match=r"^Column 'old' .* it and 'age' .*: leave 'age' out"):
        tell_release(registers_of(data), first)


def test_people_of_a_class_that_is_gone_are_told_by_totals(data: Path) -> None:
    drawn, other = draw(), data.with_name("b.csv")
    drawn["rare"] = (np.arange(ROWS) < 2).astype(float)
    note(release(data, drawn, "risk", "died", "rare"))
    fewer = {name: column[2:] for name, column in drawn.items()}
    given = replace(release(other, fewer, "crp", "died"), ids=IDS[2:])
    with pytest.raises(InputError, match="totals of the two tables differ by one or a few rows"):
        check_release(registers_of(other), given)


def test_rows_that_wait_to_be_filled_up_are_compared(data: Path) -> None:
    """A later batch may fill every combination, and then all rows are in exact totals."""
    drawn, other = draw(), data.with_name("b.csv")
    drawn["rare"] = (np.arange(ROWS) < 1).astype(float)
    note(release(data, drawn, "risk", "died"))
    fewer = {name: column[1:] for name, column in drawn.items()}
    given = replace(release(other, fewer, "crp", "died", "rare"), ids=IDS[1:])
    with pytest.raises(InputError, match="totals of the two tables differ by one or a few rows"):
        check_release(registers_of(other), given)


@pytest.mark.parametrize("is_named", [True, False])
def test_totals_are_compared_where_ids_were_named_once(data: Path, is_named: bool) -> None:
    """Then it is unknown whether rows of the same file are the same, so they may be."""
    drawn = draw()
    fewer = {name: column[1:] for name, column in drawn.items()}
    first, second = release(data, drawn, "risk", "died"), release(data, fewer, "crp", "died")
    note(first if is_named else replace(first, ids=None))
    given = replace(second, ids=None if is_named else IDS[1:])
    with pytest.raises(InputError, match="totals of the two tables differ by one or a few rows"):
        check_release(registers_of(data), given)
