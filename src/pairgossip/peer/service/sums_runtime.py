"""The clock of a peer that computes sums: when its neighbors are contacted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import ContactSoon
from pairgossip.peer.service.runtime import Runtime

_SOON = 0.03
"""Seconds in which news is collected before neighbors are told."""
_FIRST_CONTACT = 0.2
"""Seconds from which on the wait between contacts doubles, after news."""
_LONGEST_CONTACT = 5.0
"""Seconds between contacts, at most, while rounds go on."""
_SETTLED_CONTACT = 30.0
"""Seconds between contacts, at most, once neighbors have nothing left to say."""


@dataclass
class RoundsRuntime(Runtime[Rounds]):
    """Drives rounds of sums: neighbors are contacted when there is news, else ever more rarely."""

    contacts_at: float = math.inf
    _wait: float = _FIRST_CONTACT
    _has_news: bool = False
    """Whether something has come since the last contact."""
    _round: tuple[object, int] | None = None
    """Generation and number of the round whose beginning is noted."""
    _since: float = math.inf
    """When this round began, or the peer started in it; never, before the peer has started."""

    def start(self, now: float) -> None:
        """Begin, or go on after a restart."""
        self._since = now  # also if nothing can be carried out, such as on a full disk
        self._carry_out(self.protocol.start(), now)

    def received(self, sender: str, frame: bytes, now: float) -> None:
        """Take a frame from a neighbor."""
        self._carry_out(self.protocol.receive(sender, frame), now)

    def due(self) -> float:
        """When neighbors are to be contacted."""
        return self.contacts_at

    def advance(self, now: float) -> None:
        """Contact the neighbors."""
        has_news, self._has_news = self._has_news, False
        self._carry_out(self.protocol.contact(has_news=has_news), now)
        longest = _SETTLED_CONTACT if self.protocol.is_settled else _LONGEST_CONTACT
        self._wait = min(2 * self._wait, longest)
        # Chance keeps peers from contacting each other in step.
        self.contacts_at = now + self._wait * self.chance.uniform(0.75, 1.25)

    def finish(self, now: float) -> None:
        """Tell what is known once more: the neighbors may need it."""
        self.contacts_at, self._has_news = now, False

    @property
    def in_flight(self) -> set[str]:
        """Nobody's: what has not come is asked for after the next start."""
        return set()

    def waiting(self, now: float) -> dict[str, float]:
        """Return how long this round has waited for each member."""
        me = self.protocol.context.me
        lasted = max(0.0, now - self._since)
        return {one: lasted for one in self.protocol.awaited if one != me}

    def _schedule(self, action: ContactSoon, now: float) -> None:
        self._wait, self._has_news = _FIRST_CONTACT, True
        self.contacts_at = min(self.contacts_at, now + _SOON * self.chance.uniform(0.75, 1.25))

    def _carry_out(self, actions: list[Any], now: float) -> None:
        """Carry out actions, and note when a round began."""
        super()._carry_out(actions, now)
        place = self.protocol.state.generation, self.protocol.round
        if place != self._round:
            self._round, self._since = place, now
