"""The durable state of a peer, and the actions that a protocol asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import msgspec

from pairgossip.peer.protocol.messages import AnyMessage, Changes, Growth, Mass, Record

if TYPE_CHECKING:
    from pairgossip.peer.protocol.context import Context


class Node(msgspec.Struct, frozen=True):
    """One row of the peer's data, as a node of the network."""

    record: Record
    """The record it holds, its own or another's."""
    mass: Mass
    private: tuple[float, ...]
    """The local update's own memory, which nobody else sees."""


class Pending(msgspec.Struct, frozen=True):
    """An offer without an answer: the node it concerns is frozen until it is known."""

    seq: int
    node: int


class Outcome(msgspec.Struct, frozen=True):
    """How a neighbor's latest offer was decided; sent again as often as it asks."""

    seq: int
    record: Record | None
    """The record given in exchange; None if the offer was rejected."""
    mass: Mass = ()
    reason: str = ""


class State(msgspec.Struct, frozen=True):
    """Everything durable of a peer that exchanges rows, but the identity and the data."""

    generation: str
    seq: int
    nodes: Sequence[Node]
    """A `Vector`, so that the state before an exchange and the one after share nearly all."""
    pending: Mapping[str, Pending]
    """By neighbor: an offer is made only if there is none in doubt with the same neighbor."""
    outcomes: Mapping[str, Outcome]
    exchanges: int
    """Exchanges in this generation in which this peer took part; also what it draws lots by."""
    left_out: int = 0
    """Exchanges after which no two rows were free to exchange locally."""
    evicted: tuple[str, ...] = ()
    notice: bytes = b""
    """The frame that began this generation, for neighbors that have not heard of it."""
    grown: tuple[Growth, ...] = ()
    """Members with more rows than at first, as the notice tells them."""

    @property
    def rows(self) -> int:
        """How many rows of its own the peer has."""
        return len(self.nodes)

    @property
    def changes(self) -> Changes:
        """The changes of this generation to the list of members."""
        return Changes(self.evicted, self.grown)

    def fits(self, context: Context) -> bool:
        """Return whether every node has as many numbers as the run keeps of a row."""
        sizes = tuple(context.rule.sizes)
        return all((len(one.mass), len(one.private)) == sizes for one in self.nodes)

    @property
    def frozen(self) -> list[int]:
        """The rows that offers in doubt concern, in order."""
        return sorted(pending.node for pending in self.pending.values())


_BITS = 5
_WIDTH = 1 << _BITS
"""Children of a branch of the tree, as bits of an index and as a number."""

_T = TypeVar("_T")


class Vector(Sequence[_T]):
    """An immutable sequence of which a changed copy costs next to nothing.

    A peer with many rows changes a few of them at each exchange, and must be able to fall back on
    what was before. A tuple would be copied whole each time. This is a tree of small tuples: a copy
    shares all of it but the branches that lead to what has changed.
    """

    __slots__ = ("_depth", "_length", "_root")

    def __init__(self, items: Iterable[_T] = ()) -> None:
        level: tuple[Any, ...] = tuple(items)
        self._length, self._depth = len(level), 0
        while len(level) > _WIDTH:
            level = tuple(level[at : at + _WIDTH] for at in range(0, len(level), _WIDTH))
            self._depth += _BITS
        self._root = level

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> _T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[_T, ...]: ...
    def __getitem__(self, at: int | slice) -> _T | tuple[_T, ...]:
        if isinstance(at, slice):
            return tuple(self[index] for index in range(*at.indices(self._length)))
        index = at + self._length if at < 0 else at
        if not 0 <= index < self._length:
            raise IndexError(at)
        item: Any = self._root
        for shift in range(self._depth, -1, -_BITS):
            item = item[index >> shift & (_WIDTH - 1)]
        return item

    def __iter__(self) -> Iterator[_T]:
        items: Iterator[Any] = iter(self._root)
        for _ in range(0, self._depth, _BITS):
            items = chain.from_iterable(items)
        return items

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Vector):
            # Branches that both share are the same object, and are not entered.
            return self._length == other._length and self._root == other._root
        if isinstance(other, tuple):
            return len(other) == self._length and tuple(self) == other
        return NotImplemented

    def replaced(self, changes: Mapping[int, _T]) -> Vector[_T]:
        """Return a copy with other items at some places."""
        copy: Vector[_T] = Vector()
        copy._length, copy._depth = self._length, self._depth
        root = self._root
        for index, item in changes.items():
            if not 0 <= index < self._length:
                raise IndexError(index)
            root = _with(root, self._depth, index, item)
        copy._root = root
        return copy


def as_vector(items: Sequence[_T]) -> Vector[_T]:
    """Return items as a vector; one that is a vector already is returned as it is."""
    return items if isinstance(items, Vector) else Vector(items)


def _with(branch: tuple[Any, ...], depth: int, index: int, item: object) -> tuple[Any, ...]:
    at = index >> depth & (_WIDTH - 1)
    changed = list(branch)
    changed[at] = item if not depth else _with(branch[at], depth - _BITS, index, item)
    return tuple(changed)


class Send(NamedTuple):
    """Send a message to a neighbor; it may be lost."""

    to: str
    message: AnyMessage


class Save(NamedTuple):
    """Save this state: the peer's own numbers, these nodes, this neighbor's outcome."""

    state: State
    """As it was when the action was decided: a later event may have changed it since."""
    sync: bool
    """Whether it must be on the disk before the next action."""
    nodes: tuple[int, ...] = ()
    outcome_of: str | None = None
    everything: bool = False
    own: tuple[tuple[float, ...], ...] | None = None
    """All rows of the peer's own from now on; None if they are as before."""

    @property
    def has_more_rows(self) -> bool:
        """Whether rows were added since the last save."""
        return self.own is not None


class RepeatLater(NamedTuple):
    """Call `Exchange.repeat` for this neighbor after a while, unless its answer comes first."""

    to: str


class Answered(NamedTuple):
    """The offer to this neighbor is decided: what its clock may learn from."""

    by: str
    is_busy: bool = False
    """Whether it was rejected since the neighbor had no row free: another ring is due."""


Action = Send | Save | RepeatLater | Answered
