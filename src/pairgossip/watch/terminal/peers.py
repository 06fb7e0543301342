"""Real peers on a terminal: a table of them, and how far apart they are as a line."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console, RenderableType
from rich.text import Text

from pairgossip.watch.peers.lookout import Look, Lookout, PeerLook
from pairgossip.watch.peers.reading import DOWN, EVICTED, FROZEN, STARTING, STOPPED, UNCLEAR, UP
from pairgossip.watch.terminal.drawing import (
    blocks_for,
    line,
    new_table,
    rows_that_fit,
    shown_live,
    sparkline,
    spelled,
    stacked,
)

SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_BETWEEN_LINES = 5.0
"""Where nobody sees a table being redrawn."""
MOST_MOMENTS = 2_000
STYLES = {UP: "green", FROZEN: "cyan", DOWN: "red", EVICTED: "red", UNCLEAR: "red"}
COLUMNS = (
    *(("peer", False), ("state", False), ("estimate", True), ("all rows likely between", True)),
    *(("exchanges", True), ("per second", True), ("refused", True), ("generation", True)),
    ("last heard", True),
)


class TextSwarm:
    """Looks at peers until the swarm has ended, or until Ctrl-C."""

    def __init__(
        self, lookout: Lookout, console: Console, wait: Callable[[float], None] = time.sleep
    ) -> None:
        self._lookout, self._console, self._wait = lookout, console, wait
        self._look: Look | None = None
        self._apart: list[float | None] = []

    def run(self) -> bool:
        """Show the peers; return whether the swarm came to its end meanwhile."""
        try:
            if self._console.is_terminal:
                with shown_live(self._console, self.picture) as redraw:
                    self._until_the_end(redraw)
            else:
                self._console.print(self._heading(), soft_wrap=True)
                self._until_the_end(self._in_lines())
        except KeyboardInterrupt:
            return False
        finally:
            self._lookout.close()
        return True

    def _until_the_end(self, show: Callable[[], None]) -> None:
        while True:
            self.look()
            show()
            if self._look is not None and self._look.is_running is False:
                return
            self._wait(SECONDS_BETWEEN_LOOKS)

    def _in_lines(self) -> Callable[[], None]:
        due = 0.0

        def show() -> None:
            nonlocal due
            assert self._look is not None
            if self._look.seconds >= due or self._look.is_running is False:
                due = self._look.seconds + SECONDS_BETWEEN_LINES
                self._console.print(self.summary(), soft_wrap=True)

        return show

    def look(self) -> Look:
        """Look once, and remember how far apart the peers are."""
        self._look = look = self._lookout.look()
        known = look.estimates()
        known = known[np.isfinite(known)]
        exact = self._lookout.swarm.exact
        apart = None
        if known.size and exact is not None:
            apart = float(np.sqrt(np.mean((known - exact) ** 2)))
        elif known.size > 1:
            apart = float(known.std())
        self._apart = [*self._apart, apart][-MOST_MOMENTS:]
        return look

    def summary(self) -> str:
        """Say in one line how the peers are."""
        look = self._look
        if look is None:
            return "looking"
        states = [UP, STARTING, FROZEN, DOWN, STOPPED, EVICTED, UNCLEAR]
        counts = [(look.count(state), state) for state in states]
        how = ", ".join(f"{count} {state}" for count, state in counts if count or state == UP)
        known = look.estimates()
        known = known[np.isfinite(known)]
        found = ""
        if known.size:
            found = f"; estimates {known.mean():.6g} ({known.min():.6g} to {known.max():.6g})"
        return (
            f"{look.seconds:.0f} s: {how}{found}; {look.exchanges:,} exchanges, "
            f"{look.rate:.3g} per second; {look.refused:,} refused; generation {look.generation}"
        )

    def picture(self, width: int, height: int) -> RenderableType:
        """Draw the table and the curve."""
        look = self._look
        if look is None:
            return line("looking", width)
        blocks = blocks_for(self._console)
        curve = sparkline(self._apart, max(width - 40, 10), log=True, blocks=blocks)
        last = next((value for value in reversed(self._apart) if value is not None), None)
        exact = self._lookout.swarm.exact
        name = "error (log)" if exact is not None else "spread (log)"
        rows = rows_that_fit(height)
        order = sorted(look.peers, key=lambda peer: peer.state == UP)
        shown = set(map(id, order[:rows]))
        table = new_table(COLUMNS)
        for peer in look.peers:
            if id(peer) in shown:
                table.add_row(*_cells(peer))
        more = len(look.peers) - len(shown)
        return stacked(
            line(self._heading(), width, "bold"),
            line(self.summary(), width),
            line(f"{name} {curve} {spelled(last, 3)}", width, "cyan"),
            table,
            line(f"and {more:,} more that are up", width, "dim") if more else None,
        )

    def _heading(self) -> str:
        swarm = self._lookout.swarm
        exact = "" if swarm.exact is None else f", exact value {spelled(swarm.exact)}"
        measure = f": {swarm.measure}" if swarm.measure else ""
        return f"{swarm.title}{measure}{exact}"


def _cells(peer: PeerLook) -> list[Text]:
    reading = peer.reading
    between = "-"
    if reading.interval is not None:
        between = f"{spelled(reading.interval[0], 5)} to {spelled(reading.interval[1], 5)}"
    estimate = spelled(reading.estimate)
    if reading.parameters:
        estimate = f"{reading.parameters} parameters"
    heard = "-" if peer.heard is None else f"{peer.heard:.0f} s ago"
    texts = [
        *(peer.name, peer.state, estimate, between, f"{peer.exchanges:,}", f"{peer.rate:.3g}"),
        *(f"{peer.refused:,}", str(reading.generation or "-"), heard),
    ]
    styles = ["bold", STYLES.get(peer.state, ""), *[""] * 7]
    return [Text(text, style=style) for text, style in zip(texts, styles, strict=True)]
