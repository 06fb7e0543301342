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
    """The record that it holds, its own or another's."""
    mass: Mass
    private: tuple[float, ...]
    """The local update's own memory, which nobody else sees."""


class Pending(msgspec.Struct, frozen=True):
    """An offer without an answer, which freezes its node until the answer comes."""

    seq: int
    node: int


class Outcome(msgspec.Struct, frozen=True):
    """The decision on a neighbor's latest offer, sent again whenever the offer comes again."""

    seq: int
    record: Record | None
    """The record sent in exchange; None if the offer was rejected."""
    mass: Mass = ()
    reason: str = ""


class State(msgspec.Struct, frozen=True):
    """The durable state of a peer that exchanges rows, without its identity and its data."""

    generation: str
    seq: int
    nodes: Sequence[Node]
    """A `Vector`, so that the state before an exchange and the one after share nearly all."""
    pending: Mapping[str, Pending]
    """The offer in doubt with each neighbor; there is at most one."""
    outcomes: Mapping[str, Outcome]
    exchanges: int
    """The number of this peer's exchanges in this generation, which also seeds its draws."""
    left_out: int = 0
    """The number of local exchanges left out: no two rows were free, or an update overflowed."""
    evicted: tuple[str, ...] = ()
    notice: bytes = b""
    """The frame that began this generation, for neighbors that have not heard of it."""
    grown: tuple[Growth, ...] = ()
    """The members with more rows than at first, as in the notice."""

    @property
    def rows(self) -> int:
        """The number of the peer's own rows."""
        return len(self.nodes)

    @property
    def changes(self) -> Changes:
        """The changes of this generation to the list of members."""
        return Changes(self.evicted, self.grown)

    def fits(self, context: Context) -> bool:
        """Return whether every node has as many numbers as the context's rule keeps of a row."""
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
    """An immutable sequence with cheap changed copies.

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
    """The state when the action was decided; a later event may have changed it since."""
    sync: bool
    """Whether it must be on the disk before the next action."""
    nodes: tuple[int, ...] = ()
    outcome_of: str | None = None
    everything: bool = False
    own: tuple[tuple[float, ...], ...] | None = None
    """All of the peer's own rows from now on; None if they are as before."""

    @property
    def has_more_rows(self) -> bool:
        """Whether rows were added since the last save."""
        return self.own is not None


class RepeatLater(NamedTuple):
    """Call `Exchange.repeat` for this neighbor after a while, unless its answer comes first."""

    to: str


class Answered(NamedTuple):
    """The offer to this neighbor is decided, and its clock may learn from it."""

    by: str
    is_busy: bool = False
    """Whether it was rejected because the neighbor had no free row: another ring is due."""


Action = Send | Save | RepeatLater | Answered
