"""What a peer that computes sums says of the members that it waits for."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import SaveSums, SumsState
from pairgossip.peer.service.assembly import assemble
from pairgossip.peer.service.log import Log
from pairgossip.peer.service.reporter import NEVER_AGAIN
from pairgossip.peer.service.service import EXIT_FAILED
from pairgossip.peer.service.sums_service import RoundsRuntime, SumsReporter

from .homes import introduce
from .test_service import Running, Switchboard
from .test_sums_service import ROWS, make_homes

ADVICE = (
    "nothing is lost, and it goes on once they run; ask their operators, whose peer status may say "
    f"more. {NEVER_AGAIN}"
)


class Waiting:
    """A peer that waits for others, whose connections are as a test says."""

    def __init__(self, reporter: SumsReporter, rounds: Rounds, ids: dict[str, str]) -> None:
        self.reporter, self.rounds, self.ids = reporter, rounds, ids

    def says(
        self, *names: str, connected: tuple[str, ...] = (), versions: tuple[str, ...] = ()
    ) -> str:
        """Return what it says last if it has waited 12 seconds for these members."""
        self.reporter.report(
            {},
            {self.ids[name] for name in connected},
            {self.ids[name]: 99 for name in versions},
            {self.ids[name]: 12.0 for name in names},
            is_last=False,
        )
        assert self.reporter.status is not None
        return self.reporter.status.problems[-1]


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Waiting]:
    *homes, last = make_homes(tmp_path, (*ROWS, [50.0], [51.0]))
    introduce(homes[0], last, is_neighbor=False)
    with closing(assemble(homes[0])) as parts:
        assert isinstance(parts.saved, SumsState)
        rounds = Rounds(parts.context, parts.saved)
        ids = {name: member for member, name in parts.members.names().items()}
        yield Waiting(SumsReporter(parts, rounds, Log("clinic-0")), rounds, ids)


def test_an_eviction_is_the_last_thing_that_is_thought_of(waiting: Waiting) -> None:
    said = waiting.says("clinic-1")
    assert said == f"Round 0 has waited for 'clinic-1' for 12 s (not connected): {ADVICE}"
    assert said.index("ask their operators") < said.index("evict")


def test_each_member_is_named_with_what_is_known_about_it(waiting: Waiting) -> None:
    said = waiting.says("clinic-1", "clinic-2", "clinic-4", connected=("clinic-1",))
    _, _, causes = said.partition("s (")
    assert sorted(causes.partition("): ")[0].split("; ")) == [
        "'clinic-1': connected",
        "'clinic-2': not connected",
        "'clinic-4': not a neighbor of this peer",
    ]
    said = waiting.says("clinic-3", versions=("clinic-3",))
    assert "for 12 s (it speaks another version of the messages): " in said
    waiting.rounds.disagreeing = {waiting.ids["clinic-3"]: "{}"}
    waiting.says("clinic-3")
    assert waiting.reporter.status is not None
    assert any(
        "for 12 s (it runs another specification): " in one
        for one in waiting.reporter.status.problems
    )


def test_members_that_are_only_counted_are_no_news(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pairgossip.peer.service.sums_service.MOST_NAMED", 1)
    first, *others = sorted(("clinic-1", "clinic-2", "clinic-3"), key=waiting.ids.__getitem__)
    assert " and 2 more for 12 s" in waiting.says(first, *others)
    assert f"'{first}' and 1 more for 12 s" in waiting.says(first, others[0])
    assert caplog.text.count("has waited for") == 1
    waiting.says(first, others[0], connected=(first,))
    assert caplog.text.count("has waited for") == 2, "another cause is news"


def test_an_operator_may_have_to_agree_to_a_change(waiting: Waiting) -> None:
    lost = waiting.ids["clinic-2"]
    waiting.rounds.state = replace(waiting.rounds.state, evicted=(lost,))
    assert (
        "for 12 s (connected; its operator may have to agree to a change (pairgossip peer agree)): "
        in waiting.says("clinic-1", connected=("clinic-1",))
    )
    assert "agree" not in waiting.says("clinic-1")


class FullDisk:
    def save(self, change: SaveSums) -> None:
        raise InputError("The disk is full.")


class NoLink:
    def send(self, to: str, frame: bytes) -> None: ...


def test_a_wait_is_counted_from_the_start_although_nothing_could_be_saved(
    tmp_path: Path,
) -> None:
    """The clock counts from when the machine was started."""
    with closing(assemble(make_homes(tmp_path)[0])) as parts:
        assert isinstance(parts.saved, SumsState)
        rounds = Rounds(parts.context, parts.saved)
        runtime = RoundsRuntime(rounds, FullDisk(), NoLink(), random.Random(1))
        assert set(runtime.waiting(2796.0).values()) == {0.0}
        with pytest.raises(InputError, match="The disk is full"):
            runtime.start(2797.0)
        assert set(runtime.waiting(2797.5).values()) == {0.5}


def test_a_peer_that_ends_on_a_full_disk_blames_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairgossip.peer.service.sums_service.UNANSWERED", -1.0)
    monkeypatch.setattr("pairgossip.peer.service.reporter.LONELY", -1.0)
    full = Running(make_homes(tmp_path)[0], Switchboard(), fails_after=0)
    assert full.wait() == EXIT_FAILED
    (problem,) = full.status().problems
    assert problem.startswith("The disk is full: ")
