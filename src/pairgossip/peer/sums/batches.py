"""Tables to which members add rows: each row is counted once, in whatever generation.

A generation counts the rows that members have added since the last one, and reads the table before
and the new one together. Which table that is, and how many rows each member adds to it, members
tell in their cards. A member whose new rows do not fill every class says that it adds none, and
contributes zeros; where fewer members add rows than it takes to hide one, no table is made.

The table before is the last that all members have signed. A peer cannot know whether another has
all signatures of the table that it has signed last, so a card names both that one and the last that
it has seen signed by all, and members go on from the later one that all cards name: once anybody
has all signatures, everybody has signed.

Whoever keeps its numbers or its signature back may know a sum that the table before does not hold.
So a member contributes the same again until it does, and rows that were added since wait: else the
difference of the two sums would be these rows, be they of a single member.
"""

from __future__ import annotations

import hashlib
import struct
from abc import abstractmethod
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.peer.protocol.program import (
    SIZE_STEP,
    Ask,
    Disagreement,
    OtherTables,
    Words,
    round_size,
)
from pairgossip.peer.protocol.state import Counted, Released
from pairgossip.peer.sums.programs import Generation, SumsProgram

if TYPE_CHECKING:
    from pairgossip.peer.spec.spec import Spec

_CARD = struct.Struct("<32sQ32sQ")
"""Twice the digest of a table, and the number of rows that the member adds to it."""
_SALT = 32
"""Bytes of a salt, by which nobody but members can try tables for a digest."""


class Table(NamedTuple):
    """Counts over the rows of all members."""

    batches: tuple[int, ...]
    """How many members there were in each of the generations that have added rows."""
    counts: bytes
    """Signed 64-bit numbers: that of rows, and those of cells or blocks."""

    @property
    def numbers(self) -> IntArray:
        """The counts as numbers."""
        return np.frombuffer(self.counts, dtype="<i8").astype(np.int64)


def pack_table(salt: bytes, table: Table) -> bytes:
    """Return a table as it is kept: a salt, and the table."""
    return salt + msgspec.msgpack.encode(table)


def read_table(kept: bytes) -> Table:
    """Return the table that is kept so; raise `ValueError` for other bytes."""
    try:
        return msgspec.msgpack.decode(kept[_SALT:], type=Table)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise ValueError(str(problem)) from None


def digest_table(kept: bytes) -> bytes:
    """Return the digest by which members name a table; zeros for none."""
    return hashlib.sha256(kept).digest() if kept else bytes(32)


