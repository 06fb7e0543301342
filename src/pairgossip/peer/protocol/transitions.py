"""What a peer does about an event, phase by phase: the table that `exchange` follows."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Phase(Enum):
    """Whether an offer of this peer to one of its neighbors waits for its answer."""

    FREE = "free"
    ASKING = "asking"


class Does(NamedTuple):
    """What a peer does about an event, and the phases it may be in with a neighbor afterward."""

    what: str
    then: tuple[Phase, ...]


FREE, ASKING = Phase.FREE, Phase.ASKING
_DECIDES = (
    "with a free row: swap, average, update, write the outcome down, then accept; without: let a "
    "lower id wait, or reject"
)
TRANSITIONS: dict[tuple[Phase, str], Does] = {
    (FREE, "ring"): Does(
        "freeze a free row, write the offer down, then send it; say hello first to one that is "
        "away or not heard of, or if the row is the last; skip if no row is free",
        (FREE, ASKING),
    ),
    (ASKING, "ring"): Does("skip: one offer to the neighbor is in doubt", (ASKING,)),
    (FREE, "hello"): Does("answer it; offer if the clock had rung", (FREE, ASKING)),
    (ASKING, "hello"): Does("answer it", (ASKING,)),
    (FREE, "repeat"): Does("nothing: the answer has come", (FREE,)),
    (ASKING, "repeat"): Does("send the same offer again; reject whoever waits", (ASKING,)),
    (FREE, "offer"): Does(_DECIDES, (FREE,)),
    (ASKING, "offer"): Does(_DECIDES, (ASKING,)),
    (FREE, "accept"): Does("nothing: an answer told again", (FREE,)),
    (ASKING, "accept"): Does(
        "if it answers my offer, take record and mass, update", (FREE, ASKING)
    ),
    (FREE, "reject"): Does("nothing: an answer told again", (FREE,)),
    (ASKING, "reject"): Does("if it answers my offer, the row is free again", (FREE, ASKING)),
    (FREE, "notice"): Does("if it is news, begin the new generation", (FREE,)),
    (ASKING, "notice"): Does("if it is news, begin the new generation", (FREE, ASKING)),
    (FREE, "evict, add"): Does("begin a new generation and tell of it", (FREE,)),
    (ASKING, "evict, add"): Does("begin a new generation and tell of it", (FREE,)),
}
"""The whole machine, as seen by one neighbor. The last events are the operator's."""
