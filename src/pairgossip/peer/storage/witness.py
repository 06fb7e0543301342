"""A witness of the number of saves of a peer's database, in a file of its own next to it.

A write-ahead log that is damaged, or gone, looks to sqlite like a log that ends earlier: it opens
an older state without a word. The peer would then repeat offers that its neighbors remember, and
could give a record away twice. So the journal counts its saves, in the database and here, and a
database with fewer saves than its witness is refused.

The order of writes
-------------------
Every save is committed first, with a sync of the log where the exchange asks for one, and noted
here after that, before anything is sent. The note is one write of less than a sector at a fixed
place of a file that has its full size from the beginning: it costs a few microseconds and no sync.

Honest crashes never look like damage
-------------------------------------------
A process killed between the commit and the note leaves a database that is ahead of its witness,
which is accepted. A synced save is on the disk before its note, so a loss of power can leave
the witness behind, never ahead. A save without a sync is noted under the name of the running
system: it counts only until the machine is started again, since a loss of power may take such a
save and leave the note. Notes go to two places in turn, so that a write that power has cut leaves
the one before.

Undetected losses
-----------------
After a loss of power the witness may lack the notes of some tens of seconds, which the system had
not written yet: if the log is lost in just that moment, too, the same saves may be missing. A peer
that is not safe from a loss of power syncs nothing but added rows, so after any start of the
machine all its saves since those may be missing. A folder that was restored as a whole is as
consistent as it was; the neighbors notice. A disk that is pulled out while the machine runs is not
expected: the witness may then have more than the log, and the state is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import read_bytes

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PLACES = (0, 4096)
_SIZE = 8192
"""Number of bytes of the file; its two notes lie in different blocks of the disk."""
_NAMELESS = bytes(16)
"""The name of a system without an id of its start."""
_NOTE = struct.Struct("<8sqqq16s")
_MARK = b"witness1"


@dataclass(frozen=True)
class _Note:
    """A witness's knowledge of a database."""

    saves: int
    """The number of saves, synced or not."""
    synced: int
    """The number of saves that no loss of power can undo."""
    digest: int
    """The fingerprint of the state after the last save."""
    system: bytes
    """The name of the running system."""


class Witness:
    """The file of a witness, opened for notes.

    It first notes the present state, in both places and on the disk: after a loss of power the
    count goes on from fewer saves than were noted, and must never meet a note from before.
    """

    def __init__(self, database: Path, saves: int, digest: int) -> None:
        self._path = witness_of(database)
        self._system = _running_system()
        self._turn = 0
        self._synced = min(read_note(database).synced, saves)
        with self._explain_failure():
            self._file = os.open(self._path, os.O_WRONLY)
            try:
                for _ in _PLACES:
                    self.note(saves, digest, is_synced=False)
                files.sync_descriptor(self._file)
            except BaseException:
                os.close(self._file)
                raise

    def note(self, saves: int, digest: int, *, is_synced: bool) -> None:
        """Note the number of saves of the database, once the last one is committed."""
        if is_synced:
            self._synced = saves
        packed = _pack(saves, self._synced, digest, self._system)
        self._turn = 1 - self._turn
        with self._explain_failure():
            os.pwrite(self._file, packed, _PLACES[self._turn])

    @contextlib.contextmanager
    def _explain_failure(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            raise files.unwritable(self._path, problem) from None

    def close(self) -> None:
        """Sync the notes to the disk, and close the file."""
        if self._file < 0:
            return
        with contextlib.suppress(OSError):
            files.sync_descriptor(self._file)
        os.close(self._file)
        self._file = -1


def witness_of(database: Path) -> Path:
    """Return the path of the witness of a database."""
    return database.with_suffix(".witness")


def create_witness(database: Path) -> None:
    """Make the witness of a database without saves."""
    files.replace(witness_of(database), _pack(0, 0, 0, _NAMELESS).ljust(_SIZE, b"\x00"))


def read_note(database: Path) -> _Note:
    """Return the last note about a database; raise `InputError` without a sound one."""
    path = witness_of(database)
    advice = (
        f"so nobody knows whether {database.name} is the latest state: put that very file back, or "
        f"have the other members evict this peer, and join again from a new folder."
    )
    if not path.exists():
        raise InputError(f"There is no {path}, {advice}")
    content = read_bytes(path, _SIZE)
    notes = [note for place in _PLACES if (note := _unpack(content[place:])) is not None]
    if not notes:
        raise InputError(f"{path} is damaged, {advice}")
    return max(notes, key=lambda note: note.saves)


def check_witnessed(database: Path, note: _Note, saves: int, digest: int) -> None:
    """Refuse a database that is behind its witness; its note must have been read first."""
    is_same_system = note.system != _NAMELESS and note.system == _running_system()
    least = note.saves if is_same_system else note.synced
    if saves >= least and (saves != note.saves or digest == note.digest):
        return
    name = witness_of(database).name
    problem = (
        f"is older than what {name} beside it knows ({saves} saves of {note.saves})"
        if saves < least
        else f"is not the state that {name} beside it knows"
    )
    raise InputError(
        f"{database} {problem}: its log was lost or damaged, or it was restored from a backup. It "
        f"was left as it is: have the other members evict this peer, and join again from a new "
        f"folder."
    )


def _running_system() -> bytes:
    """Return a name of the running system that changes when the machine is started again."""
    try:
        return hashlib.blake2b(_BOOT.read_bytes().strip(), digest_size=16).digest()
    except OSError:
        return _NAMELESS


def _pack(saves: int, synced: int, digest: int, system: bytes) -> bytes:
    body = _NOTE.pack(_MARK, saves, synced, digest, system)
    return body + struct.pack("<I", zlib.crc32(body))


def _unpack(content: bytes) -> _Note | None:
    body, seal = content[: _NOTE.size], content[_NOTE.size : _NOTE.size + 4]
    if len(seal) < 4 or struct.unpack("<I", seal)[0] != zlib.crc32(body):
        return None
    mark, saves, synced, digest, system = _NOTE.unpack(body)
    if mark != _MARK:
        return None
    return _Note(saves, synced, digest, system)
