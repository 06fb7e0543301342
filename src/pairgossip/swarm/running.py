"""One run of a swarm, from making its folders to the audit."""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from pairgossip.errors import InputError
from pairgossip.peer.reading import STARTING, SwarmReader, SwarmReading
from pairgossip.swarm.audit import Audit, audit
from pairgossip.swarm.chaos import Chaos, Faults, FaultyLinks, all_are_up
from pairgossip.swarm.manifest import Manifest, ManifestPeer, Result, write_manifest
from pairgossip.swarm.plan import Plan, create_peers, introduce, make_folder
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
from pairgossip.swarm.sums_audit import SumsAudit, audit_sums

_SECONDS_BETWEEN_READINGS = 1.0
_SHORTEST_CALM = 5.0
"""Seconds without faults at the end of a run, at least."""

OnReading = Callable[[SwarmReading, Mapping[str, int]], None]
"""Called with every reading, and how many faults of each kind there were."""


@dataclass(frozen=True)
class SwarmOptions:
    """How long a swarm runs, and with which faults."""

    seconds: float | None = 30.0
    """None for no limit but the exchanges. Sums end by themselves, and this late at the latest."""
    exchanges: int | None = None
    """It ends after this number of exchanges in the whole network."""
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


@dataclass(frozen=True)
class Report:
    """The result of a run of a swarm."""

    books: Audit | SumsAudit
    """The audit of peers that exchange rows, or of those that compute sums."""
    exact: float | None
    seconds: float
    """From when all peers ran until they were asked to stop."""
    faults: dict[str, int]
    """By kind; of the kills, those of peers that had exchanged since their start."""
    offers_in_flight: int
    """How many different offers these kills left without an answer."""
    early_kills: int
    """How many of the kills were of peers without a signed result, where sums are computed."""
    failures: tuple[str, ...]
    """The failures of peers, a sentence each."""
    is_interrupted: bool
    refused: int
    rate: float
    """Exchanges per second in this time."""
    result_after: float | None
    """Seconds from the start of the first peer until all had the result of sums, if they do."""
    cpu_starting: float
    """Seconds of processor time until all peers ran."""
    cpu_seconds: float
    """The same from then on, of all processes that there were."""
    memory: tuple[float, float] | None
    """Bytes per peer at the end: resident, and with shared pages divided among those that share
    them; None where the system does not say."""

    @property
    def audit(self) -> Audit:
        """The books of peers that exchange rows."""
        assert isinstance(self.books, Audit)
        return self.books

    def errors(self) -> list[float]:
        """Return the relative error of each peer that has an estimate, or of the one of sums."""
        if self.exact is None:
            return []
        if isinstance(self.books, SumsAudit):
            result = self.books.result
            estimates = [] if result is None or result.value is None else [result.value]
        else:
            findings = self.books.findings
            estimates = [one.estimate[0] for one in findings if one.estimate is not None]
        unit = abs(self.exact) or 1.0
        return [abs(value - self.exact) / unit for value in estimates]

    @property
    def is_sound(self) -> bool:
        """Whether the audit found nothing, and nothing went wrong with any peer."""
        return self.books.is_sound and not self.failures

    def is_well(self, within: float | None) -> bool:
        """Return whether the run is sound and, if asked for, all peers are near the exact value."""
        if within is None or not self.is_sound:
            return self.is_sound
        errors = self.errors()
        due = 1 if isinstance(self.books, SumsAudit) else len(self.books.findings)
        return len(errors) == due and max(errors) <= within


def run_swarm(plan: Plan, folder: Path, options: SwarmOptions, on_reading: OnReading) -> Report:
    """Set up, start, watch, disturb, stop and audit a swarm in a folder that does not exist yet.

    Call it from a thread that outlives it: on Linux, peers end with the thread that started them.
    """
    count = len(plan.names)
    exact = plan.exact()
    first = options.first_port
    ports = free_ports(count) if first is None else ports_from(first, count)
    make_folder(folder)
    listen = [f"tls/{HOST}:{port}" for port in ports]
    homes = create_peers(plan, folder, listen, power_safe=options.power_safe)
    with _links(plan, ports, options) as links:

        def reached(i: int, j: int) -> str:
            return listen[j] if links is None else f"tls/{HOST}:{links.ports[i, j]}"

        identities = introduce(plan, homes, reached)
        peers = [
            PeerProcess(home.folder.name, identity.id, home, folder / f"{home.folder.name}.log")
            for home, identity in zip(homes, identities, strict=True)
        ]
        write = _ManifestWriter(folder, plan, peers, listen, exact)
        return _Run(plan, peers, links, options, write, on_reading).to_the_end()


def _links(
    plan: Plan, ports: list[int], options: SwarmOptions
) -> AbstractContextManager[FaultyLinks | None]:
    """Route all links through this process if some are to be cut."""
    if options.faults is None or not options.faults.partitions:
        return contextlib.nullcontext()
    both = [*plan.links, *((j, i) for i, j in plan.links)]
    return contextlib.closing(FaultyLinks({(i, j): ports[j] for i, j in both}))


