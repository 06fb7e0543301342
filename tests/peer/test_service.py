"""The loop of a peer, with real folders and a network in memory."""

from __future__ import annotations

import errno
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.identity.members import Member, Members
from pairgossip.peer.links.zenoh_link import OnFrame
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.state import Save
from pairgossip.peer.service.assembly import Assembly, assemble, read_snapshot
from pairgossip.peer.service.log import Log, write_logs
from pairgossip.peer.service.reporter import ExchangeReporter
from pairgossip.peer.service.service import EXIT_FAILED, EXIT_UNFIT, Connect, PeerService, run_peer
from pairgossip.peer.service.status import Status, read_status
from pairgossip.peer.storage.folder import (
    Home,
    find_member,
    read_eviction,
    request_eviction,
    requested_evictions,
)
from pairgossip.peer.storage.witness import witness_of
from tests.peer.contexts import held_records

from .homes import GINI, exchanges, introduce, introduce_each_other, make_home, make_pair
from .zenoh_people import until

FAST = "algorithm.rate = 500.0\n" + GINI


class Switchboard:
    """A network in memory: a frame to an absent peer is lost."""

    def __init__(self) -> None:
        self.lines: dict[str, OnFrame] = {}
        self.deaf: set[str] = set()
        """Peers that seem to be present, but receive nothing."""

    def connect(self, parts: Assembly, on_frame: OnFrame) -> Line:
        return Line(self, parts.identity.id, on_frame)


class Line:
    def __init__(self, board: Switchboard, me: str, on_frame: OnFrame) -> None:
        self._board, self._me = board, me
        board.lines[me] = on_frame
        self._counts: Counter[Event] = Counter()
        self.reopened: list[set[str]] = []

    def send(self, to: str, frame: bytes) -> None:
        self._counts[Event.FRAME_SENT] += 1
        if to in self._board.lines and to not in self._board.deaf:
            self._board.lines[to](self._me, frame)

    def counts(self) -> Counter[Event]:
        return self._counts

    def connected(self) -> set[str]:
        return set(self._board.lines) - {self._me}

    def other_versions(self) -> dict[str, int]:
        return {}

    def reopen(self, neighbors: Sequence[Member]) -> None:
        self.reopened.append({one.id for one in neighbors})

    def close(self) -> None:
        self._board.lines.pop(self._me, None)


class Connecting(Protocol):
    """Some network."""

    @property
    def connect(self) -> Connect: ...


class Running:
    """A service in its own thread, as it has its own process in the field."""

    def __init__(self, home: Home, board: Connecting, fails_after: int | None = None) -> None:
        self.home, self._board, self._fails_after = home, board, fails_after
        self.began = exchanges(home)
        self.code: int | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._ready.wait(20)

    def _run(self) -> None:
        with self.home.lock():
            parts = assemble(self.home)
            if self._fails_after is not None:
                _fill_disk(parts, self._fails_after)
            with PeerService(parts, self._board.connect, patience=1.0) as service:
                self.service = service
                self._ready.set()
                self.code = service.run()
            parts.close()

    def status(self) -> Status:
        found = read_status(self.home.status)
        assert found is not None
        return found

    def stop(self) -> int:
        self.service.stop()
        return self.wait()

    def wait(self) -> int:
        self._thread.join(20)
        assert self.code is not None
        return self.code


def _fill_disk(parts: Assembly, after: int) -> None:
    left = iter(range(after))
    save = parts.journal.save

    def failing(change: Save) -> None:
        if next(left, None) is None:
            raise InputError("The disk is full: free some space and start the peer again.")
        save(change)

    parts.journal.save = failing  # type: ignore[method-assign]


@contextmanager
def running(*homes: Home, board: Switchboard | None = None) -> Iterator[list[Running]]:
    board = board or Switchboard()
    started = [Running(home, board) for home in homes]
    try:
        yield started
    finally:
        for one in started:
            one.service.stop()
        for one in started:
            one.wait()


