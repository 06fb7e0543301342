"""The register of releases: every way to release a column twice that was tried by hand."""

from __future__ import annotations

import multiprocessing
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairgossip import files
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping import row_names, sealed
from pairgossip.peer.bookkeeping.overlaps import Snapshot
from pairgossip.peer.bookkeeping.places import registers_of
from pairgossip.peer.bookkeeping.registers import Outcome
from pairgossip.peer.bookkeeping.releases import (
    check_release,
    find_releases,
    prepare_release,
    refuse_functions,
    tell_release,
)

ROWS = 140
RNG = np.random.default_rng(8)
RISK, DIED = RNG.random(ROWS), (RNG.random(ROWS) < 0.3).astype(float)
OTHERS = RNG.random(ROWS)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a data file in a folder of its own, for a user without releases."""
    monkeypatch.setenv("PAIRGOSSIP_RELEASES", str(tmp_path / "state" / "releases"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "a.csv"


def snapshot(data: Path, risk: FloatArray = RISK, name: str = "risk", **more: object) -> Snapshot:
    return Snapshot(data, {name: risk}, {"died": DIED[: len(risk)]}, **more)  # type: ignore[arg-type]


def prepare(given: Snapshot, study: str = "first", peer: str = "ann", **rule: Any) -> str:
    places, table = registers_of(given.source), "/peer/tables/1"
    return prepare_release(places, given, study, table=table, peer=peer, **rule)


def note(
    given: Snapshot,
    study: str = "first",
    outcome: Outcome = "bit",
    **rule: Any,
) -> str:
    key = prepare(given, study, **rule)
    each: tuple[Outcome, ...] = ("bit", outcome)
    for one in each:
        tell_release(registers_of(given.source), key, one)
    return key


def count(given: Snapshot) -> list[int | None]:
    return [one.rows for one in find_releases(registers_of(given.source), given)]


def quarter(values: FloatArray) -> FloatArray:
    return np.concatenate([values[:56], OTHERS[56:]])


# Attacks


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


def test_other_people_are_not_refused(data: Path) -> None:
    """Whatever the law and the decimals, in two files of different people."""
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
    assert "--id" not in found.refusal()  # which tells nothing apart that was noted without
    elsewhere = data.with_name("b.csv")
    assert count(Snapshot(elsewhere, {"years": age[::-1]})) == [1000]  # a whole copy
    assert count(Snapshot(elsewhere, {"age": age[1:]})) == []
    assert count(Snapshot(data, {"weight": other})) == []
    # Beside a column that tells the rows, it is as far away as they are, or as near.
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


# What is noted


def test_the_same_release_again_is_fine(data: Path) -> None:
    places, key = registers_of(data), note(snapshot(data))
    first = [place.read_bytes() for place in places]
    tell_release(places, key)
    assert [place.read_bytes() for place in places] == first
    tell_release(places, key, "table")
    tell_release(places, key)  # and a restart does not take back what came of it
    tell_release(places, key, "no table")
    (found,) = find_releases(places, snapshot(data))
    assert (found.release.outcome, found.release.key) == ("table", key)


@pytest.mark.parametrize(("study", "rows"), [("second", RISK), ("first", RISK[1:])])
def test_another_release_is_refused_or_accepted_in_words(
    data: Path, study: str, rows: FloatArray
) -> None:
    key, given, places = note(snapshot(data)), snapshot(data, rows), registers_of(data)
    sentence = (
        rf"Column 'risk' of {len(rows)} of these rows went out on \d{{4}}-\d\d-\d\d to study "
        r"first as a table, unless only the first bit of it was told, and with a second release "
        r"others can subtract: read the kept table /peer/tables/1 \(peer result --reading\), or "
        r"give --visible\."
    )
    with pytest.raises(InputError, match=f"^{sentence}$"):
        prepare(given, study)
    with pytest.raises(InputError, match=f"^{sentence}$"):
        check_release(places, given)
    (said,) = check_release(places, given, is_visible=True)
    assert said.endswith("members of both studies can subtract.")
    second = note(given, study, is_visible=True)
    assert len(find_releases(places, snapshot(data))) == 2
    # Either goes on after a restart, and no third one comes in.
    for one in (key, second):
        tell_release(places, one)
    assert len(find_releases(places, snapshot(data))) == 2
    with pytest.raises(InputError, match="others can subtract"):
        prepare(given, "third")


def test_of_two_that_are_prepared_one_is_told(data: Path) -> None:
    places = registers_of(data)
    studies = (("one", "ann"), ("two", "bob"), ("two", "cid"), ("two", "dan"))
    first, second, third, fourth = (prepare(snapshot(data), *one) for one in studies)
    other = prepare(snapshot(data.with_name("b.csv"), OTHERS), "three")
    tell_release(places, first, "table")  # nothing comes of what is not told
    assert find_releases(places, snapshot(data)) == []
    tell_release(places, second)
    # Two members of one study, whose rows are in one table; the same text over another list.
    tell_release(places, third, members=["bob"])
    with pytest.raises(InputError, match=r"to study two as a table.*others can subtract"):
        tell_release(places, fourth, members=["bob", "eve"])
    tell_release(places, fourth, own=[second], members=["cid"])
    tell_release(registers_of(data.with_name("b.csv")), other)
    with pytest.raises(InputError, match=r"to study two as a table.*others can subtract"):
        tell_release(places, first)
    assert len(find_releases(places, snapshot(data))) == 3
    assert len(find_releases(places, snapshot(data), own=[first])) == 4


def test_what_is_prepared_first_is_refused_too(data: Path) -> None:
    first, second = (prepare(snapshot(data), one) for one in ("one", "two"))
    tell_release(registers_of(data), first)
    with pytest.raises(InputError, match="to study one as a table"):
        tell_release(registers_of(data), second)


@pytest.mark.parametrize("outcome", ["bit", "zeros", "no table"])
def test_whatever_came_of_it_was_a_release(data: Path, outcome: Outcome) -> None:
    note(snapshot(data), outcome=outcome)
    with pytest.raises(InputError, match="others can subtract") as refused:
        note(snapshot(data), "second")
    assert ("read the kept table" in str(refused.value)) == (outcome == "bit")


@pytest.mark.parametrize("had_noise", [False, True])
def test_noise_and_exact_counts_exclude_each_other(data: Path, had_noise: bool) -> None:
    note(snapshot(data), has_noise=had_noise)
    with pytest.raises(
        InputError, match="noise bounds nothing beside exact counts: read the kept table /peer"
    ):
        note(snapshot(data), "second", has_noise=not had_noise, is_visible=True)
    # Noise after noise costs epsilon, which the ledger adds up; counts after counts are refused.
    if had_noise:
        note(snapshot(data), "second", has_noise=True)
        copy = snapshot(data.with_name("copy.csv"))
        with pytest.raises(InputError, match="ledger of another file knows what they have spent"):
            note(copy, "third", has_noise=True)
        note(copy, "third", has_noise=True, is_visible=True)
    else:
        with pytest.raises(InputError, match="others can subtract"):
            note(snapshot(data), "second")


def test_a_check_notes_nothing(data: Path) -> None:
    assert check_release(registers_of(data), snapshot(data)) == []
    assert not any(place.exists() for place in registers_of(data))


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


# Files


def test_registers_tell_nothing_and_are_their_owners_alone(data: Path) -> None:
    note(snapshot(data, ids=[f"Patient-{k}" for k in range(ROWS)]))
    for place in registers_of(data):
        content = place.read_bytes()
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        assert b"Patient" not in content
        assert os.fsencode(data) not in content
        assert RISK[:1].tobytes() not in content
        place.chmod(0o644)
        with pytest.raises(InputError, match="Others can read the register of releases"):
            count(snapshot(data))
        place.chmod(0o600)


def test_links_and_folders_lead_to_one_register(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.touch()
    link = tmp_path / "link.csv"
    link.symlink_to(data)
    assert registers_of(link) == registers_of(data)
    assert registers_of(data)[0] == data.with_name("a.csv.releases").resolve()
    assert registers_of(Path("-")) == registers_of(data)[1:]
    elsewhere = tmp_path / "kept"
    assert registers_of(data, elsewhere)[0] == elsewhere.resolve()
    note(snapshot(data))
    with pytest.raises(InputError, match="leave --register out"):
        registers_of(data, elsewhere)
    monkeypatch.delenv("PAIRGOSSIP_RELEASES")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert registers_of(data)[1] == (tmp_path / "xdg" / "pairgossip" / "releases").resolve()
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert registers_of(data)[1] == (tmp_path / ".local/state/pairgossip/releases").resolve()


def test_a_missing_register_is_refused(data: Path) -> None:
    places = beside, own = registers_of(data)
    prepare(snapshot(data))
    beside.unlink()
    assert check_release(places, snapshot(data, OTHERS)) == []  # nothing was told yet
    key = note(snapshot(data))
    tell_release((beside, own.with_name("away")), key, "table")  # one of them is enough
    beside.unlink()
    with pytest.raises(InputError, match=rf"no register of releases {beside} any more"):
        check_release(places, snapshot(data, OTHERS))
    own.unlink()
    with pytest.raises(InputError, match=rf"knows this peer's rows is not there \({beside} and"):
        tell_release(places, key)


@pytest.mark.parametrize("place", [0, 1])
def test_a_damaged_register_is_refused_and_left(data: Path, place: int) -> None:
    key = note(snapshot(data))
    path = registers_of(data)[place]
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    for damage in (bytes(flipped), content[: len(content) // 2], content[:-9], content * 2):
        path.write_bytes(damage)
        with pytest.raises(InputError, match="damaged or was edited, and nothing is released"):
            tell_release(registers_of(data), key)
        assert path.read_bytes() == damage
    for other in (b"", b"rows\n1\n"):
        path.write_bytes(other)
        with pytest.raises(InputError, match="is not a register of releases"):
            note(snapshot(data, OTHERS))
        assert path.read_bytes() == other


def test_a_newer_register_is_refused(data: Path) -> None:
    note(snapshot(data))
    path = registers_of(data)[0]
    body = path.read_bytes()[:-66].replace(b"version\x01", b"version\x02")
    path.write_bytes(body + b"\n" + sealed.seal_of(body) + b"\n")
    with pytest.raises(InputError, match="written by a newer version"):
        note(snapshot(data))


# Crashes and two at once


def _end_before(last: int, act: Callable[[], object]) -> int:
    """Let a process end before its last write to the disk; return how it ended."""
    child = os.fork()
    if child == 0:
        left = iter(range(last))
        for module, name in ((os, "replace"), (files, "sync_descriptor"), (os, "open")):
            usual = getattr(module, name)

            def end_or(
                *given: object, usual: Callable[..., object] = usual, **more: object
            ) -> object:
                if next(left, None) is None:
                    os._exit(9)
                return usual(*given, **more)

            setattr(module, name, end_or)
        try:
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_crash_anywhere_leaves_registers_that_go_on(data: Path) -> None:
    places, codes = registers_of(data), list[int]()
    while not codes or codes[-1] == 9:
        key = prepare(snapshot(data))
        codes.append(_end_before(len(codes), lambda key=key: tell_release(places, key)))  # type: ignore[misc]
        if codes[-1] == 0:  # it would have told the bit
            with pytest.raises(InputError, match="others can subtract"):
                prepare(snapshot(data), "second")
        tell_release(places, key)
        assert count(snapshot(data)) == [ROWS]
        left = {file.name for place in places for file in place.parent.iterdir()}
        assert left <= {"a.csv.releases", "releases"}
        for place in places:
            place.unlink()
    assert codes[-1] == 0
    assert len(codes) > 10


def test_it_is_on_the_disk_before_it_returns(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The content before the name, the name before it is used; and again after a restart."""
    key, calls = prepare(snapshot(data)), list[str]()
    for module, name in ((os, "replace"), (files, "sync"), (files, "sync_descriptor")):
        usual = getattr(module, name)

        def noting(
            *given: object, usual: Callable[..., object] = usual, name: str = name, **more: object
        ) -> object:
            calls.append(name)
            return usual(*given, **more)

        monkeypatch.setattr(module, name, noting)
    tell_release(registers_of(data), key)
    assert calls == ["sync_descriptor", "replace", "sync", "sync_descriptor"] * 2
    calls.clear()
    tell_release(registers_of(data), key)
    assert calls == ["sync", "sync_descriptor"] * 4


