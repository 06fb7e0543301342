"""What a peer does about an event, phase by phase: the table that `exchange` follows."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Phase(Enum):
    """Whether an offer of this peer waits for its answer."""

    FREE = "free"
    ASKING = "asking"


class Does(NamedTuple):
    """What a peer does about an event, and the phases it may be in afterward."""

    what: str
    then: tuple[Phase, ...]


FREE, ASKING = Phase.FREE, Phase.ASKING
TRANSITIONS: dict[tuple[Phase, str], Does] = {
    (FREE, "ring"): Does("write the offer down, then send it", (ASKING,)),
    (ASKING, "ring"): Does("skip: my record is in doubt", (ASKING,)),
    (FREE, "repeat"): Does("nothing: the answer has come", (FREE,)),
    (ASKING, "repeat"): Does("send the same offer again; reject whoever waits", (ASKING,)),
    (FREE, "offer"): Does("swap, average, update, write the outcome down, then accept", (FREE,)),
    (ASKING, "offer"): Does(
        "accept with another node, or let a lower id wait, or reject", (ASKING,)
    ),
    (FREE, "accept"): Does("nothing: an answer told again", (FREE,)),
    (ASKING, "accept"): Does(
        "if it answers my offer, take record and mass, update", (FREE, ASKING)
    ),
    (FREE, "reject"): Does("nothing: an answer told again", (FREE,)),
    (ASKING, "reject"): Does("if it answers my offer, the node is free again", (FREE, ASKING)),
    (FREE, "notice"): Does("if it is news, begin the new generation", (FREE,)),
    (ASKING, "notice"): Does("if it is news, begin the new generation", (FREE, ASKING)),
    (FREE, "evict, add"): Does("begin a new generation and tell of it", (FREE,)),
    (ASKING, "evict, add"): Does("begin a new generation and tell of it", (FREE,)),
}
"""The whole machine; a hello changes no phase. The last events are the operator's."""
