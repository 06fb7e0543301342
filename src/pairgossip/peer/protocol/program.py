"""The interface of programs that compute sums: rounds, and the contribution of each member.

A program is the same computation at every member but for the rows: what it asks next follows from
the sums so far. It does no input or output, so the same program runs in simulations.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""Numbers modulo 2^64, which add up exactly whatever their order."""
LEAST_MEMBERS = 3
"""With two, each learns the other's numbers from the sum."""
LEAST_ROWS = 10
"""Default for the least number of rows of a batch, and of a class of one site behind a total."""
LEAST_SITES = LEAST_MEMBERS + 1
"""Least number of members that add rows in blocks; one of them may claim rows that it lacks."""
SIZE_STEP = 10
"""Others learn numbers of rows rounded down to multiples of this, but for those below it."""


def round_size(rows: int) -> int:
    """Return the number of rows that others learn: rounded down, but 1 for 1 to 9 rows."""
    return max(rows - rows % SIZE_STEP, min(rows, 1))


class Kind(Enum):
    """The purpose of a round."""

    SUM = "sum"
    """Every member contributes numbers, masked, of which the sum becomes known."""
    EXCHANGE = "exchange"
    """Rows travel between members, beside the rounds; a statement follows once that is enough."""
    STATEMENT = "statement"
    """Every member says the same in clear, and signs it."""


class Ask(NamedTuple):
    """The question of one round to every member."""

    kind: Kind
    public: bytes
    """All that contributions depend on besides the rows, such as a model; known to all members."""
    words: int = 0
    """The length of each contribution."""


class Disagreement(Exception):
    """Another member asks for something else than this one, or a sum is impossible."""


class Rounds(Protocol):
    """What members ask one another in rounds, and what they make of the answers."""

    @property
    def most_rounds(self) -> int:
        """How many rounds there are at most."""

    def ask(self) -> Ask | None:
        """Return what the next round asks for; None if all is known."""

    def contribute(self, ask: Ask) -> Words:
        """Return this member's numbers."""

    def follow(self, public: bytes, *, is_repeated: bool = True) -> Ask:
        """Return the same question as another member asks it; raise `Disagreement` if it is not.

        A repeated question takes one more round; otherwise it was asked in these words at once.
        """

    def take(self, ask: Ask, total: Words) -> None:
        """Go on with the sum of all members' numbers."""


def pack(words: Words) -> bytes:
    """Write words as they travel."""
    return words.astype("<u8").tobytes()


def add_up(contributions: Iterable[bytes], words: int) -> Words:
    """Add contributions of this length modulo 2^64."""
    total = np.zeros(words, dtype=np.uint64)
    for packed in contributions:
        total += np.frombuffer(packed, dtype="<u8")
    return total
