"""What a peer keeps of the way its masses have grown, from which `Uncertainty` judges them.

It is told with the status, every second: a few hundred numbers at most, and only for display.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pairgossip.peer.state import State

MOST_BATCHES = 32


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """The masses of the quotient after so many exchanges, and their means since the last mark."""

    exchanges: int
    top: float
    bottom: float
    mean_top: float
    mean_bottom: float


class Sums(msgspec.Struct, frozen=True, array_like=True):
    """The masses after each exchange since the last mark, added up."""

    count: int = 0
    top: float = 0.0
    bottom: float = 0.0


NO_SUMS = Sums()


class Course(msgspec.Struct, frozen=True, rename={"generation": "generation_number"}):
    """What is kept of the way the masses have grown; enough to go on after a restart."""

    generation: int
    """The whole number of it, under a name of its own: beside it generations are counted from 1."""
    batch: int
    """Exchanges between two marks."""
    marks: tuple[Mark, ...]
    since: Sums = NO_SUMS
    """Of the batch that has not ended yet."""

    def fits(self, state: State) -> bool:
        """Whether this is of the state: a crash may have undone exchanges that were seen."""
        return (
            self.generation == state.generation
            and 0 < len(self.marks) <= MOST_BATCHES
            and self.marks[-1].exchanges <= state.exchanges
        )
