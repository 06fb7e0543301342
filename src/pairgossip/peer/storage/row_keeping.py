"""The copy of rows in a peer's folder, or under privacy of their reports.

A request to add rows is a file of all rows that the peer is to have, next to the copy of its
present rows; `growth` explains when each of them counts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import sync
from pairgossip.peer.protocol.messages import MOST_TRAVELING, Rows, digest_rows
from pairgossip.peer.protocol.state import State
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.journal_file import read_about
from pairgossip.peer.storage.rows import SiteRows, copy_text, read_copy
from pairgossip.text import format_count


def read_request(home: Home) -> Rows:
    """Return all rows that a peer is to have, by a request to add some."""
    return read_copy(home.next_data, home.read_spec())


def read_latest(home: Home) -> Rows:
    """Return the rows of the request, if there is one, or else the peer's rows."""
    return read_request(home) if home.next_data.exists() else home.read_rows()


def count_latest(home: Home) -> int:
    """Return the number of rows of `read_latest`."""
    return len(read_latest(home))


def read_in_force(home: Home, state: State) -> Rows:
    """Return the rows of a state, from either file; the peer may be running."""
    for _ in range(2):  # between two reads the peer may replace one file by the other
        with contextlib.suppress(InputError):
            if len(rows := home.read_rows()) == state.rows:
                return rows
            if home.next_data.exists() and len(rows := read_request(home)) == state.rows:
                return rows
    return home.read_rows()


def read_to_run(home: Home, about: Mapping[str, str]) -> Rows:
    """Return the rows of a peer that is about to run, which must be those of its state."""
    rows = home.read_rows()
    if about.get("data") != digest_rows(rows):
        raise other_part(home, home.data)
    return rows


def check_added(home: Home, data: Path, more: SiteRows) -> None:
    """Raise `InputError` if a peer would have too many rows."""
    before = count_latest(home)
    if before + len(more) > MOST_TRAVELING:
        raise InputError(
            f"{data} has {format_count(len(more), 'row')} and the peer has {before}: a peer "
            f"holds at most {MOST_TRAVELING} that travel."
        )


def extend(home: Home, more: SiteRows) -> tuple[Rows, bytes]:
    """Return the latest rows with those of a source, and the content of their copy."""
    rows = (*read_latest(home), *more.rows)
    return rows, copy_text(rows, more.spec).encode()


def is_taken_up(home: Home, rows: Rows) -> bool:
    """Return whether the peer's state has these rows."""
    return digest_rows(rows) == read_about(home.state).get("data")


def other_part(home: Home, file: Path) -> InputError:
    """Build the error for a file that does not belong to the state."""
    return InputError(
        f"{file} is not the one that {home.state.name} was made with: put the old one back, or run "
        "peer init in a new folder."
    )


def rename(file: Path, name: Path) -> None:
    """Replace a file by another, durably."""
    try:
        os.replace(file, name)
        sync(name.parent)
    except OSError as problem:
        raise files.unwritable(name, problem) from None
