"""The peers of a swarm as processes, and their use of the machine: signals, ports."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pairgossip.errors import InputError
from pairgossip.peer.reading import DOWN, FROZEN, STARTING, UP, PeerReading, Reported
from pairgossip.swarm import child

_START_PATIENCE = 120.0
"""Longest time without progress in a start of peers, in seconds; then the start fails."""
_STOP_PATIENCE = 60.0
"""Longest time for a stop, in seconds. A peer waits some seconds for its last answer; many peers on
a slow machine take longer."""
_STARTS_AT_ONCE = 2 * (os.cpu_count() or 1)
"""Largest number of peers that start at once: starting costs much more than running."""
PAUSE = 0.05
"""Seconds between two checks of processes."""


class Remains(NamedTuple):
    """The records of a killed process on its disk."""

    has_worked: bool
    """Whether it made an exchange since its start; always true for a study's member."""
    offers: frozenset[int] = frozenset()
    """The numbers of its offers without an answer; a peer uses no number twice."""
    lacks_answers: bool = False
    """Whether it is a study's member, and a question was open."""


class PeerProcess(ABC):
    """One peer of any kind; its folder outlives its processes."""

    def __init__(self, name: str, id: str, folder: Path, log: Path) -> None:
        self.name, self.id, self.folder, self.log = name, id, folder, log
        self.status: Reported | None = None
        """The last report of the present process."""
        self.failure: str | None = None
        """The reason why it ended by itself."""
        self._process: subprocess.Popen[bytes] | None = None
        self._is_frozen = False

    @property
    @abstractmethod
    def program(self) -> Sequence[str]:
        """Return the arguments of Python, before the folder, that run the peer."""

    @abstractmethod
    def _read_status(self) -> Reported | None:
        """Return the last report of a process; raise `InputError` if it cannot be read."""

    @abstractmethod
    def _describe(self) -> PeerReading:
        """Return the facts known about the peer now."""

    @property
    @abstractmethod
    def has_worked(self) -> bool:
        """Whether a kill of the present process would test anything."""

    @abstractmethod
    def remains(self) -> Remains:
        """Read the state that a killed process has left; the next one begins with it."""

    @property
    def pid(self) -> int | None:
        """The number of the process; None if there is none."""
        return None if self._process is None else self._process.pid

    @property
    def state(self) -> str:
        """Whether the peer is up, starting, frozen or down."""
        if self._process is None:
            return DOWN
        if self._is_frozen:
            return FROZEN
        return STARTING if self.status is None else UP

    def start(self) -> None:
        """Start a process in its own session: Ctrl-C is for the swarm, not for the peer."""
        tied = [sys.executable, "-I", "-S", child.__file__, str(os.getpid()), sys.executable]
        command = [*tied, *self.program, str(self.folder)]
        # Threads for arithmetic on a few numbers would only take memory.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=environment,
            )
        self.status, self._is_frozen = None, False

    def read(self) -> PeerReading:
        """Return the facts known about the peer now."""
        self.update()
        return self._describe()

    def update(self) -> None:
        """Read the status that the process has written, and note its end."""
        if self._process is None:
            return
        if self._process.poll() is not None:
            code = self._process.returncode
            self.failure = f"{self.name} ended by itself (code {code}): {self.last_words()}"
            self._ended()
            return
        status = None
        with contextlib.suppress(InputError):
            status = self._read_status()
        if status is not None and status.pid == self._process.pid and not status.stopped:
            self.status = status

    def kill(self) -> None:
        """End the process like a power cut, or `kill -9`."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._ended()

    def freeze(self) -> None:
        """Stop the process in the middle of its work, without ending it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)
            self._is_frozen = True

    def thaw(self) -> None:
        """Let a frozen process continue."""
        if self._process is not None and self._is_frozen:
            self._process.send_signal(signal.SIGCONT)
        self._is_frozen = False

    def ask_to_stop(self) -> None:
        """Ask the process to stop, as an operator would."""
        self.thaw()
        if self._process is not None:
            self._process.terminate()

    def wait_for_end(self, until: float) -> None:
        """Wait for a process that was asked to stop."""
        if self._process is None:
            return
        try:
            code = self._process.wait(max(until - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            self.failure = f"{self.name} did not stop after a request, and was killed."
            self.kill()
            return
        was_starting = self.status is None and code == -signal.SIGTERM
        if code and not was_starting:
            self.failure = f"{self.name} stopped with code {code}: {self.last_words()}"
        self._ended()

    def last_words(self) -> str:
        """Return the last words of the log about the failure."""
        with contextlib.suppress(OSError):
            for line in reversed(self.log.read_text(errors="replace").splitlines()):
                if line.startswith("Error: "):
                    return line.removeprefix("Error: ")
                with contextlib.suppress(ValueError):
                    entry = json.loads(line)
                    if isinstance(entry, dict) and entry.get("level") == "error":
                        return str(entry.get("event"))
        return f"see {self.log}"

    def _ended(self) -> None:
        self._process, self.status, self._is_frozen = None, None, False


def start_all(peers: Sequence[PeerProcess], *, together: bool = True) -> None:
    """Start all peers, a few at a time, and wait until each reports that it runs.

    With ``together``, running peers are frozen until all run: otherwise the first would exchange
    for a long while only with each other, and their estimates would be biased towards their own
    rows.
    """
    waiting, end = list(peers), time.monotonic() + _START_PATIENCE
    while waiting or any(peer.state == STARTING for peer in peers):
        for peer in peers:
            if peer.state == STARTING:
                peer.update()
                if peer.state == UP and together:
                    peer.freeze()
            if peer.failure is not None:
                raise InputError(f"{peer.name} did not start: {peer.last_words()}")
        while waiting and may_start(peers):
            waiting.pop(0).start()
            end = time.monotonic() + _START_PATIENCE
        if time.monotonic() > end:
            late = next(peer for peer in peers if peer.state == STARTING)
            raise InputError(f"{late.name} did not start in time: see {late.log}")
        time.sleep(PAUSE)
    for peer in peers:
        peer.thaw()


def may_start(peers: Sequence[PeerProcess]) -> bool:
    """Return whether one more peer may be started now."""
    return sum(peer.state == STARTING for peer in peers) < _STARTS_AT_ONCE


def stop_all(peers: Sequence[PeerProcess]) -> None:
    """Ask all peers to finish or park their exchanges, and wait until they have ended."""
    for peer in peers:
        peer.update()
        peer.ask_to_stop()
    until = time.monotonic() + _STOP_PATIENCE
    for peer in peers:
        peer.wait_for_end(until)


def interrupt(*_: object) -> None:
    """Handle a signal as Ctrl-C."""
    raise KeyboardInterrupt


@contextlib.contextmanager
def handle_signals(handler: object) -> Iterator[None]:
    """Handle SIGTERM, Ctrl-C and the end of the terminal in one way, or ignore all three."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            if signal.getsignal(one) != signal.SIG_IGN:  # ignored ones, as by nohup, stay so
                before[one] = signal.signal(one, handler)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for one, old in before.items():
            signal.signal(one, old)


def cpu_of_ended() -> float:
    """Return the processor time of all children that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of(pids: Iterable[int | None]) -> float:
    """Return the processor time of running processes; 0 where the system does not report it."""
    total = 0.0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def mean_memory(pids: Iterable[int | None]) -> tuple[float, float] | None:
    """Return the mean memory of processes in bytes: resident, and with shared pages divided."""
    sizes = []
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            sizes.append([int(text.partition(f"\n{key}:")[2].split()[0]) for key in ("Rss", "Pss")])
    if not sizes:
        return None
    resident, shared = (1024.0 * sum(column) / len(sizes) for column in zip(*sizes, strict=True))
    return resident, shared


HOST = "127.0.0.1"
_LOWEST, _HIGHEST = 20_000, 32_000
"""The range of ports, below those that systems use for outgoing connections: otherwise another's
connection could take the port of a peer that is down for a moment."""


def _is_free(port: int) -> bool:
    """Whether a program can listen at a port now."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
            tried.listen(1)
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Find free ports, anywhere."""
    drawn = random.SystemRandom().sample(range(_LOWEST, _HIGHEST), _HIGHEST - _LOWEST)
    ports = list(itertools.islice(filter(_is_free, drawn), count))
    if len(ports) < count:
        raise InputError(f"Fewer than {count} ports from {_LOWEST} to {_HIGHEST} are free.")
    return ports


def ports_from(first: int, count: int) -> list[int]:
    """Return consecutive ports, all of which must be free."""
    if not 1 <= first <= 2**16 - count:
        raise InputError(
            f"{count} ports from {first} on do not exist: give a first port of at most "
            f"{2**16 - count}."
        )
    ports = list(range(first, first + count))
    for port in ports:
        if not _is_free(port):
            raise InputError(
                f"Port {port} of {HOST} cannot be used, another program may have it: give another "
                f"first port, or none to have free ones found."
            )
    return ports
