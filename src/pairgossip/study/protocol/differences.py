"""Numbers on few members' rows that others could compute by adding and subtracting known sums.

Rows come in pieces: those that a member added at once. A release is a sum over some pieces, and
a member that knows several can add and subtract them. Pieces that the same releases contain form an
*atom*: no such combination separates them, so each is a sum over whole atoms. If every atom has
pieces of enough members, no combination is about fewer. The column of a release does not matter,
since the totals of classes are in all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

Place = tuple[str, int]
"""A piece: its member, and the number of its batch."""
Pieces = frozenset[Place]


def split(releases: Iterable[Pieces]) -> set[Pieces]:
    """Return the atoms of releases."""
    inside: defaultdict[Place, list[int]] = defaultdict(list)
    for number, release in enumerate(releases):
        for piece in release:
            inside[piece].append(number)
    atoms: defaultdict[tuple[int, ...], list[Place]] = defaultdict(list)
    for piece, numbers in inside.items():
        atoms[tuple(numbers)].append(piece)
    return {frozenset(pieces) for pieces in atoms.values()}


def find_lone(
    new: Pieces,
    before: Collection[Pieces],
    least_members: int,
    visible: Collection[Place] = (),
) -> Pieces | None:
    """Return pieces of too few members that a further release would set apart; None if none.

    Pieces whose totals may be visible may be set apart, but never be all of a release.
    """
    if len(members_of(new)) < least_members:
        return new
    for atom in sorted(split([*before, new]), key=sorted):
        is_thin = len(members_of(atom)) < least_members
        if is_thin and not atom <= set(visible):
            return atom
    return None


def choose(
    free: Pieces,
    before: Collection[Pieces],
    least_members: int,
    visible: Collection[Place] = (),
) -> Pieces:
    """Return the pieces that can be released together; the others wait."""
    chosen = free
    while chosen and (lone := find_lone(chosen, before, least_members, visible)) is not None:
        thin = lone & chosen
        # If the remaining pieces would stand alone, those that would leave them stay behind as
        # well.
        chosen -= thin or _siblings(lone, chosen, before)
    return chosen


def members_of(pieces: Iterable[Place]) -> set[str]:
    """Return the members of these pieces."""
    return {member for member, _ in pieces}


def _siblings(lone: Pieces, chosen: Pieces, before: Collection[Pieces]) -> Pieces:
    """Return the chosen pieces that were in the same atom as the remaining ones."""
    whole = next(atom for atom in split(before) if lone <= atom)
    return whole & chosen or chosen
