"""The creation of a peer's folder, complete or not at all.

The first state is written before the folder has its name. So a peer that starts always has a state,
and one without a state has lost it: no crash at the first start can make two first states.

The folder has a copy of the rows, or under privacy a report of each. Reports are drawn before
anything of the rows reaches the folder, so its state, its copies and its frames hold reports only,
both as the own observation and as the one that circulates.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import LARGEST_TOML, quote_toml, read_bytes, sync
from pairgossip.peer.identity.identity import Identity, create_identity, write_new
from pairgossip.peer.identity.members import Members, make_context
from pairgossip.peer.protocol.messages import digest_rows
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.state import Save
from pairgossip.peer.specification.spec import Spec, read_spec
from pairgossip.peer.storage.accounting import accounting_of
from pairgossip.peer.storage.folder import (
    DEFAULT_LISTEN,
    Home,
    OperatorSettings,
    change_by_environment,
    check_settings,
)
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.peer.storage.rows import SiteRows, contributed_rows, copy_text


def create_home(
    folder: str | PathLike[str],
    name: str,
    spec_path: str | PathLike[str],
    data_path: str | PathLike[str],
    listen: str = DEFAULT_LISTEN,
    *,
    ledger: str | PathLike[str] | None = None,
    budget: float | None = None,
    years: int = 10,
    confirm: Callable[[list[str]], None] = lambda _: None,
    **settings: Any,
) -> Home:
    """Make the folder of a new peer: key, certificate, specification, first state, and rows.

    Under privacy it has a copy of the reports alone.

    Parameters
    ----------
    folder, name, spec_path, data_path
        The folder, the peer's name, the specification, and the rows.
    listen, settings
        The address at which it listens, and the other fields of `OperatorSettings`.
    ledger, budget
        The ledger that accounts for spending under privacy, and the largest epsilon to spend.
    years
        The time for which the certificate is valid.
    confirm
        A function of the sentences about what leaves this machine, called before anything is made;
        it raises `InputError` to refuse.
    """
    target = Path(os.path.abspath(folder))
    operator_settings = check_settings(OperatorSettings(name, listen, **settings))
    spec = read_spec(spec_path)
    _refuse_sums(spec)
    refuse_existing(target)
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}: make it first.")
    change_by_environment(operator_settings, os.environ)
    approve = partial(_approve, spec, confirm)
    rows = contributed_rows(data_path, spec, ledger, budget, approve=approve)
    with scaffold(target) as draft:
        home = Home(draft)
        write_new(home.spec, read_bytes(Path(spec_path), LARGEST_TOML), 0o600)
        if home.read_spec() != spec:
            raise InputError("The specification changed while it was copied: try again.")
        accounting_of(spec, Path(data_path), ledger).note(home)
        write_new(home.peer, _settings_text(operator_settings).encode(), 0o600)
        Members().save(home.members)
        _begin(home, create_identity(draft, name, years), rows)
    return Home(folder)


def _refuse_sums(spec: Spec) -> None:
    if spec.is_sums:
        raise InputError(
            "This specification asks for sums, which members of a study compute: leave --spec out, "
            "and ask it with pairgossip peer ask; or let rows travel, with algorithm.name = "
            '"exchange".'
        )


def _approve(spec: Spec, confirm: Callable[[list[str]], None], _: SiteRows) -> None:
    confirm(spec.leaves())


def refuse_existing(target: Path) -> None:
    """Raise `InputError` if the path of a new folder exists."""
    if os.path.lexists(target):
        raise InputError(f"{target} exists already and is left as it is: choose another folder.")


@contextlib.contextmanager
def scaffold(target: Path) -> Iterator[Path]:
    """Yield a hidden folder to fill, which takes its name once it is complete."""
    try:
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as problem:
        raise files.unwritable(target, problem, "make") from None
    try:
        yield draft
        sync(draft)
        refuse_existing(target)
        os.rename(draft, target)
        sync(target.parent)
    except BaseException as problem:
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(problem, OSError):
            raise files.unwritable(target, problem, "make") from None
        raise


def _settings_text(settings: OperatorSettings) -> str:
    """Write settings as TOML."""
    entries = msgspec.to_builtins(settings).items()
    return "".join(
        f"{key} = {quote_toml(value)}\n" for key, value in entries if value not in (None, (), {})
    )


def _begin(home: Home, identity: Identity, source: SiteRows) -> None:
    """Copy the rows, and write the first state of a peer with them."""
    rows, spec = source.rows, source.spec
    write_new(home.data, copy_text(rows, spec).encode(), 0o600)
    with _first_journal(home, identity, spec, {"data": digest_rows(rows)}) as journal:
        state = first_state(make_context(identity, spec, rows, Members()))
        journal.save(Save(state, sync=True, everything=True))
    if home.read_rows() != rows:
        raise InputError("The rows read differently from their copy: give the columns plain names.")


@contextlib.contextmanager
def _first_journal(
    home: Home, identity: Identity, spec: Spec, about: Mapping[str, str] | None = None
) -> Iterator[SqliteJournal]:
    """Yield the journal of a new peer, with notes of the peer and the specification."""
    journal = SqliteJournal(home.state, create=True)
    try:
        notes = {"peer": identity.id, "spec": spec.hash, **(about or {})}
        journal.note({**notes, "draw_seed": str(secrets.randbits(64))})
        yield journal
    finally:
        journal.close()
