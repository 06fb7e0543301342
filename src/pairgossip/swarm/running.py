"""One run of a swarm from its first folder to its last audit."""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pairgossip.errors import InputError
from pairgossip.peer.storage.folder import Home
from pairgossip.swarm.audit import Audit, audit
from pairgossip.swarm.chaos import Chaos, Faults, all_are_up
from pairgossip.swarm.links import FaultyLinks
from pairgossip.swarm.machine import (
    HOST,
    cpu_of,
    cpu_of_ended,
    ended_as_by_hand,
    free_ports,
    mean_memory,
    ports_from,
    undisturbed,
)
from pairgossip.swarm.manifest import Manifest
from pairgossip.swarm.plan import Plan, found_peers, introduce, make_folder
from pairgossip.swarm.processes import PAUSE, STARTING, PeerProcess, kill_all, start_all, stop_all
from pairgossip.swarm.watching import Look, Watcher

BETWEEN_LOOKS = 1.0
SHORTEST_CALM = 5.0
"""How many seconds peers have to themselves after the last misfortune."""

OnLook = Callable[[Look], None]


@dataclass(frozen=True)
class Course:
    """How long a swarm runs, and what befalls it."""

    seconds: float | None = 30.0
    """None: no limit but the exchanges."""
    exchanges: int | None = None
    """Exchanges in the whole network, after which it ends."""
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
        """Seconds of peace at the end."""
        return 0.0 if self.faults is None else max(SHORTEST_CALM, 0.2 * (self.seconds or 0.0))


@dataclass(frozen=True)
class Report:
    """What a run of a swarm came to."""

    audit: Audit
    exact: float | None
    seconds: float
    """From when all peers ran until they were told to stop."""
    faults: dict[str, int]
    """By kind; of the kills those of peers that had exchanged since their start."""
    offers_in_flight: int
    """How many different offers these kills left without an answer."""
    failures: tuple[str, ...]
    """Peers that did not do as they should, a sentence each."""
    is_interrupted: bool
    refused: int
    rate: float
    """Exchanges per second in this time."""
    cpu_starting: float
    """Seconds of processor time until all peers ran."""
    cpu_seconds: float
    """The same from then on, of all processes that there were."""
    memory: tuple[float, float] | None
    """Bytes per peer at the end, all it uses and its share of what it shares with others; None
    where the system does not tell."""

    def errors(self) -> list[float]:
        """How far each peer is from the exact value, relative to it."""
        if self.exact is None:
            return []
        known = [one.estimate[0] for one in self.audit.findings if one.estimate is not None]
        unit = abs(self.exact) or 1.0
        return [abs(value - self.exact) / unit for value in known]

    @property
    def is_sound(self) -> bool:
        """Whether nothing was lost or doubled, and every peer did as it should."""
        return self.audit.is_sound and not self.failures


def run_swarm(plan: Plan, folder: Path, course: Course, on_look: OnLook) -> Report:
    """Found, start, watch, disturb, stop and audit a swarm in a folder that does not exist yet.

    To be called from a thread that stays: on Linux, peers end with the thread that started them.
    """
    count = len(plan.names)
    exact = plan.exact()
    ports = free_ports(count) if course.first_port is None else ports_from(course.first_port, count)
    make_folder(folder)
    listen = [f"tls/{HOST}:{port}" for port in ports]
    homes = found_peers(plan, folder, listen, power_safe=course.power_safe)
    with _links(plan, ports, course) as links:

        def reached(i: int, j: int) -> str:
            return listen[j] if links is None else f"tls/{HOST}:{links.ports[i, j]}"

        identities = introduce(plan, homes, reached)
        peers = [
            PeerProcess(home.folder.name, identity.id, home, folder / f"{home.folder.name}.log")
            for home, identity in zip(homes, identities, strict=True)
        ]
        manifest = Manifest(folder, plan, peers, listen, exact, time.time())
        course_run = _Run(plan, peers, links, course, manifest, on_look)
        return course_run.to_the_end(homes, exact)


