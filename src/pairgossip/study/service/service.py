"""A study's peer as a process, which answers questions until it is stopped.

One thread does everything except the network's own work, as in `pairgossip.peer.service.service`:
frames wait in an inbox, requests of the operator in a folder. The actions of an event are carried
out in order, so that nothing is sent before it is on the disk.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pairgossip.errors import InputError
from pairgossip.files import is_full, unwritable
from pairgossip.peer.identity.members import Member
from pairgossip.peer.links.relay_link import open_link
from pairgossip.peer.links.zenoh_link import (
    Inbox,
    OnFrame,
    Site,
    ZenohLink,
    admissible,
    check_place,
)
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.service.descriptors import Crowd, raise_descriptor_limit
from pairgossip.peer.service.log import Log
from pairgossip.peer.service.memory import give_back_memory, limit_memory
from pairgossip.peer.service.stopping import EXIT_FAILED, EXIT_UNFIT, stop_on_signals
from pairgossip.study.protocol.records import LONGEST_WORDS
from pairgossip.study.protocol.site import (
    Action,
    ContactSoon,
    NotYet,
    Reconnect,
    Save,
    Send,
    Told,
)
from pairgossip.study.rows.traveling import TravelingRows
from pairgossip.study.service.assembly import StudyParts
from pairgossip.study.service.invitations import as_member
from pairgossip.study.service.operating import Operator
from pairgossip.study.service.reporter import StudyReporter
from pairgossip.study.service.requests import (
    AnyRequest,
    Reply,
    Requests,
    made_at,
)
from pairgossip.study.site.readiness import load_all
from pairgossip.study.storage.folder import StudyHome

if TYPE_CHECKING:
    from pairgossip.peer.service.metrics import MetricsServer

_TICK = 0.2
"""Seconds between two checks of requests and reports."""
_SLOW_TICK = 1.0
"""Seconds between two checks of rare changes: connections, expired questions."""
_SOON = 0.01
"""Seconds after news until others are contacted: more news may follow at once."""
_FIRST_CONTACT = 0.2
"""First wait between contacts after news, in seconds, which then doubles: frames may be lost."""
_LONGEST_CONTACT = 30.0
"""Longest wait between two contacts without news, in seconds."""
_LINGER = 0.5
"""Seconds for which a stopping peer still answers: others may have asked just before."""
_FRAME_SLACK = 4_096
"""Bytes of a frame besides its longest record."""


class _Network(Protocol):
    """A link with the functions that the service uses, as in `ZenohLink`."""

    def send(self, to: str, frame: bytes) -> None: ...
    def counts(self) -> Mapping[Event, int]: ...
    def connected(self) -> set[str]: ...
    def other_versions(self) -> Mapping[str, int]: ...
    def reopen(self, neighbors: Sequence[Member]) -> None: ...
    def close(self) -> None: ...


Connect = Callable[[StudyParts, OnFrame], _Network]


class _Unsaved(Exception):
    """A record could not be written; the message is a sentence."""


def connect(parts: StudyParts, on_frame: OnFrame) -> ZenohLink:
    """Open the network of a peer, which connects with nobody yet."""
    home, limit = parts.home, LONGEST_WORDS + _FRAME_SLACK
    if parts.settings.relay is None:
        check_place(parts.settings.listen)
    site = Site(parts.identity.id, (), home.cert, home.key, parts.settings.listen, limit)
    return open_link(site, parts.identity, on_frame, parts.settings.relay, home.relay)


def run_study(home: StudyHome, connecting: Connect = connect) -> int:
    """Run the peer in a folder until SIGTERM or SIGINT; return the exit code.

    Errors at the start raise `InputError`; later ones are logged.
    """
    raise_descriptor_limit()
    limit_memory()
    load_all()
    with home.lock():
        parts = StudyParts(home)
        try:
            with StudyService(parts, connecting) as service, stop_on_signals(service.stop):
                return service.run()
        finally:
            parts.close()


class StudyService:
    """The loop of one peer."""

    def __init__(self, parts: StudyParts, connecting: Connect = connect) -> None:
        self._parts, self._study = parts, parts.study
        self._log = Log(parts.settings.name)
        self._inbox = Inbox()
        self._requests = Requests(parts.home.folder)
        self._operator = Operator(parts.study, parts.site, parts.journal)
        self._stops = 0
        self._has_worked = True
        self._warned: set[str] = set()
        self._waiting: set[str] = set()
        """Requests that are tried again, by key."""
        self._started = time.time()
        self._tick_at = self._slow_tick_at = self._contact_at = 0.0
        self._wait = _FIRST_CONTACT
        self._connected: set[str] = set()
        self._wanted: tuple[Member, ...] = ()
        self._admitted: tuple[Member, ...] = ()
        self._events: Counter[str] = Counter()
        self._reporter = StudyReporter(
            parts.home, parts.study, parts.site, parts.journal, parts.card
        )
        self._network = connecting(parts, self._inbox.put)
        self._rows = TravelingRows(parts, self._network.send, self._log.warning)
        self._crowd = Crowd(self._network, self._log)
        self._server: MetricsServer | None = None
        try:
            self._serve_metrics()
        except BaseException:
            self._network.close()
            raise

    def __enter__(self) -> StudyService:
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        self._rows.close()
        self._network.close()

    def stop(self) -> None:
        """Ask the loop to end; signal handlers may call it. A second call ends it at once."""
        self._stops += 1
        self._inbox.wake()

    def run(self) -> int:
        """Run until stopped, and return the exit code."""
        self._log.info("started", id=self._parts.identity.id, pid=os.getpid())
        try:
            self._carry_out(self._study.start(_now()))
            self._operator.announce(self._carry_out)
            self._requests.clear()
            while not self._stops and self._study.halted is None:
                self._turn()
            self._finish()
            if self._study.halted is None:
                self._report(is_last=True)
        except (InputError, _Unsaved) as problem:
            return self._fail(str(problem), EXIT_FAILED)
        except OSError as problem:
            return self._fail(_describe(problem), EXIT_FAILED)
        if self._study.halted is not None:
            return self._fail(self._study.halted, EXIT_UNFIT)
        self._log.info("stopped")
        return 0

    def _turn(self, until: float = float("inf")) -> None:
        """Handle the first event, a frame or the peer's own clock."""
        due = min(self._contact_at, self._tick_at, self._rows.due(), until)
        received = self._inbox.get(due - time.monotonic())
        if received is not None:
            sender, frame = received
            self._reporter.note_frame(sender)
            if not self._rows.takes(sender, frame, time.monotonic()):
                self._carry_out(self._study.receive(sender, frame, _now()))
        now = time.monotonic()
        self._rows.advance(now)
        if now >= self._contact_at:
            # Random waits keep peers from contacting each other in step.
            self._contact_at = now + self._wait * random.uniform(0.75, 1.25)
            self._wait = min(2 * self._wait, _LONGEST_CONTACT)
            self._carry_out(self._study.contact(_now()))
        if now >= self._tick_at:
            self._tick_at = now + _TICK
            self._tick(now)

    def _tick(self, now: float) -> None:
        self._follow_rows(now)
        is_slow = now >= self._slow_tick_at
        self._do_requests(now, is_slow=is_slow)
        if is_slow:
            self._slow_tick_at = now + _SLOW_TICK
            self._carry_out(self._study.tick(_now()))
            self._crowd.clear_out(self._admitted, now)
            self._give_back_memory()
        self._admit()
        self._report(is_due=is_slow)

    def _do_requests(self, now: float, *, is_slow: bool) -> None:
        """Carry out the operator's requests; those that must wait are tried again now and then."""
        for key, request in self._requests.pending():
            if key in self._waiting and not is_slow:
                continue
            try:
                reply = self._answer(key, request)
            except NotYet as problem:
                if made_at(key) < self._started:  # the command said that it is carried out
                    self._wait_with(key, problem)
                    continue
                reply = Reply(str(problem), is_done=False)
            if not reply.is_done:
                how = "did not do what was asked for"
                self._log.warning(how, because=reply.sentence)
            self._waiting.discard(key)
            self._follow_rows(now)
            self._reporter.follow()  # first: an asker reads the question at once
            self._requests.answer(key, reply)
            self._operator.forget(key)

    def _wait_with(self, key: str, problem: NotYet) -> None:
        """Try a request again now and then, and log that once."""
        if key not in self._waiting:
            self._waiting.add(key)
            self._log.warning("tries again what was asked for", because=str(problem))

    def _follow_rows(self, now: float) -> None:
        """Let rows begin and stop to travel, before the state of questions is written."""
        while names := self._rows.follow(now, self._connected):
            for name in names:
                self._carry_out(self._study.go_on(name, _now()))

    def _give_back_memory(self) -> None:
        """Return memory to the system after questions have moved on."""
        if self._has_worked:
            give_back_memory()
        self._has_worked = False

    def _warn(self) -> None:
        """Log each problem of the status once."""
        status = self._reporter.status
        problems = set(() if status is None else status.problems)
        for sentence in sorted(problems - self._warned):
            self._log.warning(sentence)
        self._warned |= problems

    def _answer(self, key: str, request: AnyRequest | InputError) -> Reply:
        """Carry out a request of the operator, and answer it; raise `NotYet` to try again."""
        if isinstance(request, InputError):
            return Reply(str(request), is_done=False)
        try:
            reply = self._operator.carry_out(key, request, self._carry_out)
        except NotYet:
            raise
        except InputError as problem:
            return Reply(str(problem), is_done=False)
        self._log.info(reply.sentence)
        return reply

    def _finish(self) -> None:
        """Inform others of news, and answer for another moment."""
        self._contact_at = 0.0
        end = time.monotonic() + _LINGER
        while self._stops == 1 and self._study.halted is None and time.monotonic() < end:
            self._turn(until=end)

    def _carry_out(self, actions: Sequence[Action]) -> None:
        """Carry out actions in order; after a failed save nothing is sent any more."""
        for action in actions:
            match action:
                case Save():
                    self._save(action)
                case Send(to, frame):
                    self._network.send(to, frame)
                case ContactSoon():
                    self._contact_soon()
                case Reconnect(cards):
                    others = (as_member(one) for one in cards if one.id != self._parts.identity.id)
                    self._wanted = tuple(sorted(others, key=lambda one: one.id))
                case Told():
                    self._tell(action)

    def _contact_soon(self) -> None:
        """Contact others in a moment, and then ever more rarely."""
        self._wait = _FIRST_CONTACT
        self._contact_at = min(self._contact_at, time.monotonic() + _SOON)

    def _save(self, save: Save) -> None:
        """Write a record, or end: what is in memory alone must not be sent."""
        try:
            self._parts.journal.save(save)
        except InputError as problem:
            raise _Unsaved(str(problem)) from None

    def _tell(self, told: Told) -> None:
        self._events[told.event] += 1
        self._has_worked = True
        fields = {} if not told.sentence else {"because": told.sentence}
        if told.question is not None:
            fields["question"] = str(self._parts.journal.number_of(told.question))
            fields["name"] = told.question.hex()[:12]  # the name that others know
        self._log.info(told.event, **fields)

    def _admit(self) -> None:
        """Open a session with the members that may connect now, if these have changed.

        That ends all connections for a moment, so it is done only if needed.
        """
        allowed = admissible(self._wanted, ())
        if allowed == self._admitted:
            return
        began = time.monotonic()
        self._network.reopen(allowed)
        self._admitted = allowed
        self._contact_soon()
        self._log.info(
            "opened a new session",
            neighbors=len(allowed),
            seconds=round(time.monotonic() - began, 3),
        )

    def _serve_metrics(self) -> None:
        place = self._parts.settings.metrics
        if place is not None:
            from pairgossip.peer.service.metrics import MetricsServer

            self._server = MetricsServer(place, lambda: self._reporter.status)
            self._log.info("metrics served", at=f"http://{place}/metrics")

    def _report(self, *, is_due: bool = False, is_last: bool = False) -> None:
        connected = self._network.connected()
        if connected - self._connected:  # they may have missed messages meanwhile
            self._contact_soon()
        self._connected = connected
        counts = {
            **self._network.counts(),
            Event.FRAME_DROPPED: self._inbox.dropped,
            Event.SESSION_REOPENED: self._crowd.clearings,
        }
        self._reporter.report(
            {**{one: count for one, count in counts.items() if count}, **self._events},
            self._admitted,
            connected,
            self._network.other_versions(),
            is_due=is_due,
            is_last=is_last,
        )
        self._warn()

    def _fail(self, sentence: str, code: int) -> int:
        self._log.error(sentence)
        self._warned.add(sentence)
        self._reporter.fail(sentence)
        with contextlib.suppress(InputError, OSError):  # the disk may have failed
            self._report(is_last=True)
        return code


def _now() -> int:
    """Return seconds since 1970, by the clock of this machine."""
    return int(time.time())


def _describe(problem: OSError) -> str:
    if is_full(problem):
        return str(unwritable(Path(problem.filename or "a file of this peer"), problem))
    return f"The system refused something: {problem}."
