"""Clock, timers and the order of actions, at given times."""

from __future__ import annotations

import math
import random

import pytest

from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.membership import BrokenInvariant
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    AnyMessage,
    Hello,
    Offer,
    Reject,
    decode,
    encode,
    generation_name,
)
from pairgossip.peer.protocol.state import Save, State
from pairgossip.peer.service.runtime import _FIRST_WAIT, _LONGEST_WAIT, ExchangeRuntime
from tests.peer.contexts import sealed_notice
from tests.peer.hostile import FAR, HIGH, LOW, make_victim


class Books:
    """A disk and a link in one, which record the order of their use."""

    def __init__(self) -> None:
        self.used: list[str] = []
        self.sent: list[tuple[str, AnyMessage]] = []
        self.is_full = False

    def load(self) -> State | None:
        return None

    def save(self, change: Save) -> None:
        if self.is_full:
            raise OSError("disk full")
        self.used.append("sync" if change.sync else "write")

    def send(self, to: str, frame: bytes) -> None:
        self.used.append("send")
        self.sent.append((to, decode(frame)))


def make_runtime(
    exchange: Exchange | None = None, rate: float = 1.0
) -> tuple[ExchangeRuntime, Books]:
    books = Books()
    peer = exchange or make_victim(is_asking=False, rows=2)
    return ExchangeRuntime(peer, books, books, random.Random(0), rate), books


def test_it_says_hello_once_the_state_is_safe() -> None:
    runtime, books = make_runtime()
    runtime.start(0.0)
    assert books.used == ["sync", "send", "send"]
    assert all(isinstance(message, Hello) for _, message in books.sent)


def test_it_rings_as_often_as_its_links_ask_for() -> None:
    """Each side of a link rings half as often as the link."""
    runtime, _ = make_runtime(rate=10.0)
    runtime.protocol.agreed.clear()
    runtime.start(0.0)
    rings = 0
    while runtime.due() < 1000.0:
        runtime.advance(runtime.due())
        rings += 1
    assert rings == pytest.approx(10.0 * 2 / 2 * 1000.0, rel=0.05)


def test_an_offer_is_repeated_ever_more_rarely_and_never_given_up() -> None:
    runtime, books = make_runtime(make_victim(is_asking=True))
    runtime.stop_ringing()
    runtime.start(0.0)
    waits, before = [], 0.0
    for _ in range(60):
        now = runtime.due()
        waits.append(now - before)
        runtime.advance(now)
        before = now
    assert 0.75 * _FIRST_WAIT <= waits[0] <= 1.25 * _FIRST_WAIT
    assert waits[3] > 2 * waits[0]
    assert all(0.75 * _LONGEST_WAIT <= wait <= 1.25 * _LONGEST_WAIT for wait in waits[20:])
    offers = [message for _, message in books.sent if isinstance(message, Offer)]
    assert len(offers) == 61
    assert len(set(map(encode, offers))) == 1


def test_an_answer_ends_the_repetition() -> None:
    runtime, _ = make_runtime(make_victim(is_asking=True))
    runtime.stop_ringing()
    runtime.start(0.0)
    seq = runtime.protocol.state.seq
    runtime.received(HIGH, encode(Reject(FIRST_GENERATION, seq, "busy")), 0.05)
    assert runtime.due() == math.inf


def test_the_wait_follows_the_usual_round_trip() -> None:
    runtime, _ = make_runtime()
    runtime.start(0.0)
    now = 0.0
    for _ in range(60):
        now += 10.0
        runtime.rings_at = now
        runtime.advance(now)
        ((to, pending),) = runtime.protocol.state.pending.items()
        first_wait = runtime._asked[to].repeats_at - now
        runtime.received(to, encode(Reject(FIRST_GENERATION, pending.seq, "busy")), now + 0.01)
    assert 0.02 < first_wait < 0.1  # about four round trips


def test_stopped_it_answers_but_does_not_ask() -> None:
    runtime, books = make_runtime()
    runtime.start(0.0)
    runtime.stop_ringing()
    assert runtime.due() == math.inf
    runtime.received(HIGH, encode(Hello("other", "", FIRST_GENERATION, True)), 1.0)
    assert isinstance(books.sent[-1][1], Hello)


def test_after_a_long_sleep_it_rings_once() -> None:
    runtime, books = make_runtime(rate=100.0)
    runtime.protocol.agreed.clear()
    runtime.start(0.0)
    before = len(books.sent)
    runtime.advance(10_000.0)
    assert len(books.sent) == before + 1
    assert runtime.due() > 10_000.0


def test_a_neighbor_is_greeted_again_only_after_a_while() -> None:
    """A clock that rings fast does not send a hello for each ring; a lost hello does no harm."""
    runtime, books = make_runtime(make_victim(is_asking=False), rate=1000.0)
    runtime.start(0.0)
    books.sent.clear()
    while runtime.due() < 2.0:
        runtime.advance(runtime.due())
    greeted = [message for _, message in books.sent]
    assert all(isinstance(message, Hello) for message in greeted)
    assert 2 * 8 <= len(greeted) <= 2 * 2.0 / _FIRST_WAIT


def test_the_clock_is_wound_anew_when_an_eviction_is_heard_of() -> None:
    runtime, _ = make_runtime()
    runtime.start(0.0)
    before = runtime.rings_at
    told = sealed_notice(generation_name(1, (LOW,)), (LOW,), FAR)
    runtime.received(HIGH, encode(told), 0.0)
    assert runtime.rings_at != before


def test_what_could_not_be_saved_is_told_to_nobody() -> None:
    runtime, books = make_runtime()
    runtime.start(0.0)
    books.is_full = True
    told = len(books.sent)
    runtime.rings_at = 1.0
    with pytest.raises(OSError, match="full"):
        runtime.advance(1.0)
    books.is_full = False
    with pytest.raises(BrokenInvariant, match="could not be saved"):
        runtime.received(HIGH, encode(Hello("spec-hash", "", FIRST_GENERATION, True)), 2.0)
    assert len(books.sent) == told
