"""Which ledgers account for the rows of a peer: a list in its folder."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import write_json_file

if TYPE_CHECKING:
    from pairgossip.peer.bookkeeping.ledger import Account
    from pairgossip.peer.storage.folder import Home

_LARGEST_LIST = 1 << 20
"""Bytes of the list of a peer's ledgers."""


def note_ledger(
    home: Home, data_path: str | PathLike[str], ledger: str | PathLike[str] | None = None
) -> None:
    """Keep in a peer's folder where the reports of a data file are accounted for."""
    from pairgossip.peer.bookkeeping.ledger import ledger_beside

    place = ledger_beside(Path(data_path), None if ledger is None else Path(ledger))
    ledgers = [*noted_ledgers(home), str(place)]
    write_json_file(home.ledgers, {"ledgers": list(dict.fromkeys(ledgers))})


def accounts(home: Home) -> dict[str, Account | InputError]:
    """Return what has been spent by each ledger of a peer, or why that cannot be told."""
    from pairgossip.peer.bookkeeping.ledger import account_of

    by_path: dict[str, Account | InputError] = {}
    for path in noted_ledgers(home):
        try:
            by_path[path] = account_of(Path(path))
        except InputError as problem:
            by_path[path] = problem
    return by_path


class _Ledgers(msgspec.Struct, forbid_unknown_fields=True):
    ledgers: tuple[str, ...]


def noted_ledgers(home: Home) -> tuple[str, ...]:
    """Return the paths of a peer's ledgers."""
    if not home.ledgers.exists():
        return ()
    description = "a list of ledgers: remove it"
    return files.read_struct(home.ledgers, _LARGEST_LIST, _Ledgers, description).ledgers
