"""What the system tells of processes, and the signals by which it is told to end."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@contextlib.contextmanager
def ended_as_by_hand() -> Iterator[None]:
    """Take SIGTERM, and the end of the terminal, for Ctrl-C."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with _handling(interrupt):
        yield


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
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
