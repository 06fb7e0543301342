"""The common tools of a member's questions: its keys, its site, its secrets, and its records.

Two records in one slot prove that their member has contradicted itself. Both are kept and passed
on; further ones prove nothing more, and are not kept. As members may then have different ones of
many, they compare the name of such a slot and not its contents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.study.protocol.records import (
    AnyRecord,
    Slot,
    digest_of,
    encode,
    payload_of,
    slot_of,
    topic_of,
)
from pairgossip.study.protocol.site import Action, Kept, Save, Site

_PROOF = 2
"""Number of records in a slot that prove a lie."""


@dataclass
class Held:
    """A record in memory."""

    record: Any
    """A record of the kind that its slot names."""
    digest: bytes
    slot: Slot
    is_shown: bool

    @property
    def content(self) -> bytes:
        """Its bytes, which are not stored beside it, as words are long."""
        return encode(self.record)


@dataclass
class _Topic:
    held: dict[bytes, Held] = field(default_factory=dict)
    """The records by digest, in the order of arrival."""
    slots: dict[Slot, list[Held]] = field(default_factory=dict)
    liars: dict[str, str] = field(default_factory=dict)
    fingerprint: bytes | None = None
    """None until it is needed again."""


class Store:
    """All records that are not archived."""

    def __init__(self) -> None:
        self._topics: dict[bytes, _Topic] = {}
        self._topic_by_digest: dict[bytes, bytes] = {}

    def add(self, record: AnyRecord, *, is_shown: bool = True) -> Held | None:
        """Hold a record; return None if it is known, or proves nothing new."""
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
        """Return the records of a topic, in the order of arrival."""
        return tuple(self._topics[about].held.values()) if about in self._topics else ()

    def said(self, topic: bytes, slot: Slot) -> list[Held]:
        """Return a member's records in a slot: none, one, or two."""
        return self._topics[topic].slots.get(slot, []) if topic in self._topics else []

    def drop(self, topic: bytes) -> None:
        """Drop all records of a topic."""
        for digest in self._topics.pop(topic, _Topic()).held:
            del self._topic_by_digest[digest]

    def liars(self, topic: bytes) -> dict[str, str]:
        """Return the members with two records in a slot, and the kinds of these."""
        return self._topics[topic].liars if topic in self._topics else {}

    def shown(self, topic: bytes) -> tuple[bytes, ...]:
        """Return the digests of all records of a topic that others may have."""
        return tuple(one.digest for one in self.all_of(topic) if one.is_shown)

    def fingerprint(self, topic: bytes) -> bytes:
        """Return a digest of the set of shown records: equal at members with the same set."""
        if topic not in self._topics:
            return b""
        kept = self._topics[topic]
        if kept.fingerprint is None:
            kept.fingerprint = _combine(map(_name_slot, kept.slots.values()))
        return kept.fingerprint


def _name_slot(held: list[Held]) -> bytes:
    """Return a slot's addition to a fingerprint: nothing while its record is not shown."""
    if len(held) >= _PROOF:
        return hashlib.sha256(msgspec.msgpack.encode(held[0].slot)).digest()
    return held[0].digest if held and held[0].is_shown else b""


def _combine(digests: Iterable[bytes]) -> bytes:
    return hashlib.sha256(b"".join(sorted(digests))).digest()[:16]


class Keys(NamedTuple):
    """The functions by which a member signs, checks and draws keys."""

    sign: Callable[[bytes], bytes]
    """Sign in the name of this member."""
    verify: Callable[[str, bytes, bytes], bool]
    """Return whether the holder of a certificate (PEM) has signed a payload."""
    draw_key: Callable[[], bytes]
    """Return 32 fresh random bytes, an X25519 private key."""


@dataclass
class Desk:
    """The place through which all of this member's records go: signed, saved, and only then
    shown."""

    me: str
    keys: Keys
    site: Site
    publish: Callable[[Held], list[Action]]
    """Send a record to all who may have it."""
    halted: str | None = None
    """The reason why this member signs nothing new any more; None if its folder is not a backup."""
    store: Store = field(default_factory=Store)
    secrets: dict[str, bytes] = field(default_factory=dict)
    notes: dict[str, bytes] = field(default_factory=dict)

    def sign(self, unsigned: AnyRecord) -> AnyRecord:
        """Return a record of this member's with its signature."""
        return replace(unsigned, signature=self.keys.sign(payload_of(unsigned)))

    def say(
        self,
        unsigned: AnyRecord,
        secrets: Mapping[str, bytes | None] | None = None,
        hidden: AnyRecord | None = None,
    ) -> list[Action]:
        """Sign a record, save it, and send it; ``hidden`` is saved with it, and not shown yet."""
        if self.halted is not None:
            raise InputError(self.halted)
        unshown = None if hidden is None else self.store.add(self.sign(hidden), is_shown=False)
        held = self.store.add(self.sign(unsigned))
        assert held is not None
        kept = tuple(Kept(one.content, one.is_shown) for one in (unshown, held) if one)
        return [self.save(kept, secrets or {}), *self.publish(held)]

    def keep_hidden(self, unsigned: AnyRecord, secrets: Mapping[str, bytes | None]) -> list[Action]:
        """Sign and save a record that is not shown yet."""
        held = self.store.add(self.sign(unsigned), is_shown=False)
        assert held is not None
        return [self.save((Kept(held.content, is_shown=False),), secrets)]

    def show(self, held: Held) -> list[Action]:
        """Show a record that was saved before."""
        self.store.show(held)
        return [self.save((Kept(held.content),)), *self.publish(held)]

    def save(
        self,
        records: tuple[Kept, ...] = (),
        secrets: Mapping[str, bytes | None] | None = None,
        notes: Mapping[str, bytes | None] | None = None,
    ) -> Save:
        """Keep this here and on the disk."""
        _update(self.secrets, secrets or {})
        _update(self.notes, notes or {})
        return Save(records, secrets or {}, notes=notes or {})


def _update(kept: dict[str, bytes], changes: Mapping[str, bytes | None]) -> None:
    for name, content in changes.items():
        if content is None:
            kept.pop(name, None)
        else:
            kept[name] = content
