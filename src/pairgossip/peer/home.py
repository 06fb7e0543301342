"""Making a peer's folder: everything or nothing, and never over another.

The first state is written here, before the folder has its name. So a peer that starts always
finds one, and one that finds none has lost it: nothing a crash does at the first start can make
two first states.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import LARGEST_TOML, read_bytes, sync
from pairgossip.peer.actions import Save
from pairgossip.peer.contribution import contributed_rows, note_ledger
from pairgossip.peer.exchange import first_state
from pairgossip.peer.folder import DEFAULT_LISTEN, check_settings
from pairgossip.peer.folder import Home as Home
from pairgossip.peer.folder import Settings as Settings
from pairgossip.peer.folder import open_home as open_home
from pairgossip.peer.identity import Identity, create_identity, write_new
from pairgossip.peer.journal import SqliteJournal
from pairgossip.peer.members import Members
from pairgossip.peer.rows import Rows, copy_text, digest
from pairgossip.peer.setting import setting_for
from pairgossip.peer.spec import Spec, read_spec


def create_home(
    folder: str | PathLike[str],
    name: str,
    spec_path: str | PathLike[str],
    data_path: str | PathLike[str],
    listen: str = DEFAULT_LISTEN,
    *,
    power_safe: bool = True,
    metrics: str | None = None,
    years: int = 10,
    ledger: str | PathLike[str] | None = None,
    budget: float | None = None,
) -> Home:
    """Make the folder of a new peer: key, certificate, copies of rows and spec, first state.

    Under privacy the copy is of the reports, and nothing in the folder tells the rows.
    """
    target = Path(os.path.abspath(folder))
    settings = check_settings(Settings(name, listen, power_safe, metrics))
    spec = read_spec(spec_path)
    _refuse_existing(target)
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}: make it first.")
    rows = contributed_rows(data_path, spec, ledger, budget)
    with _scaffold(target) as draft:
        home = Home(draft)
        write_new(home.spec, read_bytes(Path(spec_path), LARGEST_TOML), 0o600)
        write_new(home.data, copy_text(rows, spec).encode(), 0o600)
        if spec.privacy is not None:
            note_ledger(home, data_path, ledger)
        write_new(home.peer, _settings_text(settings).encode(), 0o600)
        Members().save(home.members)
        identity = create_identity(draft, name, years)
        _write_first_state(home, identity, spec, rows)
        _check_copies(home, spec, rows)
    return Home(folder)


def _refuse_existing(target: Path) -> None:
    if os.path.lexists(target):
        raise InputError(f"{target} exists already and is left as it is: choose another folder.")


@contextlib.contextmanager
def _scaffold(target: Path) -> Iterator[Path]:
    """Give a hidden folder to fill, which takes its name only once it is complete."""
    try:
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as problem:
        raise InputError(f"Cannot write in {target.parent}: {problem.strerror}.") from None
    try:
        yield draft
        sync(draft)
        _refuse_existing(target)
        os.rename(draft, target)
        sync(target.parent)
    except BaseException as problem:
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(problem, OSError):
            raise InputError(f"Cannot make {target}: {problem.strerror}.") from None
        raise


def _settings_text(settings: Settings) -> str:
    """Write settings as TOML, whose text and truth values are spelled as in JSON."""
    given = {
        key: value for key, value in msgspec.to_builtins(settings).items() if value is not None
    }
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in given.items())


def _write_first_state(home: Home, identity: Identity, spec: Spec, rows: Rows) -> None:
    journal = SqliteJournal(home.state, create=True)
    try:
        journal.note(
            {
                "peer": identity.id,
                "spec": spec.hash,
                "data": digest(rows),
                "draw_seed": str(secrets.randbits(64)),
            }
        )
        state = first_state(setting_for(identity, spec, rows, Members()))
        journal.save(Save(state, sync=True, everything=True))
    finally:
        journal.close()


def _check_copies(home: Home, spec: Spec, rows: Rows) -> None:
    """Make sure that the peer will read what was read here."""
    if home.read_spec() != spec:
        raise InputError("The specification changed while it was copied: try again.")
    if home.read_rows() != rows:
        raise InputError("The rows read differently from their copy: give the columns plain names.")
