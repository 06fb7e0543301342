"""Invariants of a network of peers after every event, whatever has happened."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

from pairgossip.peer.protocol.context import Context
from pairgossip.peer.protocol.messages import (
    Accept,
    Changes,
    Mass,
    Offer,
    Record,
    Reject,
    decode,
    generations_before,
)
from pairgossip.peer.protocol.rules import Rule
from pairgossip.peer.protocol.state import Node, Outcome, Pending, State
from tests.peer.books import BookedMixing

Row = tuple[str, int]
MOST_GENERATIONS = 60
"""Most generations in a row; a few concurrent changes begin far fewer, more mean no agreement."""


class Violated(AssertionError):
    """An invariant does not hold."""


class Network(Protocol):
    """The network that an audit checks."""

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def contexts(self) -> Mapping[str, Context]: ...

    def state(self, name: str) -> State:
        """Return the peer's state: in memory if it runs, else on its disk."""

    def is_running(self, name: str) -> bool:
        """Return whether the peer has finished all work of the last event."""

    def is_away(self, name: str, neighbor: str) -> bool:
        """Return whether a peer knows that it must not make a new offer to a neighbor."""


def effective(network: Network, name: str, number: int) -> tuple[Record, Mass]:
    """Return what a node holds; an exchange counts as done once the other side has decided it."""
    state = network.state(name)
    node = state.nodes[number]
    for to, pending in asked_with(state, number):
        other = network.state(to)
        decided = other.outcomes.get(name) if other.generation == state.generation else None
        if decided is not None and decided.seq == pending.seq and decided.record is not None:
            mean = tuple((a + b) / 2 for a, b in zip(node.mass, decided.mass, strict=True))
            return decided.record, mean
    return node.record, node.mass


def asked_with(state: State, number: int) -> list[tuple[str, Pending]]:
    """Return the offer of a row, if there is one, and to whom it was made."""
    return [(to, pending) for to, pending in state.pending.items() if pending.node == number]


class Holding(NamedTuple):
    """The contents of a peer's nodes if none of its offers is decided."""

    rows: list[Row]
    masses: list[Mass]
    nodes: list[Node]


def holding_of(state: State) -> Holding:
    nodes = list(state.nodes)
    rows = [(node.record.origin, node.record.row) for node in nodes]
    return Holding(rows, [node.mass for node in nodes], nodes)