def test_peers_exchange_stop_and_go_on(tmp_path: Path) -> None:
    homes = make_pair(tmp_path, [1.0, 3.0], [10.0], FAST)
    with running(*homes) as both:
        assert until(lambda: exchanges(homes[0]) > 50)
        assert until(lambda: both[0].home.status.exists() and both[0].status().exchanges > 0)
        assert not both[0].status().stopped
    assert [one.code for one in both] == [0, 0]
    before = [read_snapshot(home).state for home in homes]
    ids = [load_identity(home.folder).id for home in homes]
    assert held_records(before) == Counter({(ids[0], 0): 1, (ids[0], 1): 1, (ids[1], 0): 1})
    assert not any(state.pending for state in before)
    status = both[0].status()
    assert status.stopped and status.exchanges == before[0].exchanges
    assert (status.covers.members, status.covers.of_rows) == (2, 3)
    assert status.neighbors["bob"].agreed and status.counts["offers"] > 0
    with running(*homes):
        assert until(lambda: exchanges(homes[0]) > before[0].exchanges + 20)


def test_a_stop_parks_an_offer_that_nobody_answers(tmp_path: Path) -> None:
    homes = make_pair(tmp_path, [1.0, 2.0], [10.0], FAST)
    board = Switchboard()
    with running(*homes, board=board) as (ann, bob):
        assert until(lambda: exchanges(homes[0]) > 5)
        board.deaf.add(load_identity(homes[1].folder).id)
        assert until(lambda: bool(read_snapshot(homes[0]).state.pending))
        bob.stop()
        assert ann.stop() == 0
    assert len(read_snapshot(homes[0]).state.pending) == 1
    assert ann.status().pending == 1
    with running(*homes):
        assert until(lambda: exchanges(homes[0]) > 200)
    states = [read_snapshot(home).state for home in homes]
    assert sorted(held_records(states).values()) == [1, 1, 1]


def test_an_offer_is_repeated_as_soon_as_its_neighbor_is_back(tmp_path: Path) -> None:
    homes = make_pair(tmp_path, [1.0, 2.0], [10.0], FAST)
    board = Switchboard()
    with running(homes[0], board=board) as (ann,):
        with running(homes[1], board=board):
            assert until(lambda: exchanges(homes[0]) > 5)
            board.deaf.add(load_identity(homes[1].folder).id)
            assert until(lambda: bool(read_snapshot(homes[0]).state.pending))
        board.deaf.clear()
        assert until(lambda: ann.status().neighbors["bob"].away)
        for asked in ann.service._runtime._asked.values():
            asked.repeats_at += 1000.0  # as after a night of waiting
        before = exchanges(homes[0])
        with running(homes[1], board=board):
            assert until(lambda: exchanges(homes[0]) > before + 5)


def test_another_specification_is_shown_and_not_exchanged_with(tmp_path: Path) -> None:
    ann = make_home(tmp_path, "ann", [1.0], FAST)
    bob = make_home(tmp_path, "bob", [2.0], FAST)
    introduce_each_other([ann, bob])
    # The same member, from a folder in which the specification was changed.
    other = make_home(tmp_path, "carl", [2.0], FAST.replace("100]", "200]"))
    listed = ann.read_members().listed[0]
    stranger = load_identity(other.folder)
    Members().with_member(
        type(listed)(stranger.id, "carl", 1, stranger.certificate, None, True)
    ).save(ann.members)
    me = load_identity(ann.folder)
    Members().with_member(type(listed)(me.id, "ann", 1, me.certificate, None, True)).save(
        other.members
    )
    with running(ann, other) as (first, second):
        assert until(lambda: ann.status.exists() and first.status().problems)
        assert until(lambda: other.status.exists() and second.status().problems)
    (problem,) = first.status().problems
    assert problem.startswith("Neighbor 'carl' runs another specification: ")
    assert "income" in problem and "200" in problem
    assert first.status().exchanges == 0
    assert first.status().counts["refused: another specification"] > 0


