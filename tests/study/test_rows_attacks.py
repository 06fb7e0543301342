"""Liars, former members and old frames while rows travel: they do nothing to anybody's rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import Identity, create_identity
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    Changes,
    Notice,
    Offer,
    Reject,
    decode,
    encode,
    next_generation,
)
from pairgossip.peer.protocol.program import Ask, Disagreement, Kind
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.study.protocol.records import NO_DIGEST, Card, MemberList, Piece, Yes
from pairgossip.study.rows.exchanging import RUN, TAG, ExchangeQuestion, erase_state
from pairgossip.study.rows.journey import Journey, RowsProgram
from pairgossip.study.rows.traveling import TravelingRows

SPEC = """\
kernel = "energy-distance"
columns = ["risk"]
label = "died"
[ranges]
risk = [0, 1]
died = [0, 1]
[stop]
exchanges = 1000
"""
ROWS = tuple((k / 16, float(k % 2)) for k in range(16))


class Members:
    """Three members who have all said yes to a question."""

    def __init__(self, folder: Path, count: int = 3) -> None:
        self.folder = folder
        for k in range(count):
            (folder / f"m{k}").mkdir()
        made = [create_identity(folder / f"m{k}", f"m{k}", 1) for k in range(count)]
        self.identities = {one.id: one for one in made}
        cards = (Card(one.id, one.name, one.certificate, f"tls/127.0.0.1:{9}") for one in made)
        self.list = MemberList(NO_DIGEST, tuple(sorted(cards, key=lambda one: one.id)))
        self.me, self.liar, self.other = self.list.ids

    def yeses(self, salt: bytes, pieces: tuple[Piece, ...] = (Piece(1, 10),)) -> dict[str, Yes]:
        return {
            one: Yes(
                member=one,
                question=salt * 32,
                list=self.list.digest,
                disclosure=bytes(32),
                commitment=bytes(32),
                pieces=pieces,
                key=salt * 32,
            )
            for one in self.list.ids
        }

    def journey(self, me: str, salt: bytes = b"1", **more: Any) -> Journey:
        given: dict[str, Any] = {
            "name": salt * 32,
            "spec": parse_spec(SPEC),
            "expires": int(time.time()) + 1000,
            "members": self.list,
            "me": me,
            "rows": ROWS,
            "yeses": self.yeses(salt),
            "draws": lambda run: run[::-1],
        }
        journey = Journey(**(given | more))
        journey.counts = dict.fromkeys(self.list.ids, len(ROWS))
        return journey


class Running:
    """One member's exchange, and what it has sent."""

    def __init__(self, members: Members, me: str, salt: bytes = b"1") -> None:
        self.sent: list[tuple[str, bytes]] = []
        self.journey = members.journey(me, salt)
        identity: Identity = members.identities[me]
        self.exchange = ExchangeQuestion(
            self.journey,
            identity,
            members.folder / identity.name / salt.hex(),
            lambda to, frame: self.sent.append((to, frame)),
            is_begun=False,
            power_safe=False,
        )
        self.exchange.start(0.0)

    @property
    def state(self) -> Any:
        return self.exchange._exchange.state

    @property
    def counts(self) -> Any:
        return self.exchange._exchange.counts

    def messages(self, to: str) -> list[Any]:
        mine = TAG + self.journey.run
        assert all(frame.startswith(mine) for _, frame in self.sent)
        return [decode(frame[len(mine) :]) for who, frame in self.sent if who == to]


@pytest.fixture
def members(tmp_path: Path) -> Members:
    return Members(tmp_path)


def deliver(sender: str, source: Running, to: str, target: Running) -> None:
    for message in source.messages(to):
        target.exchange.receive(sender, encode(message), 0.0)


def offer_of(members: Members, salt: bytes = b"1") -> Offer:
    """Return an offer as the liar makes it in a run."""
    liar = Running(members, members.liar, salt)
    record = liar.exchange._context.own_record(3, FIRST_GENERATION)
    mass, _ = liar.exchange._context.rule.begin()
    return Offer(FIRST_GENERATION, 1, record, mass)


def test_an_honest_offer_is_answered(members: Members) -> None:
    mine = Running(members, members.me)
    mine.exchange.receive(members.liar, encode(offer_of(members)), 0.0)
    assert mine.state.exchanges == 1


def test_a_row_signed_for_an_earlier_question_is_none(members: Members) -> None:
    mine = Running(members, members.me, b"2")
    mine.exchange.receive(members.liar, encode(offer_of(members, b"1")), 0.0)
    assert mine.state.exchanges == 0 and mine.counts[Event.RECORD_NOT_GENUINE] == 1


@pytest.mark.parametrize("sender", ["liar", "stranger"])
def test_frames_of_an_earlier_question_or_of_strangers_are_not_heard(
    members: Members, sender: str
) -> None:
    mine = Running(members, members.me)
    rows = _traveling(members, mine)
    offer = encode(offer_of(members))
    run = mine.journey.run if sender == "stranger" else members.journey(members.me, b"0").run
    who = members.liar if sender == "liar" else "f" * 64
    assert rows.takes(who, TAG + run + offer, 0.0)  # and it is not one of the study's own frames
    assert mine.state.exchanges == 0
    assert not rows.takes(members.liar, b"\x92\xa4have", 0.0)
    assert rows.takes(members.liar, TAG + mine.journey.run + offer, 0.0)
    assert mine.state.exchanges == 1


