"""What a peer must remember, the actions that an exchange asks for, and a peer's nodes.

A node is one row of the peer's data. Here is which are free, and how they swap, average and update.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple, TypeVar, overload

import msgspec
from msgspec.structs import replace

from pairgossip.peer.protocol.context import Context
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    AnyMessage,
    Changes,
    Growth,
    Mass,
    Record,
)


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
    """How a neighbor's latest offer was decided; sent again as often as it asks."""

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


_BITS = 5
_WIDTH = 1 << _BITS

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


def _as_vector(items: Sequence[_T]) -> Vector[_T]:
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


class RepeatLater(NamedTuple):
    """Call `Exchange.repeat` for this neighbor after a while, unless its answer comes first."""

    to: str


Action = Send | Save | RepeatLater


@dataclass
class Nodes:
    """The nodes in a peer's state, one for each of its rows."""

    context: Context
    state: State
    counts: Counter[str] = field(default_factory=Counter)
    """Events since the peer started, by name."""

    @property
    def free_rows(self) -> int:
        """How many rows no offer has frozen."""
        return len(self.state.nodes) - len(self.state.pending)

    def _free_node(self) -> int | None:
        """Draw a node for an answer; None if offers have frozen all."""
        drawn = self._free_nodes("answer", 1)
        return drawn[0] if drawn else None

    def _free_nodes(self, purpose: str, count: int) -> list[int]:
        """Draw different nodes that no offer has frozen; none if there are fewer than asked for."""
        if self.free_rows < count:
            return []
        drawn = self._lots(purpose).sample(range(self.free_rows), count)
        for frozen in self.state.frozen:
            # The numbers from a frozen node on stand for the nodes that follow it.
            drawn = [node + (node >= frozen) for node in drawn]
        return drawn

    def _lots(self, purpose: str) -> random.Random:
        """Return a source of chance that gives the same again if a crash undoes what was drawn.

        Each purpose has its own, or the row exchanged locally would always be the next one offered.
        """
        state = self.state
        drawn = (state.generation, state.seq, state.exchanges)
        return random.Random(repr((self.context.draw_seed, self.context.me, purpose, drawn)))

    def _apply(self, node: int, record: Record, mass: Mass) -> bool:
        """Hold the other's record, average both masses, and update; return False to refuse all."""
        mine = self.state.nodes[node]
        average = tuple((a + b) / 2 for a, b in zip(mine.mass, mass, strict=True))
        if not self._update({node: Node(record, average, mine.private)}):
            self.counts["refused: update not finite"] += 1
            return False
        self.state = replace(self.state, exchanges=self.state.exchanges + 1)
        return True

    def _exchange_locally(self) -> tuple[int, ...]:
        """Let two rows of this peer exchange, which costs no message; return which."""
        if picks_per_exchange(len(self.state.nodes)) == 1:
            return ()
        drawn = self._free_nodes("local", 2)
        if not drawn:
            # Harmless: it is rare, it depends on no value, and what is reported is divided by the
            # weight of the updates that were made. These rows are only picked later.
            return self._leave_out("no two rows are free")
        i, j = drawn
        first, second = self.state.nodes[i], self.state.nodes[j]
        average = tuple((a + b) / 2 for a, b in zip(first.mass, second.mass, strict=True))
        swapped = {
            i: Node(second.record, average, first.private),
            j: Node(first.record, average, second.private),
        }
        return (i, j) if self._update(swapped) else self._leave_out("update not finite")

    def _leave_out(self, why: str) -> tuple[int, ...]:
        self.counts[f"local exchanges left out: {why}"] += 1
        self.state = replace(self.state, left_out=self.state.left_out + 1)
        return ()

    def _update(self, exchanged: dict[int, Node]) -> bool:
        """Make the local updates of nodes that have exchanged; none if a number is not finite."""
        updated = {}
        for row, node in exchanged.items():
            is_own = (node.record.origin, node.record.row) == (self.context.me, row)
            own = self.context.own[row]
            mass, private = self.context.rule.update(
                node.mass, node.private, own, node.record.value, is_own
            )
            if not all(map(math.isfinite, (*mass, *private))):
                return False
            updated[row] = Node(node.record, mass, private)
        self.state = replace(self.state, nodes=_as_vector(self.state.nodes).replaced(updated))
        return True


def first_state(context: Context) -> State:
    """Return the state of a peer that has never run: every node holds its own record."""
    return State(FIRST_GENERATION, (), 0, first_nodes(context, FIRST_GENERATION), {}, {}, 0)


def first_nodes(context: Context, generation: int) -> Vector[Node]:
    """Return the nodes of a peer when a generation begins."""
    return Vector(
        Node(context.own_record(row, generation), *context.rule.begin())
        for row in range(len(context.own))
    )
