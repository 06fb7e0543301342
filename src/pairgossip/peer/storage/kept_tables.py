"""Tables that members have counted together, kept in each member's folder: a file per generation.

A signed result names the digest of its table, which is salted, so that nobody but members can try
tables for it. With the table every further question that its cells can answer is answered at home.
"""

from __future__ import annotations

from pathlib import Path

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import read_bytes, sync
from pairgossip.peer.signed_result import SignedResult
from pairgossip.peer.storage.folder import Home

_ENDING = ".table"
_LARGEST = 1 << 24
"""Bytes of a table; a longer one is refused."""


def keep_table(home: Home, generation: int | str, table: bytes) -> Path:
    """Write the table of a generation, on the disk before this returns."""
    path = path_of(home, generation)
    try:
        home.tables.mkdir(mode=0o700, exist_ok=True)
        sync(home.folder)
    except OSError as problem:
        raise files.unwritable(home.tables, problem) from None
    if not (path.exists() and read_bytes(path, _LARGEST) == table):
        files.replace(path, table)
    return path


def path_of(home: Home, generation: int | str) -> Path:
    """Return where the table of a generation is kept, by the generation's name."""
    return home.tables / f"{generation}{_ENDING}"


def read_kept_table(home: Home, signed: SignedResult) -> bytes:
    """Return the table of a signed result, if it is the one that all members have signed."""
    from pairgossip.peer.sums.batches import digest_table

    result = signed.result
    if result.table is None:
        raise InputError(
            "This result is read from no table: it is one of a model, of an earlier version of "
            "pairgossip, or no table was made."
        )
    path = path_of(home, result.generation)
    if not path.exists():
        raise InputError(
            f"There is no {path}: every member keeps the same table, so put another's copy there."
        )
    table = read_bytes(path, _LARGEST)
    if digest_table(table).hex() != result.table:
        raise InputError(
            f"{path} is not the table that all members have signed: put another's copy in its "
            "place."
        )
    return table
