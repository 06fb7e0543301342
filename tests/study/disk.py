"""The disk of a simulated study: transactions are atomic, and secrets are separate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pairgossip.study.protocol.records import (
    AnyRecord,
    decode,
    digest_of,
    topic_of,
)
from pairgossip.study.protocol.site import Kept, Save, State


class Killed(Exception):
    """The process is killed here."""


@dataclass
class Journal:
    """The saved contents, which a backup also holds: all but the secrets."""

    records: dict[bytes, Kept] = field(default_factory=dict)
    """Records by digest, in the order in which they were saved."""
    notes: dict[str, bytes] = field(default_factory=dict)
    archive: dict[bytes, tuple[bytes, ...]] = field(default_factory=dict)
    """What remains of the records of questions that ended."""

    def copy(self) -> Journal:
        return Journal(dict(self.records), dict(self.notes), dict(self.archive))


@dataclass
class Disk:
    """A journal and secrets, and every place where the power may fail while they are written."""

    journal: Journal = field(default_factory=Journal)
    secrets: dict[str, bytes] = field(default_factory=dict)
    decoded: dict[bytes, AnyRecord] = field(default_factory=dict)
    """Records that are held, by digest."""
    point: Callable[[str], None] = lambda _: None
    """Called wherever the process may be killed."""
    committed: Callable[[AnyRecord], None] = lambda _: None
    """Called with every record that is written."""
    archived: Callable[[bytes], None] = lambda _: None
    """Called with every question that is archived."""

    def save(self, change: Save) -> None:
        self.point("before the save")
        new = {name: secret for name, secret in change.secrets.items() if secret is not None}
        self.secrets.update(new)
        if new:
            self.point("secrets written")
        self._commit(change)
        self.point("committed")
        for name in change.secrets.keys() - new.keys():
            self.secrets.pop(name, None)
        self.point("secrets erased")

    def load(self) -> State:
        records = tuple(self.journal.records.values())
        return State(records, dict(self.secrets), dict(self.journal.notes))

    def _commit(self, change: Save) -> None:
        for kept in change.records:
            record = decode(kept.content)
            self.decoded[digest_of(record)] = record
            self.journal.records[digest_of(record)] = kept
            self.committed(record)
        for digest in change.forgotten:
            self.journal.records.pop(digest, None)
            self.decoded.pop(digest, None)
        for name, note in change.notes.items():
            if note is None:
                self.journal.notes.pop(name, None)
            else:
                self.journal.notes[name] = note
        if change.archived is not None:
            self._archive(change.archived)
            self.archived(change.archived)

    def _archive(self, question: bytes) -> None:
        about = [digest for digest, one in self.decoded.items() if topic_of(one) == question]
        self.journal.archive[question] = tuple(
            self.journal.records.pop(digest).content for digest in about
        )

    def restore(self, backup: Journal, secrets: dict[str, bytes]) -> None:
        """Restore a backup; secrets are not part of it."""
        self.journal, self.secrets = backup.copy(), dict(secrets)
        archived = [content for rest in backup.archive.values() for content in rest]
        held = map(decode, [*archived, *(kept.content for kept in backup.records.values())])
        self.decoded = {digest_of(record): record for record in held}
