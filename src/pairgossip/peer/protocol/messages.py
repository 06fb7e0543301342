"""The messages between neighbors, and the checks that a frame passes before it is used."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from pairgossip.peer.protocol.generations import Changes, Growth
from pairgossip.peer.protocol.records import Record

VERSION = 2
"""Of all that neighbors must have in common besides the specification: how frames, messages and
records are written, and what an exchange does. Count it up whenever any of that changes."""
Mass = tuple[float, ...]
"""What is averaged at an exchange: sums that are conserved but for local updates."""
Reason = Literal["busy", "member", "stale", "generation"]


class Message(
    msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag_field="kind"
):
    """What all messages share: a tag, and strictness about everything else."""


class Hello(Message, frozen=True, tag="hello"):
    """Who runs what: neighbors that run different specifications do not exchange."""

    spec: str
    """The hash of the specification."""
    text: str
    """The specification itself, so that a difference can be shown; empty if there is none."""
    generation: int
    wants_answer: bool


class Offer(Message, frozen=True, tag="offer"):
    """Offers to swap records and average masses, with those of the sender."""

    generation: int
    seq: int
    record: Record
    mass: Mass


class Accept(Message, frozen=True, tag="accept"):
    """Accepts an offer: done on this side, with record and mass as they were before."""

    generation: int
    seq: int
    record: Record
    mass: Mass


class Reject(Message, frozen=True, tag="reject"):
    """Rejects an offer: nothing was or will be done for it on this side."""

    generation: int
    seq: int
    reason: Reason


class Notice(Message, frozen=True, tag="notice"):
    """A new generation begins, without some members, and with more rows of others."""

    generation: int
    evicted: tuple[str, ...]
    announcer: str
    signature: bytes
    grown: tuple[Growth, ...]
    """As each of them has signed it."""

    @property
    def changes(self) -> Changes:
        """What is different in this generation from the list of members."""
        return Changes(self.evicted, self.grown)


AnyMessage = Hello | Offer | Accept | Reject | Notice


class BadFrame(ValueError):
    """A frame that is not a message: too long, malformed, or with numbers that are not finite."""


LARGEST_FRAME = 1 << 20
LARGEST_NUMBER = (1 << 63) - 1
"""What a database can hold: nothing larger is a generation or counts offers."""
_LARGEST_TEXT = 1 << 16
_decoder = msgspec.msgpack.Decoder(AnyMessage, strict=True)
_encoder = msgspec.msgpack.Encoder()


def encode(message: AnyMessage) -> bytes:
    """Write a message as a frame."""
    return _encoder.encode(message)


def decode(frame: bytes, largest: int = LARGEST_FRAME) -> AnyMessage:
    """Read a frame; raise `BadFrame` unless it is a message of a plausible size."""
    if len(frame) > largest:  # before anything is allocated for it
        raise BadFrame("too long")
    try:
        message = _decoder.decode(frame)
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError):
        # ValueError: text that is not UTF-8.
        raise BadFrame("malformed") from None
    if isinstance(message, Offer | Accept) and not _is_finite(message):
        raise BadFrame("not finite")
    if isinstance(message, Hello) and len(message.text) > _LARGEST_TEXT:
        raise BadFrame("too long")
    if not 0 <= message.generation <= LARGEST_NUMBER:
        raise BadFrame("malformed")
    if isinstance(message, Offer | Accept | Reject) and not 1 <= message.seq <= LARGEST_NUMBER:
        raise BadFrame("malformed")
    return message


def frame_limit(columns: int, mass: int, members: int = 0) -> int:
    """Return how long a frame of a run can be: sizes follow from specification and members."""
    return _LARGEST_TEXT + 512 + 9 * (columns + mass) + 96 * 64 + 256 * members


def _is_finite(message: Offer | Accept) -> bool:
    return all(map(math.isfinite, message.mass)) and all(map(math.isfinite, message.record.value))
