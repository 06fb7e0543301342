"""Readings of peers from outside, without disturbing them; here from folders on this machine.

Nothing is locked or written: even a brief lock could keep a peer from starting. `swarm run`, the
page, the terminal and `peer status` all use these readings.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from pairgossip.errors import InputError
from pairgossip.peer.estimates.errors import UNKNOWN, Errors
from pairgossip.peer.service.status import Status, read_status
from pairgossip.peer.storage.folder import Home
from pairgossip.text import clean_text, format_count, join_first

UP, STARTING, FROZEN, DOWN = "up", "starting", "frozen", "down"
_STOPPED, EVICTED, UNCLEAR, ABSENT = "stopped", "evicted", "unclear", "absent"
_STATES = (UP, STARTING, FROZEN, DOWN, _STOPPED, EVICTED, UNCLEAR, ABSENT)
_TROUBLED = (FROZEN, DOWN, UNCLEAR)
"""States of a peer that does not work as it should."""
_SILENT_SECONDS = 10.0
"""Time in seconds without a status after which a running peer is frozen; it writes one a second."""
_RATE_SECONDS = 10.0
"""Time in seconds over which rates of exchanges are averaged."""
LONGEST_NAME = 32
"""Largest number of characters of a name that is shown; longer ones are cut."""
_MOST_PROBLEMS = 5
"""Largest number of problems of a peer that are shown; the rest are left out."""
_MOST_NAMED = 5
"""Largest number of awaited members that a line names; it counts the rest."""
PHASES = ("asked", "digests", "echoes", "words", "rows", "statements", "ended", "done")
"""Phases of a question of a study; one that has ended for some members may be done for others."""
READERS_AT_ONCE = 8
"""Number of threads that read peers at the same time."""


class QuestionReading(NamedTuple):
    """A question of a study, as one member or all of them report it."""

    name: str
    """The name by which all members know it."""
    title: str
    """The question in words."""
    asked_by: str
    phase: str
    """One of `PHASES`."""
    travels: bool = False
    """Whether rows travel for it."""
    awaited: tuple[str, ...] = ()
    """The names of the members whose contribution to this phase is missing."""
    seen: float = 0.0
    """The time at which a member first saw it."""
    value: float | None = None
    interval: tuple[float, float] | None = None
    rows: int | None = None
    ending: str = ""
    """The reason why it has no answer."""

    @property
    def is_over(self) -> bool:
        """Whether it is done or has ended."""
        return self.phase in ("done", "ended")


class Tally(NamedTuple):
    """The number of questions that a member of a study knows, by their outcome."""

    answered: int = 0
    open: int = 0
    ended: int = 0
    """The number of questions that have ended without an answer."""

    @property
    def total(self) -> int:
        """The number of all questions."""
        return sum(self)


@dataclass(frozen=True)
class PeerReading:
    """One peer at one moment; text in it is cut and harmless."""

    state: str
    name: str = ""
    estimate: float | None = None
    """The estimate; None before there is one, or if the peer learns a model."""
    parameters: int = 0
    """The number of parameters of the model that the peer learns; 0 for a statistic."""
    errors: Errors = UNKNOWN
    exchanges: int | None = None
    """The number of exchanges in this generation; from a `SwarmReader`, in all that it has seen."""
    rate: float = 0.0
    """The rate of exchanges per second, which only a `SwarmReader` knows."""
    refused: int | None = None
    """The number of frames refused since the peer started; from a `SwarmReader`, also before."""
    generation: int | None = None
    """The number of the generation, counted from 1."""
    covers: tuple[int, int] | None = None
    """The number of members met, and of members that take part."""
    tally: Tally | None = None
    """The number of questions that a member of a study knows; None for other peers."""
    questions: tuple[QuestionReading, ...] = ()
    """The latest questions, if the peer shows their names."""
    members: int = 0
    """The number of members on the list of a study's member."""
    rows: int | None = None
    """The number of rows of a study's member."""
    changed: float | None = None
    """The time of its last exchange; None if it has made none since it started."""
    started: float | None = None
    updated: float | None = None
    """The time of its last report."""
    measure: str = ""
    evicted: tuple[str, ...] = ()
    """The names or ids of the members that it no longer talks to."""
    problems: tuple[str, ...] = ()

    @property
    def is_troubled(self) -> bool:
        """Whether an operator should look at it."""
        return self.state in _TROUBLED or bool(self.problems)

    @property
    def silence(self) -> float | None:
        """The time in seconds since the peer last reported."""
        return None if self.updated is None else max(time.time() - self.updated, 0.0)


