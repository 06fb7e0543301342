"""Generations: one run of the network from the members' own records, without those evicted.

A generation's number says in its upper half how many there were before, and in its lower half who
is evicted, in short. So two peers that begin different generations at once give them different
numbers, and whoever hears of both begins one without all that either evicted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

BITS = 32
MOST = 1 << 30
"""More generations than this nobody can have begun; it leaves room to begin others."""
FIRST = 0
"""The first generation, in which nobody is evicted."""


def number(count: int, evicted: Iterable[str]) -> int:
    """Return the number of the generation after ``count`` others without those evicted."""
    told = "\n".join(sorted(evicted))
    short = hashlib.sha256(told.encode()).digest()[: BITS // 8] if told else bytes(BITS // 8)
    return (count << BITS) | int.from_bytes(short, "big")


def count(generation: int) -> int:
    """How many generations there were before."""
    return generation >> BITS


def is_consistent(generation: int, evicted: tuple[str, ...]) -> bool:
    """Whether a generation has the number it must have, and names each member once, in order."""
    return evicted == tuple(sorted(set(evicted))) and (
        count(generation) < MOST and generation == number(count(generation), evicted)
    )


def following(generations: Iterable[int], evicted: Iterable[str]) -> tuple[int, tuple[str, ...]]:
    """Return the generation that follows all these, and its evicted members in order."""
    gone = tuple(sorted(set(evicted)))
    return number(1 + max(map(count, generations)), gone), gone
