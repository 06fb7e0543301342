"""The surroundings of an exchange: the peer, its neighbors, and the computation that they run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

from pairgossip.peer.protocol.messages import (
    Changes,
    Growth,
    Notice,
    Record,
    RecordCheck,
    Rows,
    frame_limit,
    signed_payload,
    with_signature,
)

if TYPE_CHECKING:
    from pairgossip.peer.protocol.rules import Rule


NO_CHANGES = Changes()


@dataclass(frozen=True, kw_only=True)
class Context(ABC):
    """Facts that do not change within a generation; a subclass signs, and makes the rule."""

    me: str
    """The peer's id."""
    neighbors: tuple[str, ...]
    spec: str
    """The hash of the specification that all members run."""
    text: str
    """The specification itself."""
    own: Rows
    """The peer's own rows, as the rule uses them and as they travel."""
    rows: Mapping[str, int]
    """The number of rows that each member began with, this peer included."""
    limits: tuple[tuple[float, float], ...]
    """The range of each entry of a record."""
    is_private: bool = False
    """Whether rows are reports, and thus whole numbers."""
    draw_seed: int = 0
    changes: Changes = NO_CHANGES
    """The changes of this generation to the list of members."""

    @abstractmethod
    def sign(self, payload: bytes) -> bytes:
        """Sign in the name of this peer."""

    @abstractmethod
    def verify(self, member: str, payload: bytes, signature: bytes) -> bool:
        """Return whether a member has signed the payload."""

    @property
    @abstractmethod
    def rule(self) -> Rule:
        """The local update of this peer's nodes in this generation."""

    def name_member(self, member: str) -> str:
        """Return the name of a member for people."""
        return member

    def link_weight(self, neighbor: str) -> float:
        """Return the rate at which the link to a neighbor rings, relative to other links."""
        return 1.0

    @cached_property
    def present_rows(self) -> Mapping[str, int]:
        """The number of rows of each member that takes part in this generation."""
        rows = {**self.rows, **self.changes.rows()}
        return {who: count for who, count in rows.items() if who not in self.changes.evicted}

    @cached_property
    def check(self) -> RecordCheck:
        """The check of records that circulate in this generation."""
        rows = self.present_rows
        return RecordCheck(self.verify, self.spec, self.limits, rows, whole=self.is_private)

    @cached_property
    def frame_limit(self) -> int:
        """The largest number of bytes of a frame of this run."""
        return frame_limit(len(self.limits), self.rule.sizes[0], len(self.rows))

    def own_record(self, row: int, generation: str) -> Record:
        """Make the signed record of one of the peer's own rows."""
        unsigned = Record(self.me, row, generation, self.own[row], b"")
        return with_signature(unsigned, self.spec, self.sign)

    def announce(self, generation: str, changes: Changes) -> Notice:
        """Make the signed notice of a new generation."""
        unsigned = Notice(generation, changes.evicted, self.me, b"", changes.grown)
        return with_signature(unsigned, self.spec, self.sign)

    def is_genuine_notice(self, notice: Notice) -> bool:
        """Return whether the announcer of a notice has signed it."""
        return self.verify(notice.announcer, signed_payload(notice, self.spec), notice.signature)

    def claim_growth(self) -> Growth:
        """Sign that this peer has more rows than it began with."""
        unsigned = Growth(self.me, self.rows[self.me], len(self.own), b"")
        return with_signature(unsigned, self.spec, self.sign)

    def is_genuine_growth(self, growth: Growth) -> bool:
        """Return whether a member has signed its growth, and began with as many rows as listed."""
        is_as_listed = growth.member == self.me or growth.first == self.rows.get(growth.member)
        signed = signed_payload(growth, self.spec)
        return is_as_listed and self.verify(growth.member, signed, growth.signature)

    def rows_gone(self) -> int:
        """Return the number of rows lost since the start; negative if there are more rows now."""
        gone = sum(self.rows.get(member, 0) for member in self.changes.evicted)
        remaining = [one for one in self.changes.grown if one.member not in self.changes.evicted]
        return gone - sum(one.rows - one.first for one in remaining)

    def with_changes(self, changes: Changes) -> Self:
        """Return the context of a generation with these changes."""
        first = {one.member: one.first for one in changes.grown}
        return replace(self, rows={**self.rows, **first}, changes=changes)

    def with_own(self, own: Rows) -> Self:
        """Return the context of a peer with these rows of its own."""
        return replace(self, own=own)
