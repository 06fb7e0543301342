"""One look at one peer, from its folder, without disturbing it: nothing is locked or written."""

from __future__ import annotations

import ipaddress
import math
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from pairgossip.errors import InputError
from pairgossip.extras import needed_for
from pairgossip.peer.service.logs import clean
from pairgossip.peer.service.status import LARGEST_STATUS, Status, read_status
from pairgossip.peer.storage.folder import Home

UP, STARTING, FROZEN, DOWN, STOPPED, EVICTED, UNCLEAR = (
    *("up", "starting", "frozen", "down", "stopped", "evicted", "unclear"),
)
SILENT_SECONDS = 10.0
"""A running peer tells of itself every second; one that has not for so long is frozen."""
LONGEST_NAME = 32
MOST_PROBLEMS = 5


@dataclass(frozen=True)
class Reading:
    """What could be found out about a peer; text in it is cut and harmless."""

    state: str
    estimate: float | None = None
    """None if there is none, or if a model is learned."""
    parameters: int = 0
    """How many parameters the model has that is learned; 0 for a statistic."""
    interval: tuple[float, float] | None = None
    exchanges: int | None = None
    """In this generation."""
    refused: int | None = None
    """Frames refused since the peer started."""
    generation: int | None = None
    """The first being 1."""
    covers: tuple[int, int] | None = None
    """Members met, and members that take part."""
    updated: float | None = None
    """When it last told of itself."""
    measure: str = ""
    evicted: tuple[str, ...] = ()
    """Names or ids of those it no longer talks to."""
    problems: tuple[str, ...] = ()


class Reader(Protocol):
    """Looks at one peer."""

    @property
    def name(self) -> str:
        """What it is called; not yet made harmless."""

    @property
    def id(self) -> str:
        """Its id, empty if that is not known."""

    def read(self) -> Reading:
        """Look; what cannot be read becomes a state or a problem, never an error."""


class Told(NamedTuple):
    """What somebody else says of a peer's process, such as the swarm that started it."""

    pid: int | None = None
    state: str = ""


@dataclass
class FolderReader:
    """Looks at a peer whose folder is on this machine."""

    name: str
    id: str
    home: Home
    told: Told = field(default_factory=Told)

    def read(self) -> Reading:
        """Read the status file, and ask the system about the process."""
        try:
            status = _status(self.home.status)
        except InputError as problem:
            return Reading(UNCLEAR, problems=(clean(problem),))
        state = _state(status, self.told, time.time())
        return Reading(state) if status is None else _reading(status, state)


def _status(path: Path) -> Status | None:
    try:
        if path.stat().st_size > LARGEST_STATUS:
            raise InputError(f"{path} is too large for a status: remove it.")
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise InputError(f"Cannot read {path}: {problem.strerror}.") from None
    try:
        return read_status(path)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError(f"{path} is no status of a peer: remove it.") from None


def _reading(status: Status, state: str) -> Reading:
    found = status.estimate
    single = found is not None and len(found) == 1
    return Reading(
        state,
        estimate=found[0] if found is not None and single else None,
        parameters=0 if found is None or single else len(found),
        interval=status.interval if single else None,
        exchanges=status.exchanges,
        refused=sum(count for name, count in status.counts.items() if "refused" in name),
        generation=status.generation,
        covers=(status.covers.members, status.covers.of_members),
        updated=status.updated or None,
        measure=clean(status.measure, 2 * LONGEST_NAME),
        evicted=tuple(clean(name, 2 * LONGEST_NAME) for name in status.evicted),
        problems=tuple(clean(problem) for problem in status.problems[:MOST_PROBLEMS]),
    )


def _state(status: Status | None, told: Told, now: float) -> str:
    pid = told.pid or (status.pid if status is not None else None)
    if pid is None:
        return STOPPED if status is not None and status.stopped else DOWN
    process = process_of(pid)
    if status is None or status.pid != pid:  # it has not told anything yet in this life
        return DOWN if process is None else STARTING
    if status.stopped:
        return STOPPED
    if process is None or process.began > status.updated + 1:  # its number was given to another
        return DOWN
    is_silent = now - status.updated > SILENT_SECONDS
    return FROZEN if process.is_stopped or is_silent else UP


class Process(NamedTuple):
    """What the system says of a process."""

    is_stopped: bool
    """Whether a signal holds it still."""
    began: float
    """When it was started; 0 where the system does not tell."""


