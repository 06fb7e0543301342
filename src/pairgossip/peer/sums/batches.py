"""Statistics from tables to which members add rows: each row is counted once, whenever it is.

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
import math
import struct
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.noisy import find_noisy
from pairgossip.counts.readings import Estimate
from pairgossip.counts.tables import Sums
from pairgossip.errors import InputError
from pairgossip.peer.protocol.held import Held
from pairgossip.peer.protocol.program import (
    LEAST_MEMBERS,
    LEAST_SITES,
    SIZE_STEP,
    Ask,
    Disagreement,
    OtherTables,
    Words,
    round_size,
)
from pairgossip.peer.protocol.state import Counted, Released
from pairgossip.peer.reports.catalog import has_statistic
from pairgossip.peer.sums.figures import find_estimate, round_estimate
from pairgossip.peer.sums.labels import check_labels
from pairgossip.peer.sums.noise import Noise
from pairgossip.peer.sums.plausibility import check_sums, check_value
from pairgossip.peer.sums.programs import Generation, SumsProgram
from pairgossip.peer.sums.results import AddedNoise, rounded_or_none
from pairgossip.peer.sums.site_sums import SiteSums
from pairgossip.peer.sums.sites import (
    Plan,
    flag_site,
    most_words,
    plan_sites,
    read_sites,
    tell_site,
)
from pairgossip.peer.sums.statistics import cells_of, explain_no_interval, noise_law
from pairgossip.text import join_names

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec

_CARD = struct.Struct("<32sQ32sQ")
"""Twice the digest of a table, and the number of rows that the member adds to it; where sites are
compared, a byte follows that says how this one takes part."""
_SALT = 32
"""Bytes of a salt, by which nobody but members can try tables for a digest."""


class Table(NamedTuple):
    """Counts over the rows of all members."""

    batches: tuple[int, ...]
    """How many members there were in each of the generations that have added rows."""
    counts: bytes
    """Signed 64-bit numbers: that of rows, and those of cells or blocks."""
    sites: SiteSums | None = None
    """Where sites are compared, the sums over those that have added rows to the first table."""

    @property
    def numbers(self) -> IntArray:
        """The counts as numbers."""
        return np.frombuffer(self.counts, dtype="<i8").astype(np.int64)


def pack_table(salt: bytes, table: Table) -> bytes:
    """Return a table as it is kept: a salt, and the table."""
    # Members of earlier versions keep the table of the same rows in the same bytes.
    return salt + msgspec.msgpack.encode(tuple(table) if table.sites is not None else table[:2])


def read_table(kept: bytes) -> Table:
    """Return the table that is kept so; raise `ValueError` for other bytes."""
    try:
        return msgspec.msgpack.decode(kept[_SALT:], type=Table)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise ValueError(str(problem)) from None


def digest_table(kept: bytes) -> bytes:
    """Return the digest by which members name a table; zeros for none."""
    return hashlib.sha256(kept).digest() if kept else bytes(32)


class StatisticsProgram(SumsProgram):
    """A kernel's statistic, or one of order, from one sum of counts of new rows.

    Parameters
    ----------
    spec
        The specification.
    rows
        This member's rows, in the order of the specification's columns, the label last; or what a
        peer holds of them.
    generation
        All members, and their numbers of rows.
    noise
        Draws what this member adds to its counts, where the specification asks for noise.
    released, salt
        How far the rows were released before, and this member's part of the table's salt.
    me, shows
        This member's id, and whether it shows its own line where sites are compared.
    """

    most_sums = 1

    def __init__(
        self,
        spec: Spec,
        rows: FloatArray | Held,
        generation: Generation,
        noise: Noise | None = None,
        released: Released = Released(),  # noqa: B008 - it is immutable
        salt: bytes = bytes(32),
        me: str = "",
        *,
        shows: bool = False,
    ) -> None:
        if spec.has_noise and noise is None:
            raise InputError("The specification asks for noise: give what draws and keeps it.")
        if spec.label is not None and not isinstance(rows, Held):
            check_labels(spec, rows[:, len(spec.columns)])
        super().__init__(spec, generation, _describe_question(spec))
        self._cells, self._noise = cells_of(spec), noise
        self._rows, self._salt, self._before = rows, np.frombuffer(salt, "<u8"), released
        self._parts, self._waiting = self._split_rows()
        self._base, self._me = released.finished, me
        # What a card has told stands, whatever the operator wants by now.
        self._shows = shows if released.shows is None else released.shows
        self._plan: Plan | None = None
        """Who adds numbers about sites to the first table; None if none are asked for."""
        self._added: Mapping[str, int] = generation.members
        """How many rows members add, rounded; those of all unless cards tell otherwise."""
        self._stated: Counted | None = None
        self._is_carded = False

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
    def _is_hidden(self) -> bool:
        """Whether the rows of a single member are hidden in a sum, too."""
        return self._noise is not None

    @property
    def _counts(self) -> int:
        """How many numbers `_count` returns."""
        return self._cells.words

    def _is_filled(self, rows: FloatArray | Held) -> bool:
        return self._cells.is_filled(self._count_cells(rows))

    def _count(self, rows: FloatArray | Held) -> IntArray:
        """Return the number of rows, and their counts."""
        return self._cells.report(self._count_cells(rows))

    def _count_cells(self, rows: FloatArray | Held) -> IntArray:
        return rows.count_cells() if isinstance(rows, Held) else self._cells.count_cells(rows)

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
        if self._spec.heterogeneity:
            released = released._replace(shows=self._shows)
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
        flags = bytes([self._flags]) if self._spec.heterogeneity else b""
        return _CARD.pack(*parts) + flags

    @cached_property
    def _flags(self) -> int:
        """How this site takes part in the first table; not at all in later ones.

        All rows are counted for it, and others make this peer look at its card again and again.
        """
        first = self._before.finished
        if first.table or not (end := self._end(first)):
            return 0
        cells = self._count_cells(self._rows[:end])
        return flag_site(self._spec, cells, is_shown=self._shows)

    def take_cards(self, cards: Mapping[str, bytes]) -> None:
        """Choose the table to go on from, and see who adds rows to it."""
        offers = {}
        for member, card in cards.items():
            first, rows, second, more = _CARD.unpack(card[: _CARD.size])
            offers[member] = {first: rows, second: more}
        for base in (self._before.stated, self._before.finished):
            digest = digest_table(base.table)
            if all(digest in one for one in offers.values()):
                break
        else:
            digest = digest_table(self._before.stated.table)
            raise OtherTables(tuple(one for one in sorted(offers) if digest not in offers[one]))
        self._base, self._is_carded = base, True
        most = self._generation.members  # a card that claims more rows would make room for any sum
        self._added = {member: min(one[digest], most[member]) for member, one in offers.items()}
        if self._spec.heterogeneity and not base.table:
            self._plan = plan_sites(self._added, {one: card[-1] for one, card in cards.items()})
        if not self._is_made:
            self.result = self._state(**self._conclude(self._base.table))

    @property
    def _is_made(self) -> bool:
        """Whether enough members add rows for a table to be made."""
        return sum(count > 0 for count in self._added.values()) >= max(self._least_sites, 1)

    @property
    def _least_sites(self) -> int:
        """How many members must add rows at least."""
        if self._is_hidden:
            return 0
        if self._cells.columns.least > 1:
            return LEAST_SITES
        return LEAST_MEMBERS if self._base.table else 0

    @property
    def longest(self) -> int:
        """How many words a contribution has at most."""
        sites = most_words(len(self.members)) if self._spec.heterogeneity else 0
        return self._counts + sites + len(self._salt)

    @property
    def _words(self) -> tuple[int, int]:
        """Where in a contribution counts end, and where numbers about sites do."""
        return self._counts, self._counts + (0 if self._plan is None else self._plan.words)

    def _question(self) -> tuple[bytes, int]:
        edges = [axis.places.tolist() for axis in self._cells.axes]
        named = (edges, digest_table(self._base.table))
        return msgspec.msgpack.encode(named), self._words[-1] + len(self._salt)

    def contribute(self, ask: Ask) -> Words:
        """Return the counts of the rows that are not in the table yet, and a part of its salt."""
        total, first = np.zeros(self._counts, dtype=np.int64), self._base.rows
        for start, end in pairwise((first, *self._ends(self._base))):
            total += self._count(self._rows[start:end])
        if self._noise is not None:
            total[1:] += self._noise(first, ask.public, self._cells.counts)
        return np.concatenate([total.view(np.uint64), self._tell_site(total), self._salt])

    def _tell_site(self, total: IntArray) -> Words:
        """Return the numbers about this site that go with its counts."""
        if self._plan is None or not self._plan.words or not self._flags:
            return np.zeros(0 if self._plan is None else self._plan.words, dtype=np.uint64)
        shown_as = self._me if self._shows else None
        return tell_site(self._spec, total[1:], self._plan, shown_as).view(np.uint64)

    def _follow(self, public: bytes) -> None:
        raise Disagreement("cells that are elsewhere, or another table before")

    def _take(self, total: Words) -> None:
        counts, of_sites, salt = np.split(total, self._words)
        new = counts.view(np.int64)
        adding = [count for count in self._added.values() if count]
        self._check(new, sum(adding), sum(adding) + (SIZE_STEP - 1) * len(adding))
        batches: tuple[int, ...] = (len(self._generation.members),)
        sites = None if self._plan is None else read_sites(self._plan, of_sites.view(np.int64))
        if self._base.table:
            try:
                before = read_table(self._base.table)
                new, batches = new + before.numbers, before.batches + batches
                sites = before.sites
            except ValueError as problem:
                raise Disagreement(f"the table before cannot be read: {problem}") from None
        table = Table(batches, new.astype("<i8").tobytes(), sites)
        kept = pack_table(salt.astype("<u8").tobytes(), table)
        self._stated = Counted(kept, self._end(self._base))
        self.result = self._state(**self._conclude(kept))

    def _conclude(self, kept: bytes) -> dict[str, Any]:
        """Return the fields of the result that a table tells; if there is none, that."""
        left_out = tuple(sorted(one for one, count in self._added.items() if not count))
        least = self._cells.columns.least
        fields: dict[str, Any] = {
            "rows": 0,
            "left_out": left_out or None,
            "least_cell": least if least > 1 else None,
        }
        if not kept:
            return fields
        table, digest = read_table(kept), digest_table(kept).hex()
        fields |= {"rows": int(table.numbers[0]), "table": digest, "heterogeneity": table.sites}
        return fields | self._read(table)

    def _check(self, new: IntArray, least: int, most: int) -> None:
        """Refuse counts that no rows have; so many rows at least and at most were added."""
        members = len(self._generation.members)
        law = None if self._noise is None else noise_law(self._spec, members)
        adding = sum(count > 0 for count in self._added.values())
        check_sums(self._cells, self._cells.read_sums(new), (least, most), law, adding)

    def _read(self, table: Table) -> dict[str, Any]:
        """Return the figures of the result."""
        if self._noise is None:
            self.summary, estimate = find_estimate(self._spec, table.numbers)
            check_value(self._spec, estimate)
            noise = None
        else:
            sums = self._cells.read_sums(table.numbers)
            estimate, noise = self._find_noisy(sums, table.batches)
        return {**round_estimate(estimate), "noise": noise, "batches": len(table.batches)}

    def _find_noisy(self, sums: Sums, batches: Sequence[int]) -> tuple[Estimate, AddedNoise]:
        """Return what noisy counts tell, and what noise does to it."""
        laws = [noise_law(self._spec, members) for members in batches]
        law, variance = laws[-1], sum(one.variance for one in laws)
        estimate, error = find_noisy(self._cells, sums, variance)
        reason = explain_no_interval(self._cells, variance, sums.n)
        if reason is not None:
            estimate = estimate._replace(low=math.nan, high=math.nan)
        noise = AddedNoise(
            epsilon=law.epsilon,
            honest=law.honest,
            variance=float(f"{variance:.12g}"),
            error=rounded_or_none(error),
            without_interval=reason,
        )
        return estimate, noise

    @property
    def table(self) -> bytes | None:
        """The table that the result is read from, as it is kept; None if there is none."""
        if self.result is None:
            return None
        return (self._base if self._stated is None else self._stated).table or None


def _describe_question(spec: Spec) -> str:
    by = "" if spec.label is None else f" by {spec.label}"
    kind = ", own pairs left out" if spec.target == "u" else ""
    kind += "" if spec.within is None else f", pairs within {spec.within} alone"
    kind += "" if spec.weight is None else f", each as often as {spec.weight} says"
    asked = spec.kernel if has_statistic(spec) else spec.report
    return f"{asked} of {join_names(spec.columns)}{by}, over the rows of all members{kind}"
