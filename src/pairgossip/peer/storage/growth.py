"""Adding rows to a peer.

Rows are added so that a crash anywhere leaves either the old rows or the new ones. All rows that
the peer is to have are written beside those it has, and the file takes its name at once. Nothing
has changed then: it is a request, which the peer takes up when it runs. It begins a new generation
with these rows, and one transaction of its database switches both its state and the rows that the
state belongs to. Last, the file takes the place of the old one. If the peer is killed before that,
the database says at the next start which of the two files is the right one. Whoever reads one of
the files to write the other holds the lock, so that nothing is added to rows that have changed
meanwhile.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import sync
from pairgossip.peer.identity.identity import write_new
from pairgossip.peer.protocol.messages import MOST_ROWS, Rows, digest_rows
from pairgossip.peer.protocol.program import SIZE_STEP
from pairgossip.peer.protocol.state import SumsState
from pairgossip.peer.spec.spec import Spec
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.journal_file import read_about, read_saved_state
from pairgossip.peer.storage.kept_ledgers import (
    noise_ledger,
    note_ledger,
    noted_ledgers,
    refuse_other_ledger,
)
from pairgossip.peer.storage.rows import (
    check_contribution,
    contributed_rows,
    copy_text,
    read_copy,
)
from pairgossip.text import format_count

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
    """Ask for the rows of a file to be added; a request not carried out yet is added to."""
    from pairgossip.peer.storage.kept_releases import PlannedRelease, ReleaseOptions

    spec, settings = home.read_spec(), home.read_settings()
    planned = PlannedRelease(spec, Path(data_path), settings, release or ReleaseOptions())
    with _locked(home):
        _finish_growth(home)
        file = home.next_data
        before = read_copy(file, spec) if file.exists() else home.read_rows()
        if spec.noise is not None:
            refuse_other_ledger(home, Path(data_path), ledger)

        def approve(more: Rows) -> None:
            _refuse_few_added(home, spec, len(before) + len(more))
            # The sums before and after tell those over the added rows, by difference.
            said = check_contribution(spec, more, settings, "This batch")
            check_contribution(spec, (*before, *more), settings)
            confirm([*said, *planned.check(more, home, len(before))])

        # Under privacy the reports are drawn here, once, and are on the disk before they are used.
        more = contributed_rows(data_path, spec, ledger, budget, noted_ledgers(home), approve)
        rows = (*before, *more)
        if len(rows) > MOST_ROWS:
            raise InputError(
                f"{data_path} has {format_count(len(more), 'row')} and the peer has "
                f"{len(before)}: a peer holds at most {MOST_ROWS}."
            )
        if spec.privacy is not None:
            note_ledger(home, data_path, ledger)
        if spec.noise is not None:  # those in a signed table do not pay again
            from pairgossip.peer.storage.kept_noise import check_account

            check_account(noise_ledger(home), more, spec, budget)
        draft = file.with_name(f".{file.name}")
        draft.unlink(missing_ok=True)
        write_new(draft, copy_text(rows, spec).encode(), 0o600)
        try:
            if read_copy(draft, spec) != rows:
                raise InputError("The rows read differently from their copy: try again.")
            planned.prepare(home, Path(os.path.abspath(home.folder)), len(before))
            _rename(draft, file)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    return _Request(file, len(more), len(rows))


def _refuse_few_added(home: Home, spec: Spec, rows: int) -> None:
    """Refuse few more rows after a sum: the difference would show everybody where they lie."""
    if not spec.is_sums:
        return
    state, _ = read_saved_state(home.state)
    added, least_rows = rows - state.rows, home.read_settings().least_rows
    if spec.kernel is not None and added < SIZE_STEP:
        raise InputError(
            f"{format_count(added, 'row')} would be added, but others are told sizes in steps of "
            f"{SIZE_STEP}: add {SIZE_STEP} rows or more at once."
        )
    if isinstance(state, SumsState) and state.summed_in and added < least_rows:
        raise InputError(
            f"{format_count(added, 'row')} would be added to a peer that has contributed to a sum, "
            f"and the difference would show everybody where they lie: add {least_rows} or more at "
            "once, or change least_rows in peer.toml."
        )


@contextlib.contextmanager
def take_up_rows(home: Home, own: Rows) -> Iterator[Rows | None]:
    """Give all rows that the peer is to have, None if none were added; they are its own after that.

    The peer must have written them down when it is done here.
    """
    file = home.next_data
    if not file.exists():
        yield None
        return
    with _locked(home, wait=0.0) as is_locked:
        if not is_locked:  # rows are being added at this moment: the next look finds them
            yield None
            return
        rows = read_copy(file, home.read_spec())
        if len(rows) <= len(own) or rows[: len(own)] != own:
            raise InputError(
                f"{file} does not begin with the rows that this peer has: remove it, and run peer "
                f"add again."
            )
        yield rows
        _rename(file, home.data)


def finish_interrupted_growth(home: Home) -> None:
    """Finish what a crash has interrupted, before anything else of the peer is read."""
    if home.next_data.exists():
        with _locked(home):
            _finish_growth(home)


def _finish_growth(home: Home) -> None:
    """Put the new rows in place if the state has them; other requests wait for the peer."""
    file, base = home.next_data, home.state
    if not file.exists():
        return
    if digest_rows(read_copy(file, home.read_spec())) == read_about(base).get("data"):
        # A process killed between the commit and its sync leaves what a power failure can undo.
        for part in (base, base.with_name(f"{base.name}-wal")):
            with contextlib.suppress(FileNotFoundError):
                sync(part)
        _rename(file, home.data)


def rows_waiting(home: Home, count: int) -> int:
    """Return how many added rows a peer has not taken up, whose state has ``count`` rows."""
    with contextlib.suppress(InputError):  # it may be taken up between the two looks
        if home.next_data.exists():
            return max(0, len(read_copy(home.next_data, home.read_spec())) - count)
    return 0


def rows_in_force(home: Home, count: int) -> Rows:
    """Return a peer's rows, of which its state has ``count``; the peer may be running."""
    file = home.next_data
    for _ in range(2):  # between two reads the peer may have put one file in the other's place
        with contextlib.suppress(InputError):
            if len(rows := home.read_rows()) == count:
                return rows
            if file.exists() and len(rows := read_copy(file, home.read_spec())) == count:
                return rows
    return home.read_rows()


def _rename(file: Path, name: Path) -> None:
    """Let a file take another's place, on the disk too."""
    try:
        os.replace(file, name)
        sync(name.parent)
    except OSError as problem:
        raise files.unwritable(name, problem) from None


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
