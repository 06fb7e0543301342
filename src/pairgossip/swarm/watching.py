"""A swarm at one moment: who is up, what they have found, how fast it goes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from pairgossip.swarm.chaos import KINDS
from pairgossip.swarm.processes import DOWN, FROZEN, STARTING, UP, PeerProcess

SPAN = 10
"""Over so many looks the rate of exchanges is taken."""


@dataclass(frozen=True)
class PeerLook:
    """One peer."""

    name: str
    state: str
    estimate: float | None
    """None if there is none, or if a model is learned."""
    interval: tuple[float, float] | None
    exchanges: int
    refused: int
    generation: int | None
    """The first is 1; None if it has told nothing yet."""


@dataclass(frozen=True)
class Look:
    """All of them."""

    seconds: float
    peers: tuple[PeerLook, ...]
    rate: float
    """Exchanges per second, over the last looks."""
    faults: Mapping[str, int]

    @property
    def exchanges(self) -> int:
        """Whole exchanges; both sides count each."""
        return sum(peer.exchanges for peer in self.peers) // 2

    @property
    def refused(self) -> int:
        """Frames refused by anybody."""
        return sum(peer.refused for peer in self.peers)

    @property
    def generation(self) -> int:
        """The latest generation anybody is in, the first being 1."""
        return max((peer.generation or 1 for peer in self.peers), default=1)

    def count(self, state: str) -> int:
        """How many peers are in a state."""
        return sum(peer.state == state for peer in self.peers)

    def states(self) -> str:
        """Say how many are up, frozen, down."""
        others = [f"{self.count(state)} {state}" for state in (STARTING, FROZEN, DOWN)]
        return ", ".join([f"{self.count(UP)} up", *(one for one in others if one[0] != "0")])

    def estimates(self) -> list[float]:
        """What the peers say that know something."""
        return [peer.estimate for peer in self.peers if peer.estimate is not None]

    def line(self) -> str:
        """Say it all in one line."""
        known = self.estimates()
        found = ""
        if known:
            mean = sum(known) / len(known)
            found = f"; estimates {mean:.6g} ({min(known):.6g} to {max(known):.6g})"
        faults = f"; {spelled_faults(self.faults)}" if self.faults else ""
        return (
            f"{self.seconds:.0f} s: {self.states()}{found}; {self.exchanges:,} exchanges, "
            f"{self.rate:.0f} per second; {self.refused} refused; generation {self.generation}"
            f"{faults}"
        )


def spelled_faults(faults: Mapping[str, int]) -> str:
    """Say how many there were of each kind, such as "3 kills, 1 freeze"."""
    counts = [(faults[name], name) for name in KINDS if faults.get(name)]
    return ", ".join(f"{count} {name[:-1] if count == 1 else name}" for count, name in counts)


@dataclass
class Watcher:
    """Looks at a swarm now and then."""

    peers: list[PeerProcess]
    begin: float
    _last: dict[str, PeerLook] = field(default_factory=dict)
    _history: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=SPAN))

    def look(self, now: float, faults: Counter[str]) -> Look:
        """Read what all peers tell of themselves."""
        seen = []
        for peer in self.peers:
            peer.look()
            self._last[peer.name] = _look_at(peer, self._last.get(peer.name))
            seen.append(self._last[peer.name])
        exchanges = sum(one.exchanges for one in seen) // 2
        self._history.append((now, exchanges))
        (then, before), span = self._history[0], now - self._history[0][0]
        rate = (exchanges - before) / span if now > then else 0.0
        return Look(now - self.begin, tuple(seen), rate, dict(faults))


def _look_at(peer: PeerProcess, before: PeerLook | None) -> PeerLook:
    """Look at one peer; while it is down, what it told before is known still."""
    status = peer.status
    if status is None:
        estimate, interval, generation = None, None, None
        if before is not None:
            estimate, interval, generation = before.estimate, before.interval, before.generation
    else:
        found = status.estimate
        estimate = found[0] if found is not None and len(found) == 1 else None
        interval, generation = status.interval, status.generation
    return PeerLook(
        peer.name, peer.state, estimate, interval, peer.exchanges, peer.refused, generation
    )
