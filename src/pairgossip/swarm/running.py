"""One run of a swarm, from its folders to the audit."""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from pairgossip.errors import InputError
from pairgossip.peer.reading import STARTING, SwarmReader, SwarmReading
from pairgossip.swarm.chaos import Chaos, Faults, FaultyLinks, Link, all_are_up
from pairgossip.swarm.manifest import Manifest, ManifestPeer, Result, write_manifest
from pairgossip.swarm.plan import make_folder
from pairgossip.swarm.processes import (
    HOST,
    PAUSE,
    PeerProcess,
    cpu_of,
    cpu_of_ended,
    free_ports,
    handle_signals,
    interrupt,
    mean_memory,
    ports_from,
    start_all,
    stop_all,
)

_SECONDS_BETWEEN_READINGS = 1.0
_SHORTEST_CALM = 5.0
"""Least number of seconds without faults at the end of a run."""

OnReading = Callable[[SwarmReading, Mapping[str, int]], None]
"""Called with every reading, and the number of faults of each kind."""


@dataclass(frozen=True)
class SwarmOptions:
    """The length of a swarm's run, and its faults."""

    seconds: float | None = 30.0
    """None for no limit but the exchanges. A study ends by itself, at the latest after this
    time."""
    exchanges: int | None = None
    """The number of exchanges in the whole network after which it ends."""
    faults: Faults | None = None
    seed: int = 0
    power_safe: bool = True
    first_port: int | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None and not (math.isfinite(self.seconds) and self.seconds > 0):
            raise InputError(f"The swarm cannot run for {self.seconds} seconds: give more than 0.")
        if self.exchanges is not None and self.exchanges < 1:
            raise InputError(f"The swarm cannot make {self.exchanges} exchanges: give 1 or more.")

    @property
    def calm(self) -> float:
        """Seconds without faults at the end."""
        return 0.0 if self.faults is None else max(_SHORTEST_CALM, 0.2 * (self.seconds or 0.0))


class Books(Protocol):
    """The findings of an audit of the disks."""

    @property
    def violations(self) -> tuple[str, ...]:
        """The violations, one sentence each."""

    @property
    def is_sound(self) -> bool:
        """Whether there are no violations."""

    @property
    def due(self) -> int:
        """The number of values there must be."""

    def errors(self, exact: float | None) -> list[float]:
        """Return the relative errors of the existing values."""


BooksOf = TypeVar("BooksOf", bound=Books, covariant=True)


class Crew(Protocol[BooksOf]):
    """All peers of a swarm of one kind, and their task."""

    peers: list[PeerProcess]
    """The peers that take part now; more may come."""

    @property
    def begins_together(self) -> bool:
        """Whether no peer begins before all have started."""

    @property
    def has_calm(self) -> bool:
        """Whether they continue for a while after the last fault."""

    @property
    def exact(self) -> float | None:
        """The value that every peer estimates, if it is known."""

    def step(self, now: float) -> None:
        """Do all due work; called often, with monotonic seconds."""

    def is_due(self, reading: SwarmReading) -> bool:
        """Return whether their task is done."""

    def audit(self, *, is_interrupted: bool) -> BooksOf:
        """Read all disks once the peers have stopped."""


class Plan(Protocol[BooksOf]):
    """All facts about a swarm of one kind, except its place and its length."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all peers, whether they come at first or later."""

    @property
    def algorithm(self) -> str:
        """Whether rows travel, or sums are computed."""

    @property
    def measure(self) -> str:
        """The statistic or model, in words."""

    @property
    def links(self) -> list[Link]:
        """The pairs of peers that talk to each other, by number."""

    @property
    def rows(self) -> Sequence[Sequence[Any]]:
        """The rows of each peer."""

    def describe(self) -> dict[str, Any]:
        """Return its part of the manifest."""

    def found(self, place: Place, options: SwarmOptions) -> Crew[BooksOf]:
        """Make the folders of the first peers."""


@dataclass(frozen=True)
class Place:
    """The place of a swarm on this machine."""

    folder: Path
    listen: tuple[str, ...]
    """The addresses at which peers listen."""
    routes: Mapping[Link, str] | None
    """The addresses at which peers reach others, if these differ from where they listen."""

    def reached(self, i: int, j: int) -> str:
        """Return the address at which peer i reaches peer j."""
        return self.listen[j] if self.routes is None else self.routes[i, j]

    def log_of(self, name: str) -> Path:
        """Return the log of a peer."""
        return self.folder / f"{name}.log"


