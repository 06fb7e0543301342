"""Why rounds of sums stand still, in words."""

from __future__ import annotations

from collections.abc import Callable

from pairgossip.peer.protocol.summation import Halt
from pairgossip.text import clean_text, join_names

MOST_NAMED = 5
"""Members that a sentence names; the rest are counted, or left out."""
_SAME_VERSION = "see that all run the same version of pairgossip"


def explain_halt(halt: Halt, name: Callable[[str], str]) -> str:
    """Say why a generation stands still, and what to do; ``name`` gives members their names."""
    names = [f"'{name(one)}'" for one in halt.members[:MOST_NAMED]]
    who = join_names(names) if names else ""
    asks = "asks" if len(halt.members) == 1 else "ask"
    match halt.reason:
        case "lie":
            return (
                f"{who} has signed two different contributions to one round, which proves a lie or "
                f"a copied folder; both are kept. Run: pairgossip peer evict "
                f"{name(halt.members[0])}."
            )
        case "rounds":
            return (
                "The rounds that the specification allows are used up: agree on more with "
                "algorithm.rounds."
            )
        case "repeated":
            return (
                f"{who} {asks} for something else than the others in one round after another: "
                f"{_SAME_VERSION}. What was contributed stands, so that only a new generation "
                "goes on: ask their operators first; pairgossip peer evict --help says what an "
                "eviction means."
            )
        case "list":
            return (
                "Sums over another list of members may be known: with those over the present one "
                "everybody could tell what the new ones contribute. Put the list of members "
                "back, or let all begin again from new folders."
            )
        case "version":
            return (
                "This peer has contributed to the present round what another version of pairgossip "
                f"computes ({clean_text(halt.detail, 200)}): run that version again; until then "
                "the others wait, and nothing is lost."
            )
        case "disagreement":
            return _explain_disagreement(who, asks, clean_text(halt.detail, 200))


def _explain_disagreement(who: str, asks: str, why: str) -> str:
    if not who:
        return (
            f"The sum cannot be that of the members' rows ({why}): one of them has contributed "
            "something else, and a sum does not tell who. Let all operators check their data and "
            "their version of pairgossip, and begin again from new folders."
        )
    return f"{who} {asks} for something else than this peer computes ({why}): {_SAME_VERSION}."
