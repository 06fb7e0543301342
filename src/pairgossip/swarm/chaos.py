"""Faults on purpose: kills, freezes and cut links, at moments that a seed decides.

Every byte between two peers whose link can be cut passes through here, or waits. A cut link has the
effect of a dead cable: connections stay open and silent, and bytes that were sent arrive late or,
once the peers have given the connection up, never. This needs no rights that an ordinary user does
not have.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pairgossip.errors import InputError
from pairgossip.peer.reading import DOWN, FROZEN, UP
from pairgossip.swarm.processes import HOST, PeerProcess, may_start

_CHUNK = 1 << 16
"""Number of bytes that a relay passes on at once."""
_LINK_PATIENCE = 10.0
"""Seconds to wait for the thread of relays."""

Link = tuple[int, int]


def _ends(link: Link) -> Link:
    """Return the ends of a link, which is the same in both directions."""
    return min(link), max(link)


class FaultyLinks:
    """Relays connections, one listener for each direction of a link, in its own thread.

    A connection of peer i to peer j goes to the port ``targets[i, j]``.
    """

    def __init__(self, targets: Mapping[Link, int]) -> None:
        self._targets = dict(targets)
        self._open: dict[Link, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.ports: Mapping[Link, int] = self._do(self._listen())

    def cut(self, links: Iterable[Link]) -> None:
        """Block these links until they are restored."""
        self._do(self._set_gates(links, is_open=False))

    def heal(self) -> None:
        """Let everything through again."""
        self._do(self._set_gates(self._open, is_open=True))

    def close(self) -> None:
        """Close all connections."""
        if self._thread.is_alive():
            with contextlib.suppress(TimeoutError):
                self._do(self._end())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_LINK_PATIENCE)
            if not self._thread.is_alive():
                self._loop.close()

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_LINK_PATIENCE)

    async def _listen(self) -> dict[Link, int]:
        ports = {}
        for link in self._targets:
            gate = self._open.setdefault(_ends(link), asyncio.Event())
            gate.set()
            server = await asyncio.start_server(partial(self._serve, link), HOST, 0, limit=_CHUNK)
            self._servers.append(server)
            ports[link] = server.sockets[0].getsockname()[1]
        return ports

    async def _set_gates(self, links: Iterable[Link], *, is_open: bool) -> None:
        for link in links:
            gate = self._open[_ends(link)]
            gate.set() if is_open else gate.clear()

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(
        self, link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await _relay(reader, writer, self._open[_ends(link)], self._targets[link])
        except (OSError, asyncio.CancelledError):
            pass  # one side is gone, and so is the connection
        finally:
            self._tasks.discard(task)
            writer.close()


async def _relay(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event, port: int
) -> None:
    await gate.wait()
    far_reader, far_writer = await asyncio.open_connection(HOST, port, limit=_CHUNK)
    ways = [
        asyncio.ensure_future(_pour(reader, far_writer, gate)),
        asyncio.ensure_future(_pour(far_reader, writer, gate)),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        far_writer.close()


async def _pour(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event
) -> None:
    while content := await reader.read(_CHUNK):
        await gate.wait()
        writer.write(content)
        await writer.drain()
    await gate.wait()  # the end of a connection does not pass a cut link either


_KINDS = ("kills", "freezes", "partitions")
_MEAN_ABSENCE = 0.5
"""Mean seconds until a killed peer is started again."""
_MEAN_FREEZE = 2.5
"""Mean seconds of a freeze; some last longer than a peer waits before a neighbor counts as away."""
_MEAN_CUT = 3.0
"""Mean seconds of a partition."""
_LONGEST = 12.0
"""Longest duration of a fault, in seconds."""
_PATIENCE = 120.0
"""Longest wait, in seconds, until a due fault becomes possible."""


@dataclass(frozen=True)
class Faults:
    """The numbers of faults, and the seconds over which they are spread."""

    kills: int
    freezes: int
    partitions: int
    window: float

    def __post_init__(self) -> None:
        for name in _KINDS:
            if getattr(self, name) < 0:
                raise InputError(f"The number of {name} is {getattr(self, name)}: give 0 or more.")


def usual_faults(window: float) -> Faults:
    """Return enough faults to keep the network busy."""
    return Faults(
        kills=max(1, round(window / 2)),
        freezes=max(1, round(window / 5)),
        partitions=max(1, round(window / 10)),
        window=window,
    )


class Chaos:
    """Carries the faults out; `step` must be called often. Peers may be added to the list.

    Where rows are exchanged, a peer is killed only if it has exchanged since its start, since a
    kill without anything to lose shows nothing. At most a third of the peers are away at a time, so
    that the others can continue. Chance draws the moments, from ``begin`` on in monotonic seconds,
    and the peers.
    """

    def __init__(
        self,
        faults: Faults,
        peers: Sequence[PeerProcess],
        links: FaultyLinks | None,
        edges: list[Link],
        chance: random.Random,
        begin: float,
    ) -> None:
        self._peers, self._links, self._edges, self._chance = peers, links, edges, chance
        kinds = _KINDS if links is not None else _KINDS[:2]
        # Kills are many and need running peers: the other, fewer faults come first.
        self._due = {
            kind: sorted(
                (begin + chance.uniform(0, faults.window) for _ in range(getattr(faults, kind))),
                reverse=True,
            )
            for kind in reversed(kinds)
        }
        """The times of due faults, the first at the end of each list."""
        self._later: list[tuple[float, int, Callable[[], bool]]] = []
        self._order = itertools.count()
        self._is_cut = False
        self._last = begin
        self.counts: Counter[str] = Counter()
        """The number of faults by kind; kills of peers that had exchanged since their start."""
        self.offers_in_flight: set[tuple[str, int]] = set()
        """The offers, by peer and number, that these kills left without an answer."""
        self.early_kills = 0
        """Kills of a study's members while a question was open."""
        self.failure: str | None = None
        """The reason why some faults could not be carried out."""

    @property
    def is_over(self) -> bool:
        """Whether all faults have been carried out and undone."""
        return not any(self._due.values()) and not self._later

    def step(self, now: float) -> None:
        """Carry out due faults; one that is not possible yet waits, and delays nothing else."""
        self._undo(now)
        does = {"kills": self._kill, "freezes": self._freeze, "partitions": self._partition}
        is_waiting = False
        for kind, moments in self._due.items():
            while moments and moments[-1] <= now:
                if not does[kind](now):
                    is_waiting = True
                    break
                self.counts[kind] += 1
                self._last = now
                moments.pop()
        if not is_waiting:
            self._last = now
        elif now - self._last > _PATIENCE:
            left = ", ".join(f"{len(due)} {kind}" for kind, due in self._due.items() if due)
            self.failure = (
                f"{left} could not be carried out: for {_PATIENCE:.0f} seconds, not enough peers "
                "were running and exchanging."
            )
            self._due.clear()

    def end(self) -> None:
        """Undo all faults at once, without starting peers that are down."""
        self._due.clear()
        self._later.clear()
        for peer in self._peers:
            peer.thaw()
        self._heal()

    def _undo(self, now: float) -> None:
        """Start, thaw or reconnect due peers; what is not possible yet is tried again."""
        due = []
        while self._later and self._later[0][0] <= now:
            due.append(heapq.heappop(self._later))
        for entry in due:
            if not entry[2]():
                heapq.heappush(self._later, entry)

    def _kill(self, now: float) -> bool:
        """Kill a peer; return whether it had exchanged, according to its disk."""
        killable = [peer for peer in self._peers if peer.has_worked]
        peer = self._choose([one for one in killable if one.state == FROZEN or self._has_room()])
        if peer is None:
            return False
        peer.kill()
        remains = peer.remains()

        def restart() -> bool:
            if not may_start(self._peers):
                return False
            peer.start()
            return True

        self._after(now, _MEAN_ABSENCE, restart)
        self.early_kills += remains.lacks_answers
        if remains.has_worked:
            self.offers_in_flight |= {(peer.id, number) for number in remains.offers}
        return remains.has_worked

    def _freeze(self, now: float) -> bool:
        peer = self._choose([peer for peer in self._peers if peer.state == UP])
        if peer is None or not self._has_room():
            return False
        frozen = peer.pid
        peer.freeze()

        def thaw() -> bool:
            if peer.pid == frozen:  # it may have been killed meanwhile
                peer.thaw()
            return True

        self._after(now, _MEAN_FREEZE, thaw)
        return True

    def _partition(self, now: float) -> bool:
        """Split the peers in two groups that cannot reach each other."""
        if self._is_cut or self._links is None:
            return False
        numbers = range(len(self._peers))
        side = set(self._chance.sample(numbers, self._chance.randint(1, len(numbers) - 1)))
        self._links.cut((i, j) for i, j in self._edges if (i in side) != (j in side))
        self._is_cut = True
        self._after(now, _MEAN_CUT, self._heal)
        return True

    def _heal(self) -> bool:
        if self._links is not None and self._is_cut:
            self._links.heal()
        self._is_cut = False
        return True

    def _has_room(self) -> bool:
        """Whether one more peer may be away: at most a third, or one of two."""
        away = sum(peer.state != UP for peer in self._peers)
        return away < max(1, len(self._peers) // 3)

    def _choose(self, candidates: Sequence[PeerProcess]) -> PeerProcess | None:
        return self._chance.choice(candidates) if candidates else None

    def _after(self, now: float, mean: float, what: Callable[[], bool]) -> None:
        delay = min(self._chance.expovariate(1.0 / mean), _LONGEST)
        heapq.heappush(self._later, (now + delay, next(self._order), what))


def all_are_up(peers: Sequence[PeerProcess]) -> bool:
    """Return whether every peer that has not failed is running."""
    return all(peer.state == UP for peer in peers if peer.failure is None or peer.state != DOWN)


def format_faults(faults: Mapping[str, int]) -> str:
    """Return the numbers of faults of each kind, such as "3 kills, 1 freeze"."""
    counts = [(faults[name], name) for name in _KINDS if faults.get(name)]
    return ", ".join(f"{count} {name[:-1] if count == 1 else name}" for count, name in counts)
