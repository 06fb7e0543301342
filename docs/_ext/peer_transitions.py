"""What a peer does about an event, phase by phase: the table and the diagram in the documentation.

``python docs/_ext/peer_transitions.py docs`` writes the table into ``docs/peer-protocol.md`` and
the diagram into ``docs/images/peer-protocol.svg``. The tests try every phase with every event, and
hold the exchange to the table.
"""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
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
    (FREE, "accept"): Does("nothing: the answer has come before", (FREE,)),
    (ASKING, "accept"): Does(
        "if it answers my offer, take record and mass, update", (FREE, ASKING)
    ),
    (FREE, "reject"): Does("nothing: the answer has come before", (FREE,)),
    (ASKING, "reject"): Does("if it answers my offer, the row is free again", (FREE, ASKING)),
    (FREE, "notice"): Does("if it is news, begin the new generation", (FREE,)),
    (ASKING, "notice"): Does("if it is news, begin the new generation", (FREE, ASKING)),
    (FREE, "evict, add"): Does("begin a new generation and announce it", (FREE,)),
    (ASKING, "evict, add"): Does("begin a new generation and announce it", (FREE,)),
}
"""The whole machine, as seen by one neighbor. The last events are the operator's."""

BEGIN, END = "<!-- transitions -->", "<!-- end of transitions -->"
"""What stands around the table in the page."""
PAGE, IMAGE = "peer-protocol.md", "images/peer-protocol.svg"

_LEFT, _RIGHT, _MIDDLE = 190, 530, 130
_STYLE = (
    "text{font:14px sans-serif;fill:#222;text-anchor:middle}"
    ".phase{font-weight:bold}path{fill:none;stroke:#555;stroke-width:1.5}"
    "ellipse{fill:#eef3fa;stroke:#345}"
)


def table() -> str:
    """Return the transitions as a Markdown table."""
    rows = ["| phase | event | what the peer does | phase afterward |", "|---|---|---|---|"]
    for (phase, event), does in TRANSITIONS.items():
        after = " or ".join(later.value for later in does.then)
        rows.append(f"| {phase.value} | {event} | {does.what} | {after} |")
    return "\n".join(rows) + "\n"


def arrows() -> dict[tuple[Phase, Phase], list[str]]:
    """Return the events that may lead from one phase to another."""
    led: dict[tuple[Phase, Phase], list[str]] = {}
    for (phase, event), does in TRANSITIONS.items():
        for later in does.then:
            led.setdefault((phase, later), []).append(event)
    return led


def svg() -> str:
    """Return the diagram: both phases, and on each arrow the events that take it."""
    across, below = (_LEFT + 62, _RIGHT - 62), _MIDDLE + 14
    above = _MIDDLE - 14
    shapes = {
        (Phase.FREE, Phase.ASKING): f"M{across[0]} {above} H{across[1]}",
        (Phase.ASKING, Phase.FREE): f"M{across[1]} {below} H{across[0]}",
        (Phase.FREE, Phase.FREE): _loop(_LEFT),
        (Phase.ASKING, Phase.ASKING): _loop(_RIGHT),
    }
    center = (_LEFT + _RIGHT) // 2
    places = {
        (Phase.FREE, Phase.ASKING): (center, above - 8),
        (Phase.ASKING, Phase.FREE): (center, below + 20),
        (Phase.FREE, Phase.FREE): (_LEFT, 24),
        (Phase.ASKING, Phase.ASKING): (_RIGHT, 24),
    }
    drawn = []
    for arrow, events in arrows().items():
        x, y = places[arrow]
        drawn.append(f'<path d="{shapes[arrow]}" marker-end="url(#tip)"/>')
        drawn.append(f'<text x="{x}" y="{y}">{", ".join(events)}</text>')
    for phase, x in ((Phase.FREE, _LEFT), (Phase.ASKING, _RIGHT)):
        drawn.append(f'<ellipse cx="{x}" cy="{_MIDDLE}" rx="58" ry="30"/>')
        drawn.append(f'<text class="phase" x="{x}" y="{_MIDDLE + 5}">{phase.value}</text>')
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0 L8 4 L0 8"/></marker></defs>'
    )
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 180" role="img">',
        "<title>The phases of a peer with a neighbor, and the events between them</title>",
        f"<style>{_STYLE}</style>",
        tip,
        *drawn,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _loop(x: int) -> str:
    """An arrow from a phase back to itself, above it."""
    top = _MIDDLE - 28
    return f"M{x - 20} {top} C{x - 70} 20 {x + 70} 20 {x + 20} {top}"


def page_with_table(text: str) -> str:
    """Return a page with the table as it is now between its marks."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{table()}\n{END}{after}"


def main(folder: Path) -> None:
    """Write table and diagram into the documentation."""
    page = folder / PAGE
    page.write_text(page_with_table(page.read_text(encoding="utf-8")), encoding="utf-8")
    (folder / IMAGE).write_text(svg(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
