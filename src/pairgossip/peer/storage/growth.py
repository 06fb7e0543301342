"""Adding rows to a peer, so that a crash anywhere leaves either the old rows or the new ones.

All rows that the peer is to have are written beside those it has, and the file takes its name at
once. Nothing has changed then: it is a request, which the peer takes up when it runs. It begins a
new generation with these rows, and one transaction of its database switches both its state and the
rows that the state belongs to. Last, the file takes the place of the old one. If the peer is
killed before that, the database says at the next start which of the two files is the right one.

Whoever reads one of the files to write the other holds the lock, so that nothing is added to rows
that have changed meanwhile.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import sync
from pairgossip.peer.identity.identity import write_new
from pairgossip.peer.protocol.records import MOST_ROWS, Rows
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import contributed_rows, note_ledger
from pairgossip.peer.storage.journal_file import read_about
from pairgossip.peer.storage.rows import copy_text, digest, read_copy


@dataclass(frozen=True)
class Request:
    """Rows that were asked for."""

    file: Path
    """Goes away once it is done."""
    added: int
    rows: int
    """How many the peer will have."""


def request_growth(
    home: Home,
    data_path: str | PathLike[str],
    ledger: str | PathLike[str] | None = None,
    budget: float | None = None,
) -> Request:
    """Ask for the rows of a file to be added; a request not carried out yet is added to."""
    spec = home.read_spec()
    with _locked(home):
        _finish_growth(home)
        file = _file(home)
        before = read_copy(file, spec) if file.exists() else home.read_rows()
        # Under privacy the reports are drawn here, once, and are on the disk before they are used.
        more = contributed_rows(data_path, spec, ledger, budget, home)
        rows = (*before, *more)
        if len(rows) > MOST_ROWS:
            raise InputError(
                f"{data_path} has {len(more)} rows and the peer has {len(before)}: a peer holds at "
                f"most {MOST_ROWS}."
            )
        if spec.privacy is not None:
            note_ledger(home, data_path, ledger)
        draft = file.with_name(f".{file.name}")
        draft.unlink(missing_ok=True)
        write_new(draft, copy_text(rows, spec).encode(), 0o600)
        try:
            if read_copy(draft, spec) != rows:
                raise InputError("The rows read differently from their copy: try again.")
            _rename(draft, file)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    return Request(file, len(more), len(rows))


@contextlib.contextmanager
def take_up_rows(home: Home, own: Rows) -> Iterator[Rows | None]:
    """Give all rows that the peer is to have, None if none were added; they are its own after that.

    The peer must have written them down when it is done here.
    """
    file = _file(home)
    if not file.exists():
        yield None
        return
    with _locked(home, wait=0.0) as is_locked:
        if not is_locked:  # rows are being added at this moment: the next look finds them
            yield None
            return
        rows = read_copy(file, home.read_spec())
        _check_follows(file, own, rows)
        yield rows
        _rename(file, home.data)


def finish_interrupted_growth(home: Home) -> None:
    """Finish what a crash has interrupted, before anything else of the peer is read."""
    if _file(home).exists():
        with _locked(home):
            _finish_growth(home)


def _finish_growth(home: Home) -> None:
    """Put the new rows in place if the state has them; other requests wait for the peer."""
    file = _file(home)
    if not file.exists():
        return
    if digest(read_copy(file, home.read_spec())) == read_about(home.state).get("data"):
        # A process killed between the commit and its sync leaves what a power failure can undo.
        _sync_database(home.state)
        _rename(file, home.data)


def rows_waiting(home: Home, count: int) -> int:
    """Return how many added rows a peer has not taken up, whose state has ``count`` rows."""
    file = _file(home)
    with contextlib.suppress(InputError):  # it may be taken up between the two looks
        if file.exists():
            return max(0, len(read_copy(file, home.read_spec())) - count)
    return 0


def rows_in_force(home: Home, count: int) -> Rows:
    """Return a peer's rows, of which its state has ``count``; the peer may be running."""
    file = _file(home)
    for _ in range(2):  # between two reads the peer may have put one file in the other's place
        with contextlib.suppress(InputError):
            if len(rows := home.read_rows()) == count:
                return rows
            if file.exists() and len(rows := read_copy(file, home.read_spec())) == count:
                return rows
    return home.read_rows()


def _file(home: Home) -> Path:
    return home.folder / "data.next.csv"


def _check_follows(file: Path, own: Rows, rows: Rows) -> None:
    if len(rows) <= len(own) or rows[: len(own)] != own:
        raise InputError(
            f"{file} does not begin with the rows that this peer has: remove it, and run peer add "
            f"again."
        )


def _sync_database(base: Path) -> None:
    """Make sure that all that is committed is on the disk."""
    for file in (base, base.with_name(f"{base.name}-wal")):
        with contextlib.suppress(FileNotFoundError):
            sync(file)


def _rename(file: Path, name: Path) -> None:
    """Let a file take another's place, on the disk too."""
    try:
        os.replace(file, name)
        sync(name.parent)
    except OSError as problem:
        raise InputError(f"Cannot write {name}: {problem.strerror}.") from None


@contextlib.contextmanager
def _locked(home: Home, *, wait: float = math.inf) -> Iterator[bool]:
    """Hold what is known of the peer's rows; yield whether that succeeded."""
    path = home.folder / "add.lock"
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(files.lock(path, wait=wait))
        except BlockingIOError:
            is_held = False
        except OSError as problem:
            raise InputError(f"Cannot lock {path}: {problem.strerror}.") from None
        else:
            is_held = True
        yield is_held
