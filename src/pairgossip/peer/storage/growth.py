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
import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
import numpy as np

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import LARGEST_TOML, read_bytes, sync
from pairgossip.peer.identity.identity import load_identity, write_new
from pairgossip.peer.protocol.held import Batch, Held, Own
from pairgossip.peer.protocol.messages import MOST_TRAVELING, Rows, digest_rows
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
    SiteRows,
    check_contribution,
    contributed_rows,
    copy_text,
    read_copy,
)
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.peer.storage.kept_releases import ReleaseOptions

_LARGEST_REQUEST = 1 << 30
"""Bytes of a request; a longer one is refused."""


@dataclass(frozen=True)
class _Request:
    """Rows that were asked for."""

    file: Path
    """Goes away once it is done."""
    added: int
    rows: int
    """How many the peer will have."""


class _Sources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sources of all rows that a peer is to have."""

    sources: tuple[str, ...]
    batches: tuple[Batch, ...]


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

    spec, settings = home.read_spec(), home.read_settings()
    planned = PlannedRelease(spec, Path(data_path), settings, release or ReleaseOptions())
    with _locked(home):
        _finish_growth(home)
        before = _read_latest(home, spec)
        if spec.noise is not None:
            refuse_other_ledger(home, Path(data_path), ledger)

        def approve(more: SiteRows) -> None:
            _refuse_few_added(home, spec, len(before) + len(more))
            # The sums before and after tell those over the added rows, by difference.
            said = check_contribution(more, settings, "This batch")
            if spec.is_sums and spec.loss is not None:
                rows = np.concatenate([_read_rows_before(home, spec), more.matrix])
                check_contribution(SiteRows(spec, more.table, rows), settings)
            said += planned.check(more, home, len(before))
            if spec.is_sums:
                _refuse_known_source(home, Path(data_path))
            confirm(said)

        # Under privacy the reports are drawn here, once, and are on the disk before they are used.
        more = contributed_rows(data_path, spec, ledger, budget, noted_ledgers(home), approve)
        count = len(before) + len(more)
        if not spec.is_sums and count > MOST_TRAVELING:
            raise InputError(
                f"{data_path} has {format_count(len(more), 'row')} and the peer has "
                f"{len(before)}: a peer holds at most {MOST_TRAVELING} that travel."
            )
        if spec.privacy is not None:
            note_ledger(home, data_path, ledger)
        if spec.noise is not None:  # those in a signed table do not pay again
            from pairgossip.peer.storage.kept_noise import check_account

            check_account(noise_ledger(home), more.rows, spec, budget)
        file = request_file(home, spec)
        draft = file.with_name(f".{file.name}")
        draft.unlink(missing_ok=True)
        own, content = _write_request(home, Path(data_path), before, more)
        write_new(draft, content, 0o600)
        try:
            if _read_request(draft, spec) != own:
                raise InputError("The rows read differently from their copy: try again.")
            planned.prepare(home, Path(os.path.abspath(home.folder)), len(before))
            _rename(draft, file)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    return _Request(file, len(more), count)


def _refuse_known_source(home: Home, data: Path) -> None:
    """Refuse to take more rows from a source: those that it has must stay as they are."""
    if os.path.realpath(data) in map(os.path.realpath, _latest_sources(home)):
        raise InputError(
            f"{data} is a source of this peer already, and must stay as it is: give rows that came "
            "since in a file of their own."
        )


def request_file(home: Home, spec: Spec) -> Path:
    """Return the file that tells which rows a peer is to have."""
    return home.next_sources if spec.is_sums else home.next_data


def _write_request(home: Home, data: Path, before: Own, more: SiteRows) -> tuple[Own, bytes]:
    """Return all rows that a peer is to have, and what a request for them holds."""
    if not more.spec.is_sums:
        rows = (*cast(Rows, before), *more.rows)
        return rows, copy_text(rows, more.spec).encode()
    from pairgossip.peer.storage.sources import absolute_source, make_batch

    batch = make_batch(more, load_identity(home.folder))
    batches = (*cast(Held, before).batches, batch)
    sources = (*_latest_sources(home), absolute_source(data))
    return Held(batches), msgspec.msgpack.encode(_Sources(sources, batches))


def _read_request(file: Path, spec: Spec) -> Own:
    """Return all rows that a peer is to have by a request."""
    return Held(_read_sources(file).batches) if spec.is_sums else read_copy(file, spec)


def _read_sources(file: Path) -> _Sources:
    try:
        return msgspec.msgpack.decode(read_bytes(file, _LARGEST_REQUEST), type=_Sources)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise InputError(
            f"{file} is not a request of peer add: remove it, and run peer add again."
        ) from None


def _read_latest(home: Home, spec: Spec) -> Own:
    """Return the rows that a peer is to have, or else those that it has."""
    file = request_file(home, spec)
    if file.exists():
        return _read_request(file, spec)
    if not spec.is_sums:
        return home.read_rows()
    state, _ = read_saved_state(home.state)
    assert isinstance(state, SumsState)
    return Held(state.batches)


def _latest_sources(home: Home) -> tuple[str, ...]:
    file = home.next_sources
    return _read_sources(file).sources if file.exists() else home.read_settings().sources


def _read_rows_before(home: Home, spec: Spec) -> np.ndarray:
    """Read the rows again that a peer has, or is to have."""
    from pairgossip.peer.storage.sources import read_batch

    identity, own = load_identity(home.folder), cast(Held, _read_latest(home, spec))
    given = zip(_latest_sources(home), own.batches, strict=True)
    return np.concatenate([read_batch(Path(one), spec, identity, batch) for one, batch in given])


def count_latest(home: Home) -> int:
    """Return how many rows a peer is to have, or else has."""
    spec = home.read_spec()
    return len(_read_latest(home, spec))


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
def take_up_rows(home: Home, own: Own) -> Iterator[Own | None]:
    """Give all rows that the peer is to have, None if none were added; they are its own after that.

    The peer must have written them down when it is done here.
    """
    if not (home.next_data.exists() or home.next_sources.exists()):
        yield None
        return
    spec = home.read_spec()
    with _locked(home, wait=0.0) as is_locked:
        if not is_locked:  # rows are being added at this moment: the next look finds them
            yield None
            return
        file = request_file(home, spec)
        rows = _read_request(file, spec)
        if len(rows) <= len(own) or not _continues(rows, own):
            raise InputError(
                f"{file} does not begin with the rows that this peer has: remove it, and run peer "
                f"add again."
            )
        yield _with_matrix(home, spec, own, rows)
        _put_in_place(home, spec)


def _continues(rows: Own, before: Own) -> bool:
    if isinstance(rows, Held) and isinstance(before, Held):
        return rows.batches[: len(before.batches)] == before.batches
    return rows[: len(before)] == before


def _with_matrix(home: Home, spec: Spec, before: Own, rows: Own) -> Own:
    """Read the added rows where a peer needs its rows."""
    if not isinstance(rows, Held) or not isinstance(before, Held) or before.matrix is None:
        return rows
    from pairgossip.peer.storage.sources import read_batch

    identity, sources = load_identity(home.folder), _latest_sources(home)
    given = list(zip(sources, rows.batches, strict=True))[len(before.batches) :]
    added = [read_batch(Path(one), spec, identity, batch) for one, batch in given]
    return Held(rows.batches, np.concatenate([before.matrix, *added]))


def _put_in_place(home: Home, spec: Spec) -> None:
    """Let the folder name the rows that the state has by now, and end the request."""
    if not spec.is_sums:
        _rename(home.next_data, home.data)
        return
    sources = list(enumerate(_read_sources(home.next_sources).sources, 1))
    if added := sources[len(home.read_settings().sources) :]:
        text = read_bytes(home.peer, LARGEST_TOML).decode().rstrip("\n")
        lines = (f"batch.{number} = {json.dumps(source)}\n" for number, source in added)
        files.replace(home.peer, "".join([text, "\n", *lines]).encode())
    try:
        home.next_sources.unlink()
        sync(home.folder)
    except OSError as problem:
        raise files.unwritable(home.next_sources, problem, "remove") from None


def finish_interrupted_growth(home: Home) -> None:
    """Finish what a crash has interrupted, before anything else of the peer is read."""
    if home.next_data.exists() or home.next_sources.exists():
        with _locked(home):
            _finish_growth(home)


def _finish_growth(home: Home) -> None:
    """Put the new rows in place if the state has them; other requests wait for the peer."""
    spec, base = home.read_spec(), home.state
    file = request_file(home, spec)
    if file.exists() and _is_taken_up(base, _read_request(file, spec)):
        # A process killed between the commit and its sync leaves what a power failure can undo.
        for part in (base, base.with_name(f"{base.name}-wal")):
            with contextlib.suppress(FileNotFoundError):
                sync(part)
        _put_in_place(home, spec)


def _is_taken_up(base: Path, rows: Own) -> bool:
    """Return whether a state has these rows."""
    if not isinstance(rows, Held):
        return digest_rows(rows) == read_about(base).get("data")
    state, _ = read_saved_state(base)
    return isinstance(state, SumsState) and state.batches == rows.batches


def rows_waiting(home: Home, count: int) -> int:
    """Return how many added rows a peer has not taken up, whose state has ``count`` rows."""
    with contextlib.suppress(InputError):  # it may be taken up between the two looks
        spec = home.read_spec()
        if (file := request_file(home, spec)).exists():
            return max(0, len(_read_request(file, spec)) - count)
    return 0


def rows_in_force(home: Home, count: int) -> Rows:
    """Return a peer's copied rows, of which its state has ``count``; the peer may be running."""
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
