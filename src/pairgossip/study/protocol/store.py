"""The records that a member has: by their digests, topics and slots.

Two records in one slot prove that their member has contradicted itself. Both are kept and passed
on; more of them prove nothing more, and are not kept. As members may then have different ones of
many, what they compare names such a slot and not what is in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pairgossip.study.protocol.records import (
    AnyRecord,
    Slot,
    digest_of,
    encode,
    slot_of,
    topic_of,
)

_PROOF = 2
"""Records in a slot that prove a lie."""


@dataclass
class Held:
    """A record as it is held in memory."""

    record: Any
    """Of the kind that its slot says."""
    digest: bytes
    slot: Slot
    is_shown: bool

    @property
    def content(self) -> bytes:
        """Its bytes, which are not held beside it, as words are long."""
        return encode(self.record)


@dataclass
class _Topic:
    held: dict[bytes, Held] = field(default_factory=dict)
    """By digest, in the order in which they came."""
    slots: dict[Slot, list[Held]] = field(default_factory=dict)
    liars: dict[str, str] = field(default_factory=dict)
    fingerprint: bytes | None = None
    """None until it is asked for again."""


class Store:
    """All records that are not archived."""

    def __init__(self) -> None:
        self._topics: dict[bytes, _Topic] = {}
        self._topic_by_digest: dict[bytes, bytes] = {}

    def add(self, record: AnyRecord, *, is_shown: bool = True) -> Held | None:
        """Hold a record; return None if it is known, or proves nothing that is not proved."""
        digest, about = digest_of(record), topic_of(record)
        topic = self._topics.setdefault(about, _Topic())
        slot = slot_of(record)
        places = topic.slots.setdefault(slot, [])
        if digest in topic.held or len(places) >= _PROOF:
            return None
        held = Held(record, digest, slot, is_shown)
        topic.held[digest] = held
        places.append(held)
        if len(places) >= _PROOF:
            topic.liars.setdefault(record.member, slot[1])
        self._topic_by_digest[digest] = about
        topic.fingerprint = None
        return held

    def show(self, held: Held) -> None:
        """Let others have a record from now on."""
        held.is_shown = True
        self._topics[topic_of(held.record)].fingerprint = None

    def find(self, digest: bytes) -> Held | None:
        """Return a record by its digest."""
        about = self._topic_by_digest.get(digest)
        return None if about is None else self._topics[about].held[digest]

    def all_of(self, about: bytes) -> tuple[Held, ...]:
        """Return the records of a topic, in the order in which they came."""
        return tuple(self._topics[about].held.values()) if about in self._topics else ()

    def said(self, topic: bytes, slot: Slot) -> list[Held]:
        """Return what a member has said in a slot: nothing, one thing, or two."""
        return self._topics[topic].slots.get(slot, []) if topic in self._topics else []

    def drop(self, topic: bytes) -> None:
        """Forget all records of a topic."""
        for digest in self._topics.pop(topic, _Topic()).held:
            del self._topic_by_digest[digest]

    def liars(self, topic: bytes) -> dict[str, str]:
        """Return who has said two things in a slot, and in which kind."""
        return self._topics[topic].liars if topic in self._topics else {}

    def shown(self, topic: bytes) -> tuple[bytes, ...]:
        """Return the digests of all records of a topic that others may have."""
        return tuple(one.digest for one in self.all_of(topic) if one.is_shown)

    def fingerprint(self, topic: bytes) -> bytes:
        """Return a digest of the set of shown records: the same at members that have the same."""
        if topic not in self._topics:
            return b""
        kept = self._topics[topic]
        if kept.fingerprint is None:
            kept.fingerprint = _combine(map(_name_slot, kept.slots.values()))
        return kept.fingerprint


def _name_slot(held: list[Held]) -> bytes:
    """Return what a slot adds to a fingerprint: nothing while its record is not shown."""
    if len(held) >= _PROOF:
        return hashlib.sha256(msgspec.msgpack.encode(held[0].slot)).digest()
    return held[0].digest if held and held[0].is_shown else b""


def _combine(digests: Iterable[bytes]) -> bytes:
    return hashlib.sha256(b"".join(sorted(digests))).digest()[:16]
