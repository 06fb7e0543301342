"""Kill `peer init` under privacy at every call that changes the disk, and print what remains.

This is a program; its argument is the folder of the rows and the specification. Each attempt is a
separate process that exits before or after its k-th call; then a second attempt runs to the end.
One line of JSON is printed per attempt: the reports on the disk after the crash, by ledger and by
folder, and those of the second attempt.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pairgossip.peer.bookkeeping import ledger
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import create_home

CALLS = ("open", "fsync", "replace", "rename", "unlink", "mkdir", "fchmod", "chmod")
KILLED = 9


class Points:
    """Counts calls, each of which may be the last of a process."""

    def __init__(self, last: int, trace: list[str] | None = None) -> None:
        self.count, self._last, self._trace = 0, last, trace

    def watch(self) -> None:
        for name in CALLS:
            setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def watched(*words: Any, **more: Any) -> Any:
            self._pass()
            result = call(*words, **more)
            if self._trace is not None:
                self._trace.append(f"{name} {_place(name, words)}")
            self._pass()
            return result

        return watched

    def _pass(self) -> None:
        self.count += 1
        if self.count == self._last:
            os._exit(KILLED)


def _place(name: str, words: tuple[Any, ...]) -> str:
    if isinstance(words[0], int):
        return os.readlink(f"/proc/self/fd/{words[0]}")
    return " ".join(str(word) for word in words[:2] if isinstance(word, str | Path))


def init(folder: Path) -> None:
    create_home(folder / "peer", "peer", folder / "spec.toml", folder / "rows.csv")


def in_ledger(folder: Path) -> list[int] | None:
    """Return all reports in the ledger, in the order of the names of their rows."""
    book = ledger._load(folder / "rows.csv.ledger")
    if book is None:
        return None
    (drawn,) = book.drawn
    return [entry for _, report in sorted(drawn.reports.items()) for entry in report]


def in_folder(folder: Path) -> list[int] | None:
    """Return the reports in the order of the rows, from the folder with the peer's name."""
    home = Home(folder / "peer")
    return [int(row[0]) for row in home.read_rows()] if home.peer.exists() else None


def crash(folder: Path, last: int) -> bool:
    """Let a process end at its last call; return whether it got that far."""
    child = os.fork()
    if child == 0:
        try:
            Points(last).watch()
            init(folder)
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, KILLED), code
    return code == KILLED


def sweep(source: Path) -> None:
    last = 1
    while True:
        folder = source / f"attempt-{last}"
        folder.mkdir()
        for name in ("spec.toml", "rows.csv"):
            shutil.copy(source / name, folder)
        is_killed = crash(folder, last)
        told: dict[str, Any] = {"ledger": in_ledger(folder), "folder": in_folder(folder)}
        if told["folder"] is not None:
            shutil.move(folder / "peer", folder / "lost")
        init(folder)
        told |= {"again": in_folder(folder), "ledger again": in_ledger(folder)}
        told["left"] = sorted(file.name for file in folder.iterdir())
        sys.stdout.write(json.dumps(told) + "\n")
        if not is_killed:
            return
        last += 1


def trace(source: Path) -> None:
    """Print the calls of a complete attempt, in order."""
    calls: list[str] = []
    Points(0, calls).watch()
    init(source)
    sys.stdout.write(json.dumps(calls) + "\n")


if __name__ == "__main__":
    {"sweep": sweep, "trace": trace}[sys.argv[1]](Path(sys.argv[2]))
