"""Adding rows to a peer.

Rows are added so that a crash anywhere leaves either the old rows or the new ones. All rows that
the peer is to have are written down beside those it has, and the file takes its name at once.
Nothing has changed then: it is a request, which the peer takes up when it runs. It begins a new
generation with these rows, and one transaction of its database switches both its state and the rows
that the state belongs to. Last, the request is put in place. If the peer is killed before that, the
database says at the next start whether it has the rows. Whoever reads one of the files to write the
other holds the lock, so that nothing is added to rows that have changed meanwhile.

Where rows travel, the request is a copy of all rows, which takes the place of the one before. Where
sums are computed, it names the sources of all rows, with their digests, and the settings name the
new ones in the end; the state has the digests.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import sync
from pairgossip.peer.identity.identity import write_new
from pairgossip.peer.protocol.held import Own
from pairgossip.peer.storage.accounting import accounting_of
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.kept_ledgers import (
    noted_ledgers,
)
from pairgossip.peer.storage.row_keeping import Keeping, keeping_of, rename
from pairgossip.peer.storage.rows import SiteRows, check_contribution, contributed_rows

if TYPE_CHECKING:
    from pairgossip.peer.storage.kept_releases import ReleaseOptions


@dataclass(frozen=True)
class _Request:
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
    release: ReleaseOptions | None = None,
    confirm: Callable[[list[str]], None] = lambda _: None,
) -> _Request:
    """Ask for the rows of a source to be added; a request not carried out yet is added to."""
    from pairgossip.peer.storage.kept_releases import PlannedRelease, ReleaseOptions

    spec, settings, data = home.read_spec(), home.read_settings(), Path(data_path)
    planned = PlannedRelease(spec, data, settings, release or ReleaseOptions())
    with _locked(home):
        _finish_growth(home)
        keeping = keeping_of(home)
        before = len(keeping.read_latest())
        accounting = accounting_of(spec, data, ledger, budget)
        accounting.begin_adding(home)

        def approve(more: SiteRows) -> None:
            keeping.check(data, more)
            keeping.refuse_few(before + len(more))
            # The sums before and after tell those over the added rows, by difference.
            said = check_contribution(more, settings, "This batch")
            if spec.sums_anew:
                rows = np.concatenate([keeping.read_rows(), more.matrix])
                check_contribution(SiteRows(spec, more.table, rows), settings)
            said += planned.check(more, home, before)
            confirm(said)

        # Under privacy the reports are drawn here, once, and are on the disk before they are used.
        more = contributed_rows(data, spec, ledger, budget, noted_ledgers(home), approve)
        accounting.end_adding(home, more)
        folder = Path(os.path.abspath(home.folder))
        _write_request(keeping, data, more, lambda: planned.prepare(home, folder, before))
    return _Request(keeping.file, len(more), before + len(more))


def _write_request(
    keeping: Keeping[Any], data: Path, more: SiteRows, prepare: Callable[[], None]
) -> None:
    """Ask for rows; all else is prepared once they are on the disk and before they count."""
    file = keeping.file
    draft = file.with_name(f".{file.name}")
    draft.unlink(missing_ok=True)
    own, content = keeping.extend(data, more)
    write_new(draft, content, 0o600)
    try:
        if keeping.read(draft) != own:
            raise InputError("The rows read differently from their copy: try again.")
        prepare()
        rename(draft, file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def take_up_rows(home: Home, own: Own) -> Iterator[Own | None]:
    """Give all rows that the peer is to have, None if none were added; they are its own after that.

    The peer must have written them down when it is done here.
    """
    if not _is_asked(home):
        yield None
        return
    with _locked(home, wait=0.0) as is_locked:
        if not is_locked:  # rows are being added at this moment: the next look finds them
            yield None
            return
        keeping = keeping_of(home)
        rows = keeping.read(keeping.file)
        if len(rows) <= len(own) or not keeping.continues(rows, own):
            raise InputError(
                f"{keeping.file} does not begin with the rows that this peer has: remove it, and "
                f"run peer add again."
            )
        yield keeping.complete(rows, own)
        keeping.put_in_place()


def _is_asked(home: Home) -> bool:
    """Return whether rows were asked for; a look that a running peer takes ten times a second."""
    return home.next_data.exists() or home.next_sources.exists()


def finish_interrupted_growth(home: Home) -> None:
    """Finish what a crash has interrupted, before anything else of the peer is read."""
    if _is_asked(home):
        with _locked(home):
            _finish_growth(home)


def _finish_growth(home: Home) -> None:
    """Put the new rows in place if the state has them; other requests wait for the peer."""
    keeping = keeping_of(home)
    base = home.state
    if keeping.file.exists() and keeping.is_taken_up(keeping.read(keeping.file)):
        # A process killed between the commit and its sync leaves what a power failure can undo.
        for part in (base, base.with_name(f"{base.name}-wal")):
            with contextlib.suppress(FileNotFoundError):
                sync(part)
        keeping.put_in_place()


def rows_waiting(home: Home, count: int) -> int:
    """Return how many added rows a peer has not taken up, whose state has ``count`` rows."""
    with contextlib.suppress(InputError):  # it may be taken up between the two looks
        keeping = keeping_of(home)
        if keeping.file.exists():
            return max(0, len(keeping.read(keeping.file)) - count)
    return 0


@contextlib.contextmanager
def _locked(home: Home, *, wait: float = math.inf) -> Iterator[bool]:
    """Hold what is known of the peer's rows; yield whether that succeeded."""
    path = home.folder / "add.lock"
    with contextlib.ExitStack() as stack:
        is_held = True
        try:
            stack.enter_context(files.lock(path, wait=wait))
        except BlockingIOError:
            is_held = False
        except OSError as problem:
            raise files.unwritable(path, problem, "lock") from None
        yield is_held
