"""Making a peer's folder, everything or nothing, and adding rows to it.

The first state is written here, before the folder has its name. So a peer that starts always
finds one, and one that finds none has lost it: nothing a crash does at the first start can make
two first states.

A peer contributes its rows as they are, or under privacy a report of each. Reports are drawn before
anything of the rows reaches the folder, so that its state, its copies and its frames hold reports
only, both as the own observation and as the one that circulates.

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
import json
import math
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import LARGEST_TOML, read_bytes, sync, write_json_file
from pairgossip.peer.identity.identity import Identity, create_identity, write_new
from pairgossip.peer.identity.members import Members, make_context
from pairgossip.peer.protocol.messages import MOST_ROWS, Rows, digest_rows
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.program import SIZE_STEP
from pairgossip.peer.protocol.state import Save, SaveSums, SumsState
from pairgossip.peer.spec.spec import Spec, read_spec
from pairgossip.peer.storage.folder import (
    DEFAULT_LISTEN,
    Home,
    OperatorSettings,
    change_by_environment,
    check_least_cell,
    check_settings,
)
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.peer.storage.journal_file import read_about, read_saved_state
from pairgossip.peer.storage.rows import (
    check_contribution,
    contributed_rows,
    copy_text,
    read_copy,
)
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.peer.storage.kept_releases import PlannedRelease, ReleaseOptions
    from pairgossip.peer.storage.ledger import Account
    from pairgossip.peer.storage.old_folder import OldFolder


_LARGEST_LIST = 1 << 20
"""Bytes of the list of a peer's ledgers."""


def noise_ledger(home: Home) -> Path:
    """Return where a peer keeps the noise that it adds to sums; raise if it is not there."""
    from pairgossip.peer.storage.ledger import refuse_without

    kept = [Path(one) for one in _noted_ledgers(home)]
    if not kept:
        raise InputError(
            f"There is no {home.ledgers}, which tells where the ledger is: put it back."
        )
    refuse_without(kept[0], kept)
    return kept[0]


def _refuse_other_ledger(home: Home, data: Path, ledger: str | PathLike[str] | None) -> None:
    """Refuse to add rows whose spending another ledger knows than the one of a peer's noise."""
    mine, beside = noise_ledger(home), data.resolve().with_name(f"{data.resolve().name}.ledger")
    if ledger is not None and Path(ledger).resolve() != mine:
        raise InputError(f"This peer keeps its noise in {mine}: leave --ledger out.")
    if beside.exists() and beside != mine:
        raise InputError(
            f"{beside} knows what rows of {data} have spent, and this peer's ledger is {mine}: put "
            "all rows into one file with a ledger of its own, and make a new peer."
        )


def _note_ledger(
    home: Home, data_path: str | PathLike[str], ledger: str | PathLike[str] | None = None
) -> None:
    """Keep in a peer's folder where the reports of a data file are accounted for."""
    from pairgossip.peer.storage.ledger import ledger_beside

    place = ledger_beside(Path(data_path), None if ledger is None else Path(ledger))
    ledgers = [*_noted_ledgers(home), str(place)]
    write_json_file(home.ledgers, {"ledgers": list(dict.fromkeys(ledgers))})


def accounts(home: Home) -> dict[str, Account | InputError]:
    """Return what has been spent by each ledger of a peer, or why that cannot be told."""
    from pairgossip.peer.storage.ledger import account_of

    by_path: dict[str, Account | InputError] = {}
    for path in _noted_ledgers(home):
        try:
            by_path[path] = account_of(Path(path))
        except InputError as problem:
            by_path[path] = problem
    return by_path


class _Ledgers(msgspec.Struct, forbid_unknown_fields=True):
    ledgers: tuple[str, ...]


def _noted_ledgers(home: Home) -> tuple[str, ...]:
    if not home.ledgers.exists():
        return ()
    description = "a list of ledgers: remove it"
    return files.read_struct(home.ledgers, _LARGEST_LIST, _Ledgers, description).ledgers


def create_home(
    folder: str | PathLike[str],
    name: str,
    spec_path: str | PathLike[str],
    data_path: str | PathLike[str],
    listen: str = DEFAULT_LISTEN,
    *,
    ledger: str | PathLike[str] | None = None,
    budget: float | None = None,
    release: ReleaseOptions | None = None,
    **settings: Any,
) -> Home:
    """Make the folder of a new peer: key, certificate, copies of rows and spec, first state.

    Under privacy the copy is of the reports, and nothing in the folder tells the rows. More
    settings are those of `OperatorSettings`.
    """
    given = folder, OperatorSettings(name, listen, **settings), spec_path, data_path
    return make_folder(*given, ledger=ledger, budget=budget, release=release)