def test_a_restored_backup_stops_with_a_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    homes = make_pair(tmp_path, [1.0], [10.0], FAST)
    state = homes[0].state, witness_of(homes[0].state)
    backup = [file.read_bytes() for file in state]
    with running(*homes):
        assert until(lambda: exchanges(homes[0]) > 50)
    for file, content in zip(state, backup, strict=True):
        file.write_bytes(content)
    with write_logs(), running(*homes) as (ann, _):
        assert ann.wait() == EXIT_UNFIT
    sentence = (
        "Neighbor 'bob' has seen later offers of this peer than its own state knows: the state is "
        "a restored backup or a copy. Have the others run peer evict ann, and join again from a "
        "new folder."
    )
    assert ann.status().problems == (sentence,)
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert sentence in [line["event"] for line in lines if line["level"] == "error"]


def test_an_eviction_reaches_everybody(tmp_path: Path) -> None:
    homes = [make_home(tmp_path, name, [float(k)], FAST) for k, name in enumerate("abc")]
    introduce_each_other(homes)
    ids = [load_identity(home.folder).id for home in homes]
    with running(*homes) as (a, b, c):
        assert until(lambda: all(exchanges(home) > 10 for home in homes))
        lost = find_member(homes[0].read_members(), ids[0], "c")
        assert lost == ids[2]
        request_eviction(homes[0], lost)
        assert c.wait() == EXIT_UNFIT
        assert until(lambda: read_snapshot(homes[1]).state.evicted == (ids[2],))
        assert until(lambda: all(exchanges(home) > 10 for home in homes[:2]))
        assert until(lambda: requested_evictions(homes[0]) == ())
    (problem,) = c.status().problems
    assert re.fullmatch(
        r"The other members have evicted this peer: '[ab]' announced it, which was learned on "
        r"\d{4}-\d\d-\d\d at \d\d:\d\d:\d\d UTC\. Make a new peer with peer init, and exchange "
        r"invitations again\.",
        problem,
    )
    noted = read_eviction(homes[2])
    assert noted is not None and noted.by in ids[:2] and noted.sentence() == problem
    # The others no longer let it connect, so it must remember this itself.
    assert run_peer(homes[2]) == EXIT_UNFIT
    states = [read_snapshot(home).state for home in homes[:2]]
    assert held_records(states) == Counter({(ids[0], 0): 1, (ids[1], 0): 1})
    assert a.status().evicted == ("c",) and a.status().generation == 2
    assert (a.status().covers.members, a.status().covers.of_members) == (2, 2)
    # Updates are weighted by the remaining neighbors: one instead of two.
    expected = read_snapshot(homes[1]).context.rule
    assert b.service._protocol.context.rule == expected


def test_a_crash_before_a_generation_begins_leaves_the_one_there_is(tmp_path: Path) -> None:
    """Its results are saved first; the generation has not ended yet, so they are not shown."""
    homes = make_pair(tmp_path, [1.0], [10.0], FAST)
    with running(*homes):
        assert until(lambda: exchanges(homes[0]) > 10)
    parts = assemble(homes[0])
    exchange = Exchange(parts.context, parts.state)
    reporter = ExchangeReporter(parts, exchange, Log("ann"))
    actions = exchange.evict([load_identity(homes[1].folder).id])
    (save,) = (action for action in actions if isinstance(action, Save))
    parts.close()
    with pytest.raises(InputError):  # as if killed before the journal has it
        reporter.save(save)
    assert homes[0].ended.exists()
    assert read_snapshot(homes[0]).status().ended == ()
    parts = assemble(homes[0])
    exchange = Exchange(parts.context, parts.state)
    journal = ExchangeReporter(parts, exchange, Log("ann"))
    journal.save(next(one for one in exchange.evict([save.state.evicted[0]]) if one is not None))
    parts.close()
    homes[0].status.unlink()
    (ended,) = read_snapshot(homes[0]).status().ended
    assert ended.exchanges == parts.state.exchanges


