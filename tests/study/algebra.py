"""Disclosure by sums over pieces of rows together, by exact linear algebra."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

Piece = tuple[str, int]
"""A member, and the number of a batch of its rows."""


def tell_few(releases: Sequence[frozenset[Piece]], least: int) -> tuple[str, ...] | None:
    """Return fewer than ``least`` members to whom some combination of sums refers alone, or None.

    There is such a combination if the sums have a larger rank than their restriction to the
    pieces of all other members.
    """
    pieces = sorted(set().union(*releases))
    rows = [[Fraction(piece in one) for piece in pieces] for one in releases]
    rank = rank_of(rows)
    members = sorted({member for member, _ in pieces})
    for few in itertools.combinations(members, min(least - 1, len(members))):
        others = [k for k, (member, _) in enumerate(pieces) if member not in few]
        if rank_of([[row[k] for k in others] for row in rows]) < rank:
            return few
    return None


def rank_of(rows: Sequence[Sequence[Fraction]]) -> int:
    """Return the rank of a matrix, exactly."""
    left, rank = [list(row) for row in rows], 0
    for column in range(len(left[0]) if left else 0):
        pivot = next((row for row in left[rank:] if row[column]), None)
        if pivot is None:
            continue
        left.remove(pivot)
        left.insert(rank, pivot)
        for row in left[rank + 1 :]:
            factor = row[column] / pivot[column]
            if factor:
                for k in range(column, len(row)):
                    row[k] -= factor * pivot[k]
        rank += 1
    return rank
