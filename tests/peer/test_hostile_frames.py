"""Frames that no honest neighbor sends are refused and counted, with no other effect."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from pairgossip.losses import as_loss
from pairgossip.peer.protocol import messages, nodes
from pairgossip.peer.protocol.context import Context
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.membership import BrokenInvariant, ForgottenRows, RestoredBackup
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    MOST_ROWS,
    Accept,
    AnyMessage,
    Growth,
    Hello,
    Notice,
    Offer,
    Record,
    RecordCheck,
    Reject,
    encode,
    generation_name,
    with_signature,
)
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.rules import DualAveraging
from pairgossip.peer.protocol.state import Save, Send
from tests.peer.audit import Violated
from tests.peer.books import QuickMixing
from tests.peer.contexts import (
    SPEC,
    make_context,
    seal,
    sealed_growth,
    sealed_notice,
    sealed_record,
)
from tests.peer.hostile import (
    FAR,
    GROWN,
    HIGH,
    LOW,
    ME,
    STRANGER,
    VALUES,
    check_frame,
    fuzz,
    honest_frames,
    make_victim,
    notice_of_growth,
)

FIRST = FIRST_GENERATION
LATER = generation_name(1, (FAR,))
GENUINE = sealed_record(FAR, 0, FIRST, VALUES[FAR, 0])
MASS = (1.0, 1.0)


def changed(**fields: object) -> Record:
    return msgspec.structs.replace(GENUINE, **fields)


def cases(table: Mapping[str, Mapping[str, object]]) -> list[tuple[str, str]]:
    return [(verdict, name) for verdict, group in table.items() for name in group]


BAD_EXCHANGES: dict[str, dict[str, tuple[Record, tuple[float, ...]]]] = {
    "refused: not finite": {
        "NaN in the mass": (GENUINE, (math.nan, 1.0)),
        "infinity in the mass": (GENUINE, (math.inf, 1.0)),
        "NaN in the record": (changed(value=(math.nan,)), MASS),
    },
    "refused: implausible mass": {
        "a huge mass": (GENUINE, (1e308, 1.0)),
        "a negative weight": (GENUINE, (1.0, -1.0)),
        "a mass too short": (GENUINE, (1.0,)),
        "a mass too long": (GENUINE, (1.0,) * 3),
    },
    "refused: record not genuine": {
        "another's value": (changed(value=(1.0,)), MASS),
        "another's row": (changed(origin=HIGH, row=1), MASS),
        "another's seal": (changed(signature=seal(HIGH, b"something else")), MASS),
        "no signature": (changed(signature=b""), MASS),
        "two columns": (sealed_record(FAR, 0, FIRST, (1.0, 2.0)), MASS),
        "outside the range": (sealed_record(FAR, 0, FIRST, (2e6,)), MASS),
        "of another generation": (sealed_record(FAR, 0, LATER, VALUES[FAR, 0]), MASS),
    },
}
"""Records and masses that are wrong in offers and in answers alike."""


@pytest.mark.parametrize(("verdict", "name"), cases(BAD_EXCHANGES))
@pytest.mark.parametrize("kind", [Offer, Accept])
def test_a_bad_exchange_is_refused(
    kind: Callable[..., AnyMessage], verdict: str, name: str
) -> None:
    record, mass = BAD_EXCHANGES[verdict][name]
    victim = make_victim(is_asking=kind is Accept)
    seq = victim.state.seq if kind is Accept else 6
    before = victim.state
    assert check_frame(victim, HIGH, encode(kind(FIRST, seq, record, mass))) == verdict
    assert victim.state is before


def a_frame(*raw: object) -> bytes:
    return msgspec.msgpack.encode(raw)


GROWTH = sealed_growth(HIGH, 2, 9)
FORGED = seal(FAR, b"something else")


def grown_notice(*grown: Growth) -> bytes:
    return encode(sealed_notice(generation_name(1, (), grown), (), FAR, grown))


BAD_FRAMES: dict[str, dict[str, bytes]] = {
    "refused: malformed": {
        "empty": b"",
        "truncated": encode(Offer(FIRST, 6, GENUINE, MASS))[:-3],
        "extended": encode(Offer(FIRST, 6, GENUINE, MASS)) + b"\x00",
        "an unknown kind": a_frame("shutdown", 0),
        "a field too many": a_frame("reject", FIRST, 1, "busy", 1),
        "a made-up reason": a_frame("reject", FIRST, 1, "because"),
        "a map": msgspec.msgpack.encode({"kind": "hello"}),
        "text that is not UTF-8": b"\x95\xa5hello\xa2\xff\xfe\xa0\x00\xc3",
        "nested": b"\x91" * 50_000,
        "nested maps": b"\x81\x01" * 20_000,
        "a huge array": b"\xdd\xff\xff\xff\xff",
        "a huge mass": encode(Offer(FIRST, 6, GENUINE, ()))[:-1] + b"\xdd\xff\xff\xff\xff",
        "a huge string": b"\x95\xdb\xff\xff\xff\xff",
        "a negative number": encode(Offer(FIRST, -1, GENUINE, MASS)),
        "the number zero": encode(Offer(FIRST, 0, GENUINE, MASS)),
        "a number no database holds": encode(Offer(FIRST, 1 << 63, GENUINE, MASS)),
        "a generation that is a number": a_frame("hello", SPEC, "", 1 << 32, True),
        "a generation with half a name": encode(
            Hello(SPEC, "", generation_name(1, ("x",))[:40], True)
        ),
        "a generation with too long a name": encode(
            sealed_notice(generation_name(1 << 32, ("x",)), ("x",), FAR)
        ),
        "a later generation without changes": encode(Hello(SPEC, "", generation_name(1, ()), True)),
        "more generations than can be": encode(
            sealed_notice(generation_name((1 << 30) + 1, ("x",)), ("x",), FAR)
        ),
        "more generations than changes": encode(
            sealed_notice(generation_name(2, ("x",)), ("x",), FAR)
        ),
        "more generations than rows added": encode(
            sealed_notice(generation_name(8, (), (GROWTH,)), (), FAR, (GROWTH,))
        ),
        "a generation under another's name": encode(
            sealed_notice(generation_name(1, ("x",)), ("y",), FAR)
        ),
        "a notice that names one twice": encode(
            sealed_notice(generation_name(1, ("x", "x")), ("x", "x"), FAR)
        ),
        "more rows than a member holds": grown_notice(sealed_growth(FAR, 1, MOST_ROWS + 1)),
        "fewer rows than at first": grown_notice(sealed_growth(HIGH, 2, 1)),
        "as many rows as at first": grown_notice(sealed_growth(HIGH, 2, 2)),
        "a growth from less than nothing": grown_notice(sealed_growth(HIGH, -1, 2)),
        "a growth told twice": grown_notice(sealed_growth(FAR, 1, 2), sealed_growth(FAR, 1, 3)),
        "growths out of order": grown_notice(sealed_growth(FAR, 1, 2), sealed_growth(HIGH, 2, 3)),
        "a growth under another's name": encode(
            sealed_notice(generation_name(1, ()), (), FAR, (sealed_growth(FAR, 1, 2),))
        ),
        "a growth that is none": a_frame(
            "notice", generation_name(1, (), GROWN), [], FAR, b"", [[FAR, 1, "2", b""]]
        ),
    },
    "refused: too long": {
        "oversized": b"\x00" * (1 << 20),
        "a long text": encode(Hello(SPEC, "x" * 66_000, FIRST, True)),
    },
    "refused: notice not genuine": {
        "a notice nobody signed": encode(Notice(generation_name(1, ("x",)), ("x",), FAR, b"", ())),
        "a stranger's notice": encode(sealed_notice(generation_name(1, ("x",)), ("x",), STRANGER)),
    },
    "refused: eviction of no member": {
        "the eviction of one who is on no list": encode(
            sealed_notice(generation_name(1, (STRANGER,)), (STRANGER,), FAR)
        ),
        "the eviction of a member and of one on no list": encode(
            sealed_notice(generation_name(1, (STRANGER, "x")), (STRANGER, "x"), FAR)
        ),
    },
    "refused: growth not genuine": {
        "a growth nobody signed": grown_notice(Growth(FAR, 1, 2, b"")),
        "a growth in another's name": grown_notice(
            replace(sealed_growth(HIGH, 2, 5), signature=FORGED)
        ),
        "more rows than were signed": grown_notice(replace(sealed_growth(FAR, 1, 2), rows=3)),
        "a stranger's growth": grown_notice(sealed_growth(STRANGER, 1, 2)),
        "a growth from what never was": grown_notice(sealed_growth(HIGH, 1, 5)),
        "a growth in another run": grown_notice(
            with_signature(Growth(FAR, 1, 2, b""), "another", lambda told: seal(FAR, told))
        ),
        "one growth of two forged": grown_notice(
            Growth(HIGH, 2, 3, FORGED), sealed_growth(FAR, 1, 2)
        ),
    },
    "messages of another generation": {
        "an offer of a later generation": encode(Offer(LATER, 6, GENUINE, MASS)),
    },
    "offers older than the last": {
        "an old offer replayed": encode(Offer(FIRST, 4, GENUINE, MASS)),
    },
    "refused: another specification": {
        "another specification": encode(Hello("other", "text", FIRST, True)),
    },
    "answers received again": {
        "an answer to nothing": encode(Accept(FIRST, 99, GENUINE, MASS)),
    },
}
"""Wrong frames, by the counter that they increase."""


@pytest.mark.parametrize("is_asking", [False, True])
@pytest.mark.parametrize(("verdict", "name"), cases(BAD_FRAMES))
def test_a_bad_frame_is_refused(verdict: str, name: str, is_asking: bool) -> None:
    frame = BAD_FRAMES[verdict][name]
    victim = make_victim(is_asking=is_asking)
    before = victim.state
    actions = victim.receive(HIGH, frame)
    assert victim.counts == {verdict: 1}
    assert victim.state is before
    assert all(isinstance(action, Send) for action in actions)


def test_a_stranger_gets_no_data_and_no_reason() -> None:
    victim = make_victim(is_asking=True)
    for frame in honest_frames(victim.state):
        before = victim.state
        assert victim.receive(STRANGER, frame) == []
        assert victim.state is before
    assert set(victim.counts) == {"refused: stranger"}


def test_a_member_that_is_no_neighbor_is_a_stranger() -> None:
    victim = make_victim(is_asking=False)
    assert victim.receive(FAR, encode(Offer(FIRST, 6, GENUINE, MASS))) == []
    assert victim.counts == {"refused: stranger": 1}


def test_a_record_of_no_member_is_rejected_durably() -> None:
    """Without an answer, an honest neighbor that knows more members would ask forever."""
    victim = make_victim(is_asking=False)
    nodes = victim.state.nodes
    offer = encode(Offer(FIRST, 6, sealed_record(STRANGER, 0, FIRST, (1.0,)), MASS))
    save, send = victim.receive(HIGH, offer)
    assert isinstance(save, Save)
    assert save.sync
    assert send == Send(HIGH, Reject(FIRST, 6, "member"))
    assert victim.state.nodes == nodes
    assert victim.receive(HIGH, offer) == [send]


@pytest.mark.parametrize("kind", [Offer, Accept])
def test_an_evicted_members_record_is_not_taken(kind: Callable[..., AnyMessage]) -> None:
    victim = make_victim(is_asking=False)
    generation = generation_name(1, (FAR,))
    victim.receive(LOW, encode(sealed_notice(generation, (FAR,), LOW)))
    victim.agreed.add(HIGH)
    victim.ask(HIGH)
    nodes, seq = victim.state.nodes, victim.state.seq
    record = sealed_record(FAR, 0, generation, VALUES[FAR, 0])
    victim.receive(HIGH, encode(kind(generation, seq, record, MASS)))
    assert victim.state.nodes == nodes
    assert HIGH in victim.state.pending


def test_a_restored_backup_is_noticed_and_changes_nothing() -> None:
    victim = make_victim(is_asking=True)
    before = victim.state
    with pytest.raises(RestoredBackup, match=HIGH):
        victim.receive(HIGH, encode(Reject(FIRST, before.seq, "stale")))
    assert victim.state is before


@pytest.mark.parametrize("seed", range(4))
def test_mutated_frames_raise_nothing_and_change_nothing(seed: int) -> None:
    verdicts = fuzz(5_000, seed)
    assert verdicts.total() == 5_000
    assert len(verdicts) >= 10


LAYERS: list[tuple[object, str, object]] = [
    (messages, "_is_finite", lambda _: True),
    (QuickMixing, "is_plausible", lambda _, mass: len(mass) == 2),
    (nodes, "math", SimpleNamespace(isfinite=lambda _: True)),
]
"""The checks that a number passes before it touches the state."""


def test_numbers_that_are_none_are_noticed_if_nothing_checks_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for owner, name, unchecked in LAYERS:
        monkeypatch.setattr(owner, name, unchecked)
    with pytest.raises(Violated, match=r"not finite|changed by|Counter"):
        fuzz(20_000, seed=0)


@pytest.mark.parametrize("kept", range(len(LAYERS)))
def test_each_check_of_numbers_alone_keeps_the_state_finite(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number_, (owner, name, unchecked) in enumerate(LAYERS):
        if number_ != kept:
            monkeypatch.setattr(owner, name, unchecked)
    victim = make_victim(is_asking=False)
    before = victim.state
    for bad in (math.nan, math.inf):
        victim.receive(HIGH, encode(Offer(FIRST, 6, GENUINE, (bad, 1.0))))
        assert victim.state is before


def test_a_check_of_records_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordCheck, "is_sound", lambda *_: True)
    with pytest.raises(Violated, match=r"changed by|not genuine|Counter"):
        fuzz(20_000, seed=0)


def test_a_check_of_notices_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "is_genuine_notice", lambda *_: True)
    victim = make_victim(is_asking=False)
    frame = encode(Notice(generation_name(1, ("x",)), ("x",), FAR, b"", ()))
    with pytest.raises(Violated):
        check_frame(victim, HIGH, frame)


def test_a_growth_accepted_unsigned_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exchange, "_is_genuine_growth", lambda *_: True)
    for frame in (grown_notice(Growth(FAR, 1, 2, b"")), grown_notice(sealed_growth(HIGH, 1, 5))):
        with pytest.raises(Violated):
            check_frame(make_victim(is_asking=False), HIGH, frame)


def test_a_growth_is_carried_on_as_its_member_signed_it() -> None:
    """This also holds if it is joined with an eviction that only this peer knows of."""
    victim = make_victim(is_asking=True)
    victim.receive(LOW, encode(sealed_notice(generation_name(1, ("x",)), ("x",), LOW)))
    _, *told = victim.receive(HIGH, grown_notice(*GROWN))
    notice = told[0].message
    assert isinstance(notice, Notice)
    assert (notice.announcer, notice.changes) == (ME, (("x",), GROWN))
    assert victim.state.changes == notice.changes


def test_a_member_can_only_grow() -> None:
    """An older signature that arrives later changes nothing."""
    victim = make_victim(is_asking=False)
    victim.receive(HIGH, encode(notice_of_growth(HIGH, 2, 9)))
    before = victim.state
    assert before.changes.rows() == {HIGH: 9}
    for count in (1, 3):
        grown = (sealed_growth(HIGH, 2, 5),)
        victim.receive(
            HIGH, encode(sealed_notice(generation_name(count, (), grown), (), HIGH, grown))
        )
        assert victim.state.changes.rows() == {HIGH: 9}


def test_records_of_added_rows_circulate_once_the_growth_is_known() -> None:
    for has_grown in (False, True):
        victim = make_victim(is_asking=False, has_grown=has_grown)
        now = victim.state.generation
        record = sealed_record(FAR, 1, now, VALUES[FAR, 1])
        victim.receive(HIGH, encode(Offer(now, 6, record, MASS)))
        assert (victim.state.nodes[0].record == record) is has_grown
        too_far = sealed_record(FAR, 2, now, VALUES[FAR, 1])
        victim.receive(HIGH, encode(Offer(now, 7, too_far, MASS)))
        assert victim.state.outcomes[HIGH].reason == "member"


def test_who_has_forgotten_its_own_rows_is_a_restored_backup() -> None:
    victim = make_victim(is_asking=False)
    before = victim.state
    with pytest.raises(ForgottenRows, match=HIGH):
        victim.receive(HIGH, encode(notice_of_growth(ME, 1, 2)))
    assert victim.state is before


@pytest.mark.parametrize("own", [(), ((1.0,), (2.0,)), (VALUES[ME, 0],)])
def test_rows_are_only_ever_added(own: tuple[tuple[float, ...], ...]) -> None:
    victim = make_victim(is_asking=False)
    before = victim.state
    with pytest.raises(BrokenInvariant):
        victim.grow(own)
    assert victim.state is before


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", ["auc-logistic", "ranking-squared-hinge"])
def test_a_huge_mass_leaves_no_number_that_is_none(loss: str) -> None:
    """Lies within the limits must not make models infinite."""
    chance = random.Random(0)
    rule = DualAveraging(as_loss(loss), 2, lambda z, gamma, _: -gamma * z, lambda t: 1.0, 0.5)
    own = ((0.5, 0.25, 1.0),)
    context = make_context(ME, (LOW, HIGH), own, {ME: 1, FAR: 1, LOW: 1, HIGH: 1}, rule)
    victim = Exchange(context, first_state(context))
    record = sealed_record(FAR, 0, FIRST, (0.125, 0.5, 0.0))
    for seq in range(1, 50):
        mass = tuple(chance.choice([1e149, -1e149, 1e10, -1.0]) for _ in range(2))
        victim.receive(HIGH, encode(Offer(FIRST, seq, record, mass)))
        for node in victim.state.nodes:
            assert np.isfinite([*node.mass, *node.private]).all()