@contextlib.contextmanager
def _links(plan: Plan, ports: list[int], course: Course) -> Iterator[FaultyLinks | None]:
    """Lead all links through here if some are to be cut."""
    if course.faults is None or not course.faults.partitions:
        yield None
        return
    both = [*plan.links, *((j, i) for i, j in plan.links)]
    links = FaultyLinks({(i, j): ports[j] for i, j in both})
    try:
        yield links
    finally:
        links.close()


class _Run:
    """The life of the processes."""

    def __init__(
        self,
        plan: Plan,
        peers: list[PeerProcess],
        links: FaultyLinks | None,
        course: Course,
        manifest: Manifest,
        on_look: OnLook,
    ) -> None:
        self._plan, self._peers, self._links = plan, peers, links
        self._course, self._manifest, self._on_look = course, manifest, on_look
        self._chaos: Chaos | None = None
        self._first: Look | None = None
        self._last: Look | None = None
        self._cpu_starting = 0.0

    def to_the_end(self, homes: list[Home], exact: float | None) -> Report:
        used, is_interrupted, memory = cpu_of_ended(), False, None
        with ended_as_by_hand():
            try:
                start_all(self._peers)
                self._watch()
            except KeyboardInterrupt:
                is_interrupted = True
            finally:
                with undisturbed():  # what was begun is brought to its end
                    memory = mean_memory(peer.pid for peer in self._peers)
                    self._stop()
        seconds, exchanges = self._progress()
        report = Report(
            audit=audit(homes),
            exact=exact,
            seconds=seconds,
            faults=dict(self._faults()),
            offers_in_flight=0 if self._chaos is None else len(self._chaos.offers_in_flight),
            failures=tuple(self._failures()),
            is_interrupted=is_interrupted,
            refused=sum(peer.refused for peer in self._peers),
            rate=exchanges / seconds if seconds else 0.0,
            cpu_starting=self._cpu_starting,
            cpu_seconds=cpu_of_ended() - used - self._cpu_starting,
            memory=memory,
        )
        result = {"sound": report.is_sound, "violations": [*report.audit.violations]}
        self._manifest.write(is_running=False, result=result)
        return report

    def _watch(self) -> None:
        course, began = self._course, time.monotonic()
        watcher = Watcher(self._peers, began)
        self._cpu_starting = cpu_of(peer.pid for peer in self._peers)
        if course.faults is not None:
            chance = random.Random(course.seed)
            self._chaos = Chaos(
                course.faults, self._peers, self._links, self._plan.links, chance, began
            )
        calm_since, next_look = began, began
        while True:
            now = time.monotonic()
            if self._chaos is not None:
                self._chaos.step(now)
            if now >= next_look:
                next_look = now + BETWEEN_LOOKS
                self._look(watcher, now)
            for peer in self._peers:
                if peer.state == STARTING:
                    peer.look()
            if not self._is_calm():
                calm_since = now
            elif self._is_due() and now - calm_since >= course.calm:
                return
            if all(peer.failure is not None for peer in self._peers):
                return
            time.sleep(PAUSE)

    def _look(self, watcher: Watcher, now: float) -> None:
        self._last = watcher.look(now, self._faults())
        self._first = self._first or self._last
        self._manifest.write()
        self._on_look(self._last)

    def _progress(self) -> tuple[float, int]:
        """Return seconds and exchanges from the first look to the last."""
        if self._first is None or self._last is None:
            return 0.0, 0
        return self._last.seconds, self._last.exchanges - self._first.exchanges

    def _faults(self) -> Counter[str]:
        return Counter() if self._chaos is None else self._chaos.counts

    def _failures(self) -> Iterator[str]:
        for one in (*self._peers, self._chaos):
            if one is not None and one.failure is not None:
                yield one.failure

    def _is_calm(self) -> bool:
        return self._chaos is None or (self._chaos.is_over and all_are_up(self._peers))

    def _is_due(self) -> bool:
        seconds, exchanges, look = self._course.seconds, self._course.exchanges, self._last
        is_late = seconds is not None and look is not None and look.seconds >= seconds
        return is_late or (
            exchanges is not None and look is not None and look.exchanges >= exchanges
        )

    def _stop(self) -> None:
        try:
            if self._chaos is not None:
                self._chaos.end()
            stop_all(self._peers)
        finally:
            kill_all(self._peers)
