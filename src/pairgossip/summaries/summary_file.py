"""A table of counts as a file to mail, with the facts about its parts."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations
from typing import Any, Self

import msgspec

from pairgossip.errors import InputError
from pairgossip.summaries.row_digest import DIGEST_BYTES
from pairgossip.summaries.summary import Summary
from pairgossip.text import format_count, join_names

_FORMAT = "pairgossip-summary"
_VERSION = 1
_ROUNDED = 10
"""Numbers of rows in blocks are given in multiples of this, as in the field: a sum of several files
does not say exactly how many rows each site has."""


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The facts about rows that were counted together."""

    name: str
    """The name of the site."""
    rows: int
    """The number of rows; for blocks, rounded down to tens."""
    made: datetime
    """The time at which they were counted."""
    digest: bytes
    """The digest that recognizes the same rows; see `RowDigest`."""
    columns: tuple[str, ...] = ()
    """The names of the columns that were counted."""
    label: str | None = None
    """The name of the column of labels."""

    @property
    def day(self) -> str:
        """The day on which the rows were counted, as in 2026-11-18."""
        return f"{self.made:%Y-%m-%d}"

    def describe(self, *, is_rounded: bool) -> str:
        """Describe the part in a message."""
        rows = self.describe_rows(is_rounded=is_rounded)
        return f"'{self.name}' of {self.day}, {rows}"

    def describe_rows(self, *, is_rounded: bool) -> str:
        """Describe the number of rows."""
        if is_rounded and not self.rows:
            return f"fewer than {_ROUNDED} rows"
        return f"{'about ' * is_rounded}{format_count(self.rows, 'row')}"


