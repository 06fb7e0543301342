"""A sequence that never changes, and of which a changed copy costs next to nothing.

A peer with many rows changes a few of them at each exchange, and must be able to fall back on what
was before. A tuple would be copied whole each time. This is a tree of small tuples: a copy shares
all of it but the branches that lead to what has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar, overload

BITS = 5
WIDTH = 1 << BITS

T = TypeVar("T")


class Vector(Sequence[T]):
    """Items in order, as a tuple has them."""

    __slots__ = ("_depth", "_length", "_root")

    def __init__(self, items: Iterable[T] = ()) -> None:
        level: tuple[Any, ...] = tuple(items)
        self._length, self._depth = len(level), 0
        while len(level) > WIDTH:
            level = tuple(level[at : at + WIDTH] for at in range(0, len(level), WIDTH))
            self._depth += BITS
        self._root = level

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        if isinstance(at, slice):
            return tuple(self[index] for index in range(*at.indices(self._length)))
        index = at + self._length if at < 0 else at
        if not 0 <= index < self._length:
            raise IndexError(at)
        found: Any = self._root
        for shift in range(self._depth, -1, -BITS):
            found = found[index >> shift & (WIDTH - 1)]
        return found

    def __iter__(self) -> Iterator[T]:
        items: Iterator[Any] = iter(self._root)
        for _ in range(0, self._depth, BITS):
            items = chain.from_iterable(items)
        return items

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Vector):
            # Branches that both share are the same object, and are not entered.
            return self._length == other._length and self._root == other._root
        if isinstance(other, tuple):
            return len(other) == self._length and tuple(self) == other
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Vector({list(self)!r})"

    def replaced(self, changes: Mapping[int, T]) -> Vector[T]:
        """Return a copy with other items at some places."""
        copy: Vector[T] = Vector()
        copy._length, copy._depth = self._length, self._depth
        root = self._root
        for index, item in changes.items():
            if not 0 <= index < self._length:
                raise IndexError(index)
            root = _with(root, self._depth, index, item)
        copy._root = root
        return copy


def as_vector(items: Sequence[T]) -> Vector[T]:
    """Return items as a vector; one that is a vector already is returned as it is."""
    return items if isinstance(items, Vector) else Vector(items)


def _with(branch: tuple[Any, ...], depth: int, index: int, item: object) -> tuple[Any, ...]:
    at = index >> depth & (WIDTH - 1)
    changed = list(branch)
    changed[at] = item if not depth else _with(branch[at], depth - BITS, index, item)
    return tuple(changed)
