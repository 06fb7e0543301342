"""Generations: one run of the network from the members' own records.

A generation is known by what has changed since the members were listed: who is evicted, and who
has more rows than at first. Its number says in the upper half how many generations there were
before, and in the lower half what has changed, in short. So two peers that begin different
generations at once give them different numbers, and whoever hears of both begins one with all that
either has changed.

That a member has more rows only the member itself can say: it signs it, and the others carry its
words along.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from pairgossip.peer.protocol.records import MOST_ROWS, Sign

PURPOSE = b"pairgossip growth 1\x00"
"""Signed along, so that no signature made for something else is ever taken for a growth's."""
BITS = 32
MOST = 1 << 30
"""More generations than this nobody can have begun: numbers fit into what a database holds."""
FIRST = 0
"""The first generation, in which nothing has changed."""


class Growth(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a member says of itself: it has more rows than its invitation told."""

    member: str
    first: int
    """How many rows it began with, which its invitation tells."""
    rows: int
    """How many it has."""
    signature: bytes


class Changes(NamedTuple):
    """What has changed since the members were listed; nothing of it is ever taken back."""

    evicted: tuple[str, ...] = ()
    grown: tuple[Growth, ...] = ()

    def joined(self, other: Changes) -> Changes:
        """Return all that is in either, and of a member that grew in both the larger growth."""
        grown = {one.member: one for one in other.grown}
        for one in self.grown:
            if one.member not in grown or grown[one.member].rows <= one.rows:
                grown[one.member] = one
        return Changes(
            tuple(sorted({*self.evicted, *other.evicted})),
            tuple(grown[member] for member in sorted(grown)),
        )

    def include(self, other: Changes) -> bool:
        """Whether the other has nothing that is not in these."""
        rows = self.rows()
        return set(other.evicted) <= set(self.evicted) and all(
            one.rows <= rows.get(one.member, 0) for one in other.grown
        )

    def rows(self) -> dict[str, int]:
        """How many rows the members have that grew."""
        return {one.member: one.rows for one in self.grown}

    def first_rows(self) -> dict[str, int]:
        """How many rows the members began with that grew."""
        return {one.member: one.first for one in self.grown}


def signed_growth(member: str, first: int, rows: int, spec: str, sign: Sign) -> Growth:
    """Make what a member says of its own rows."""
    unsigned = Growth(member, first, rows, b"")
    return msgspec.structs.replace(unsigned, signature=sign(growth_payload(unsigned, spec)))


def growth_payload(growth: Growth, spec: str) -> bytes:
    """What the member signs."""
    told = (spec, growth.member, growth.first, growth.rows)
    return PURPOSE + msgspec.msgpack.encode(told)


def number(count: int, evicted: Iterable[str], grown: Iterable[Growth] = ()) -> int:
    """Return the number of the generation after ``count`` others with these changes."""
    changes = (sorted(evicted), sorted((one.member, one.first, one.rows) for one in grown))
    digest = hashlib.sha256(msgspec.msgpack.encode(changes)).digest()
    short = int.from_bytes(digest[: BITS // 8]) if any(changes) else 0
    return (count << BITS) | short


def count(generation: int) -> int:
    """How many generations there were before."""
    return generation >> BITS


def ordinal(generation: int) -> int:
    """Return the generation as people and scripts count it: the first is 1."""
    return 1 + count(generation)


def is_consistent(
    generation: int, evicted: tuple[str, ...], grown: tuple[Growth, ...] = ()
) -> bool:
    """Whether a generation has the number it must have, and names each member once, in order.

    Whoever begins a generation changes something, so there were no more than there are changes.
    Without this limit a single notice could use up all numbers, and none would be left to evict
    its author.
    """
    growing = [one.member for one in grown]
    return (
        evicted == tuple(sorted(set(evicted)))
        and growing == sorted(set(growing))
        and all(1 <= one.first < one.rows <= MOST_ROWS for one in grown)
        and count(generation)
        <= min(MOST, len(evicted) + sum(one.rows - one.first for one in grown))
        and generation == number(count(generation), evicted, grown)
    )


def next_generation(generations: Iterable[int], changes: Changes) -> int:
    """Return the number of the generation that follows all these, with these changes."""
    return number(1 + max(map(count, generations)), *changes)