@dataclass(frozen=True)
class SwarmReading:
    """All peers at one moment."""

    seconds: float
    """The time in seconds since the first reading."""
    peers: tuple[PeerReading, ...]
    is_running: bool | None = None
    """Whether the swarm runs; None if that is unknown."""

    def estimates(self) -> list[float | None]:
        """Return the estimate of every peer."""
        return [peer.estimate for peer in self.peers]

    def median(self) -> float | None:
        """Return the median of the estimates; evicted peers count only if all are evicted."""
        present = [peer for peer in self.peers if peer.state != EVICTED] or self.peers
        estimates = [peer.estimate for peer in present if peer.estimate is not None]
        return statistics.median(estimates) if estimates else None

    def count(self, state: str) -> int:
        """Return the number of peers in a state."""
        return sum(peer.state == state for peer in self.peers)

    @property
    def rate(self) -> float:
        """The rate of exchanges per second, each of which two peers count, if all are read."""
        return sum(peer.rate for peer in self.peers) / 2

    @property
    def exchanges(self) -> int:
        """The number of exchanges, each of which both sides count."""
        return sum(peer.exchanges or 0 for peer in self.peers) // 2

    @property
    def refused(self) -> int:
        """The number of frames that the peers have refused."""
        return sum(peer.refused or 0 for peer in self.peers)

    @property
    def generation(self) -> int:
        """The latest generation that any peer is in, counted from 1."""
        return max((peer.generation or 1 for peer in self.peers), default=1)

    @property
    def is_study(self) -> bool:
        """Whether the peers are members of a study."""
        return any(peer.tally is not None for peer in self.peers)

    def members(self) -> int:
        """Return the most common number of members on the lists of a study's members."""
        sizes = [peer.members for peer in self.peers if peer.members]
        return statistics.mode(sizes) if sizes else 0

    def tally(self) -> Tally:
        """Return the number of questions at the member that knows most of them."""
        tallies = (peer.tally for peer in self.peers if peer.tally is not None)
        return max(tallies, key=lambda one: (one.total, one), default=Tally())

    def questions(self) -> tuple[QuestionReading, ...]:
        """Return the questions of a study, each from the member that is furthest with it."""
        latest: dict[str, QuestionReading] = {}
        for one in (question for peer in self.peers for question in peer.questions):
            other = latest.get(one.name)
            if other is None or PHASES.index(one.phase) > PHASES.index(other.phase):
                latest[one.name] = one
        return tuple(sorted(latest.values(), key=lambda one: one.seen))

    def by_urgency(self) -> list[int]:
        """Return the numbers of the peers: those to look at first, then all that are not up."""
        peers = self.peers
        return sorted(
            range(len(peers)), key=lambda k: (not peers[k].is_troubled, peers[k].state == UP)
        )

    def summary(self) -> str:
        """Describe the peers in one line."""
        counts = [(self.count(state), state) for state in _STATES]
        states = ", ".join(f"{count} {state}" for count, state in counts if count or state == UP)
        generation = "" if self.is_study else f"; generation {self.generation}"
        return (
            f"{self.seconds:.0f} s: {states}{self._progress()}; {self.refused:,} refused"
            f"{generation}"
        )

    def _progress(self) -> str:
        """Describe the progress of the peers."""
        if self.is_study:
            return f"; {describe_questions(self.tally(), self.questions())}"
        values = [value for value in self.estimates() if value is not None]
        estimates = ""
        if values:
            mean = sum(values) / len(values)
            estimates = f"; estimates {mean:.6g} ({min(values):.6g} to {max(values):.6g})"
        return (
            f"{estimates}; {format_count(self.exchanges, 'exchange')}, {self.rate:.3g} per second"
        )


