"""The interface of programs on sums: rounds, and the contribution of each member.

A program is the same computation at every member but for the rows: what it asks next follows from
the sums so far. It does no input or output, so the same program runs in simulations.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""Numbers modulo 2^64, which add up exactly whatever their order."""


class Kind(Enum):
    """The purpose of a round."""

    CARDS = "cards"
    """Every member commits to its rows; nothing else begins before all have."""
    SUM = "sum"
    """Every member contributes numbers, masked, of which the sum becomes known."""
    STATEMENT = "statement"
    """Every member says the same in clear, and signs it."""


class Ask(NamedTuple):
    """The question of one round to every member."""

    kind: Kind
    public: bytes
    """All that contributions depend on besides the rows, such as a model; known to all members."""
    words: int = 0


class PartialResult(NamedTuple):
    """The result of a program so far; None where a number is unknown."""

    estimate: tuple[float, ...]
    """The statistic as the only entry, or a model's parameters."""
    sampling_error: float | None = None
    sampling_interval: tuple[float, float] | None = None
    bracket: tuple[float, float] | None = None
    """Between which values the statistic of all rows lies for certain."""
    privacy_error: float | None = None


class Disagreement(Exception):
    """Another member asks for something else than this one, and not by a rounding."""


class Program(Protocol):
    """The computation of a generation."""

    @property
    def longest(self) -> int:
        """How many words a contribution has at most."""

    @property
    def most_rounds(self) -> int:
        """How many rounds there are at most, the first of them the members' cards."""

    @property
    def partial_result(self) -> PartialResult | None:
        """The result so far; None before the sums that it is read from."""

    def ask(self) -> Ask | None:
        """Return what the next round asks for; None if all is known."""

    def contribute(self, ask: Ask) -> Words:
        """Return this member's numbers."""

    def follow(self, public: bytes, *, is_repeated: bool = True) -> Ask:
        """Return the same question as another member asks it; raise `Disagreement` if it is not.

        It is asked in another round unless it is not repeated, but was asked like that at once.
        """

    def take(self, ask: Ask, total: Words) -> None:
        """Go on with the sum of all members' numbers."""
