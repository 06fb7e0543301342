"""The register of releases: what is recorded, refused and accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.places import registers_of
from pairgossip.peer.bookkeeping.registers import Outcome
from pairgossip.peer.bookkeeping.releases import (
    check_release,
    find_releases,
    tell_release,
)
from tests.peer.snapshots import OTHERS, RISK, note, prepare, snapshot


def test_the_same_release_again_is_fine(data: Path) -> None:
    places, key = registers_of(data), note(snapshot(data))
    first = [place.read_bytes() for place in places]
    tell_release(places, key)
    assert [place.read_bytes() for place in places] == first
    tell_release(places, key, "table")
    tell_release(places, key)  # and a restart does not undo its outcome
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
    # Both go on after a restart, and no third one is let in.
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
    tell_release(places, first, "table")  # nothing comes of what is not released
    assert find_releases(places, snapshot(data)) == []
    tell_release(places, second)
    # Two members of one study with rows in one table; the same text with another list.
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


@pytest.mark.parametrize("outcome", ["bit", "no table"])
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
    # More noise costs epsilon, which the ledger adds up; more counts are refused.
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
