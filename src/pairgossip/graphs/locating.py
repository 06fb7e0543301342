"""Which part of a whole a number falls into, for many numbers at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]

_LARGEST_GUIDE = 1 << 23
_STEPS = 2


class Locator(Protocol):
    """Lays parts of whole lengths side by side and finds the part of a number."""

    def locate(self, numbers: Whole) -> tuple[Whole, Whole]:
        """Return the part that each number falls into, and how far into it."""


@dataclass(frozen=True)
class EvenParts:
    """Parts of one length; a division finds them."""

    length: int

    def locate(self, numbers: Whole) -> tuple[Whole, Whole]:
        """Return the part that each number falls into, and how far into it."""
        part, rest = np.divmod(numbers, self.length)
        return part, rest


@dataclass(frozen=True, eq=False)
class GuidedParts:
    """Parts of any lengths; a table brings nearly every number within two parts of its own.

    The table has an entry per 2**shift numbers. Binary search, which takes the few numbers that
    are still off, would miss the processor's caches at every step of every search.
    """

    marks: Whole
    """Where each part begins, and where the last one ends."""
    guide: NDArray[np.int32]
    shift: int

    def locate(self, numbers: Whole) -> tuple[Whole, Whole]:
        """Return the part that each number falls into, and how far into it."""
        ends = self.marks[1:]
        part = self.guide.take(numbers >> self.shift).astype(np.int64)
        for _ in range(_STEPS):
            part += ends.take(part) <= numbers
        off = np.flatnonzero(ends.take(part) <= numbers)
        if off.size:
            part[off] = np.searchsorted(ends, numbers[off], side="right")
        return part, numbers - self.marks.take(part)


def locator(lengths: Whole) -> Locator:
    """Return what locates numbers in parts of these lengths, all of at least one."""
    if lengths.min() == lengths.max():
        return EvenParts(int(lengths[0]))
    marks = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    total, size = int(marks[-1]), min(2 * len(marks), _LARGEST_GUIDE)
    shift = (total // size).bit_length()
    starts = np.arange((total - 1 >> shift) + 1, dtype=np.int64) << shift
    guide = np.searchsorted(marks[1:], starts, side="right").astype(np.int32)
    return GuidedParts(marks, guide, shift)
