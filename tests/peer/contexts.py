"""Contexts of peers, with seals that are quick to make in place of signatures."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pairgossip.peer.protocol.context import Context
from pairgossip.peer.protocol.messages import Growth, Notice, Record, with_signature
from pairgossip.peer.protocol.rules import Rule
from pairgossip.peer.protocol.state import State

SPEC = "spec-hash"
RANGE = (-1e6, 1e6)


def seal(member: str, payload: bytes) -> bytes:
    """Return a cheap substitute for a signature, which depends on both arguments."""
    return hashlib.blake2b(payload, key=member.encode()[:64], digest_size=16).digest()


def is_sealed(member: str, payload: bytes, signature: bytes) -> bool:
    return signature == seal(member, payload)


def sealed_notice(
    generation: str, evicted: tuple[str, ...], announcer: str, grown: tuple[Growth, ...] = ()
) -> Notice:
    unsigned = Notice(generation, evicted, announcer, b"", grown)
    return with_signature(unsigned, SPEC, lambda told: seal(announcer, told))


def sealed_growth(member: str, first: int, rows: int) -> Growth:
    unsigned = Growth(member, first, rows, b"")
    return with_signature(unsigned, SPEC, lambda told: seal(member, told))


def sealed_record(origin: str, row: int, generation: str, value: tuple[float, ...]) -> Record:
    unsigned = Record(origin, row, generation, value, b"")
    return with_signature(unsigned, SPEC, lambda told: seal(origin, told))


def name_of(number: int) -> str:
    return f"peer-{number:02d}"


@dataclass(frozen=True, kw_only=True)
class SealedContext(Context):
    """A context with seals and a given rule."""

    given: Rule
    rule_of: Callable[[int], Rule] | None = None
    """Returns the rule of a peer with this many rows."""

    def sign(self, payload: bytes) -> bytes:
        return seal(self.me, payload)

    def verify(self, member: str, payload: bytes, signature: bytes) -> bool:
        return member in self.rows and is_sealed(member, payload, signature)

    @cached_property
    def rule(self) -> Rule:
        return self.rule_of(len(self.own)) if self.rule_of else self.given


def make_context(
    me: str,
    neighbors: Sequence[str],
    own: tuple[tuple[float, ...], ...],
    rows: Mapping[str, int],
    rule: Rule,
    seed: int = 0,
    rule_of: Callable[[int], Rule] | None = None,
) -> SealedContext:
    """Return the context of a member of a network; ``rows`` are the rows that each began with."""
    return SealedContext(
        me=me,
        neighbors=tuple(neighbors),
        spec=SPEC,
        text="",
        own=own,
        rows=rows,
        limits=(RANGE,) * len(own[0]),
        draw_seed=seed,
        given=rule,
        rule_of=rule_of,
    )


def held_records(states: Collection[State]) -> Counter[tuple[str, int]]:
    """Count how often each record is held, over peers whose exchanges are all settled."""
    return Counter(
        (node.record.origin, node.record.row) for state in states for node in state.nodes
    )