@dataclass
class Auditor:
    """Checks all peers after every event, and every frame that is sent."""

    network: Network
    checks: int = 0
    _seen: dict[str, State] = field(default_factory=dict)
    _reached: dict[str, tuple[int, str]] = field(default_factory=dict)
    _begun: dict[str, set[str]] = field(default_factory=dict)
    _meanings: dict[str, Changes] = field(default_factory=dict)
    _known: dict[str, Changes] = field(default_factory=dict)
    _told: dict[tuple[object, ...], bytes] = field(default_factory=dict)
    _genuine: dict[tuple[str, int, str], Record] = field(default_factory=dict)
    _expected: dict[str, set[Row]] = field(default_factory=dict)
    _of_no_concern: set[bytes] = field(default_factory=set)
    _holdings: dict[str, Holding] = field(default_factory=dict)

    def sent(self, sender: str, to: str, frame: bytes) -> None:
        """Check that one number stands for one offer, and one offer has one outcome (I3)."""
        if frame in self._of_no_concern:
            return
        message = decode(frame)
        if isinstance(message, Offer):
            offer = ("offer", sender, message.seq)
            if offer not in self._told and self.network.is_away(sender, to):
                raise Violated(f"{sender} makes an offer to {to}, which is away")
            self._same(offer, to.encode() + frame)
        elif isinstance(message, Accept) or (
            isinstance(message, Reject) and message.reason != "stale"
        ):
            self._same(("answer", sender, to, message.generation, message.seq), frame)
        else:  # half of all frames are hellos, with few variants
            self._of_no_concern.add(frame)

    def _same(self, what: tuple[object, ...], told: bytes) -> None:
        if self._told.setdefault(what, told) != told:
            raise Violated(f"{what} was told in two ways")

    def check(self, among: Iterable[str] | None = None) -> None:
        """Check what may have changed since the last call, among these peers if any are given."""
        state_of, seen, names = self.network.state, self._seen, self.network.names
        looked_at = names if among is None else among
        changed = [name for name in looked_at if state_of(name) is not seen.get(name)]
        if not changed:
            return
        states = {name: state_of(name) for name in names}
        self.checks += 1
        # The contents of a generation depend only on peers that are in it, have joined or left it.
        concerned = {seen[name].generation for name in changed if name in seen}
        for name in changed:
            self._check_peer(name, states[name])
            concerned.add(states[name].generation)
        for generation in concerned:
            self._check_generation(generation, states)

    def _check_peer(self, name: str, state: State) -> None:
        before, self._seen[name] = self._seen.get(name), state
        reached = (state.seq, state.generation)
        least = self._reached.get(name, (0, ""))
        if reached[0] < least[0] or reached[1] < least[1]:
            raise Violated(f"{name} went back from {least} to {reached}")
        if before is None or not _is_of_same_standing(before, state):
            self._check_standing(name, state)
        # A killed peer's unsynced writes may still be undone: nobody knows of them.
        if self.network.is_running(name):
            self._reached[name] = reached
            self._known[name] = state.changes
        if name not in state.evicted and len(state.nodes) != self._rows(name, state.generation):
            raise Violated(f"{name} has {len(state.nodes)} rows in {state.changes}")
        self._check_nodes(name, state, before)
        frozen = state.frozen
        if len(set(frozen)) < len(frozen):
            raise Violated(f"{name} has offered a row twice: {state.pending}")
        known = self._known_outcomes(before, state)
        for who, outcome in state.outcomes.items():
            if outcome.record is not None and outcome is not known.get(who):
                self._check_record(outcome.record, state)
        self._holdings[name] = holding_of(state)

    def _check_standing(self, name: str, state: State) -> None:
        """Check a generation and its changes, which most events do not modify."""
        changes = state.changes
        if generations_before(state.generation) > MOST_GENERATIONS:
            raise Violated(f"{name} begins generation after generation: {changes}")
        if not changes.include(self._known.get(name, Changes())):
            raise Violated(f"{name} forgot who is evicted or has grown: {changes}")
        self._begun.setdefault(state.generation, set()).add(name)
        if self._meanings.setdefault(state.generation, changes) != changes:
            raise Violated(f"two meanings of generation {state.generation}")
        for growth in state.grown:
            if not self.network.contexts[growth.member].is_genuine_growth(growth):
                raise Violated(f"a growth that nobody signed: {growth}")

    def _known_outcomes(self, before: State | None, state: State) -> Mapping[str, Outcome]:
        """Return the outcomes that were checked in this generation; an outcome never changes."""
        is_same = before is not None and before.generation == state.generation
        return before.outcomes if before is not None and is_same else {}

    def _check_nodes(self, name: str, state: State, before: State | None) -> None:
        """Check the nodes that have not been checked in this generation; nodes never change."""
        known: Sequence[Node] = ()
        if before is not None and before.generation == state.generation:
            known = before.nodes
        for node, old in itertools.zip_longest(state.nodes, known):
            if node is None or node is old:
                continue
            self._check_record(node.record, state)
            if not all(map(math.isfinite, (*node.mass, *node.private))):
                raise Violated(f"{name} has a number that is not finite: {node}")

    def _rows(self, name: str, generation: str) -> int:
        """Return how many rows a member has in a generation."""
        first = self.network.contexts[name].rows[name]
        return self._meanings[generation].rows().get(name, first)

    def _check_record(self, record: Record, state: State) -> None:
        """Check I4 and I5: a record is of a member of this generation, as that member made it."""
        key = (record.origin, record.row, state.generation)
        if key not in self._genuine:
            if (
                record.origin not in self.network.contexts
                or record.origin in state.evicted
                or not 0 <= record.row < self._rows(record.origin, state.generation)
            ):
                raise Violated(f"a record of no member: {record}")
            self._genuine[key] = self.network.contexts[record.origin].own_record(*key[1:])
        if record != self._genuine[key]:
            raise Violated(f"a record was changed: {record}")

    def _check_generation(self, generation: str, states: dict[str, State]) -> None:
        evicted = self._meanings[generation].evicted
        members = [name for name in states if name not in evicted]
        here = [name for name in members if states[name].generation == generation]
        begun = self._begun[generation]
        is_whole = all(name in here for name in members if name in begun)
        held, masses, nodes = list[Row](), list[Mass](), list[Node]()
        for name in here:
            holding = self._holdings[name]
            nodes += holding.nodes
            if states[name].pending:
                holding = self._as_decided(name, states, is_whole)
            held += holding.rows
            masses += holding.masses
        if not is_whole:  # peers that left took records along, but no record may occur twice
            if len(set(held)) < len(held):
                raise Violated(f"generation {generation}: records {Counter(held)}")
            return
        for name in members:
            if name not in here:  # it will begin with its own records
                held += self._rows_of([name], generation)
        if generation not in self._expected:
            self._expected[generation] = set(self._rows_of(members, generation))
        expected = self._expected[generation]
        if len(held) != len(expected) or set(held) != expected:
            raise Violated(f"generation {generation}: records {Counter(held)}")
        if self._keepers.issuperset(here):
            check_masses(masses, nodes)
            check_products(masses, nodes, self.network.contexts[here[0]].rule)

    def _as_decided(self, name: str, states: dict[str, State], is_whole: bool) -> Holding:
        """Return what a peer with offers holds, without the nodes of offers in doubt."""
        known = self._holdings[name]
        rows, masses = list(known.rows), list(known.masses)
        in_doubt = []
        for pending in states[name].pending.values():
            number = pending.node
            if not is_whole and self._is_in_doubt(states, name, number):
                in_doubt.append(number)
            else:
                record, masses[number] = effective(self.network, name, number)
                rows[number] = record.origin, record.row
        for number in sorted(in_doubt, reverse=True):
            del rows[number], masses[number]
        return Holding(rows, masses, known.nodes)

    @cached_property
    def _keepers(self) -> frozenset[str]:
        """The peers whose rules keep books."""
        contexts = self.network.contexts.items()
        return frozenset(who for who, one in contexts if getattr(one.rule, "keeps_books", False))

    def _rows_of(self, names: Sequence[str], generation: str) -> list[Row]:
        return [(name, row) for name in names for row in range(self._rows(name, generation))]

    def _is_in_doubt(self, states: dict[str, State], name: str, number: int) -> bool:
        """Return whether the other side may have decided, and has left the generation since."""
        state = states[name]
        asked = [to for to, _ in asked_with(state, number)]
        return any(states[to].generation != state.generation for to in asked)


