"""Making a peer's folder, everything or nothing.

The first state is written here, before the folder has its name. So a peer that starts always
finds one, and one that finds none has lost it: nothing a crash does at the first start can make
two first states.

Where sums are computed, the folder names the source of the rows and holds none of them. Where rows
travel, it has a copy of them, or under privacy a report of each. Reports are drawn before anything
of the rows reaches the folder, so that its state, its copies and its frames hold reports only, both
as the own observation and as the one that circulates.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import LARGEST_TOML, quote_toml, read_bytes, sync
from pairgossip.peer.identity.identity import Identity, create_identity, write_new
from pairgossip.peer.identity.members import Members, make_context
from pairgossip.peer.identity.relays import Relay
from pairgossip.peer.protocol.messages import digest_rows
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.state import Save, SaveSums
from pairgossip.peer.specification.keys import EXCHANGE, SUMS
from pairgossip.peer.specification.spec import Spec, read_spec
from pairgossip.peer.storage.accounting import accounting_of
from pairgossip.peer.storage.folder import (
    DEFAULT_LISTEN,
    Home,
    OperatorSettings,
    change_by_environment,
    check_agreed,
    check_settings,
)
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.peer.storage.kept_releases import PlannedRelease, ReleaseOptions
from pairgossip.peer.storage.row_keeping import KEEPINGS
from pairgossip.peer.storage.rows import (
    SiteRows,
    check_contribution,
    contributed_rows,
    copy_text,
)
from pairgossip.peer.storage.sources import make_batch


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
    relay: Relay | None = None,
    **settings: Any,
) -> Home:
    """Make the folder of a new peer: key, certificate, specification, first state.

    It has a copy of rows that travel, and under privacy of the reports alone. More settings are
    those of `OperatorSettings`.
    """
    given = folder, OperatorSettings(name, listen, **settings), spec_path, data_path
    return make_folder(*given, ledger=ledger, budget=budget, release=release, relay=relay)


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
    relay: Relay | None = None,
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
    relay
        Where a site that cannot be called meets the others.
    confirm
        Called before anything is made, with the sentences about what leaves this machine; it
        raises `InputError` if that may not be.
    """
    target = Path(os.path.abspath(folder))
    if relay is not None:
        settings = msgspec.structs.replace(settings, relay=relay.address)
    check_settings(settings)
    spec = read_spec(spec_path)
    refuse_existing(target)
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}: make it first.")
    in_force = change_by_environment(settings, os.environ)
    check_agreed(spec, in_force)

    settings = KEEPINGS[spec.algorithm.name].name_source(settings, Path(data_path))
    planned = PlannedRelease(spec, Path(data_path), in_force, release or ReleaseOptions())

    def approve(given: SiteRows) -> None:
        sentences = [*spec.leaves(), *check_contribution(given, in_force)]
        confirm([*sentences, *planned.check(given)])

    given = contributed_rows(data_path, spec, ledger, budget, approve=approve)
    with scaffold(target) as draft:
        home = Home(draft)
        write_new(home.spec, read_bytes(Path(spec_path), LARGEST_TOML), 0o600)
        if home.read_spec() != spec:
            raise InputError("The specification changed while it was copied: try again.")
        accounting_of(spec, Path(data_path), ledger).note(home)
        write_new(home.peer, _settings_text(settings).encode(), 0o600)
        Members().save(home.members)
        if relay is not None:
            write_new(home.relay, relay.certificate.encode(), 0o644)
        identity = create_identity(draft, settings.name, years)
        _BEGINNINGS[spec.algorithm.name](home, identity, given)
        planned.prepare(home, target)
    return Home(folder)


def refuse_existing(target: Path) -> None:
    """Refuse to make a folder where something is already."""
    if os.path.lexists(target):
        raise InputError(f"{target} exists already and is left as it is: choose another folder.")


@contextlib.contextmanager
def scaffold(target: Path) -> Iterator[Path]:
    """Give a hidden folder to fill, which takes its name only once it is complete."""
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


def _begin_sums(home: Home, identity: Identity, given: SiteRows) -> None:
    """Write the first state of a peer that reads its rows where they are."""
    from pairgossip.peer.protocol.rounds import first_sums

    with _first_journal(home, identity, given.spec) as journal:
        begun = first_sums(len(given), (make_batch(given, identity),))
        journal.save(SaveSums(begun, sync=True, everything=True))


def _begin_exchange(home: Home, identity: Identity, given: SiteRows) -> None:
    """Copy rows that travel, and write the first state of a peer with them."""
    rows, spec = given.rows, given.spec
    write_new(home.data, copy_text(rows, spec).encode(), 0o600)
    with _first_journal(home, identity, spec, {"data": digest_rows(rows)}) as journal:
        state = first_state(make_context(identity, spec, rows, Members()))
        journal.save(Save(state, sync=True, everything=True))
    if home.read_rows() != rows:
        raise InputError("The rows read differently from their copy: give the columns plain names.")


_BEGINNINGS = {EXCHANGE: _begin_exchange, SUMS: _begin_sums}
"""What writes the first state of a peer, by the algorithm."""


@contextlib.contextmanager
def _first_journal(
    home: Home, identity: Identity, spec: Spec, about: Mapping[str, str] | None = None
) -> Iterator[SqliteJournal]:
    """Give the journal of a new peer, which knows whose it is."""
    journal = SqliteJournal(home.state, create=True)
    try:
        noted = {"peer": identity.id, "spec": spec.hash, **(about or {})}
        journal.note({**noted, "draw_seed": str(secrets.randbits(64))})
        yield journal
    finally:
        journal.close()
