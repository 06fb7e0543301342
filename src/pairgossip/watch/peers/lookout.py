"""Looking at peers again and again: what is new, how fast it goes, how estimates have moved."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from time import monotonic, time

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.peer.service.logs import clean
from pairgossip.watch.peers.reading import EVICTED, LONGEST_NAME, UP, Reading
from pairgossip.watch.peers.source import Swarm

RATE_SECONDS = 10.0
"""Over so long the rate of exchanges is taken."""
MOST_NUMBERS = 60_000
"""Of all curves together; beyond this every other moment is forgotten."""
MOST_MOMENTS = 1_200
READERS_AT_ONCE = 8


@dataclass
class _Counter:
    """A count that survives restarts and new generations, in which it begins at 0 again."""

    total: int = 0
    _last: int | None = None
    _moments: deque[tuple[float, int]] = field(default_factory=deque)

    def note(self, now: float, count: int | None) -> None:
        if count is not None:
            if self._last is not None:
                self.total += count - self._last if count >= self._last else count
            else:
                self.total = count
            self._last = count
        self._moments.append((now, self.total))
        while now - self._moments[0][0] > RATE_SECONDS:
            self._moments.popleft()

    def rate(self) -> float:
        (then, before), (now, count) = self._moments[0], self._moments[-1]
        return (count - before) / (now - then) if now > then else 0.0


@dataclass(frozen=True)
class PeerLook:
    """One peer at one moment."""

    name: str
    reading: Reading
    """What is known of it; while it is down, what it told before."""
    exchanges: int
    """Over all generations since the first look."""
    rate: float
    """Exchanges per second."""
    refused: int
    heard: float | None
    """Seconds since it last told of itself."""

    @property
    def state(self) -> str:
        """Whether it is up, starting, frozen, down, stopped or evicted."""
        return self.reading.state


@dataclass(frozen=True)
class Look:
    """All peers at one moment."""

    seconds: float
    """Since the first look."""
    peers: tuple[PeerLook, ...]
    is_running: bool | None
    middle: float | None
    """The exact value, or else the median of the estimates."""

    def estimates(self) -> FloatArray:
        """What every peer says, NaN for those that say nothing."""
        found = [peer.reading.estimate for peer in self.peers]
        return np.array([np.nan if value is None else value for value in found])

    def count(self, state: str) -> int:
        """How many peers are in a state."""
        return sum(peer.state == state for peer in self.peers)

    @property
    def rate(self) -> float:
        """Exchanges per second; two peers make each, if all are looked at."""
        return sum(peer.rate for peer in self.peers) / 2

    @property
    def exchanges(self) -> int:
        """Exchanges made, each counted by both sides."""
        return sum(peer.exchanges for peer in self.peers) // 2

    @property
    def refused(self) -> int:
        """Frames refused by anybody."""
        return sum(peer.refused for peer in self.peers)

    @property
    def generation(self) -> int:
        """The latest generation that anybody is in."""
        return max((peer.reading.generation or 1 for peer in self.peers), default=1)


class Lookout:
    """Keeps what was seen. For one thread; `history` may be asked for by others."""

    def __init__(self, swarm: Swarm) -> None:
        self.swarm = swarm
        self.names = tuple(clean(reader.name, LONGEST_NAME) for reader in swarm.readers)
        count = len(swarm.readers)
        self._known: list[Reading | None] = [None] * count
        self._exchanges = [_Counter() for _ in range(count)]
        self._refused = [_Counter() for _ in range(count)]
        self._began = monotonic()
        self._history: list[tuple[float, FloatArray]] = []
        self._pool = ThreadPoolExecutor(READERS_AT_ONCE, thread_name_prefix="watch peers")

    def look(self) -> Look:
        """Look at all peers; one that does not answer holds nobody up for long."""
        is_running = self.swarm.refresh()
        readings = list(self._pool.map(lambda reader: reader.read(), self.swarm.readers))
        now, wall = monotonic(), time()
        gone = set(_evicted(readings)) - {""}
        peers = []
        for k, (reader, new) in enumerate(zip(self.swarm.readers, readings, strict=True)):
            reading = self._known[k] = _with_known(new, self._known[k])
            if gone & {reader.name, reader.id}:
                reading = replace(reading, state=EVICTED)
            self._exchanges[k].note(now, new.exchanges)
            self._refused[k].note(now, new.refused)
            peers.append(
                PeerLook(
                    self.names[k],
                    reading,
                    self._exchanges[k].total,
                    self._exchanges[k].rate() if reading.state == UP else 0.0,
                    self._refused[k].total,
                    None if reading.updated is None else max(wall - reading.updated, 0.0),
                )
            )
        look = Look(now - self._began, tuple(peers), is_running, self._middle(peers))
        self._remember(look)
        return look

    def history(self) -> tuple[list[float], list[list[float]]]:
        """Return the moments, and the estimates of every peer at each of them."""
        kept = list(self._history)
        if not kept:
            return [], [[] for _ in self.names]
        curves = np.stack([estimates for _, estimates in kept], axis=1)
        return [seconds for seconds, _ in kept], curves.tolist()

    def close(self) -> None:
        """Ask nobody any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _middle(self, peers: list[PeerLook]) -> float | None:
        if self.swarm.exact is not None:
            return self.swarm.exact
        present = [peer for peer in peers if peer.state != EVICTED] or peers
        known = [peer.reading.estimate for peer in present if peer.reading.estimate is not None]
        return float(np.median(known)) if known else None

    def _remember(self, look: Look) -> None:
        history = [*self._history, (look.seconds, look.estimates())]
        most = min(MOST_MOMENTS, max(MOST_NUMBERS // len(self.names), 60))
        if len(history) > most:  # older moments grow farther apart, the newest stays
            history = history[-1::-2][::-1]
        self._history = history


def _evicted(readings: list[Reading]) -> Iterator[str]:
    """Name those that peers of the latest generation no longer talk to."""
    latest = max((reading.generation or 0 for reading in readings), default=0)
    for reading in readings:
        if reading.generation == latest:
            yield from reading.evicted


def _with_known(new: Reading, before: Reading | None) -> Reading:
    """Keep what a peer told before it went silent."""
    if before is None or new.exchanges is not None:
        return new
    return replace(before, state=new.state, problems=new.problems)
