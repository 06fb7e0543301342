"""Real peers on a terminal: a table of them, and how far apart they are as a line."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.text import Text

from pairgossip.peer.reading import DOWN, EVICTED, FROZEN, UNCLEAR, UP, PeerReading, SwarmReading
from pairgossip.watch.peers.history import SwarmHistory
from pairgossip.watch.peers.source import Swarm
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

SECONDS_BETWEEN_READINGS = 1.0
SECONDS_BETWEEN_LINES = 5.0
"""Where nobody sees a table being redrawn."""
MOST_MOMENTS = 2_000
STYLES = {UP: "green", FROZEN: "cyan", DOWN: "red", EVICTED: "red", UNCLEAR: "red"}
COLUMNS = (
    *(("peer", False), ("state", False), ("estimate", True), ("all rows likely between", True)),
    *(("exchanges", True), ("per second", True), ("refused", True), ("generation", True)),
    ("last heard", True),
)


class PeersPicture:
    """Draws readings of a swarm.

    Parameters
    ----------
    console
        Where it is shown.
    heading
        Its first line.
    exact
        The value that peers estimate, if that is known.
    """

    def __init__(self, console: Console, heading: str, exact: float | None) -> None:
        self.heading = heading
        self._console, self._exact = console, exact
        self._reading: SwarmReading | None = None
        self._note = ""
        self._errors: list[float | None] = []
        self._line_due = 0.0

    def add(self, reading: SwarmReading, note: str = "") -> None:
        """Take a new reading, and a note to add to its summary."""
        self._reading, self._note = reading, note
        self._errors = [*self._errors, _error(reading, self._exact)][-MOST_MOMENTS:]

    def summary(self) -> str:
        """Describe the peers in one line."""
        return "" if self._reading is None else self._reading.summary() + self._note

    def line(self) -> str | None:
        """Return the summary every few seconds and at the end; None in between."""
        reading = self._reading
        if reading is None or (
            reading.seconds < self._line_due and reading.is_running is not False
        ):
            return None
        self._line_due = reading.seconds + SECONDS_BETWEEN_LINES
        return self.summary()

    def draw(self, width: int, height: int) -> RenderableType:
        """Draw the table and the curve."""
        if self._reading is None:
            return line(self.heading, width, "bold")
        blocks = blocks_for(self._console)
        curve = sparkline(self._errors, max(width - 40, 10), log=True, blocks=blocks)
        last = next((value for value in reversed(self._errors) if value is not None), None)
        name = "error (log)" if self._exact is not None else "spread (log)"
        peers = self._reading.peers
        # Those that are not up are shown first of all.
        order = sorted(range(len(peers)), key=lambda k: peers[k].state == UP)
        table = new_table(COLUMNS)
        for k in sorted(order[: rows_that_fit(height)]):
            table.add_row(*_cells(peers[k]))
        more = len(peers) - table.row_count
        return stacked(
            line(self.heading, width, "bold"),
            line(self.summary(), width),
            line(f"{name} {curve} {spelled(last, 3)}", width, "cyan"),
            table,
            line(f"and {more:,} more that are up", width, "dim") if more else None,
        )


class TextSwarm:
    """Shows peers until the swarm has ended, or until Ctrl-C."""

    def __init__(
        self, swarm: Swarm, console: Console, wait: Callable[[float], None] = time.sleep
    ) -> None:
        self._history, self._console, self._wait = SwarmHistory(swarm), console, wait
        self.picture = PeersPicture(console, _heading(swarm), swarm.exact)

    def run(self) -> bool:
        """Show the peers; return whether the swarm has ended meanwhile."""
        try:
            if self._console.is_terminal:
                with shown_live(self._console, self.picture.draw) as redraw:
                    self._until_the_end(redraw)
            else:
                self._print(self.picture.heading)
                self._until_the_end(lambda: self._print(self.picture.line()))
        except KeyboardInterrupt:
            return False
        finally:
            self._history.close()
        return True

    def read(self) -> SwarmReading:
        """Read the peers once."""
        reading = self._history.read()
        self.picture.add(reading)
        return reading

    def _until_the_end(self, show: Callable[[], None]) -> None:
        while True:
            is_running = self.read().is_running
            show()
            if is_running is False:
                return
            self._wait(SECONDS_BETWEEN_READINGS)

    def _print(self, text: str | None) -> None:
        if text is not None:
            self._console.print(text, soft_wrap=True)


def _heading(swarm: Swarm) -> str:
    exact = "" if swarm.exact is None else f", exact value {spelled(swarm.exact)}"
    measure = f": {swarm.measure}" if swarm.measure else ""
    return f"{swarm.title}{measure}{exact}"


def _error(reading: SwarmReading, exact: float | None) -> float | None:
    """Return how far the peers are from the exact value, or else from their mean."""
    known = [value for value in reading.estimates() if value is not None]
    if not known or (exact is None and len(known) == 1):
        return None
    return statistics.pvariance(known, exact) ** 0.5


def _cells(peer: PeerReading) -> list[Text]:
    between = "-"
    if peer.interval is not None:
        between = f"{spelled(peer.interval[0], 5)} to {spelled(peer.interval[1], 5)}"
    estimate = f"{peer.parameters} parameters" if peer.parameters else spelled(peer.estimate)
    heard = "-" if peer.silence is None else f"{peer.silence:.0f} s ago"
    texts = [
        *(peer.name, peer.state, estimate, between, f"{peer.exchanges or 0:,}"),
        *(f"{peer.rate:.3g}", f"{peer.refused or 0:,}", str(peer.generation or "-"), heard),
    ]
    styles = ["bold", STYLES.get(peer.state, ""), *[""] * 7]
    return [Text(text, style=style) for text, style in zip(texts, styles, strict=True)]
