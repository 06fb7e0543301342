"""The record of disclosures: everything that has left this machine, in lines that are chained.

Each line holds the digest of the line before. It is on the disk before what it speaks of is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the record."""

    before: str
    """The digest of the line before; of nothing for the first."""
    when: str
    """In UTC, by the clock of this machine."""
    event: str
    """"accepted", "shown", "answered", "not answered" or "read"."""
    question: str
    """The name of the question."""
    number: int
    """By which this folder knows it."""
    about: dict[str, Any] = {}
    """The text, the list, who accepted, what was contributed, as keyed digests, and so on."""


class Disclosures:
    """A file to which lines are added and of which none is changed."""

    def __init__(self, path: Path) -> None:
        raise NotImplementedError

    def add(self, event: str, question: bytes, number: int, **about: Any) -> None:
        """Write a line; it is on the disk when this returns."""
        raise NotImplementedError

    def entries(self) -> Sequence[Entry]:
        """Return all lines."""
        raise NotImplementedError

    def verify(self) -> int:
        """Return how many lines there are; raise `InputError` for the first that was changed."""
        raise NotImplementedError
