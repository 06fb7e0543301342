"""The table of transitions describes the state machine: every phase with every event."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.membership import RestoredBackup
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    Accept,
    Hello,
    Offer,
    Record,
    Reject,
    encode,
    generation_name,
)
from pairgossip.peer.protocol.state import Action, Save, Send
from tests.peer.contexts import SPEC, sealed_notice, sealed_record
from tests.peer.hostile import FAR, HIGH, LOW, ME, VALUES, honest_frames, make_victim

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
from peer_transitions import (  # type: ignore[import-not-found]  # noqa: E402
    BEGIN,
    END,
    IMAGE,
    PAGE,
    TRANSITIONS,
    Phase,
    main,
    page_with_table,
    svg,
)

Event = Callable[[Exchange], list[Action]]


def phase_of(peer: Exchange) -> Phase:
    return Phase.ASKING if HIGH in peer.state.pending else Phase.FREE


def record() -> Record:
    return sealed_record(FAR, 0, FIRST_GENERATION, VALUES[FAR, 0])


def offer(seq: int, sender: str = HIGH) -> Event:
    return lambda peer: peer.receive(
        sender, encode(Offer(FIRST_GENERATION, seq, record(), (1.0, 1.0)))
    )


def accept(ahead: int, sender: str = HIGH) -> Event:
    def event(peer: Exchange) -> list[Action]:
        answer = Accept(FIRST_GENERATION, peer.state.seq + ahead, record(), (1.0, 1.0))
        return peer.receive(sender, encode(answer))

    return event


def reject(ahead: int, sender: str = HIGH) -> Event:
    return lambda peer: peer.receive(
        sender, encode(Reject(FIRST_GENERATION, peer.state.seq + ahead, "busy"))
    )


def notice(count: int, evicted: tuple[str, ...]) -> Event:
    told = sealed_notice(generation_name(count, evicted), evicted, FAR)
    return lambda peer: peer.receive(HIGH, encode(told))


def hello(spec: str) -> Event:
    return lambda peer: peer.receive(HIGH, encode(Hello(spec, "", FIRST_GENERATION, True)))


EVENTS: dict[str, list[Event]] = {
    "ring": [lambda peer: peer.ring(HIGH)],
    "hello": [hello(SPEC), hello("another"), lambda peer: [*peer.ring(HIGH), *hello(SPEC)(peer)]],
    "repeat": [lambda peer: peer.repeat(HIGH)],
    "offer": [offer(4), offer(5), offer(6), offer(6, LOW), offer(4, LOW)],
    "accept": [accept(0), accept(1), accept(0, LOW)],
    "reject": [reject(0), reject(1), reject(0, LOW)],
    "evict, add": [
        lambda peer: peer.evict([LOW]),
        lambda peer: peer.grow((*peer.context.own, (7.0,))),
    ],
    "notice": [notice(1, ()), notice(1, (ME,)), notice(1, (LOW,)), notice(0, ())],
}
"""Events, each with all variants that can have different outcomes."""
ROWS = (1, 2)
"""Numbers of rows; with one row, none is free while the peer asks."""


def test_the_table_has_every_phase_and_every_event() -> None:
    assert set(TRANSITIONS) == {(phase, event) for phase in Phase for event in EVENTS}


@pytest.mark.parametrize(("phase", "event"), TRANSITIONS, ids=str)
def test_the_machine_does_as_the_table_says(phase: Phase, event: str) -> None:
    reached = set()
    for happens, rows in product(EVENTS[event], ROWS):
        peer = make_victim(is_asking=phase is Phase.ASKING, rows=rows)
        assert phase_of(peer) is phase
        happens(peer)
        reached.add(phase_of(peer))
    assert reached == set(TRANSITIONS[phase, event].then)


@pytest.mark.parametrize(("phase", "event"), TRANSITIONS, ids=str)
def test_what_is_told_is_safe_first(phase: Phase, event: str) -> None:
    """If an event changes the state and sends it, a synced save comes first."""
    for happens, rows in product(EVENTS[event], ROWS):
        peer = make_victim(is_asking=phase is Phase.ASKING, rows=rows)
        before = peer.state
        actions = happens(peer)
        saved = [action for action in actions if isinstance(action, Save)]
        assert bool(saved) == (peer.state is not before)
        if saved:
            assert saved[-1].state == peer.state
        is_safe = True
        for action in actions:
            if isinstance(action, Save):
                is_safe = action.sync
            elif isinstance(action, Send):
                assert is_safe


def test_honest_frames_reach_both_phases() -> None:
    """The frames from which hostile ones are made lead to both phases."""
    phases = set()
    for asking in (False, True):
        for frame in honest_frames(make_victim(is_asking=asking).state):
            peer = make_victim(is_asking=asking)
            with contextlib.suppress(RestoredBackup):
                peer.receive(HIGH, frame)
            phases.add((asking, phase_of(peer)))
    assert phases == {(False, Phase.FREE), (True, Phase.ASKING), (True, Phase.FREE)}


def test_the_page_shows_the_table_and_the_diagram() -> None:
    """`python docs/_ext/peer_transitions.py docs` writes them again."""
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert text == page_with_table(text)
    assert (DOCS / IMAGE).read_text(encoding="utf-8") == svg()


def test_the_diagram_names_every_event(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / PAGE).write_text(f"before {BEGIN} old {END} after", encoding="utf-8")
    main(tmp_path)
    drawn = (tmp_path / IMAGE).read_text(encoding="utf-8")
    shown = (tmp_path / PAGE).read_text(encoding="utf-8")
    assert shown.startswith("before") and shown.endswith("after") and " old " not in shown
    for (phase, event), does in TRANSITIONS.items():
        assert event in drawn
        assert phase.value in drawn
        assert does.what in shown
