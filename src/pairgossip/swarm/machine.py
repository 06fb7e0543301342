"""What a swarm needs of the machine: signals, figures of processes, free ports."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import socket
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from pairgossip.errors import InputError

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@contextlib.contextmanager
def interrupt_on_signals() -> Iterator[None]:
    """Take SIGTERM, and the end of the terminal, for Ctrl-C."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with _handling(interrupt):
        yield


@contextlib.contextmanager
def ignore_signals() -> Iterator[None]:
    """Let nobody but SIGKILL interrupt this."""
    with _handling(signal.SIG_IGN):
        yield


@contextlib.contextmanager
def _handling(handler: object) -> Iterator[None]:
    before = {}
    if threading.current_thread() is threading.main_thread():
        for one in ENDING:
            if signal.getsignal(one) != signal.SIG_IGN:  # what is ignored, as by nohup, stays so
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
    """Return the processor time of running processes; 0 where the system does not tell."""
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
LOWEST, HIGHEST = 20_000, 32_000
"""Below where systems take ports for outgoing connections from: a peer that is down for a moment
would else find its port taken by another's connection."""


def is_free(port: int) -> bool:
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
    found: list[int] = []
    for port in random.SystemRandom().sample(range(LOWEST, HIGHEST), HIGHEST - LOWEST):
        if len(found) == count:
            break
        if is_free(port):
            found.append(port)
    if len(found) < count:
        raise InputError(f"Of the ports {LOWEST} to {HIGHEST}, fewer than {count} are free.")
    return found


def ports_from(first: int, count: int) -> list[int]:
    """Return ports in a row, all of which must be free."""
    if not 1 <= first <= 2**16 - count:
        raise InputError(
            f"{count} ports from {first} on do not exist: give a first port of at most "
            f"{2**16 - count}."
        )
    ports = list(range(first, first + count))
    for port in ports:
        if not is_free(port):
            raise InputError(
                f"Port {port} of {HOST} cannot be used, another program may have it: give another "
                f"first port, or none to have free ones found."
            )
    return ports