def test_only_members_can_be_evicted(tmp_path: Path) -> None:
    ann, _ = make_pair(tmp_path, [1.0], [2.0])
    me = load_identity(ann.folder).id
    with pytest.raises(InputError, match="does not evict itself"):
        find_member(ann.read_members(), me, me)
    for name in ("nobody", ""):
        with pytest.raises(InputError, match=f"No member is called '{name}': the members are bob."):
            find_member(ann.read_members(), me, name)


@pytest.mark.parametrize("writes", [0, 1, 7])
def test_a_full_disk_stops_the_peer_which_then_goes_on(tmp_path: Path, writes: int) -> None:
    homes = make_pair(tmp_path, [1.0], [10.0], FAST)
    board = Switchboard()
    with running(homes[1], board=board):
        full = Running(homes[0], board, fails_after=writes)
        assert full.wait() == EXIT_FAILED
        assert full.status().problems[-1].startswith("The disk is full")
        with running(homes[0], board=board):
            assert until(lambda: exchanges(homes[0]) > 20)
    assert until(lambda: not homes[0].is_running())
    states = [read_snapshot(home).state for home in homes]
    if not any(state.pending for state in states):
        assert sorted(held_records(states).values()) == [1, 1]


def test_a_status_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    homes = make_pair(tmp_path, [1.0], [10.0], FAST)

    def refusing(path: Path, status: Status) -> None:
        raise InputError(f"Cannot write {path}: Too many open files.")

    with write_logs(), running(*homes) as (ann, _):
        assert until(lambda: homes[0].status.exists() and ann.status().exchanges > 0)
        reporter = ann.service._reporter
        sentence = (
            f"Cannot write {homes[0].status}: Too many open files. What it says is out of date."
        )
        with monkeypatch.context() as full:
            full.setattr("pairgossip.peer.service.reporter.write_status", refusing)
            assert until(lambda: reporter.status is not None and reporter.status.problems)
            assert reporter.status is not None
            assert reporter.status.updated <= ann.status().updated, "not alive by this"
            assert reporter.status.problems == (sentence,)
        assert until(lambda: reporter.status is not None and not reporter.status.problems)
    assert capfd.readouterr().err.count(sentence) == 1


@pytest.mark.parametrize(
    ("number", "name", "sentence"),
    [
        (errno.ENOSPC, "/peer/noise.json", "The disk is full: /peer/noise.json could not be"),
        (errno.EDQUOT, None, "The disk is full: a file of this peer could not be written"),
        (errno.EMFILE, None, "The system refused something: [Errno 24] Too many open files"),
    ],
)
def test_a_refusal_of_the_system_ends_the_peer_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, name: str | None, sentence: str
) -> None:
    def refusing(*_: object) -> None:
        raise OSError(number, os.strerror(number), name)

    monkeypatch.setattr("pairgossip.peer.service.service.take_up_rows", refusing)
    ann, _ = make_pair(tmp_path, [1.0], [10.0])
    with running(ann) as (alone,):
        assert alone.wait() == EXIT_FAILED
    (problem,) = alone.status().problems
    assert problem.startswith(sentence)


def test_rows_of_members_that_are_no_neighbors_are_covered(tmp_path: Path) -> None:
    ann, _ = make_pair(tmp_path, [1.0], [10.0, 11.0])
    introduce(ann, make_home(tmp_path, "carl", [1.0, 2.0, 3.0]), is_neighbor=False)
    status = read_snapshot(ann).status()
    assert (status.covers.of_members, status.covers.of_rows) == (3, 6)
    assert status.covers.members == 1
    assert list(status.neighbors) == ["bob"]