def _is_of_same_standing(before: State, state: State) -> bool:
    """Return whether two states have the same generation and changes."""
    return (
        before.generation == state.generation
        and before.evicted is state.evicted
        and before.grown is state.grown
    )


def check_masses(masses: Sequence[Mass], nodes: Sequence[Node]) -> None:
    """Check I2: the total mass is what all have added, by their books."""
    books = [node.private[-len(node.mass) :] for node in nodes]
    for held, added in zip(_sums(masses), _sums(books), strict=True):
        if not math.isclose(held, added, rel_tol=1e-9, abs_tol=1e-9):
            raise Violated(f"mass {held} where {added} was added")


def check_products(masses: Sequence[Mass], nodes: Sequence[Node], rule: Rule) -> None:
    """Check I2 for products: their total is that of the means that nodes keep."""
    if not isinstance(rule, BookedMixing):
        return
    held = _sums([mass[rule.averaged :] for mass in masses])
    for total, due in zip(held, _sums([rule.products(n.private) for n in nodes]), strict=True):
        if not math.isclose(total, due, rel_tol=1e-9, abs_tol=1e-9):
            raise Violated(f"products {total} where the rows make {due}")


def _sums(rows: Sequence[Sequence[float]]) -> Iterator[float]:
    return (math.fsum(column) for column in zip(*rows, strict=True))


def remaining(network: Network) -> list[str]:
    """Return the peers that nobody has evicted."""
    gone = {who for name in network.names for who in network.state(name).evicted}
    return [name for name in network.names if name not in gone]


def is_in_one_generation(network: Network) -> bool:
    """Return whether all remaining peers are in the same generation."""
    return len({network.state(name).generation for name in remaining(network)}) == 1


def is_settled(network: Network) -> bool:
    """Return whether every exchange has ended, and all are in one generation."""
    states = [network.state(name) for name in remaining(network)]
    return is_in_one_generation(network) and not any(state.pending for state in states)


def check_grown(network: Network, wanted: Mapping[str, int]) -> None:
    """Check that all know of all added rows; I1 checks which of them circulate."""
    for name in remaining(network):
        for grown in remaining(network):
            first = network.contexts[grown].rows[grown]
            known = network.state(name).changes.rows().get(grown, first)
            if known != wanted.get(grown, first):
                raise Violated(f"{name} knows of {known} rows of {grown}: {wanted}")


def check_settled(network: Network) -> None:
    """Check that every exchange has ended, in one generation."""
    if not is_settled(network):
        states = {name: network.state(name) for name in remaining(network)}
        asking = {name: state.pending for name, state in states.items() if state.pending}
        generations = {name: (state.generation, state.changes) for name, state in states.items()}
        raise Violated(f"still asking: {asking}; generations: {generations}")
