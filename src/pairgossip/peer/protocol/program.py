"""The interface of programs on sums: rounds, and the contribution of each member.

A program is the same computation at every member but for the rows: what it asks next follows from
the sums so far. It does no input or output, so the same program runs in simulations.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pairgossip.peer.protocol.state import Released

Words = NDArray[np.uint64]
"""Numbers modulo 2^64, which add up exactly whatever their order."""
LEAST_MEMBERS = 3
"""With two, each learns the other's numbers from the sum."""
LEAST_SITES = LEAST_MEMBERS + 1
"""Members that add rows in blocks at least, or no table is made: one of them may only say so."""
SIZE_STEP = 10
"""Numbers of rows that are told to others are multiples of this, but for the first."""


def round_size(rows: int) -> int:
    """Return the number of rows that others are told: rounded down; 1 for fewer than a step."""
    return max(rows - rows % SIZE_STEP, min(rows, 1))


class Kind(Enum):
    """The purpose of a round."""

    CARDS = "cards"
    """Every member commits to its rows; nothing else begins before all have."""
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


class OtherTables(Disagreement):
    """Members go on from another table than this one."""

    def __init__(self, members: tuple[str, ...]) -> None:
        super().__init__("another table")
        self.members = members


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

        It is asked in another round unless it is not repeated, but was asked like that at once.
        """

    def take(self, ask: Ask, total: Words) -> None:
        """Go on with the sum of all members' numbers."""


class Program(Rounds, Protocol):
    """The computation of a generation, the first of whose rounds is the members' cards."""

    @property
    def longest(self) -> int:
        """How many words a contribution has at most."""

    @property
    def partial_result(self) -> PartialResult | None:
        """The result so far; None before the sums that it is read from."""

    @property
    def released(self) -> Released:
        """How far this member's rows are released once it has contributed to the present round."""

    def card(self) -> bytes:
        """Return what this member tells all others before any sum, beside its commitment."""

    def take_cards(self, cards: Mapping[str, bytes]) -> None:
        """Go on with what all members tell; raise `OtherTables` if there is no common ground."""
