"""What a peer must remember, whatever happens to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pairgossip.peer.generations import Changes, Growth
from pairgossip.peer.messages import Mass
from pairgossip.peer.records import Record


def picks_per_exchange(rows: int) -> int:
    """How many of a peer's rows one exchange picks: one by the network, then two by the peer.

    With one or two rows there would be no two to pick as soon as one is in an offer. With more it
    is rare that offers freeze all but one; then the two are left out, and counted in the state.
    """
    return 3 if rows > 2 else 1


class Node(msgspec.Struct, frozen=True):
    """One row of the peer's data, as a node of the network."""

    record: Record
    """The record it holds, its own or another's."""
    mass: Mass
    private: tuple[float, ...]
    """What the local update carries along and nobody else sees."""


class Pending(msgspec.Struct, frozen=True):
    """An offer without an answer: the node it concerns is frozen until it is known."""

    seq: int
    node: int


class Outcome(msgspec.Struct, frozen=True):
    """How a neighbor's latest offer was decided; told again as often as it asks."""

    seq: int
    record: Record | None
    """What was given in exchange; None if the offer was rejected."""
    mass: Mass = ()
    reason: str = ""


class State(msgspec.Struct, frozen=True):
    """Everything durable but the identity and the data."""

    generation: int
    evicted: tuple[str, ...]
    seq: int
    nodes: Sequence[Node]
    """A `Vector`, so that the state before an exchange and the one after share nearly all."""
    pending: Mapping[str, Pending]
    """By neighbor: an offer is made only if there is none in doubt with the same neighbor."""
    outcomes: Mapping[str, Outcome]
    exchanges: int
    """Exchanges in this generation in which this peer took part; also what it draws lots by."""
    notice: bytes = b""
    """The frame that began this generation, for neighbors that have not heard of it."""
    grown: tuple[Growth, ...] = ()
    """Members with more rows than at first, as the notice tells them."""
    left_out: int = 0
    """Exchanges after which no two rows were free to exchange locally."""

    @property
    def frozen(self) -> list[int]:
        """The rows that offers in doubt concern, in order."""
        return sorted(pending.node for pending in self.pending.values())

    @property
    def changes(self) -> Changes:
        """What is different in this generation from the list of members."""
        return Changes(self.evicted, self.grown)
