"""Messages between neighbors, their signed parts, and the checks of a frame.

A record is one row of a member's data, signed by the member, the same wherever it travels.

A generation is one run of the network from the members' own records. It is known by what has
changed since the members were listed: who is evicted, and who has more rows than at first. Its name
is text: eight hexadecimal digits count the generations before it, and 64 are the SHA-256 of the
changes. So the later of two names sorts behind the earlier. Two peers that begin different
generations at once give them different names, and a peer that hears of both begins one with the
changes of both. Only a member itself can claim that it has more rows: it signs the claim, and the
others pass it on.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple, TypeVar

import msgspec

from pairgossip.peer.protocol.events import Event

VERSION = 5
"""Version of the form of frames, messages and records, and of the rules of an exchange, which
neighbors must have in common. Increase it whenever any of that changes."""
MOST_ROWS = 1 << 40
"""Largest number of rows of one member; more are refused."""
MOST_TRAVELING = 1_000_000
"""Largest number of rows of one member if rows travel; more are refused."""
_MOST_GENERATIONS = 1 << 30
"""Largest number of generations before one, which fits into the digits of a name."""
FIRST_GENERATION = "00000000"
"""The name of the first generation, without a digest, since nothing has changed."""
_COUNT_DIGITS = len(FIRST_GENERATION)
"""Number of hexadecimal digits of a name that count the generations before."""
_LATER_GENERATION = re.compile(rf"[0-9a-f]{{{_COUNT_DIGITS + 64}}}")
_MOST_REMEMBERED = 100_000
"""Largest number of genuine records remembered; beyond it all are dropped and checked again."""
_LARGEST_FRAME = 1 << 20
"""Largest number of bytes of a frame if the run sets no limit; a longer one is refused."""
_LARGEST_TEXT = 1 << 16
"""Largest number of characters of the specification in a hello; a longer one is refused."""
_LARGEST_NUMBER = (1 << 63) - 1
"""Largest number of an offer, and the largest of the database; a larger one is refused."""

Rows = tuple[tuple[float, ...], ...]
Mass = tuple[float, ...]
"""Sums that an exchange averages, and that only local updates change."""
Reason = Literal["busy", "member", "stale", "generation"]


def digest_rows(rows: Rows) -> str:
    """Return a digest of rows, which shows whether a file has changed."""
    packed = b"".join(struct.pack(f"<{len(row)}d", *row) for row in rows)
    return hashlib.sha256(struct.pack("<q", len(rows)) + packed).hexdigest()


class Record(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An observation on its way through the network."""

    origin: str
    row: int
    generation: str
    value: tuple[float, ...]
    signature: bytes


