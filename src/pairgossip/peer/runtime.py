"""A peer in motion: its clock, its timers, and the actions of its exchanges carried out in order.

The same code runs on a virtual clock in tests and on a real one in `pairgossip.peer.service`;
time, chance, the disk and the network come from outside.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pairgossip.peer.actions import Action, RepeatLater, Save, Send
from pairgossip.peer.exchange import BrokenInvariant, Exchange
from pairgossip.peer.messages import encode
from pairgossip.peer.rows import Rows
from pairgossip.peer.state import State

FIRST_WAIT = 0.2
LONGEST_WAIT = 30.0
BUSY = "rejected by neighbors: busy"
DRAWN_AGAIN = 5.0
"""How many times sooner than usual the clock rings after a neighbor was busy."""
WAIT_PER_ROUND_TRIP = 4.0
"""An offer is repeated after so many times the usual round trip, and then ever more rarely."""


class Journal(Protocol):
    """Durable memory."""

    def load(self) -> State | None:
        """Return the state last saved, or None if there is none."""

    def save(self, change: Save) -> None:
        """Write a change down, in one transaction; raise if that fails."""


class Link(Protocol):
    """The way to the neighbors."""

    def send(self, to: str, frame: bytes) -> None:
        """Send a frame without waiting; it may be lost, repeated or overtaken."""


@dataclass
class Runtime:
    """Drives one peer's exchanges; all times are monotonic seconds."""

    exchange: Exchange
    journal: Journal
    link: Link
    chance: random.Random
    rate: float
    """Rings per second and neighbor; each side of a link rings half as often."""
    is_ringing: bool = True
    rings_at: float = math.inf
    repeats_at: float = math.inf
    _asked_at: float = 0.0
    _round_trip: float = FIRST_WAIT / WAIT_PER_ROUND_TRIP
    _asked: int = 0
    _repeats: int = 0
    _has_failed: bool = False
    neighbors: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        self.neighbors = self.exchange.setting.neighbors

    def start(self, now: float) -> None:
        """Begin, or go on after a restart."""
        self._wind_clock(now)
        self._carry_out(self.exchange.start(), now)

    def received(self, sender: str, frame: bytes, now: float) -> None:
        """Take a frame from a neighbor."""
        asking, busy = self.exchange.state.pending, self.exchange.counts[BUSY]
        self._carry_out(self.exchange.receive(sender, frame), now)
        if asking is not None and self.exchange.state.pending != asking:
            self._learn_round_trip(now)
            self.repeats_at = math.inf
            if self.exchange.counts[BUSY] > busy:
                self._draw_again(now)

    def due(self) -> float:
        """When `advance` is to be called next."""
        return min(self.rings_at, self.repeats_at)

    def advance(self, now: float) -> None:
        """Do what is due: repeat an offer, ring."""
        if now >= self.repeats_at:
            self.repeats_at = math.inf
            pending = self.exchange.state.pending
            if pending is not None:
                self._carry_out(self.exchange.repeat(pending.seq), now)
        if now >= self.rings_at:
            self._wind_clock(now)
            self._carry_out(self.exchange.ring(self.chance.choice(self.neighbors)), now)

    def evict(self, members: Sequence[str], now: float) -> None:
        """Begin a new generation without these members."""
        self._carry_out(self.exchange.evict(members), now)
        if self.exchange.state.pending is None:
            self.repeats_at = math.inf

    def grow(self, own: Rows, now: float) -> None:
        """Begin a new generation in which this peer has more rows: all of them are given."""
        self._carry_out(self.exchange.grow(own), now)
        self.repeats_at = math.inf

    def stop_ringing(self) -> None:
        """Begin no exchange any more; answer still, and finish the one in flight."""
        self.is_ringing = False
        self.rings_at = math.inf

    def _wind_clock(self, now: float) -> None:
        if self.is_ringing and self.neighbors:
            mean = 2.0 / (self.rate * len(self.neighbors))
            self.rings_at = now + self.chance.expovariate(1.0 / mean)

    def _draw_again(self, now: float) -> None:
        """Ring soon, for the ring that met a busy neighbor."""
        if self.is_ringing:
            soon = self.chance.expovariate(DRAWN_AGAIN * self.rate * len(self.neighbors))
            self.rings_at = min(self.rings_at, now + soon)

    def _carry_out(self, actions: list[Action], now: float) -> None:
        if self._has_failed:  # what is in memory was never written down: tell nobody of it
            raise BrokenInvariant("the state could not be saved; only the saved one may go on")
        for action in actions:
            if isinstance(action, Save):
                self._has_failed = True
                self.journal.save(action)
                self._has_failed = False
            elif isinstance(action, Send):
                self.link.send(action.to, encode(action.message))
            else:
                self._repeat_later(action, now)

    def _repeat_later(self, action: RepeatLater, now: float) -> None:
        if action.seq != self._asked:
            self._asked, self._repeats, self._asked_at = action.seq, 0, now
        wait = WAIT_PER_ROUND_TRIP * self._round_trip * 2**self._repeats
        self._repeats = min(self._repeats + 1, 20)
        # Chance keeps peers that lost the same link from asking in step.
        self.repeats_at = now + min(wait, LONGEST_WAIT) * self.chance.uniform(0.75, 1.25)

    def _learn_round_trip(self, now: float) -> None:
        taken = max(now - self._asked_at, 1e-4)
        if self._repeats <= 1:
            self._round_trip += (taken - self._round_trip) / 8
        else:  # nobody knows which one was answered: the way may be longer than was thought
            self._round_trip = min(2 * self._round_trip, taken)