def describe_questions(tally: Tally, questions: Sequence[QuestionReading]) -> str:
    """Describe how many questions are answered, and what the first open one waits for."""
    if not tally.total:
        return "no question asked yet"
    total = tally.answered + tally.open
    ended = f", {tally.ended} ended without an answer" if tally.ended else ""
    text = f"{tally.answered} of {format_count(total, 'question')} answered{ended}"
    first = next((one for one in questions if not one.is_over), None)
    if first is None:
        return text
    names = first.awaited[:_MOST_NAMED]
    waits = f", waiting for {join_first(names, len(first.awaited))}" if names else ""
    return f"{text}; {first.title}: {first.phase}{waits}"


class PeerReader(Protocol):
    """Reads one peer."""

    @property
    def name(self) -> str:
        """The peer's name, not yet made harmless."""

    @property
    def id(self) -> str:
        """The peer's id; empty if it is unknown."""

    def read(self) -> PeerReading:
        """Return a reading; a failure becomes a state or a problem of it, never an error."""


# By its folder


@dataclass
class FolderReader:
    """Reads a peer whose folder is on this machine."""

    name: str
    id: str
    home: Home
    pid: int | None = None
    """The number of its process, if the caller knows it, as a swarm does that started it."""

    def read(self) -> PeerReading:
        """Read the status file, and ask the system about the process."""
        try:
            status = read_status(self.home.status)
        except InputError as problem:
            return PeerReading(UNCLEAR, problems=(clean_text(problem),))
        except OSError as problem:
            why = f"Cannot read {self.home.status}: {problem.strerror}."
            return PeerReading(UNCLEAR, problems=(clean_text(why),))
        return reading_of(status, state_of(status, self.pid, time.time()))


def reading_of(status: Status | None, state: str) -> PeerReading:
    """Return the reading of a peer in this state from its status."""
    if status is None:
        return PeerReading(state)
    estimate = status.estimate or ()
    is_single = len(estimate) == 1
    return PeerReading(
        state,
        estimate=estimate[0] if is_single else None,
        parameters=0 if is_single else len(estimate),
        errors=Errors(**status.as_fields()),
        exchanges=status.exchanges,
        refused=sum(status.refused.values()),
        generation=status.generation,
        covers=(status.covers.members, status.covers.of_members),
        changed=None if status.staleness is None else status.updated - status.staleness,
        started=status.started,
        updated=status.updated or None,
        measure=clean_text(status.measure, 2 * LONGEST_NAME),
        evicted=tuple(clean_text(name, 2 * LONGEST_NAME) for name in status.evicted),
        problems=clean_problems(status.problems),
    )


def clean_problems(problems: Sequence[str]) -> tuple[str, ...]:
    """Return the first problems of a peer, made harmless."""
    return tuple(clean_text(problem) for problem in problems[:_MOST_PROBLEMS])


class Reported(Protocol):
    """The part of any peer's status that is about its process."""

    @property
    def pid(self) -> int | None:
        """The number of the process."""

    @property
    def stopped(self) -> bool:
        """Whether it has stopped on request."""

    @property
    def updated(self) -> float:
        """The time of the status."""


def state_of(status: Reported | None, pid: int | None, now: float) -> str:
    """Return the state of a peer by its status, its process if that is known, and the system."""
    pid = pid or (status.pid if status is not None else None)
    if pid is None:
        return _STOPPED if status is not None and status.stopped else DOWN
    process = process_of(pid)
    if status is None or status.pid != pid:  # this process has not written its status yet
        return DOWN if process is None else STARTING
    if status.stopped:
        return _STOPPED
    if process is None or process.began > status.updated + 1:  # another process has this number now
        return DOWN
    is_silent = now - status.updated > _SILENT_SECONDS
    return FROZEN if process.is_stopped or is_silent else UP


class Process(NamedTuple):
    """A process, as the system describes it."""

    is_stopped: bool
    """Whether a signal has suspended it."""
    began: float
    """The time of its start; 0 if it is unknown."""