class Growth(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A member's signed claim that it has more rows than its invitation says."""

    member: str
    first: int
    """The number of rows that it began with, by its invitation."""
    rows: int
    """The number of rows that it has now."""
    signature: bytes


class Changes(NamedTuple):
    """The changes since the members were listed; none is ever taken back."""

    evicted: tuple[str, ...] = ()
    grown: tuple[Growth, ...] = ()

    def union(self, other: Changes) -> Changes:
        """Return the changes in either; of two growths of a member, the larger one."""
        grown = {one.member: one for one in other.grown}
        for one in self.grown:
            if one.member not in grown or grown[one.member].rows <= one.rows:
                grown[one.member] = one
        return Changes(
            tuple(sorted({*self.evicted, *other.evicted})),
            tuple(grown[member] for member in sorted(grown)),
        )

    def include(self, other: Changes) -> bool:
        """Return whether these contain all changes of the other."""
        rows = self.rows()
        return set(other.evicted) <= set(self.evicted) and all(
            one.rows <= rows.get(one.member, 0) for one in other.grown
        )

    def rows(self) -> dict[str, int]:
        """Return the number of rows of each member that grew."""
        return {one.member: one.rows for one in self.grown}


class _Message(
    msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag_field="kind"
):
    """The base of all messages: a tag, and strictness about everything else."""


class Hello(_Message, frozen=True, tag="hello"):
    """The specification of a member; neighbors with different ones do not exchange."""

    spec: str
    """The hash of the specification."""
    text: str
    """The specification itself, so that a difference can be shown; empty if there is none."""
    generation: str
    wants_answer: bool


class Offer(_Message, frozen=True, tag="offer"):
    """An offer to swap records and average masses, with those of the sender."""

    generation: str
    seq: int
    record: Record
    mass: Mass


class Accept(_Message, frozen=True, tag="accept"):
    """The acceptance of an offer: done on this side, with record and mass as they were before."""

    generation: str
    seq: int
    record: Record
    mass: Mass


class Reject(_Message, frozen=True, tag="reject"):
    """The rejection of an offer: nothing was or will be done for it on this side."""

    generation: str
    seq: int
    reason: Reason


class Notice(_Message, frozen=True, tag="notice"):
    """The announcement of a generation without some members, and with more rows of others."""

    generation: str
    evicted: tuple[str, ...]
    announcer: str
    signature: bytes
    grown: tuple[Growth, ...]
    """The growths of members, each signed by its member."""

    @property
    def changes(self) -> Changes:
        """The changes of this generation to the list of members."""
        return Changes(self.evicted, self.grown)


AnyMessage = Hello | Offer | Accept | Reject | Notice
# Tuples, since a union would be made anew at every look at a message.
_WITH_MASS = (Offer, Accept)
_OF_EXCHANGES = (Offer, Accept, Reject)
_Signed = TypeVar("_Signed", Record, Growth, Notice)


def with_signature(unsigned: _Signed, spec: str, sign: Callable[[bytes], bytes]) -> _Signed:
    """Return a member's claim for a specification, with the member's signature."""
    return msgspec.structs.replace(unsigned, signature=sign(signed_payload(unsigned, spec)))


def signed_payload(claim: Record | Growth | Notice, spec: str) -> bytes:
    """Return the bytes that are signed: the claim, and the specification that it is for.

    They begin with the kind of claim, so no signature for another kind is ever taken for it.
    """
    content: tuple[object, ...]
    match claim:
        case Record():
            kind, content = b"record", (claim.origin, claim.row, claim.generation, claim.value)
        case Growth():
            kind, content = b"growth", (claim.member, claim.first, claim.rows)
        case Notice():
            kind = b"notice"
            content = (claim.announcer, claim.generation, claim.evicted, claim.grown)
    return b"pairgossip %b 2\x00" % kind + msgspec.msgpack.encode((spec, *content))


class RecordCheck:
    """Checks whether a record may circulate, and remembers the genuine ones."""

    def __init__(
        self,
        verify: Callable[[str, bytes, bytes], bool],
        spec: str,
        ranges: tuple[tuple[float, float], ...],
        rows: Mapping[str, int],
        *,
        whole: bool = False,
    ) -> None:
        self._whole = whole  # private observations are reports: numbers of cells
        self._verify = verify
        self._spec = spec
        self._ranges = ranges
        self._rows = rows
        self._genuine: set[bytes] = set()

    def is_member(self, record: Record) -> bool:
        """Return whether the record's origin takes part, and has this row."""
        return 0 <= record.row < self._rows.get(record.origin, 0)

    def is_sound(self, record: Record, generation: str) -> bool:
        """Return whether the value has the declared shape and range, and its origin signed it."""
        return (
            record.generation == generation
            and self._is_in_range(record.value)
            and self._is_genuine(record)
        )

    def _is_in_range(self, value: tuple[float, ...]) -> bool:
        return len(value) == len(self._ranges) and all(
            math.isfinite(entry) and low <= entry <= high and not (self._whole and entry % 1)
            for entry, (low, high) in zip(value, self._ranges, strict=True)
        )

    def _is_genuine(self, record: Record) -> bool:
        signed = signed_payload(record, self._spec)
        key = record.signature + signed
        if key in self._genuine:
            return True
        if not self._verify(record.origin, signed, record.signature):
            return False
        if len(self._genuine) >= _MOST_REMEMBERED:
            self._genuine.clear()
        self._genuine.add(key)
        return True


def generation_name(count: int, evicted: Iterable[str], grown: Iterable[Growth] = ()) -> str:
    """Return the name of the generation after ``count`` others with these changes."""
    changes = (sorted(evicted), sorted((one.member, one.first, one.rows) for one in grown))
    digest = hashlib.sha256(msgspec.msgpack.encode(changes)).hexdigest() if any(changes) else ""
    return f"{count:0{_COUNT_DIGITS}x}{digest}"


def is_generation(name: str) -> bool:
    """Return whether a name is that of the first generation, or has the form of a later one."""
    return name == FIRST_GENERATION or _LATER_GENERATION.fullmatch(name) is not None


def generations_before(generation: str) -> int:
    """Return the number of generations before this one."""
    return int(generation[:_COUNT_DIGITS], 16)


def generation_ordinal(generation: str) -> int:
    """Return the generation as people and scripts count it: the first is 1."""
    return 1 + generations_before(generation)


def is_consistent(generation: str, changes: Changes) -> bool:
    """Return whether a generation has the right name, and names each member once, in order.

    Whoever begins a generation changes something, so there were no more than there are changes.
    Without this limit a single notice could use up all numbers, and none would be left to evict
    its author.
    """
    evicted, grown = changes
    growing = [one.member for one in grown]
    before = generations_before(generation)
    return (
        evicted == tuple(sorted(set(evicted)))
        and growing == sorted(set(growing))
        and all(1 <= one.first < one.rows <= MOST_ROWS for one in grown)
        and before <= min(_MOST_GENERATIONS, len(evicted) + sum(g.rows - g.first for g in grown))
        and generation == generation_name(before, *changes)
    )


def next_generation(generations: Iterable[str], changes: Changes) -> str:
    """Return the name of the generation that follows all these, with these changes."""
    return generation_name(1 + max(map(generations_before, generations)), *changes)


class BadFrame(ValueError):
    """A frame that is not a message: too long, malformed, or with numbers that are not finite."""

    def __init__(self, event: Event) -> None:
        super().__init__(event)
        self.event = event


_decoder = msgspec.msgpack.Decoder(AnyMessage, strict=True)
_encoder = msgspec.msgpack.Encoder()


def encode(message: AnyMessage) -> bytes:
    """Write a message as a frame."""
    return _encoder.encode(message)


def decode(frame: bytes, largest: int = _LARGEST_FRAME) -> AnyMessage:
    """Read a frame; raise `BadFrame` unless it is a message of a plausible size."""
    if len(frame) > largest:  # before anything is allocated for it
        raise BadFrame(Event.TOO_LONG)
    try:
        message = _decoder.decode(frame)
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError):
        # ValueError: text that is not UTF-8.
        raise BadFrame(Event.MALFORMED) from None
    if isinstance(message, _WITH_MASS) and not _is_finite(message):
        raise BadFrame(Event.NOT_FINITE)
    if isinstance(message, Hello) and len(message.text) > _LARGEST_TEXT:
        raise BadFrame(Event.TOO_LONG)
    if not is_generation(message.generation):
        raise BadFrame(Event.MALFORMED)
    if isinstance(message, _OF_EXCHANGES) and not 1 <= message.seq <= _LARGEST_NUMBER:
        raise BadFrame(Event.MALFORMED)
    return message


def frame_limit(columns: int, mass: int, members: int = 0) -> int:
    """Return the largest number of bytes of a frame, by the specification and the members."""
    return _LARGEST_TEXT + 512 + 9 * (columns + mass) + 96 * 64 + 256 * members


def _is_finite(message: Offer | Accept) -> bool:
    return all(map(math.isfinite, (*message.mass, *message.record.value)))
