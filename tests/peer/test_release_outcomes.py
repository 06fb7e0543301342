"""What the register knows of releases once peers have run: who was told, and what came of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.places import registers_of
from pairgossip.peer.bookkeeping.registers import Outcome, hold_registers
from pairgossip.peer.bookkeeping.releases import (
    find_releases,
    prepare_release,
    tell_release,
)
from pairgossip.peer.bookkeeping.snapshots import Snapshot
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.growth import request_growth
from pairgossip.peer.storage.kept_releases import noted_registers, tell_releases
from tests.peer.test_sums_service import SUMS, make_homes, run_all

RNG = np.random.default_rng(11)


def outcomes(home: Home) -> set[Outcome]:
    """What came of all that is noted in a peer's registers but the user's, which others share."""
    beside = [one for one in noted_registers(home) if one.suffix == ".releases"]
    with hold_registers(beside) as registers:
        return {old.outcome for one in registers.values() for old in one.releases}


def draw(count: int) -> list[float]:
    return RNG.uniform(1, 99, count).tolist()


@pytest.mark.parametrize(("members", "told"), [(5, "table"), (4, "no table")])
def test_what_came_of_rows_is_noted(tmp_path: Path, members: int, told: Outcome) -> None:
    rows = [draw(2), *(draw(30) for _ in range(members - 1))]
    homes = make_homes(tmp_path, rows, SUMS.replace("least_cell = 1", "least_cell = 3"))
    run_all(homes)
    assert [outcomes(home) for home in homes[1:]] == [{told}] * (members - 1)
    # Of whoever is left out, only that is known, and later rows may bring these along.
    assert outcomes(homes[0]) == ({"bit"} if told == "table" else {told})


def test_all_rows_of_a_peer_are_told_with_its_card(tmp_path: Path) -> None:
    home = make_homes(tmp_path, [draw(20), draw(20), draw(20)])[0]
    more = tmp_path / "more.csv"
    more.write_text("\n".join(["income", *map(str, draw(20))]))
    request_growth(home, more)
    assert outcomes(home) == {"prepared"}
    tell_releases(home)
    assert outcomes(home) == {"bit"}


def test_a_member_may_not_tell_its_rows_in_another_study_too(tmp_path: Path) -> None:
    data, risk = tmp_path / "rows.csv", np.array(draw(60))
    data.write_text("risk\n")
    given, places = Snapshot(data, {"risk": risk}), registers_of(data)
    keys = [
        prepare_release(places, given, study, table="tables", peer=peer)
        for study, peer in (("one", "ann"), ("two", "bob"))
    ]
    tell_release(places, keys[0])
    with pytest.raises(InputError, match="others can subtract"):
        tell_release(places, keys[1], members=["ann"])


def test_rows_without_an_id_are_not_one_person(tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("risk\n")
    first = Snapshot(data, {"risk": np.array(draw(40))}, ids=["", *(f"a{k}" for k in range(39))])
    places = registers_of(data)
    tell_release(places, prepare_release(places, first, "one", table="tables"))
    other = Snapshot(data, {"risk": np.array(draw(40))}, ids=[" ", *(f"b{k}" for k in range(39))])
    assert find_releases(places, other) == []
