"""What a member of a study has said, seen and decided: a database, and files of secrets.

A save is one transaction. Secrets are kept outside what is backed up, each in a file of its own:
new ones are on the disk before the transaction, and those that it erases are removed after it. A
crash in between leaves files that the database does not name, which the next start removes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pairgossip.study.protocol.site import Kept, Save


class StudyState(NamedTuple):
    """What the protocol begins with."""

    records: tuple[Kept, ...] = ()
    """In the order in which they were saved."""
    notes: Mapping[str, bytes] = {}
    secrets: Mapping[str, bytes] = {}


class StudyJournal:
    """The state of one member of a study, durable when a call returns.

    Parameters
    ----------
    database
        The file; it is made if it is not there.
    secrets
        The folder of secrets; it is made if it is not there.
    power_safe
        Whether to wait for the disk, so that a loss of power undoes nothing.
    """

    def __init__(self, database: Path, secrets: Path, *, power_safe: bool = True) -> None:
        raise NotImplementedError

    def load(self) -> StudyState:
        """Return everything that was saved; raise `InputError` if it is damaged."""
        raise NotImplementedError

    def save(self, save: Save) -> None:
        """Carry out a save of the protocol; all of it or nothing is on the disk after a crash."""
        raise NotImplementedError

    def number_of(self, name: bytes) -> int:
        """Return the number by which this folder knows a question; it is given at first sight."""
        raise NotImplementedError

    @property
    def numbers(self) -> Mapping[int, bytes]:
        """The names of all questions by their numbers: 1, 2, 3 as this folder first saw them."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the database."""
        raise NotImplementedError