def test_a_member_evicts_nobody_from_within(members: Members) -> None:
    mine, liar = Running(members, members.me), Running(members, members.liar)
    changes = Changes(evicted=(members.other,))
    generation = next_generation([FIRST_GENERATION], changes)
    notice = liar.exchange._context.announce(generation, changes)
    assert isinstance(notice, Notice)
    mine.exchange.receive(members.liar, encode(notice), 0.0)
    later = Offer(generation, 1, offer_of(members, b"3").record, ())
    mine.exchange.receive(members.liar, encode(later), 0.0)
    assert mine.state.generation == FIRST_GENERATION and not mine.state.evicted


def test_whoever_knows_of_more_ends_the_question_and_not_the_peer(members: Members) -> None:
    mine = Running(members, members.me)
    mine.exchange._runtime._carry_out(mine.exchange._exchange.ask(members.liar), 0.0)
    (seq,) = [one.seq for one in mine.state.pending.values()]
    stale = Reject(FIRST_GENERATION, seq, "stale")
    mine.exchange.receive(members.liar, encode(stale), 0.0)
    assert "restored backup" in mine.journey.failure
    with pytest.raises(InputError, match="restored backup"):
        RowsProgram(mine.journey).ask()


def test_a_state_of_other_rows_or_of_another_run_does_not_go_on(members: Members) -> None:
    Running(members, members.me).exchange.close()
    folder = members.folder / members.identities[members.me].name / b"1".hex()
    for journey in (
        members.journey(members.me, rows=ROWS[::-1]),
        members.journey(members.me, yeses=members.yeses(b"4")),
    ):
        with pytest.raises(InputError, match="as in a restored backup"):
            ExchangeQuestion(
                journey,
                members.identities[members.me],
                folder,
                lambda to, frame: None,
                is_begun=True,
                power_safe=False,
            )


def test_what_is_erased_is_overwritten(members: Members, monkeypatch: pytest.MonkeyPatch) -> None:
    Running(members, members.me).exchange.close()
    folder = members.folder / members.identities[members.me].name / b"1".hex()
    kept: dict[str, bytes] = {}
    unlink = Path.unlink

    def look(path: Path, **more: Any) -> None:
        kept[path.name] = path.read_bytes()
        unlink(path, **more)

    monkeypatch.setattr(Path, "unlink", look)
    erase_state(folder)
    assert "state.sqlite" in kept and not any(map(any, kept.values()))
    assert not folder.exists()


def take(journey: Journey, counts: list[int]) -> RowsProgram:
    program = RowsProgram(journey)
    ask = program.ask()
    assert ask == Ask(Kind.SUM, b"rows", 3)
    total = program.contribute(ask)
    total[:] = counts
    program.take(ask, total)
    return program


@pytest.mark.parametrize("counts", [[16, 16, 9], [16, 20, 16], [16, 16, 1 << 63], [15, 16, 16]])
def test_members_have_the_rows_that_their_yes_says(members: Members, counts: list[int]) -> None:
    with pytest.raises(Disagreement):
        take(members.journey(members.me), counts)


def test_a_member_signs_once_it_has_enough(members: Members) -> None:
    journey = members.journey(members.me)
    program = take(journey, [16, 12, 19])
    assert journey.counts == dict(zip(members.list.ids, (16, 12, 19), strict=True))
    assert program.ask().kind is Kind.EXCHANGE
    journey.has_enough = True
    assert program.ask().kind is Kind.STATEMENT
    # If it ends before it begins, rows are requested nevertheless, but not sent.
    late = take(journey, [16, 12, 19])
    assert [late.ask().kind for _ in range(2)] == [Kind.EXCHANGE, Kind.STATEMENT]


def test_rows_travel_only_where_all_members_add_some(members: Members) -> None:
    yeses = members.yeses(b"1")
    yeses[members.liar] = replace(yeses[members.liar], pieces=(Piece(1, 0),))
    with pytest.raises(InputError, match="could add no rows, and rows travel only if all"):
        members.journey(members.me, yeses=yeses)


def test_other_yeses_make_another_run(members: Members) -> None:
    first = members.journey(members.me).run
    assert members.journey(members.other).run == first and len(first) == RUN
    assert members.journey(members.me, yeses=members.yeses(b"2")).run != first


@pytest.mark.parametrize("gone", ["liar", None])
def test_rows_stop_once_a_member_is_off_the_list(members: Members, gone: str | None) -> None:
    mine = Running(members, members.me)
    rows = _traveling(members, mine)
    left = [one for one in members.list.members if gone is None or one.id != members.liar]
    more = Card("e" * 64, "new", "", None)
    rows.parts.study.members = MemberList(members.list.digest, (*left, more))  # type: ignore[misc]
    changed = rows.follow(0.0, set())
    if gone is None:  # joins change nothing: a question is bound to its list
        assert not changed and not mine.journey.failure
    else:
        assert changed == [mine.journey.name]
        assert (
            mine.journey.failure == "A member of its list is not on the list any more: ask again."
        )
        assert mine.journey.estimate is not None and rows.due() == float("inf")


def _traveling(members: Members, mine: Running) -> TravelingRows:
    """Return the member's traveling rows in a made-up study."""
    notes: dict[str, bytes] = {}
    find: Callable[[bytes], Any] = lambda name: SimpleNamespace(phase="rows", ending=None)  # noqa: E731
    parts = SimpleNamespace(
        journal=SimpleNamespace(
            notes=lambda room: notes, stage=lambda *_: None, flush=lambda: None
        ),
        site=SimpleNamespace(journeys={mine.journey.name: mine.journey}),
        study=SimpleNamespace(question=find, members=members.list),
        home=SimpleNamespace(folder=members.folder, results=members.folder / "results"),
    )
    rows = TravelingRows(parts, lambda to, frame: None, lambda sentence: None)  # type: ignore[arg-type]
    rows._running[mine.journey.name] = mine.exchange
    return rows