@dataclass(frozen=True)
class SummaryFile:
    """The contents of a file ``.summary``: a table of counts, and the facts about its parts.

    ``pg.load`` reads one, and the command ``pairgossip summarize`` writes one of the rows of a
    site. Files add up (``+``), but not if they hold the same rows.

    Attributes
    ----------
    summary
        The counts of all parts, from which statistics are read: ``file.summary.answer(0.95)``.
    parts
        The facts about each part: name, number of rows, time of counting, and a digest that
    recognizes the same rows. It is keyed by a secret of the machine that has the rows: nobody
    else can test guesses with it.
    classes
        The names of the labels from the lowest to the highest; None if they are the summary's.
    """

    summary: Summary
    parts: tuple[Part, ...]
    classes: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        summary: Summary,
        name: str,
        *,
        digest: bytes | None = None,
        classes: Sequence[str] | None = None,
        **names: Any,
    ) -> Self:
        """Return a file of rows that were counted here and now.

        Parameters
        ----------
        summary, name
            The counts, and the name of the site.
        digest
            The digest of the rows. Without one, only this file is recognized, not its rows.
        classes
            The names of the labels from the lowest to the highest.
        names
            The names of the ``columns`` and of the ``label``.
        """
        rows = summary.rows
        part = Part(
            name=name,
            rows=rows if summary.least_cell == 1 else rows // _ROUNDED * _ROUNDED,
            made=datetime.now(UTC).replace(microsecond=0),
            digest=secrets.token_bytes(DIGEST_BYTES) if digest is None else digest,
            **names,
        )
        file = cls(summary, (part,), None if classes is None else tuple(classes))
        file.check()
        return file

    def __add__(self, other: SummaryFile) -> Self:
        """Return the file of the rows of both; refuse the same rows twice."""
        if not isinstance(other, SummaryFile):
            return NotImplemented
        self.refuse_twice(other)
        if _name_classes(self) != _name_classes(other):
            raise InputError(
                f"One has the classes {_name_classes(self)}, and the other {_name_classes(other)}: "
                "summarize both with the same ones, in the same order."
            )
        if self.summary.classes != other.summary.classes:
            raise InputError(
                "One was counted with declared classes, and the other without: declare them for "
                "both."
            )
        if self.summary.least_cell != other.summary.least_cell:
            raise InputError(
                f"One counts {_name_blocks(self)}, and the other {_name_blocks(other)}: share both "
                "with the same least number of rows."
            )
        total = self.summary + other.summary
        return replace(self, summary=total, parts=self.parts + other.parts)

    def __radd__(self, other: object) -> Self:
        """Begin a sum: ``sum(files)`` adds to 0."""
        return self if other == 0 else NotImplemented

    def __repr__(self) -> str:
        named = "; ".join(part.describe(is_rounded=self.is_rounded) for part in self.parts)
        return f"<SummaryFile of {named}: {str(self.summary)[1:-1]}>"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, as the first part has them."""
        return self.parts[0].columns

    @property
    def is_rounded(self) -> bool:
        """Whether numbers of rows are rounded, as those of parts in blocks are."""
        return self.summary.least_cell > 1

    def refuse_twice(self, other: SummaryFile) -> None:
        """Raise `InputError` if another file has rows of this one."""
        known = {part.digest: part for part in other.parts}
        twice = [part for part in self.parts if part.digest in known]
        if twice:
            names = [part.describe(is_rounded=self.is_rounded) for part in twice]
            others = {known[part.digest].name for part in twice} - {part.name for part in twice}
            called = f" (there called {join_names(sorted(map(repr, others)))})" if others else ""
            raise InputError(
                f"Both hold the same rows, those of {join_names(names)}{called}: leave one out."
            )

    def resembles(self, other: SummaryFile) -> bool:
        """Return whether two files of one part each have exactly the same counts."""
        return len(self.parts) == len(other.parts) == 1 and self.summary == other.summary

    def to_bytes(self) -> bytes:
        """Return the contents of the file as bytes."""
        content = _Content(self.summary.to_bytes(), self.parts, self.classes)
        body = msgspec.msgpack.encode(content)
        whole = _Stored(_FORMAT, _VERSION, body, hashlib.sha256(body).digest())
        return msgspec.msgpack.encode(whole)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the file that `to_bytes` wrote; raise `InputError` for other bytes."""
        try:
            head = msgspec.msgpack.decode(data, type=_Head)
            if head.format != _FORMAT or head.version < 1:
                raise InputError("This is not a file of pairgossip summarize: give one that is.")
            if head.version > _VERSION:
                raise InputError(
                    "This file was written by a newer version of pairgossip: update this one."
                )
            whole = msgspec.msgpack.decode(data, type=_Stored)
            if hashlib.sha256(whole.content).digest() != whole.checksum:
                raise InputError("This file is damaged: get it again from its sender.")
            content = msgspec.msgpack.decode(whole.content, type=_Content)
        except (msgspec.MsgspecError, UnicodeDecodeError, TypeError):
            raise InputError(
                "This is not a file of pairgossip summarize, or it is damaged: get it again from "
                "its sender."
            ) from None
        file = cls(Summary.from_bytes(content.summary), content.parts, content.classes)
        file.check()
        return file

    def check(self) -> None:
        """Raise `InputError` if parts do not fit the counts."""
        rows, classes = sum(part.rows for part in self.parts), self.summary.classes or ()
        names = [
            name for part in self.parts for name in (part.name, *part.columns, part.label or "")
        ]
        if not (
            len({part.digest for part in self.parts}) == len(self.parts) > 0
            and all(len(part.digest) == DIGEST_BYTES and part.rows >= 0 for part in self.parts)
            and all(part.made.tzinfo is not None for part in self.parts)
            and all(name.isprintable() for name in (*names, *(self.classes or ())))
            and all(part.name for part in self.parts)
            and (self.classes is None or len(self.classes) == len(classes))
            and (rows <= self.summary.rows if self.is_rounded else rows == self.summary.rows)
        ):
            raise InputError("The parts of this file do not fit its counts: get it again.")


class _Head(msgspec.Struct):
    format: str
    version: int


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    """The bytes of a file."""

    format: str
    version: int
    content: bytes
    checksum: bytes


class _Content(msgspec.Struct, forbid_unknown_fields=True):
    summary: bytes
    parts: tuple[Part, ...]
    classes: tuple[str, ...] | None = None


def join_files(files: Sequence[tuple[str, SummaryFile]]) -> SummaryFile:
    """Add up files; ``files`` has their names in messages, which name two files that do not fit."""
    for (name, one), (other_name, other) in combinations(files, 2):
        with _of(name, other_name):
            one.refuse_twice(other)
    (first_name, whole), *others = files
    for name, file in others:
        with _of(first_name, name):
            whole += file
    return whole


@contextmanager
def _of(name: str, other: str) -> Iterator[None]:
    """Name the two files that an error is about."""
    try:
        yield
    except InputError as problem:
        raise problem.at(f"{name} and {other}") from None


def _name_classes(file: SummaryFile) -> str:
    return " < ".join(file.classes or map("{:g}".format, file.summary.classes or ()))


def _name_blocks(file: SummaryFile) -> str:
    least = file.summary.least_cell
    return "cells as they are" if least == 1 else f"blocks of {least} rows or more"