def make_folder(
    folder: str | PathLike[str],
    settings: OperatorSettings,
    spec_path: str | PathLike[str],
    data_path: str | PathLike[str],
    years: int = 10,
    *,
    ledger: str | PathLike[str] | None = None,
    budget: float | None = None,
    release: ReleaseOptions | None = None,
    old: OldFolder | None = None,
    confirm: Callable[[list[str]], None] = lambda _: None,
) -> Home:
    """Make the folder of a new peer with these settings.

    Parameters
    ----------
    folder, settings, spec_path, data_path, years
        The folder, what its operator decides, the specification, the rows, and how long a new
        certificate is valid.
    ledger, budget
        Under privacy, where spending is accounted for, and how much of it there may be.
    release
        Where tables of counts are released, what the operator says about it.
    old
        A folder of an earlier version, whose key, certificate and signed results are taken.
    confirm
        Called before anything is made, with the sentences about what leaves this machine; it
        raises `InputError` if that may not be.
    """
    target = Path(os.path.abspath(folder))
    check_settings(settings)
    spec = read_spec(spec_path)
    _refuse_existing(target)
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}: make it first.")
    in_force = change_by_environment(settings, os.environ)
    check_least_cell(spec, in_force)

    plan = partial(_plan_release, spec, data_path, release, in_force)

    def approve(rows: Rows) -> None:
        sentences = [*spec.leaves(), *check_contribution(spec, rows, in_force)]
        confirm([*sentences, *plan(rows).check()])

    rows = contributed_rows(data_path, spec, ledger, budget, approve=approve)
    with _scaffold(target) as draft:
        home = Home(draft)
        write_new(home.spec, read_bytes(Path(spec_path), LARGEST_TOML), 0o600)
        write_new(home.data, copy_text(rows, spec).encode(), 0o600)
        if spec.privacy is not None or spec.noise is not None:
            _note_ledger(home, data_path, ledger)
        write_new(home.peer, _settings_text(settings).encode(), 0o600)
        Members().save(home.members)
        if old is None:
            identity = create_identity(draft, settings.name, years)
        else:
            identity = old.copy_to(home)
        _write_first_state(home, identity, spec, rows)
        _check_copies(home, spec, rows)
        plan(rows).prepare(home, target)
    return Home(folder)


def _plan_release(
    spec: Spec,
    data_path: str | PathLike[str],
    options: ReleaseOptions | None,
    settings: OperatorSettings,
    rows: Rows,
) -> PlannedRelease:
    """Return the release of the rows of a data file."""
    from pairgossip.peer.storage.kept_releases import PlannedRelease, ReleaseOptions

    return PlannedRelease(spec, Path(data_path), rows, settings, options or ReleaseOptions())


def _refuse_existing(target: Path) -> None:
    if os.path.lexists(target):
        raise InputError(f"{target} exists already and is left as it is: choose another folder.")


@contextlib.contextmanager
def _scaffold(target: Path) -> Iterator[Path]:
    """Give a hidden folder to fill, which takes its name only once it is complete."""
    try:
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as problem:
        raise files.unwritable(target, problem, "make") from None
    try:
        yield draft
        sync(draft)
        _refuse_existing(target)
        os.rename(draft, target)
        sync(target.parent)
    except BaseException as problem:
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(problem, OSError):
            raise files.unwritable(target, problem, "make") from None
        raise


def _settings_text(settings: OperatorSettings) -> str:
    """Write settings as TOML, whose text and truth values are spelled as in JSON."""
    entries = msgspec.to_builtins(settings).items()
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in entries if value is not None)


def _write_first_state(home: Home, identity: Identity, spec: Spec, rows: Rows) -> None:
    journal = SqliteJournal(home.state, create=True)
    try:
        about = {"peer": identity.id, "spec": spec.hash, "data": digest_rows(rows)}
        journal.note({**about, "draw_seed": str(secrets.randbits(64))})
        if spec.is_sums:
            from pairgossip.peer.protocol.rounds import first_sums

            journal.save(SaveSums(first_sums(len(rows)), sync=True, everything=True))
        else:
            state = first_state(make_context(identity, spec, rows, Members()))
            journal.save(Save(state, sync=True, everything=True))
    finally:
        journal.close()


def _check_copies(home: Home, spec: Spec, rows: Rows) -> None:
    """Make sure that the peer will read what was read here."""
    if home.read_spec() != spec:
        raise InputError("The specification changed while it was copied: try again.")
    if home.read_rows() != rows:
        raise InputError("The rows read differently from their copy: give the columns plain names.")


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
    spec = home.read_spec()
    plan = partial(_plan_release, spec, data_path, release, home.read_settings())
    with _locked(home):
        _finish_growth(home)
        file = home.next_data
        before = read_copy(file, spec) if file.exists() else home.read_rows()
        if spec.noise is not None:
            _refuse_other_ledger(home, Path(data_path), ledger)

        def approve(more: Rows) -> None:
            _refuse_few_added(home, spec, len(before) + len(more))
            # The sums before and after tell those over the added rows, by difference.
            for rows in (more, (*before, *more)):
                check_contribution(spec, rows, home.read_settings())
            confirm(plan(more).check(home))

        # Under privacy the reports are drawn here, once, and are on the disk before they are used.
        more = contributed_rows(data_path, spec, ledger, budget, _noted_ledgers(home), approve)
        rows = (*before, *more)
        if len(rows) > MOST_ROWS:
            raise InputError(
                f"{data_path} has {format_count(len(more), 'row')} and the peer has "
                f"{len(before)}: a peer holds at most {MOST_ROWS}."
            )
        if spec.privacy is not None:
            _note_ledger(home, data_path, ledger)
        if spec.noise is not None:  # those in a signed table do not pay again
            from pairgossip.peer.storage.kept_noise import check_account

            check_account(noise_ledger(home), more, spec, budget)
        draft = file.with_name(f".{file.name}")
        draft.unlink(missing_ok=True)
        write_new(draft, copy_text(rows, spec).encode(), 0o600)
        try:
            if read_copy(draft, spec) != rows:
                raise InputError("The rows read differently from their copy: try again.")
            plan(more).prepare(home, Path(os.path.abspath(home.folder)))
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