def process_of(pid: int) -> Process | None:
    """Return what the system says of a process; None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return _signaled(pid) if not Path("/proc/self/stat").exists() else None
    fields = text.rpartition(")")[2].split()
    if fields[0] in "ZX":  # ended, and waits to be buried
        return None
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return Process(fields[0] in "Tt", booted + int(fields[19]) / os.sysconf("SC_CLK_TCK"))


def _signaled(pid: int) -> Process | None:
    """Ask without /proc."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:  # somebody else's, so it is there
        pass
    return Process(False, 0.0)


# One look at one peer through its metrics, which are served on its own machine only.


LONGEST_ANSWER = 2.0
LARGEST_ANSWER = 1 << 20
LARGEST_PORT = 65_535
_PLACE = re.compile(r"(?:http://)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})(?:/metrics)?")
Samples = Mapping[str, list[tuple[Mapping[str, str], float]]]


def metrics_place(text: str) -> tuple[str, int] | None:
    """Read a host and a port; None if the text is none, as a folder's name."""
    found = _PLACE.fullmatch(text)
    if found is None:
        return None
    host, port = found[1].strip("[]"), int(found[2])
    if not 0 < port <= LARGEST_PORT or not _is_here(host):
        raise InputError(
            f"Metrics cannot be read from '{text[:80]}': peers serve them on their own machine "
            "only; give a port of this one, such as 127.0.0.1:9464, or lead a tunnel there."
        )
    return host, port


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass
class MetricsReader:
    """Asks a peer's metrics server; its name is its place, for metrics do not tell names."""

    host: str
    port: int
    id: str = ""

    @property
    def name(self) -> str:
        """Where it is asked."""
        return f"{self.host}:{self.port}"

    def read(self) -> Reading:
        """Ask once, and not for long."""
        try:
            code, text = self._get("/metrics")
            is_alive = code == 200 and self._get("/healthz")[0] == 200
        except TimeoutError:  # the system has taken the call, but nobody answers
            return Reading(FROZEN)
        except OSError:
            return Reading(DOWN)
        except (HTTPException, ValueError):
            code, text, is_alive = 0, "", False
        try:
            samples = _samples(text) if code == 200 else None
        except ValueError:
            samples = None
        if samples is None:
            return Reading(UNCLEAR, problems=(f"{self.name} does not serve a peer's metrics.",))
        if "pairgossip_exchanges" not in samples:
            return Reading(STARTING)
        return _scraped_reading(samples, UP if is_alive else FROZEN)

    def _get(self, path: str) -> tuple[int, str]:
        connection = HTTPConnection(self.host, self.port, timeout=LONGEST_ANSWER)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            content = answer.read(LARGEST_ANSWER + 1)
            if len(content) > LARGEST_ANSWER:
                raise ValueError("too long an answer")
            return answer.status, content.decode()
        finally:
            connection.close()


def _samples(text: str) -> Samples:
    with needed_for("Metrics", "pairgossip"):
        from prometheus_client.parser import text_string_to_metric_families
    found: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, []).append((sample.labels, float(sample.value)))
    except Exception as problem:  # a stranger's text fails in as many ways as there are bytes
        raise ValueError("not metrics") from problem
    return found


def _scraped_reading(samples: Samples, state: str) -> Reading:
    def one(name: str) -> float | None:
        value = samples.get(f"pairgossip_{name}", [({}, math.nan)])[0][1]
        return value if math.isfinite(value) else None

    def count(name: str) -> int | None:
        value = one(name)
        return None if value is None else int(value)

    entries = samples.get("pairgossip_estimate", [])
    low, high = one("interval_low"), one("interval_high")
    met, members, generation = count("members_met"), count("members"), count("generation")
    problems = count("problems") or 0
    events = samples.get("pairgossip_events_total", [])
    return Reading(
        state,
        estimate=one("estimate") if len(entries) == 1 else None,
        parameters=0 if len(entries) == 1 else len(entries),
        interval=None if low is None or high is None else (low, high),
        exchanges=count("exchanges"),
        refused=int(sum(value for labels, value in events if "refused" in labels.get("event", ""))),
        generation=generation,
        covers=None if met is None or members is None else (met, members),
        updated=time.time() if state == UP else None,
        problems=(f"{problems} to look at: see peer status.",) if problems else (),
    )
