"""What a peer contributes to a run: its rows as they are, or under privacy a report of each.

Reports are made here, before anything of the rows reaches a peer's folder. So its state, its
copies and its frames hold reports only, in both roles: as the own observation and as the one that
circulates.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import read_bytes, write_text
from pairgossip.peer.folder import Home
from pairgossip.peer.members import MOST_ROWS
from pairgossip.peer.rows import Rows, read_rows
from pairgossip.peer.spec import Spec

if TYPE_CHECKING:
    from pairgossip.peer.ledger import Account

LARGEST_LIST = 1 << 20
"""Bytes of the list of a peer's ledgers."""


def contributed_rows(
    data_path: str | PathLike[str],
    spec: Spec,
    ledger: str | PathLike[str] | None = None,
    budget: float | None = None,
    home: Home | None = None,
) -> Rows:
    """Read a data file and return what of it may circulate.

    Under privacy every row has been reported once, and its report is on the disk, before this
    returns; the same file gives the same reports again.

    Parameters
    ----------
    data_path
        The rows as they are.
    spec
        What all members agree on.
    ledger
        Where the reports are kept; by default beside the data file.
    budget
        How much epsilon a row may spend in all; None for what the ledger says.
    home
        The peer's folder, if there is one: it knows which ledgers there must be.
    """
    data = Path(data_path)
    if spec.privacy is None:
        _refuse_options(ledger, budget)
    else:
        place = _ledger(data, ledger)
    rows = read_rows(data, spec)
    if len(rows) > MOST_ROWS:
        raise InputError(f"{data} has {len(rows)} rows: a peer holds at most {MOST_ROWS}.")
    if spec.privacy is None:
        return rows
    from pairgossip.peer.ledger import refuse_renamed, refuse_without, reports_of
    from pairgossip.peer.reports import declared

    if home is not None:
        refuse_without(place, map(Path, _noted(home)))
    if ledger is None:
        refuse_renamed(place, rows, spec.observed)
    reports = reports_of(place, rows, declared(spec), budget)
    return tuple(tuple(map(float, report)) for report in reports)


def note_ledger(
    home: Home, data_path: str | PathLike[str], ledger: str | PathLike[str] | None = None
) -> None:
    """Keep in a peer's folder where the reports of a data file are accounted for."""
    known = [*_noted(home), str(_ledger(Path(data_path), ledger))]
    write_text(home.ledgers, [json.dumps({"ledgers": list(dict.fromkeys(known))}, indent=2), "\n"])


def accounts(home: Home) -> dict[str, Account | InputError]:
    """Return what has been spent by each ledger of a peer, or why that cannot be told."""
    from pairgossip.peer.ledger import account_of

    found: dict[str, Account | InputError] = {}
    for path in _noted(home):
        try:
            found[path] = account_of(Path(path))
        except InputError as problem:
            found[path] = problem
    return found


def _refuse_options(ledger: object, budget: object) -> None:
    for option, given in (("--ledger", ledger), ("--budget", budget)):
        if given is not None:
            raise InputError(
                f"{option} is for a specification with a table [privacy], and this one has none: "
                f"leave it out."
            )


def _ledger(data: Path, ledger: str | PathLike[str] | None) -> Path:
    from pairgossip.peer.ledger import ledger_beside

    return ledger_beside(data, None if ledger is None else Path(ledger))


class _Ledgers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ledgers: tuple[str, ...]


def _noted(home: Home) -> tuple[str, ...]:
    if not home.ledgers.exists():
        return ()
    try:
        return msgspec.json.decode(read_bytes(home.ledgers, LARGEST_LIST), type=_Ledgers).ledgers
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError(f"{home.ledgers} is no list of ledgers: remove it.") from None