@pytest.mark.parametrize("place", [0, 1])
def test_who_waits_too_long_is_told(
    data: Path, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(snapshot(data))
    monkeypatch.setattr(sealed, "_PATIENCE", 0.1)
    with (
        files.lock(registers_of(data)[place].parent),
        pytest.raises(InputError, match="Another process is using the register of releases"),
    ):
        note(snapshot(data))


def _note_one(data: Path, study: str, told: multiprocessing.Queue[str]) -> None:
    try:
        note(snapshot(data), study)
        told.put(study)
    except InputError as problem:
        told.put(str(problem))


def test_of_two_at_once_one_is_refused(data: Path) -> None:
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    studies = ["one", "two"]
    started = [context.Process(target=_note_one, args=(data, one, told)) for one in studies]
    for process in started:
        process.start()
    answers = [told.get(timeout=60) for _ in started]
    for process in started:
        process.join()
    (won,) = [one for one in answers if one in studies]
    (refused,) = [one for one in answers if one != won]
    assert f"to study {won}" in refused


# Whole lines, and totals


def ages(seed: int, size: int = 400) -> FloatArray:
    return np.random.default_rng(seed).integers(20, 90, size).astype(float)


def test_whole_lines_find_rows_that_columns_cannot(data: Path) -> None:
    """Ages of the next export, in another file, with ten rows more or one less."""
    old, lines = ages(1), [f"{k} {k % 7}".encode() for k in range(1000)]
    note(Snapshot(data, {"age": old}, lines=lines[:400]))
    elsewhere = data.with_name("b.csv")
    more = np.append(old, ages(2, 10))
    assert count(Snapshot(elsewhere, {"age": old[1:]}, lines=lines[1:400])) == [399]
    assert count(Snapshot(elsewhere, {"age": more}, lines=lines[:410])) == [400]
    assert count(Snapshot(elsewhere, {"age": old[1:]})) == []
    assert count(Snapshot(elsewhere, {"age": ages(3)}, lines=lines[500:900])) == []


@pytest.mark.parametrize("kinds", [3, 200, 20_000, 10**7])
def test_lines_of_other_people_are_not_refused(data: Path, kinds: int) -> None:
    """However often two people have the same line."""
    rng = np.random.default_rng(kinds)
    refused = 0
    for number in range(30):
        sizes = rng.integers(10, 2000, 2)
        drawn = [[b"%d" % one for one in rng.integers(0, kinds, size)] for size in sizes]
        first, second = (row_names.name_lines(bytes(32), lines) for lines in drawn)
        refused += bool(first.count_shared(second.kept)) + bool(second.count_shared(first.kept))
        both = row_names.name_lines(bytes(32), drawn[0] + drawn[1])
        if kinds == 10**7 and min(sizes) > 40:
            assert both.count_shared(first.kept) == pytest.approx(sizes[0], abs=8), number
    assert refused <= 1


@pytest.mark.parametrize(("missing", "is_refused"), [(0, False), (1, True), (2, True), (30, False)])
def test_other_columns_of_nearly_the_same_rows_are_refused(
    data: Path, missing: int, is_refused: bool
) -> None:
    """Class totals of two tables tell of the one person who is in one of them alone."""
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
