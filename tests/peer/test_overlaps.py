"""Ways to release a column twice, and which of them are detected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.entries import Entries
from pairgossip.peer.bookkeeping.places import registers_of
from pairgossip.peer.bookkeeping.releases import (
    check_release,
    find_releases,
)
from pairgossip.peer.bookkeeping.row_names import NamedColumn, name_lines
from pairgossip.peer.bookkeeping.snapshots import Snapshot, refuse_functions
from tests.peer.snapshots import DIED, OTHERS, RISK, ROWS, count, note, snapshot


def quarter(values: FloatArray) -> FloatArray:
    return np.concatenate([values[:56], OTHERS[56:]])


@pytest.mark.parametrize(
    ("change", "least"),
    [
        (lambda x: x, 140),
        (lambda x: np.nextafter(x, 1.0), 140),
        (lambda x: x.astype(np.float32).astype(float), 138),
        (lambda x: np.array([float(f"{one:.6g}") for one in x]), 139),
        (lambda x: 100 * x, 140),
        (lambda x: -x, 140),
        (lambda x: x[::-1], 140),
        (lambda x: x[1:], 139),
        (lambda x: np.append(x, OTHERS[:10]), 140),
        (lambda x: np.append(x[1:], 0.123456), 139),
        (quarter, 56),
        (lambda x: np.append(OTHERS[:130], x[:10]), 10),
        (lambda x: x[:10], 10),
    ],
    ids=[
        *("same", "ulp", "float32", "six digits", "percent", "negative", "reordered", "erased"),
        *("added", "corrected", "quarter", "ten of 140", "ten alone"),
    ],
)
def test_rows_are_found_again(
    data: Path, change: Callable[[FloatArray], FloatArray], least: int
) -> None:
    note(snapshot(data))
    again = change(RISK)
    for place in (data, data.with_name("copy.csv"), data.parent.parent / "elsewhere" / "a.csv"):
        place.parent.mkdir(exist_ok=True)
        for name in ("risk", "score"):
            labels = {"icu": np.arange(float(len(again))) % 2}
            for classes in (labels, {}, {"died": 1.0 + np.arange(float(len(again))) % 2}):
                given = Snapshot(place, {name: again}, classes)
                (found,) = find_releases(registers_of(place), given)
                assert found.columns == (name,)
                assert found.rows is not None
                assert least <= found.rows <= least + 1
                with pytest.raises(InputError, match="with a second release others can subtract"):
                    note(given, "second")


@pytest.mark.parametrize(
    "change",
    [lambda x: 1.5 * x, np.sqrt, lambda x: np.round(x, 3), lambda x: 1 - x],
    ids=["rescaled", "function", "three-digits", "turned"],
)
def test_what_is_not_found_without_ids(
    data: Path, change: Callable[[FloatArray], FloatArray]
) -> None:
    note(snapshot(data))
    assert count(snapshot(data, change(RISK), "other")) == []


@pytest.mark.parametrize("change", [lambda x: 1.5 * x, lambda x: np.round(x, 3), lambda x: 1 - x])
def test_with_ids_all_of_it_is_found(
    data: Path, change: Callable[[FloatArray], FloatArray]
) -> None:
    ids = [f"P{k}" for k in range(ROWS)]
    note(snapshot(data, ids=ids))
    assert count(snapshot(data.with_name("b.csv"), change(RISK), ids=ids)) == [ROWS]
    one_old = [f" {ids[-1]} ", *(f"Q{k}" for k in range(ROWS - 1))]
    assert count(snapshot(data, OTHERS, ids=one_old)) == [1]
    assert count(snapshot(data, OTHERS, ids=[f"Q{k}" for k in range(ROWS)])) == []


def test_whole_numbers_are_the_same_ids_with_a_decimal_point(data: Path) -> None:
    note(snapshot(data, ids=[f"{k}" for k in range(1000, 1000 + ROWS)]))
    elsewhere = data.with_name("b.csv")
    written = [f"{k}.0" for k in range(1001, 1001 + ROWS)]
    assert count(snapshot(elsewhere, OTHERS, ids=written)) == [ROWS - 1]
    assert count(snapshot(elsewhere, OTHERS, ids=[f"{one}5" for one in written])) == []


def test_other_people_are_not_refused(data: Path) -> None:
    """The files are of different people, with any law and number of decimals.

    Few values with few decimals may agree by chance: one of the 27 pairs of files may be refused.
    """
    rng = np.random.default_rng(3)
    laws: list[Callable[[int], FloatArray]] = [
        rng.random,
        lambda n: rng.random(n).round(2),
        lambda n: rng.random(n).round(3),
        lambda n: rng.random(n).round(4),
        lambda n: rng.lognormal(3.0, 1.0, n),
        lambda n: rng.lognormal(8.0, 1.0, n).round(-1),
        lambda n: np.where(rng.random(n) < 0.3, 0.0, rng.lognormal(0.0, 1.0, n)),
        lambda n: rng.normal(37.0, 0.01, n),
        lambda n: rng.integers(20, 95, n).astype(float),
    ]
    refused = 0
    for place, law in enumerate(laws):
        for size in (10, 140, 1000):
            old, new = data.with_name(f"{place}-{size}"), data.with_name(f"{place}-{size}-new")
            note(Snapshot(old, {f"x{place}": law(size)}), is_visible=True)
            given = Snapshot(new, {"x": law(1000)})
            refused += len(find_releases(registers_of(old)[:1], given))
    assert refused <= 1


def test_columns_of_few_values_count_by_source_and_name(data: Path) -> None:
    age, other = (np.random.default_rng(k).integers(20, 90, 1000).astype(float) for k in (1, 2))
    note(Snapshot(data, {"age": age}))
    (found,) = find_releases(registers_of(data), Snapshot(data, {"age": other}))
    assert (found.columns, found.rows) == (("age",), None)
    assert found.refusal().startswith("Column 'age' of these rows went out on")
    assert "--id" not in found.refusal()  # ids do not help for rows released without
    elsewhere = data.with_name("b.csv")
    assert count(Snapshot(elsewhere, {"years": age[::-1]})) == [1000]  # a complete copy
    assert count(Snapshot(elsewhere, {"age": age[1:]})) == []
    assert count(Snapshot(data, {"weight": other})) == []
    # With a column that identifies rows, files are as different, or as similar, as their rows.
    long = np.random.default_rng(4).random((2, 1000))
    data = data.with_name("c.csv")
    age = np.random.default_rng(3).integers(20, 90, 1000).astype(float)
    note(Snapshot(data, {"risk": long[0]}, {"age": age}))
    assert count(Snapshot(elsewhere, {"risk": long[1], "age": other})) == []
    (found,) = find_releases(
        registers_of(data), Snapshot(elsewhere, {"score": long[0], "age": other})
    )
    assert found.columns == ("score", "age")


def test_a_few_rows_that_values_cannot_tell_count_by_source_and_name(data: Path) -> None:
    old, new = np.random.default_rng(1).random((2, 1000)).round(3)
    note(Snapshot(data, {"risk": old}))
    assert count(Snapshot(data, {"risk": old[:10]})) == [None]
    assert count(Snapshot(data, {"risk": new})) == []


def test_standard_input_is_not_always_one_file(data: Path) -> None:
    old, new = np.random.default_rng(1).integers(20, 90, (2, 1000)).astype(float)
    note(Snapshot(Path("-"), {"age": old}))
    assert count(Snapshot(Path("-"), {"age": new})) == []
    assert count(Snapshot(Path("-"), {"age": old[::-1]})) == [1000]


def test_ids_are_advised_where_they_help(data: Path) -> None:
    age = np.random.default_rng(1).integers(20, 90, 1000).astype(float)
    note(Snapshot(data, {"age": age}, ids=[f"P{k}" for k in range(1000)]))
    (found,) = find_releases(registers_of(data), Snapshot(data, {"age": age[1:]}))
    assert found.rows is None and "or --id if they are other rows" in found.refusal()
    assert count(Snapshot(data, {"age": age[1:]}, ids=[f"Q{k}" for k in range(999)])) == []


def test_what_many_rows_have_says_nothing_of_a_row(data: Path) -> None:
    old, new = np.where(np.random.default_rng(1).random((2, 140)) < 0.4, 0.25, (RISK, OTHERS))
    note(Snapshot(data, {"risk": old}))
    elsewhere = data.with_name("b.csv")
    assert count(Snapshot(elsewhere, {"risk": new})) == []
    assert count(Snapshot(elsewhere, {"risk": np.append(old[:40], new[40:])})) == [
        np.count_nonzero(old[:40] != 0.25)
    ]


def test_a_class_of_other_columns_is_no_release_of_it(data: Path) -> None:
    note(snapshot(data))
    assert count(snapshot(data, OTHERS, "marker")) == []
    found = find_releases(registers_of(data), Snapshot(data, {"died": DIED}, {"risk": RISK}))
    assert [one.columns for one in found] == [("died", "risk")]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", [[], [0.5], [0.0] * 20, [1e-310, -1e308, 3.0, 1e300]])
def test_the_smallest_and_the_largest(data: Path, values: list[float]) -> None:
    given = Snapshot(data, {"x": np.array(values), "y": np.arange(float(len(values)))})
    refuse_functions(given)
    assert check_release(registers_of(data), given) == []
    assert len(note(given)) == 32


def test_functions_of_one_another_count_as_one(data: Path) -> None:
    logit = np.log(RISK / (1 - RISK))
    for other in (logit, -logit, 1 / (1 + RISK), np.floor(3 * RISK)):
        both = {"risk": RISK, "other": other}
        with pytest.raises(InputError, match=r"correlation of -?1\.000, so .*: leave one out, or"):
            refuse_functions(Snapshot(data, both))
        refuse_functions(Snapshot(data, both, same=[("risk", "other")]))
    fine = Snapshot(data, {"risk": RISK, "up and down": abs(RISK - 0.45), "one": np.ones(ROWS)})
    refuse_functions(fine)
    refuse_functions(snapshot(data))
    note(snapshot(data))
    assert count(Snapshot(data, {"other": logit}, same=[("risk", "other")])) == [None]


def ages(seed: int, size: int = 400) -> FloatArray:
    return np.random.default_rng(seed).integers(20, 90, size).astype(float)


def test_whole_lines_find_rows_that_columns_cannot(data: Path) -> None:
    """The ages of the next export are in another file, with ten rows more or one less."""
    old, lines = ages(1), [f"{k} {k % 7}" for k in range(1000)]
    note(Snapshot(data, {"age": old}, lines=[Entries.of(lines[:400])]))
    elsewhere = data.with_name("b.csv")
    more = np.append(old, ages(2, 10))
    assert count(Snapshot(elsewhere, {"age": old[1:]}, lines=[Entries.of(lines[1:400])])) == [399]
    assert count(Snapshot(elsewhere, {"age": more}, lines=[Entries.of(lines[:410])])) == [400]
    assert count(Snapshot(elsewhere, {"age": old[1:]})) == []
    assert count(Snapshot(elsewhere, {"age": ages(3)}, lines=[Entries.of(lines[500:900])])) == []


@pytest.mark.parametrize("grades", [2, 6])
def test_a_copy_of_lines_that_repeat_is_recognized(data: Path, grades: int) -> None:
    """With few grades in each column many lines are equal, and no name tells rows apart."""
    old, new = (
        np.random.default_rng(k).integers(0, grades, (3, 250)).astype(float) for k in (1, 2)
    )
    elsewhere = data.with_name("b.csv")

    def read(place: Path, columns: FloatArray) -> Snapshot:
        lines = list(map(Entries, columns))
        return Snapshot(place, {"grade": columns[0]}, {"died": columns[1] % 2}, lines=lines)

    note(read(data, old))
    is_known = grades > 2  # of two grades there are eight different lines, whose counts say little
    assert count(read(elsewhere, old)) == [250] * is_known
    assert count(read(elsewhere, old[:, ::-1])) == [250] * is_known
    assert count(read(elsewhere, new)) == count(read(elsewhere, old[:, 1:])) == []


@pytest.mark.parametrize("kinds", [3, 200, 20_000, 10**7])
def test_lines_of_other_people_are_not_refused(data: Path, kinds: int) -> None:
    """This holds however often two people have the same line."""

    def name(lines: list[str]) -> NamedColumn:
        columns = [Entries.of([one[:3] for one in lines]), Entries.of([one[3:] for one in lines])]
        return name_lines(bytes(32), columns)

    rng = np.random.default_rng(kinds)
    refused = 0
    for number in range(30):
        sizes = rng.integers(10, 2000, 2)
        drawn = [rng.integers(0, kinds, size).astype(str).tolist() for size in sizes]
        first, second = (name(lines) for lines in drawn)
        refused += bool(first.count_shared(second.kept)) + bool(second.count_shared(first.kept))
        both = name(drawn[0] + drawn[1])
        if kinds == 10**7 and min(sizes) > 40:
            assert both.count_shared(first.kept) == pytest.approx(sizes[0], abs=8), number
    assert refused <= 1


@pytest.mark.parametrize(("missing", "is_refused"), [(0, False), (1, True), (2, True), (30, False)])
def test_other_columns_of_nearly_the_same_rows_are_refused(
    data: Path, missing: int, is_refused: bool
) -> None:
    """Class totals of two tables reveal the one person who is in only one of them."""
    ids = [f"P{k}" for k in range(ROWS)]
    note(snapshot(data, ids=ids))
    given = snapshot(data.with_name("b.csv"), OTHERS[missing:], "crp", ids=ids[missing:])
    given = replace(given, classes={"died": DIED[missing:]})
    if not is_refused:
        assert check_release(registers_of(given.source), given) == []
        return
    sentence = (
        rf"^Other columns of {ROWS - missing} of these rows went out on .*: take the same rows"
    )
    with pytest.raises(InputError, match=sentence):
        check_release(registers_of(given.source), given)
    (said,) = check_release(registers_of(given.source), given, is_visible=True)
    assert said.endswith("members of both studies can subtract.")
    assert check_release(registers_of(given.source), given, has_noise=True) == []
    others = replace(given, ids=[f"Q{k}" for k in range(ROWS - missing)])
    assert check_release(registers_of(given.source), others) == []


def test_another_label_of_nearly_the_same_classes_is_refused(data: Path) -> None:
    ids = [f"P{k}" for k in range(ROWS)]
    note(snapshot(data, ids=ids))
    later = DIED.copy()
    later[np.flatnonzero(DIED == 0)[:2]] = 1.0
    given = Snapshot(data.with_name("b.csv"), {"crp": OTHERS}, {"died30": later}, ids)
    with pytest.raises(InputError, match=r"^Other columns of 140 of these rows"):
        check_release(registers_of(given.source), given)
