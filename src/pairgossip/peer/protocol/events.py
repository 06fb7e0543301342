"""Events of a peer, which are counted for its operator and its metrics.

The words of an event are its label in metrics and in the status file. Nothing else depends on them.
"""

from __future__ import annotations

from enum import StrEnum


class Event(StrEnum):
    """Something that happens to a peer again and again."""

    is_refusal: bool
    """Whether something that was received was refused."""

    def __new__(cls, words: str, is_refusal: bool = False) -> Event:
        """Make an event that is also its words."""
        event = str.__new__(cls, words)
        event._value_, event.is_refusal = words, is_refusal
        return event

    # Frames
    FRAME_SENT = "frames sent"
    BYTES_SENT = "bytes in frames sent"
    FRAME_RECEIVED = "frames received"
    BYTES_RECEIVED = "bytes in frames received"
    FRAME_NOT_SENT = "frames not sent: neighbor shut out"
    FRAME_TOO_LONG = "frames refused: too long", True
    FRAME_NOT_SIGNED = "frames refused: not signed by their sender", True
    FRAME_OF_OTHER_VERSION = "frames refused: another version", True
    FRAME_NOT_SEALED = "frames refused: not sealed to this peer", True
    FRAME_DROPPED = "frames dropped: inbox full"
    SESSION_REOPENED = "sessions reopened: too many connections"

    # Messages of all kinds
    STRANGER = "refused: stranger", True
    EVICTED = "refused: evicted", True
    TOO_LONG = "refused: too long", True
    MALFORMED = "refused: malformed", True
    NOT_FINITE = "refused: not finite", True
    OTHER_SPECIFICATION = "refused: another specification", True
    OTHER_GENERATION = "messages of another generation"

    # Generations
    GENERATION_BEGUN = "generations begun"
    NOTICE_AGAIN = "notices received again"
    NOTICE_OUTDATED = "notices older than mine"
    NOTICE_NOT_GENUINE = "refused: notice not genuine", True
    GROWTH_NOT_GENUINE = "refused: growth not genuine", True
    EVICTION_OF_STRANGER = "refused: eviction of no member", True
    EVICTED_BY_OTHERS = "evicted by the others"

    # Exchanges of rows
    NEIGHBOR_EVICTED = "skipped: neighbor evicted"
    NEIGHBOR_UNHEARD = "skipped: neighbor not heard of"
    NEIGHBOR_AWAY = "skipped: neighbor away"
    NEIGHBOR_ASKED = "asked whether the neighbor is there"
    OFFER_IN_DOUBT = "skipped: an offer to the neighbor is in doubt"
    NO_ROW_FREE = "skipped: no row is free"
    OFFER = "offers"
    OFFER_REPEATED = "offers repeated"
    OFFER_WAITS = "offers kept waiting"
    OFFER_ACCEPTED = "offers accepted"
    OFFER_OUTDATED = "offers older than the last"
    ANSWER_AGAIN = "answers received again"
    ANSWER_REPEATED = "answers repeated"
    TOO_FEW_FREE = "local exchanges left out: no two rows are free"
    LOCAL_NOT_FINITE = "local exchanges left out: update not finite"
    UPDATE_NOT_FINITE = "refused: update not finite", True
    MASS_IMPLAUSIBLE = "refused: implausible mass", True
    RECORD_OF_STRANGER = "refused: record of no member", True
    RECORD_NOT_GENUINE = "refused: record not genuine", True
    REJECTED_BUSY = "rejected by neighbors: busy"
    REJECTED_MEMBER = "rejected by neighbors: member"
    REJECTED_STALE = "rejected by neighbors: stale"
    REJECTED_GENERATION = "rejected by neighbors: generation"
    REJECTING_BUSY = "offers rejected: busy"
    REJECTING_MEMBER = "offers rejected: member"
    REJECTING_STALE = "offers rejected: stale"
    REJECTING_GENERATION = "offers rejected: generation"