class CountingProgram(SumsProgram):
    """A program of one sum of counts, which are added to those of the generations before.

    Parameters
    ----------
    spec, rows, generation, question
        The specification, this member's rows, all members, and what is asked, in words.
    released
        How far this member's rows were released before.
    salt
        This member's part of the salt of the table.
    """

    most_sums = 1

    def __init__(
        self,
        spec: Spec,
        rows: FloatArray,
        generation: Generation,
        question: str,
        released: Released,
        salt: bytes,
    ) -> None:
        super().__init__(spec, generation, question)
        self._rows, self._salt, self._before = rows, np.frombuffer(salt, "<u8"), released
        self._parts, self._waiting = self._split_rows()
        self._base = released.finished
        self._added: Mapping[str, int] = generation.members
        """How many rows members add, rounded; those of all unless cards tell otherwise."""
        self._stated: Counted | None = None
        self._is_carded = False

    @abstractmethod
    def _count(self, rows: FloatArray) -> IntArray:
        """Return the number of rows, and their counts."""

    @abstractmethod
    def _is_filled(self, rows: FloatArray) -> bool:
        """Return whether rows are enough to be counted."""

    @abstractmethod
    def _blur(self, ask: Ask, first: int) -> IntArray | int:
        """Return what hides the counts of the rows from the first one on; 0 for nothing."""

    @abstractmethod
    def _check(self, new: IntArray, least: int, most: int) -> None:
        """Refuse counts that no rows have; so many rows at least and at most were added."""

    @abstractmethod
    def _read(self, table: Table) -> dict[str, Any]:
        """Return the figures of the result."""

    @property
    @abstractmethod
    def _is_hidden(self) -> bool:
        """Whether the rows of a single member are hidden in a sum, too."""

    @property
    @abstractmethod
    def _counts(self) -> int:
        """How many numbers `_count` returns."""

    @property
    @abstractmethod
    def _least_sites(self) -> int:
        """How many members must add rows at least."""

    def _split_rows(self) -> tuple[tuple[int, ...], int]:
        """Return where parts of the rows end, and how many rows are told to wait.

        Rows that were told to be too few ride along with later ones that are enough by themselves;
        else the answer would change by the few that were added.
        """
        before, count = self._before, len(self._rows)
        if self._repeats:
            return before.parts, before.waiting
        start = max(before.waiting, before.finished.rows, *before.parts)
        if start < count and self._is_filled(self._rows[start:]):
            return (*before.parts, count), before.waiting
        return before.parts, count if start < count else before.waiting

    @property
    def _repeats(self) -> bool:
        """Whether only what was contributed before is, since somebody may know the sum of it.

        By the difference, rows added since would be known by themselves, be they of one member:
        they wait until the members go on from that sum.
        """
        return self._before.is_summed and not self._is_hidden

    def _ends(self, base: Counted) -> tuple[int, ...]:
        """Return where the parts end that are not in a table."""
        parts = tuple(end for end in self._parts if end > base.rows)
        if base == self._before.stated or self._is_hidden:
            return parts
        return tuple(end for end in parts if end <= self._before.stated.rows)  # as it was summed

    def _end(self, base: Counted) -> int:
        """Return where the last part ends; where the table before ends if nothing is added."""
        return max((base.rows, *self._ends(base)))

    @property
    def released(self) -> Released:
        """How far this member's rows are released once it has contributed to the present round."""
        released = self._before._replace(waiting=self._waiting)
        is_later = self._base == self._before.stated or self._is_hidden
        if self._is_carded and self._is_made and is_later:
            released = released._replace(parts=self._parts, is_summed=True)
        if self._stated is not None:
            released = released._replace(present=(self._base, self._stated))
        return released

    def card(self) -> bytes:
        """Return the tables that this member can go on from, and the rows that it adds to each."""
        parts = []
        for base in (self._before.finished, self._before.stated):
            parts += [digest_table(base.table), round_size(self._end(base) - base.rows)]
        return _CARD.pack(*parts)

    def take_cards(self, cards: Mapping[str, bytes]) -> None:
        """Choose the table to go on from, and see who adds rows to it."""
        offers = {}
        for member, card in cards.items():
            first, rows, second, more = _CARD.unpack(card)
            offers[member] = {first: rows, second: more}
        for base in (self._before.stated, self._before.finished):
            digest = digest_table(base.table)
            if all(digest in one for one in offers.values()):
                break
        else:
            digest = digest_table(self._before.stated.table)
            raise OtherTables(tuple(one for one in sorted(offers) if digest not in offers[one]))
        self._base, self._is_carded = base, True
        self._added = {member: one[digest] for member, one in offers.items()}
        if not self._is_made:
            self.result = self._state(**self._conclude(self._base.table))

    @property
    def _is_made(self) -> bool:
        """Whether enough members add rows for a table to be made."""
        return sum(count > 0 for count in self._added.values()) >= max(self._least_sites, 1)

    @property
    def longest(self) -> int:
        """How many words a contribution has at most."""
        return self._counts + len(self._salt)

    def _question(self) -> tuple[bytes, int]:
        named = (self._describe(), digest_table(self._base.table))
        return msgspec.msgpack.encode(named), self.longest

    @abstractmethod
    def _describe(self) -> Any:
        """Return what the counts depend on, such as the edges of cells."""

    def contribute(self, ask: Ask) -> Words:
        """Return the counts of the rows that are not in the table yet, and a part of its salt."""
        total, first = np.zeros(self._counts, dtype=np.int64), self._base.rows
        for start, end in pairwise((first, *self._ends(self._base))):
            total += self._count(self._rows[start:end])
        total += self._blur(ask, first)
        return np.concatenate([total.view(np.uint64), self._salt])

    def _take(self, total: Words) -> None:
        new = total[: self._counts].view(np.int64)
        adding = [count for count in self._added.values() if count]
        self._check(new, sum(adding), sum(adding) + (SIZE_STEP - 1) * len(adding))
        batches: tuple[int, ...] = (len(self._generation.members),)
        if self._base.table:
            try:
                before = read_table(self._base.table)
                new, batches = new + before.numbers, before.batches + batches
            except ValueError as problem:
                raise Disagreement(f"the table before cannot be read: {problem}") from None
        salt = total[self._counts :].astype("<u8").tobytes()
        kept = pack_table(salt, Table(batches, new.astype("<i8").tobytes()))
        self._stated = Counted(kept, self._end(self._base))
        self.result = self._state(**self._conclude(kept))

    def _conclude(self, kept: bytes) -> dict[str, Any]:
        """Return the fields of the result that a table tells; if there is none, that."""
        left_out = tuple(sorted(one for one, count in self._added.items() if not count))
        fields: dict[str, Any] = {"rows": 0, "left_out": left_out or None}
        if not kept:
            return fields
        table = read_table(kept)
        found = self._read(table)
        return {**fields, **found, "rows": int(table.numbers[0]), "table": digest_table(kept).hex()}

    @property
    def table(self) -> bytes | None:
        """The table that the result is read from, as it is kept; None if there is none."""
        if self.result is None:
            return None
        return (self._base if self._stated is None else self._stated).table or None
