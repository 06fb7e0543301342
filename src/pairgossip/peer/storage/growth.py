"""Adding rows to a peer.

Rows are added so that a crash anywhere leaves either the old rows or the new ones. All rows that
the peer is to have are written to a file next to the present one, which takes its name atomically.
This file is a mere request, which the peer carries out when it runs. It begins a new generation
with these rows, and one transaction of its database switches both its state and the digest of its
rows. Last, the request replaces the old file. If the peer is killed before that, the database shows
at the next start whether it has the rows. A process that reads one file to write the other holds
the lock, so nothing is added to rows that have changed meanwhile.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import sync
from pairgossip.peer.identity.identity import write_new
from pairgossip.peer.protocol.messages import Rows
from pairgossip.peer.storage.accounting import accounting_of, noted_ledgers
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.row_keeping import (
    check_added,
    count_latest,
    extend,
    is_taken_up,
    read_request,
    rename,
)
from pairgossip.peer.storage.rows import SiteRows, contributed_rows, read_copy


@dataclass(frozen=True)
class _Request:
    """A request to add rows."""

    file: Path
    """The file of the request, which disappears once it is carried out."""
    added: int
    rows: int
    """The number of rows that the peer will have."""


def request_growth(
    home: Home,
    data_path: str | PathLike[str],
    ledger: str | PathLike[str] | None = None,
    budget: float | None = None,
) -> _Request:
    """Request to add the rows of a source, also to a request that is not carried out yet."""
    spec, data = home.read_spec(), Path(data_path)
    with _locked(home):
        _finish_growth(home)
        before = count_latest(home)
        approve = partial(check_added, home, data)
        # Under privacy this draws the reports, once; they are on the disk before they are used.
        more = contributed_rows(data, spec, ledger, budget, noted_ledgers(home), approve)
        accounting_of(spec, data, ledger, budget).note(home)
        _write_request(home, more)
    return _Request(home.next_data, len(more), before + len(more))


def _write_request(home: Home, more: SiteRows) -> None:
    """Write the request for rows, which counts once it is on the disk."""
    draft = home.next_data.with_name(f".{home.next_data.name}")
    draft.unlink(missing_ok=True)
    rows, content = extend(home, more)
    write_new(draft, content, 0o600)
    try:
        if read_copy(draft, more.spec) != rows:
            raise InputError("The rows read differently from their copy: try again.")
        rename(draft, home.next_data)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def take_up_rows(home: Home, own: Rows) -> Iterator[Rows | None]:
    """Yield all rows that the peer is to have, or None if none were added.

    The peer must save them within this context; then their file replaces the old one.
    """
    if not home.next_data.exists():  # a running peer looks every second
        yield None
        return
    with _locked(home, wait=0.0) as is_locked:
        if not is_locked:  # rows are being added at this moment: they are taken up next time
            yield None
            return
        rows = read_request(home)
        if len(rows) <= len(own) or rows[: len(own)] != own:
            raise InputError(
                f"{home.next_data} does not begin with the rows that this peer has: remove it, and "
                f"run peer add again."
            )
        yield rows
        rename(home.next_data, home.data)


def finish_interrupted_growth(home: Home) -> None:
    """Finish an interrupted growth, before anything else of the peer is read."""
    if home.next_data.exists():
        with _locked(home):
            _finish_growth(home)


def _finish_growth(home: Home) -> None:
    """Replace the old rows by the new ones if the state has these; other requests wait."""
    base = home.state
    if home.next_data.exists() and is_taken_up(home, read_request(home)):
        # A process killed between the commit and its sync leaves a state that may still be undone.
        for part in (base, base.with_name(f"{base.name}-wal")):
            with contextlib.suppress(FileNotFoundError):
                sync(part)
        rename(home.next_data, home.data)


def rows_waiting(home: Home, count: int) -> int:
    """Return the number of added rows that a peer with ``count`` rows has not taken up yet."""
    with contextlib.suppress(InputError):  # it may be taken up between the two looks
        if home.next_data.exists():
            return max(0, len(read_request(home)) - count)
    return 0


@contextlib.contextmanager
def _locked(home: Home, *, wait: float = math.inf) -> Iterator[bool]:
    """Lock the files of the peer's rows; yield whether that succeeded."""
    path = home.folder / "add.lock"
    with contextlib.ExitStack() as stack:
        is_locked = True
        try:
            stack.enter_context(files.lock(path, wait=wait))
        except BlockingIOError:
            is_locked = False
        except OSError as problem:
            raise files.unwritable(path, problem, "lock") from None
        yield is_locked