@dataclass(frozen=True)
class Report(Generic[BooksOf]):
    """The result of a run of a swarm."""

    books: BooksOf
    """The audit of peers of this kind."""
    exact: float | None
    seconds: float
    """The time from the start of all peers to the request to stop."""
    faults: dict[str, int]
    """The number of faults by kind; kills of peers that had exchanged since their start."""
    offers_in_flight: int
    """The number of different offers that these kills left without an answer."""
    early_kills: int
    """The number of kills of a study's members while a question was open."""
    failures: tuple[str, ...]
    """The failures of peers, a sentence each."""
    is_interrupted: bool
    refused: int
    rate: float
    """Exchanges per second in this time."""
    cpu_starting: float
    """Seconds of processor time until all peers ran."""
    cpu_seconds: float
    """Seconds of processor time after that, of all processes."""
    memory: tuple[float, float] | None
    """Bytes per peer at the end: resident, and with shared pages divided among the processes that
    share them; None where the system does not report them."""

    def errors(self) -> list[float]:
        """Return the relative error of each existing value."""
        return self.books.errors(self.exact)

    @property
    def is_sound(self) -> bool:
        """Whether the audit found nothing, and no peer failed."""
        return self.books.is_sound and not self.failures

    def is_well(self, within: float | None) -> bool:
        """Return whether the run is sound and, with ``tolerance``, all peers are near the exact
        value."""
        if within is None or not self.is_sound:
            return self.is_sound
        errors = self.errors()
        return 0 < len(errors) == self.books.due and max(errors) <= within


def run_swarm(
    plan: Plan[BooksOf], folder: Path, options: SwarmOptions, on_reading: OnReading
) -> Report[BooksOf]:
    """Set up, start, watch, disturb, stop and audit a swarm in a folder that does not exist yet.

    Call it from a thread that outlives it: on Linux, peers end with the thread that started them.
    """
    count = len(plan.names)
    first = options.first_port
    ports = free_ports(count) if first is None else ports_from(first, count)
    make_folder(folder)
    listen = tuple(f"tls/{HOST}:{port}" for port in ports)
    with _links(plan, ports, options) as links:
        routes = None
        if links is not None:
            routes = {link: f"tls/{HOST}:{port}" for link, port in links.ports.items()}
        place = Place(folder, listen, routes)
        crew = plan.found(place, options)
        write = _ManifestWriter(place, plan, crew)
        return _Run(plan, crew, links, options, write, on_reading).to_the_end()


def _links(
    plan: Plan[Any], ports: list[int], options: SwarmOptions
) -> AbstractContextManager[FaultyLinks | None]:
    """Route all links through this process if some are to be cut."""
    if options.faults is None or not options.faults.partitions:
        return contextlib.nullcontext()
    both = [*plan.links, *((j, i) for i, j in plan.links)]
    return contextlib.closing(FaultyLinks({(i, j): ports[j] for i, j in both}))


@dataclass
class _ManifestWriter:
    """Writes the manifest whenever a process was started or has ended."""

    place: Place
    plan: Plan[Any]
    crew: Crew[Any]
    started: float = field(default_factory=time.time)
    _written: Manifest | None = None

    def __call__(self, *, is_running: bool = True, result: Result | None = None) -> None:
        plan, names = self.plan, self.plan.names
        by_name = {peer.name: peer for peer in self.crew.peers}
        manifest = Manifest(
            running=is_running,
            pid=os.getpid() if is_running else None,
            started=self.started,
            exact=self.crew.exact,
            peers=tuple(
                _describe(name, by_name.get(name), len(rows), address)
                for name, rows, address in zip(names, plan.rows, self.place.listen, strict=True)
            ),
            links=tuple((names[i], names[j]) for i, j in plan.links),
            result=result,
            **plan.describe(),
        )
        if manifest != self._written:
            write_manifest(self.place.folder, manifest)
            self._written = manifest


