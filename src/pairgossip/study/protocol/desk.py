"""What all questions of a member work with: its keys, its site, its records and its secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.study.protocol.records import AnyRecord, payload_of
from pairgossip.study.protocol.site import Action, Kept, Save, Site
from pairgossip.study.protocol.store import Held, Store


class Keys(NamedTuple):
    """What a member signs and checks with."""

    sign: Callable[[bytes], bytes]
    """Sign in the name of this member."""
    verify: Callable[[str, bytes, bytes], bool]
    """Return whether the holder of a certificate (PEM) has signed a payload."""
    draw_key: Callable[[], bytes]
    """Return 32 fresh random bytes, an X25519 private key."""


@dataclass
class Desk:
    """What this member says goes through here: signed, written down, and only then shown."""

    me: str
    keys: Keys
    site: Site
    publish: Callable[[Held], list[Action]]
    """Send a record to all who may have it."""
    halted: str | None = None
    """Why this member says nothing new any more, for good; None unless it is a restored backup."""
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
        """Sign a record, save it, and send it; another one is saved along, and not shown yet."""
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
