"""A running peer: its clock, its timers, and the actions of its protocol carried out in order.

The same code runs on a virtual clock in tests and on a real one in
`pairgossip.peer.service.service`; time, chance, the disk and the network come from outside.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.membership import BrokenInvariant
from pairgossip.peer.protocol.messages import Rows, encode
from pairgossip.peer.protocol.state import Action, Answered, RepeatLater, Save, Send

_FIRST_WAIT = 0.2
"""Least time in seconds until an unanswered message is repeated."""
_LONGEST_WAIT = 30.0
"""Largest time in seconds between repetitions."""
_BUSY_FACTOR = 5.0
"""Factor on the rate of the clock after a neighbor was busy."""
_WAIT_PER_ROUND_TRIP = 4.0
"""Time in round trips before an offer is repeated; the wait then doubles each time."""


class Journal(Protocol):
    """Durable memory."""

    def save(self, change: Save) -> None:
        """Save a change in one transaction; raise if that fails."""


class Link(Protocol):
    """The way to the neighbors."""

    def send(self, to: str, frame: bytes) -> None:
        """Send a frame without waiting; it may be lost, repeated or overtaken."""


@dataclass
class _OpenOffer:
    """An offer that waits for its answer."""

    at: float
    repeats_at: float = math.inf
    repeats: int = 0


@dataclass
class ExchangeRuntime:
    """Drives one peer's exchanges: neighbors are drawn by a clock that rings at random.

    All times are monotonic seconds.
    """

    protocol: Exchange
    journal: Journal
    link: Link
    chance: random.Random
    rate: float
    """The rate of rings per second and link of weight 1; each of its sides rings half as often."""
    is_ringing: bool = True
    rings_at: float = math.inf
    _weight: float = 0.0
    """The sum of the weights of the links for which the clock was set."""
    _asked: dict[str, _OpenOffer] = field(default_factory=dict)
    _greets_again_at: dict[str, float] = field(default_factory=dict)
    _round_trips: dict[str, float] = field(default_factory=dict)
    _has_failed: bool = field(default=False, init=False)

    def start(self, now: float) -> None:
        """Begin, or go on after a restart."""
        self._wind_clock(now)
        self._carry_out(self.protocol.start(), now)

    def received(self, sender: str, frame: bytes, now: float) -> None:
        """Handle a frame from a neighbor."""
        offer, was_away = self.protocol.state.pending.get(sender), sender in self.protocol.away
        self._carry_out(self.protocol.receive(sender, frame), now)
        if was_away and offer is not None and self.protocol.state.pending.get(sender) == offer:
            self._asked[sender].repeats_at = now  # it is back: no need to wait any longer
        self._update_timers(now)

    def due(self) -> float:
        """Return the time at which `advance` is to be called next."""
        if not self._asked:  # the usual case
            return self.rings_at
        return min([self.rings_at, *(offer.repeats_at for offer in self._asked.values())])

    def advance(self, now: float) -> None:
        """Repeat overdue offers, and ring if it is time."""
        for to in [to for to, offer in self._asked.items() if now >= offer.repeats_at]:
            self._carry_out(self.protocol.repeat(to), now)
        if now >= self.rings_at:
            self._wind_clock(now)
            self._ring(self._draw_neighbor(), now)

    def _draw_neighbor(self) -> str:
        """Draw a neighbor, by the weights of the links if these differ."""
        present, weights = self.protocol.present, self._link_weights()
        if all(weight == 1 for weight in weights):
            return self.chance.choice(present)
        return self.chance.choices(present, weights)[0]

    def _link_weights(self) -> list[float]:
        """Return the weights of the links to neighbors that are present, in their order."""
        return [self.protocol.context.link_weight(one) for one in self.protocol.present]

    def _ring(self, to: str, now: float) -> None:
        """Let the clock ring for a neighbor, unless it is about to answer a hello."""
        if to in self.protocol.greeted and now < self._greets_again_at.get(to, 0.0):
            return
        self._carry_out(self.protocol.ring(to), now)
        wait = max(_FIRST_WAIT, _WAIT_PER_ROUND_TRIP * self._round_trip(to))
        self._greets_again_at[to] = now + wait

    def waiting(self, now: float) -> dict[str, float]:
        """Return how many seconds each neighbor has left an offer unanswered."""
        return {to: now - offer.at for to, offer in self._asked.items()}

    def evict(self, members: Sequence[str], now: float) -> None:
        """Begin a new generation without these members."""
        self._carry_out(self.protocol.evict(members), now)
        self._update_timers(now)

    def grow(self, own: Rows, now: float) -> None:
        """Begin a new generation in which this peer has more rows; ``own`` are all of them."""
        self._carry_out(self.protocol.grow(own), now)
        self._update_timers(now)

    def finish(self, now: float) -> None:
        """Stop ringing, and repeat offers at once: the neighbors may be about to stop as well."""
        self.stop_ringing()
        for offer in self._asked.values():
            offer.repeats_at = now

    @property
    def in_flight(self) -> set[str]:
        """Neighbors with offers, unless they are away."""
        return self.protocol.state.pending.keys() - self.protocol.away

    def stop_ringing(self) -> None:
        """Begin no more exchanges; still answer, and finish those in flight."""
        self.is_ringing = False
        self.rings_at = math.inf
        self.protocol.greeted.clear()

    def _update_timers(self, now: float) -> None:
        """Forget answered offers, and set the clock anew if the links have changed."""
        pending = self.protocol.state.pending
        if self._asked.keys() - pending.keys():
            self._asked = {to: offer for to, offer in self._asked.items() if to in pending}
        if sum(self._link_weights()) != self._weight:
            self._wind_clock(now)

    def _wind_clock(self, now: float) -> None:
        """Draw the time of the next ring; each link has its own rate."""
        self._weight = sum(self._link_weights())
        self.rings_at = math.inf
        if self.is_ringing and self._weight:
            mean = 2.0 / (self.rate * self._weight)
            self.rings_at = now + self.chance.expovariate(1.0 / mean)

    def _draw_again(self, now: float) -> None:
        """Ring soon, in place of the ring that met a busy neighbor."""
        if self.is_ringing and self._weight:
            soon = self.chance.expovariate(_BUSY_FACTOR * self.rate * self._weight)
            self.rings_at = min(self.rings_at, now + soon)

    def _carry_out(self, actions: list[Action], now: float) -> None:
        if self._has_failed:  # memory holds an unsaved state, which nobody may learn
            raise BrokenInvariant("the state could not be saved; only the saved one may go on")
        for action in actions:
            if isinstance(action, Save):
                self._has_failed = True
                self.journal.save(action)
                self._has_failed = False
            elif isinstance(action, Send):
                self.link.send(action.to, encode(action.message))
            else:
                self._schedule(action, now)

    def _schedule(self, action: RepeatLater | Answered, now: float) -> None:
        if isinstance(action, Answered):
            self._learn_round_trip(action.by, now)
            if action.is_busy:
                self._draw_again(now)
            return
        offer = self._asked.setdefault(action.to, _OpenOffer(at=now))
        wait = _WAIT_PER_ROUND_TRIP * self._round_trip(action.to) * 2**offer.repeats
        offer.repeats = min(offer.repeats + 1, 20)
        # Chance keeps peers that lost the same link from asking in step.
        offer.repeats_at = now + min(wait, _LONGEST_WAIT) * self.chance.uniform(0.75, 1.25)

    def _round_trip(self, neighbor: str) -> float:
        return self._round_trips.get(neighbor, _FIRST_WAIT / _WAIT_PER_ROUND_TRIP)

    def _learn_round_trip(self, neighbor: str, now: float) -> None:
        offer, usual = self._asked.pop(neighbor), self._round_trip(neighbor)
        taken = max(now - offer.at, 1e-4)
        if offer.repeats <= 1:
            usual += (taken - usual) / 8
        else:  # it is unknown which one was answered: the round trip may be longer
            usual = min(2 * usual, taken)
        self._round_trips[neighbor] = usual