def _describe(name: str, peer: PeerProcess | None, rows: int, address: str) -> ManifestPeer:
    """Return a peer's part of the manifest; the peer may not exist yet."""
    if peer is None:
        return ManifestPeer(name, "", name, rows, address)
    return ManifestPeer(name, peer.id, peer.folder.name, rows, address, peer.pid, peer.state)


@dataclass
class _Run(Generic[BooksOf]):
    """The processes of a swarm from start to end."""

    _plan: Plan[BooksOf]
    _crew: Crew[BooksOf]
    _links: FaultyLinks | None
    _options: SwarmOptions
    _write: _ManifestWriter
    _on_reading: OnReading
    _chaos: Chaos | None = None
    _first: SwarmReading | None = None
    _last: SwarmReading | None = None
    _cpu_starting: float = 0.0

    @property
    def _peers(self) -> list[PeerProcess]:
        return self._crew.peers

    def to_the_end(self) -> Report[BooksOf]:
        used, is_interrupted, memory = cpu_of_ended(), False, None
        with handle_signals(interrupt):
            try:
                # With faults, all begin at once: otherwise all might be over before the first
                # fault.
                has_faults = self._options.faults is not None
                start_all(self._peers, together=has_faults or self._crew.begins_together)
                self._watch()
            except KeyboardInterrupt:
                is_interrupted = True
            finally:
                with handle_signals(signal.SIG_IGN):  # a second Ctrl-C does not interrupt this
                    memory = mean_memory(peer.pid for peer in self._peers)
                    self._stop()
        seconds = exchanges = 0.0
        if self._first is not None and self._last is not None:
            seconds, exchanges = self._last.seconds, self._last.exchanges - self._first.exchanges
        books = self._crew.audit(is_interrupted=is_interrupted)
        failures = (one.failure for one in (*self._peers, self._chaos) if one is not None)
        report = Report(
            books=books,
            exact=self._crew.exact,
            seconds=seconds,
            faults=dict(self._faults()),
            offers_in_flight=0 if self._chaos is None else len(self._chaos.offers_in_flight),
            early_kills=0 if self._chaos is None else self._chaos.early_kills,
            failures=tuple(one for one in failures if one is not None),
            is_interrupted=is_interrupted,
            refused=0 if self._last is None else self._last.refused,
            rate=exchanges / seconds if seconds else 0.0,
            cpu_starting=self._cpu_starting,
            cpu_seconds=cpu_of_ended() - used - self._cpu_starting,
            memory=memory,
        )
        self._write(is_running=False, result=Result(report.is_sound, books.violations))
        return report

    def _watch(self) -> None:
        options, began = self._options, time.monotonic()
        calm = options.calm if self._crew.has_calm else 0.0
        reader = SwarmReader(self._peers)
        self._cpu_starting = cpu_of(peer.pid for peer in self._peers)
        if options.faults is not None:
            chance = random.Random(options.seed)
            self._chaos = Chaos(
                options.faults, self._peers, self._links, self._plan.links, chance, began
            )
        calm_since, next_reading = began, began
        while True:
            now = time.monotonic()
            self._crew.step(now)
            if self._chaos is not None:
                self._chaos.step(now)
            if now >= next_reading:
                next_reading = now + _SECONDS_BETWEEN_READINGS
                self._read(reader)
            for peer in self._peers:
                if peer.state == STARTING:
                    peer.update()
            if self._chaos and not (self._chaos.is_over and all_are_up(self._peers)):
                calm_since = now
            elif self._is_due() and now - calm_since >= calm:
                return
            if all(peer.failure is not None for peer in self._peers):
                return
            time.sleep(PAUSE)

    def _read(self, reader: SwarmReader) -> None:
        self._last = reader.read()
        self._first = self._first or self._last
        self._write()
        self._on_reading(self._last, self._faults())

    def _faults(self) -> Counter[str]:
        return Counter() if self._chaos is None else self._chaos.counts

    def _is_due(self) -> bool:
        seconds, last = self._options.seconds, self._last
        if last is None:
            return False
        return (seconds is not None and last.seconds >= seconds) or self._crew.is_due(last)

    def _stop(self) -> None:
        try:
            if self._chaos is not None:
                self._chaos.end()
            stop_all(self._peers)
        finally:
            for peer in self._peers:
                peer.kill()