def process_of(pid: int) -> Process | None:
    """Return a process as the system describes it; None if it does not exist."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")  # names may be any bytes
    except OSError:
        return _signaled(pid) if not Path("/proc/self/stat").exists() else None
    fields = text.rpartition(")")[2].split()
    if fields[0] in "ZX":  # ended, but its parent has not waited for it
        return None
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return Process(fields[0] in "Tt", booted + int(fields[19]) / os.sysconf("SC_CLK_TCK"))


def _signaled(pid: int) -> Process | None:
    """Look for a process without /proc."""
    if sys.platform == "win32":  # no peer runs there, and asking would interrupt the process
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:  # another user's, so it is there
        pass
    return Process(False, 0.0)


# All peers, again and again


@dataclass
class _Total:
    """The sum of a count that restarts at 0, as with a new process or a new generation."""

    total: int = 0
    _last: int = 0
    _since: object = None
    _moments: deque[tuple[float, int]] = field(default_factory=deque)

    def add(self, now: float, count: int | None, since: object) -> None:
        """Add a count; it has restarted if ``since`` has changed, or if it is smaller."""
        if count is not None:
            is_new = since != self._since or count < self._last
            self.total += count if is_new else count - self._last
            self._last, self._since = count, since
        self._moments.append((now, self.total))
        while now - self._moments[0][0] > _RATE_SECONDS:
            self._moments.popleft()

    def rate(self) -> float:
        (then, before), (now, count) = self._moments[0], self._moments[-1]
        return (count - before) / (now - then) if now > then else 0.0


class SwarmReader:
    """Reads peers again and again, and remembers the last reports of those that went silent.

    Readers may be added to the list later. Use several threads if peers may take long to answer.
    """

    def __init__(self, readers: Sequence[PeerReader], threads: int = 1) -> None:
        self._readers = readers
        self.names: tuple[str, ...] = ()
        self._readings: list[PeerReading | None] = []
        self._exchanges: list[_Total] = []
        self._refused: list[_Total] = []
        self._take_up()
        self._began = time.monotonic()
        self._pool = ThreadPoolExecutor(threads, "peer readers") if threads > 1 else None

    def _take_up(self) -> None:
        """Make room for readers that were added since."""
        for reader in self._readers[len(self.names) :]:
            self.names = (*self.names, clean_text(reader.name, LONGEST_NAME))
            self._readings.append(None)
            self._exchanges.append(_Total())
            self._refused.append(_Total())

    def read(self) -> SwarmReading:
        """Read all peers."""
        self._take_up()
        every = map if self._pool is None else self._pool.map
        readings = list(every(lambda reader: reader.read(), self._readers))
        now = time.monotonic()
        evicted = set(_evicted_members(readings)) - {""}
        peers = tuple(self._complete(k, new, evicted, now) for k, new in enumerate(readings))
        return SwarmReading(now - self._began, peers)

    def _complete(self, k: int, new: PeerReading, evicted: set[str], now: float) -> PeerReading:
        reader, before, name = self._readers[k], self._readings[k], self.names[k]
        if before is not None and new.exchanges is None:
            reading = replace(before, state=new.state, problems=new.problems)
        else:
            reading = replace(new, name=name)
        self._readings[k] = reading
        exchanges, refused = self._exchanges[k], self._refused[k]
        exchanges.add(now, new.exchanges, new.generation)
        refused.add(now, new.refused, new.started)
        return replace(
            reading,
            state=EVICTED if evicted & {reader.name, reader.id} else reading.state,
            exchanges=exchanges.total,
            rate=exchanges.rate() if new.state == UP else 0.0,
            refused=refused.total,
        )

    def close(self) -> None:
        """Shut down the threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _evicted_members(readings: list[PeerReading]) -> Iterator[str]:
    """Yield the members that peers of the latest generation no longer talk to."""
    latest = max((reading.generation or 0 for reading in readings), default=0)
    for reading in readings:
        if reading.generation == latest:
            yield from reading.evicted