@dataclass
class _ManifestWriter:
    """Writes the manifest whenever a process was started or has ended."""

    folder: Path
    plan: Plan
    peers: list[PeerProcess]
    addresses: list[str]
    exact: float | None
    started: float = field(default_factory=time.time)
    _written: Manifest | None = None

    def __call__(self, *, is_running: bool = True, result: Result | None = None) -> None:
        plan, names = self.plan, self.plan.names
        positions = plan.graph.positions
        manifest = Manifest(
            running=is_running,
            pid=os.getpid() if is_running else None,
            started=self.started,
            measure=plan.spec.kernel or plan.spec.loss,
            target=plan.spec.target,
            exact=self.exact,
            spec=plan.spec.hash,
            family=plan.graph.family,
            peers=tuple(
                ManifestPeer(
                    *(peer.name, peer.id, peer.home.folder.name, len(rows), address),
                    *(peer.pid, peer.state),
                )
                for peer, rows, address in zip(self.peers, plan.rows, self.addresses, strict=True)
            ),
            links=tuple((names[i], names[j]) for i, j in plan.links),
            positions=None if positions is None else tuple(map(tuple, positions.tolist())),
            result=result,
        )
        if manifest != self._written:
            write_manifest(self.folder, manifest)
            self._written = manifest


@dataclass
class _Run:
    """The processes of a swarm from start to end."""

    _plan: Plan
    _peers: list[PeerProcess]
    _links: FaultyLinks | None
    _options: SwarmOptions
    _write: _ManifestWriter
    _on_reading: OnReading
    _chaos: Chaos | None = None
    _first: SwarmReading | None = None
    _last: SwarmReading | None = None
    _cpu_starting: float = 0.0
    _begun: float = field(default_factory=time.time)
    _finished: dict[str, float] = field(default_factory=dict)
    """When peers had the result of sums, by the clock."""

    def to_the_end(self) -> Report:
        used, is_interrupted, memory = cpu_of_ended(), False, None
        with handle_signals(interrupt):
            try:
                # With faults, all begin at once: else sums might be known before the first fault.
                has_faults = self._options.faults is not None
                start_all(self._peers, together=has_faults or not self._is_sums)
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
        homes = [peer.home for peer in self._peers]
        books: Audit | SumsAudit
        if self._is_sums:
            logs = [peer.log for peer in self._peers]
            books = audit_sums(homes, logs, is_interrupted=is_interrupted)
        else:
            books = audit(homes)
        failures = (one.failure for one in (*self._peers, self._chaos) if one is not None)
        has_ended = len(self._finished) == len(self._peers)  # and all have the result of sums
        report = Report(
            books=books,
            exact=self._write.exact,
            seconds=seconds,
            faults=dict(self._faults()),
            offers_in_flight=0 if self._chaos is None else len(self._chaos.offers_in_flight),
            early_kills=0 if self._chaos is None else self._chaos.early_kills,
            failures=tuple(one for one in failures if one is not None),
            is_interrupted=is_interrupted,
            refused=0 if self._last is None else self._last.refused,
            rate=exchanges / seconds if seconds else 0.0,
            result_after=max(self._finished.values()) - self._begun if has_ended else None,
            cpu_starting=self._cpu_starting,
            cpu_seconds=cpu_of_ended() - used - self._cpu_starting,
            memory=memory,
        )
        self._write(is_running=False, result=Result(report.is_sound, books.violations))
        return report

    @property
    def _is_sums(self) -> bool:
        return self._plan.spec.is_sums

    def _watch(self) -> None:
        options, began = self._options, time.monotonic()
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
            elif self._is_due() and now - calm_since >= (0.0 if self._is_sums else options.calm):
                return
            if all(peer.failure is not None for peer in self._peers):
                return
            time.sleep(PAUSE)

    def _read(self, reader: SwarmReader) -> None:
        self._last = reader.read()
        self._first = self._first or self._last
        for peer in self._last.peers:
            if peer.has_result:
                self._finished.setdefault(peer.name, peer.changed or time.time())
        self._write()
        self._on_reading(self._last, self._faults())

    def _faults(self) -> Counter[str]:
        return Counter() if self._chaos is None else self._chaos.counts

    def _is_due(self) -> bool:
        seconds, exchanges, last = self._options.seconds, self._options.exchanges, self._last
        if last is None:
            return False
        is_late = seconds is not None and last.seconds >= seconds
        if self._is_sums:
            return is_late or all(peer.has_result for peer in last.peers)
        return is_late or (exchanges is not None and last.exchanges >= exchanges)

    def _stop(self) -> None:
        try:
            if self._chaos is not None:
                self._chaos.end()
            stop_all(self._peers)
        finally:
            for peer in self._peers:
                peer.kill()
