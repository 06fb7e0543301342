"""A peer as a process, which exchanges with its neighbors until it is stopped.

One thread does everything but the network's own work, so nothing here needs a lock: frames wait in
an inbox, and the peer's clock limits the time to wait for them.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pairgossip.errors import InputError
from pairgossip.files import is_full, unwritable
from pairgossip.peer.identity.members import Member
from pairgossip.peer.links.zenoh_link import Inbox, OnFrame, Site, ZenohLink, admissible
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.membership import (
    BrokenInvariant,
    ForgottenRows,
    RestoredBackup,
)
from pairgossip.peer.protocol.state import State
from pairgossip.peer.service.assembly import Assembly, assemble
from pairgossip.peer.service.descriptors import Crowd, raise_descriptor_limit
from pairgossip.peer.service.log import Log
from pairgossip.peer.service.reporter import ExchangeReporter
from pairgossip.peer.service.runtime import ExchangeRuntime, Link
from pairgossip.peer.service.stopping import EXIT_FAILED as EXIT_FAILED
from pairgossip.peer.service.stopping import EXIT_UNFIT as EXIT_UNFIT
from pairgossip.peer.service.stopping import stop_on_signals
from pairgossip.peer.storage.folder import (
    Evicted,
    Home,
    note_eviction,
    read_eviction,
    requested_evictions,
)
from pairgossip.peer.storage.growth import finish_interrupted_growth, take_up_rows

_TICK = 1.0
"""Time in seconds between two ticks, for requests, status and log."""
_LINGER = 0.5
"""Time in seconds for which a stopping peer still answers neighbors that stop, too."""
_PATIENCE = 5.0
"""Largest time in seconds for which a stopping peer waits for answers to its last offers."""


class _Network(Link, Protocol):
    """A link with all that the service uses, as `ZenohLink`."""

    def counts(self) -> Mapping[Event, int]: ...
    def connected(self) -> set[str]: ...
    def other_versions(self) -> Mapping[str, int]: ...
    def reopen(self, neighbors: Sequence[Member]) -> None: ...
    def close(self) -> None: ...


Connect = Callable[[Assembly, OnFrame], _Network]


class _Unfit(Exception):
    """This peer cannot go on under its identity; the message is a sentence."""


def run_peer(home: Home, *, patience: float = _PATIENCE) -> int:
    """Run the peer in a folder until SIGTERM or SIGINT; return the exit code.

    Errors at the start raise `InputError`; later ones are logged.
    """
    raise_descriptor_limit()
    with home.lock():
        finish_interrupted_growth(home)
        parts = assemble(home)
        try:
            evicted = read_eviction(home)
            if evicted is not None:
                Log(parts.settings.name).error(evicted.sentence())
                return EXIT_UNFIT
            with PeerService(parts, patience=patience) as service, stop_on_signals(service.stop):
                return service.run()
        finally:
            parts.close()


def connect(parts: Assembly, on_frame: OnFrame) -> ZenohLink:
    """Open the network of a peer."""
    home, limit = parts.home, parts.context.frame_limit
    neighbors = _admitted(parts, parts.state)
    site = Site(parts.identity.id, neighbors, home.cert, home.key, parts.settings.listen, limit)
    return ZenohLink(site, parts.identity, on_frame)


def _admitted(parts: Assembly, state: State) -> tuple[Member, ...]:
    """Return the neighbors that may connect to a peer in this state, at this time."""
    return admissible(parts.members.neighbors(), state.evicted)


class PeerService:
    """The loop of one peer; once stopped, it waits ``patience`` seconds for its last answers."""

    def __init__(
        self, parts: Assembly, connecting: Connect = connect, patience: float = _PATIENCE
    ) -> None:
        self._parts = parts
        self._patience = patience
        self._log = Log(parts.settings.name)
        self._inbox = Inbox()
        self._stops = 0
        self._tick_at = 0.0
        self._admitted = self._next_admitted = _admitted(parts, parts.state)
        self._connected: set[str] = set()
        self._network = connecting(parts, self._inbox.put)
        self._crowd = Crowd(self._network, self._log)
        try:
            self._protocol = Exchange(parts.context, parts.state)
            self._reporter = ExchangeReporter(parts, self._protocol, self._log)
            rate, chance = parts.spec.algorithm.rate, random.SystemRandom()
            self._runtime = ExchangeRuntime(
                self._protocol, self._reporter, self._network, chance, rate
            )
            self._reporter.serve(parts.settings.metrics)
        except BaseException:
            self._network.close()
            raise

    def __enter__(self) -> PeerService:
        return self

    def __exit__(self, *_: object) -> None:
        self._reporter.close()
        self._network.close()

    def stop(self) -> None:
        """Ask the loop to end, at once if called twice; a handler of signals may call this."""
        self._stops += 1
        self._inbox.wake()

    def run(self) -> int:
        """Run until stopped, and return the exit code."""
        self._log.info("started", id=self._parts.identity.id, pid=os.getpid())
        try:
            self._runtime.start(time.monotonic())
            while not self._stops:
                self._turn()
            self._finish()
        except _Unfit as problem:
            return self._fail(str(problem), EXIT_UNFIT)
        except RestoredBackup as problem:
            return self._fail(self._restored_backup(problem), EXIT_UNFIT)
        except BrokenInvariant as problem:
            sentence = (
                f"The peer's own state is inconsistent, which is a defect of pairgossip: {problem}"
            )
            return self._fail(sentence, EXIT_FAILED)
        except InputError as problem:
            return self._fail(str(problem), EXIT_FAILED)
        except OSError as problem:
            sentence = f"The system refused something: {problem}."
            if is_full(problem):
                file = Path(problem.filename or "a file of this peer")
                sentence = str(unwritable(file, problem))
            return self._fail(sentence, EXIT_FAILED)
        self._report(is_last=True)
        self._log.info("stopped", **self._reporter.progress())
        return 0

    def _turn(self, until: float = float("inf")) -> None:
        """Handle the next event, a frame or a ring of the peer's own clock."""
        due = min(self._runtime.due(), self._tick_at, until)
        received = self._inbox.get(due - time.monotonic())
        now = time.monotonic()
        if received is not None:
            sender, frame = received
            self._reporter.note_frame(sender, now)
            self._runtime.received(sender, frame, now)
        if now >= self._runtime.due():
            self._runtime.advance(now)
        if (by := self._protocol.evicted_by) is not None:
            evicted = Evicted(by, self._parts.context.name_member(by), time.time())
            note_eviction(self._parts.home, evicted)
            raise _Unfit(evicted.sentence())
        if now >= self._tick_at:
            self._tick_at = now + _TICK
            self._crowd.clear_out(self._admitted, now)
            self._admit()
            self._evict(now)
            self._grow(now)
            self._report()

    def _finish(self) -> None:
        """Go on answering, and wait for answers; open offers continue after a restart."""
        now = time.monotonic()
        self._runtime.finish(now)
        lingers, end = now + min(_LINGER, self._patience), now + self._patience
        while self._stops == 1:
            deadline = end if self._runtime.in_flight else lingers
            if time.monotonic() >= deadline:
                break
            self._turn(until=deadline)
        if self._runtime.waiting(time.monotonic()):
            self._log.info("something is still in flight; it goes on after the next start")

    def _admit(self) -> None:
        """Open a session without neighbors that were evicted or whose certificates have expired."""
        allowed = _admitted(self._parts, self._protocol.state)
        if allowed != self._next_admitted:
            self._next_admitted = allowed  # at the next tick: they may learn of it before
        elif allowed != self._admitted:
            self._network.reopen(allowed)
            self._admitted = allowed
            self._log.info("opened a new session", neighbors=len(allowed))
        speaking = {one.id for one in self._admitted} - set(self._network.other_versions())
        self._protocol.agreed &= speaking

    def _evict(self, now: float) -> None:
        """Carry out requests since the last tick."""
        names = requested_evictions(self._parts.home)
        members = self._parts.members.names()
        new = [one for one in names if one in members and one not in self._protocol.state.evicted]
        if new:
            self._runtime.evict(new, now)
            for member in new:
                self._log.warning("evicted a member", member=members[member])
        for member in names:
            (self._parts.home.evictions / member).unlink(missing_ok=True)

    def _grow(self, now: float) -> None:
        """Use rows that were added since the last tick."""
        before = self._protocol.context.own
        with take_up_rows(self._parts.home, before) as rows:
            if rows is not None:
                self._runtime.grow(rows, now)
                self._log.info("added rows", added=len(rows) - len(before), rows=len(rows))

    def _report(self, *, is_last: bool = False) -> None:
        counts = {
            **self._network.counts(),
            Event.FRAME_DROPPED: self._inbox.dropped,
            Event.SESSION_REOPENED: self._crowd.clearings,
        }
        connected = self._network.connected()
        self._protocol.away |= self._connected - connected
        self._connected = connected
        waiting = self._runtime.waiting(time.monotonic())
        self._reporter.report(
            counts, connected, self._network.other_versions(), waiting, is_last=is_last
        )

    def _fail(self, sentence: str, code: int) -> int:
        self._log.error(sentence)
        self._reporter.fail(sentence)
        self._report(is_last=True)
        return code

    def _restored_backup(self, problem: RestoredBackup) -> str:
        name = self._parts.context.name_member(str(problem))
        evidence = self._protocol.describe_backup(name)
        if isinstance(problem, ForgottenRows):
            evidence = (
                f"Neighbor '{name}' holds a claim signed by this peer of more rows than this peer "
                "knows of:"
            )
        return (
            f"{evidence} the state is a restored backup or a copy. Have the others run peer evict "
            f"{self._parts.settings.name}, and join again from a new folder."
        )
