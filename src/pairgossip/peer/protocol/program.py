"""The interface of programs that compute sums: rounds, and the contribution of each member.

All members run the same program and differ in their rows alone: its next question follows from the
sums so far. It does no input or output, so simulations run the same program.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""Numbers modulo 2^64, which add up exactly in any order."""
LEAST_MEMBERS = 3
"""Least number of members; of two, each would learn the other's numbers from the sum."""
LEAST_ROWS = 10
"""Default for the least number of rows of a batch, and of a class of one site behind a total."""
LEAST_SITES = LEAST_MEMBERS + 1
"""Least number of members that add rows in blocks; one of them may claim rows that it lacks."""
SIZE_STEP = 10
"""Others learn numbers of rows rounded down to multiples of this; see `round_size`."""


def round_size(rows: int) -> int:
    """Return the number of rows that others learn: rounded down, but 1 for 1 to 9 rows."""
    return max(rows - rows % SIZE_STEP, min(rows, 1))


class Kind(Enum):
    """The purpose of a round."""

    SUM = "sum"
    """Every member contributes masked numbers, whose sum becomes known."""
    EXCHANGE = "exchange"
    """Rows travel between members outside the rounds; a statement follows once that suffices."""
    STATEMENT = "statement"
    """Every member states the same in clear, and signs it."""


class Ask(NamedTuple):
    """The question of one round to every member."""

    kind: Kind
    public: bytes
    """All that contributions depend on besides the rows, such as a model; known to all members."""
    words: int = 0
    """The number of words of each contribution."""


class Disagreement(Exception):
    """Another member asks a different question from this one's, or a sum is impossible."""


class Rounds(Protocol):
    """A computation in rounds: the questions to all members, and the use of their answers."""

    @property
    def most_rounds(self) -> int:
        """The largest number of rounds."""

    def ask(self) -> Ask | None:
        """Return the question of the next round; None if all is known."""

    def contribute(self, ask: Ask) -> Words:
        """Return this member's contribution."""

    def follow(self, public: bytes, *, is_repeated: bool = True) -> Ask:
        """Return a question as another member asks it; raise `Disagreement` if it is another one.

        A repeated question takes one more round; otherwise it was asked in these words at once.
        """

    def take(self, ask: Ask, total: Words) -> None:
        """Continue with the sum of all contributions."""


def pack(words: Words) -> bytes:
    """Return words as bytes to send."""
    return words.astype("<u8").tobytes()


def add_up(contributions: Iterable[bytes], words: int) -> Words:
    """Add contributions, each of this number of words, modulo 2^64."""
    total = np.zeros(words, dtype=np.uint64)
    for packed in contributions:
        total += np.frombuffer(packed, dtype="<u8")
    return total
