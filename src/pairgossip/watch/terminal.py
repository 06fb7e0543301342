"""Peers on a terminal: a table that fits it, and a curve of blocks."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pairgossip.peer.reading import DOWN, EVICTED, FROZEN, UNCLEAR, UP, PeerReading, SwarmReading

if TYPE_CHECKING:
    from pairgossip.watch.peers import Swarm

_BLOCKS, _ASCII_BLOCKS = "▁▂▃▄▅▆▇█", "_.-=+*#@"
_LINES_AROUND_TABLE = 9
"""Number of lines for the heading, the curve, the table's head, and the number of peers left
out."""
_MOST_PROBLEMS = 3
"""Largest number of lines for problems of peers."""
_SECONDS_BETWEEN_READINGS = 1.0
_SECONDS_BETWEEN_LINES = 5.0
"""Seconds between lines where no table is redrawn."""
_MOST_MOMENTS = 2_000
_MOST_AWAITED = 3
"""Largest number of names in one cell."""
_STYLES = {UP: "green", FROZEN: "cyan", DOWN: "red", EVICTED: "red", UNCLEAR: "red"}
_Picture = Callable[[int, int], RenderableType]
"""Draw the picture, given the columns and lines of the terminal."""


def _sparkline(values: Sequence[float | None], width: int, blocks: str) -> str:
    """Draw a curve on a logarithmic scale in one line, the newest value last.

    If there are more values than columns, values share columns. Unknown ones stay empty; 0 counts
    as the least.
    """
    heights = [_height(value) for value in values]
    known = [height for height in heights if height is not None and math.isfinite(height)]
    if not known or width < 1:
        return ""
    low, high = min(known), max(known)
    columns = min(width, len(heights))
    drawn = []
    for column in range(columns):
        # The last value that falls into this column.
        height = heights[(column + 1) * len(heights) // columns - 1]
        if height is None:
            drawn.append(" ")
            continue
        share = 1.0 if high == low else (max(height, low) - low) / (high - low)
        drawn.append(blocks[round(share * (len(blocks) - 1))])
    return "".join(drawn)


def _height(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return math.log10(value) if value > 0 else -math.inf


def draw_curve(
    console: Console, name: str, values: Sequence[float | None], width: int, note: str
) -> Text:
    """Draw a curve between its name and a note, in characters that the terminal can show."""
    blocks = _BLOCKS
    try:
        _BLOCKS.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        blocks = _ASCII_BLOCKS
    drawn = _sparkline(values, max(width - 40, 10), blocks)
    return cut_line(f"{name} (log) {drawn} {note}", width, "cyan")


def _number(value: float | None, digits: int = 6) -> str:
    """Format a number; a dash stands for an unknown one."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}g}"


def cut_line(text: str, width: int, style: str = "") -> Text:
    """Return one line of text, cut at the width of the terminal."""
    cut = Text(text, style=style, no_wrap=True, overflow="ellipsis")
    cut.truncate(width, overflow="ellipsis")
    return cut


class _Sized:
    """Draws again for the current size of the terminal."""

    def __init__(self, picture: _Picture) -> None:
        self._picture = picture

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._picture(options.max_width, console.size.height)


@contextmanager
def show_live(
    console: Console, picture: _Picture, *, transient: bool = False
) -> Iterator[Callable[[], None]]:
    """Show a picture as long as the block runs; yield a function that redraws it.

    The last picture stays on the terminal unless it is transient.
    """
    live = Live(_Sized(picture), console=console, auto_refresh=False, transient=transient)
    # Not as a context: if Ctrl-C ends its first drawing, the cursor would stay hidden.
    try:
        live.start()
        yield live.refresh
    finally:
        live.stop()


class PeersPicture:
    """Draws readings of a swarm.

    Parameters
    ----------
    console
        The console to draw on.
    heading
        The first line.
    exact
        The value that peers estimate, if it is known.
    """

    def __init__(self, console: Console, heading: str, exact: float | None) -> None:
        self.heading = heading
        self._console, self._exact = console, exact
        self._reading: SwarmReading | None = None
        self._note = ""
        self._errors: list[float | None] = []
        self._line_due = 0.0

    def add(self, reading: SwarmReading, note: str = "") -> None:
        """Add a new reading, and a note for its summary."""
        self._reading, self._note = reading, note
        self._errors = [*self._errors, _error(reading, self._exact)][-_MOST_MOMENTS:]

    def line(self) -> str | None:
        """Return the summary every few seconds and at the end; None in between."""
        reading = self._reading
        if reading is None or (
            reading.seconds < self._line_due and reading.is_running is not False
        ):
            return None
        self._line_due = reading.seconds + _SECONDS_BETWEEN_LINES
        return reading.summary() + self._note

    def draw(self, width: int, height: int) -> RenderableType:
        """Draw the table and the curve."""
        heading = cut_line(self.heading, width, "bold")
        if self._reading is None:
            return heading
        last = next((value for value in reversed(self._errors) if value is not None), None)
        name = "spread" if self._exact is None else "error"
        peers = self._reading.peers
        order = self._reading.by_urgency()
        problems = [f"{peers[k].name}: {one}" for k in order for one in peers[k].problems]
        said = [cut_line(one, width, "red") for one in problems[:_MOST_PROBLEMS]]
        room = height - _LINES_AROUND_TABLE - len(said)
        columns, texts, shows_curve = _STUDY if self._reading.is_study else _EXCHANGE
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
        table.add_column("peer", no_wrap=True)
        table.add_column("state", no_wrap=True)
        for column in columns:
            table.add_column(column, justify="right", no_wrap=True)
        for k in order[: max(room, 1)]:
            table.add_row(*_cells(peers[k], texts))
        more = len(peers) - table.row_count
        curve = draw_curve(self._console, name, self._errors, width, _number(last, 3))
        return Group(
            heading,
            *said,
            cut_line(self._reading.summary() + self._note, width),
            *([curve] if shows_curve else []),
            table,
            *([cut_line(f"and {more:,} more that are up", width, "dim")] if more else []),
        )


class TextSwarm:
    """Shows peers until the swarm has ended, or until Ctrl-C."""

    def __init__(
        self, swarm: Swarm, console: Console, wait: Callable[[float], None] = time.sleep
    ) -> None:
        from pairgossip.watch.peers import SwarmHistory

        self._history, self._console, self._wait = SwarmHistory(swarm), console, wait
        exact = "" if swarm.exact is None else f", exact value {_number(swarm.exact)}"
        measure = f": {swarm.measure}" if swarm.measure else ""
        self.picture = PeersPicture(console, f"{swarm.title}{measure}{exact}", swarm.exact)

    def run(self) -> bool:
        """Show the peers; return whether the swarm has ended meanwhile."""
        try:
            if self._console.is_terminal:
                with show_live(self._console, self.picture.draw) as redraw:
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
            self._wait(_SECONDS_BETWEEN_READINGS)

    def _print(self, text: str | None) -> None:
        if text is not None:
            self._console.print(text, soft_wrap=True)


def _error(reading: SwarmReading, exact: float | None) -> float | None:
    """Return the distance of the peers from the exact value, or else from their mean."""
    known = [value for value in reading.estimates() if value is not None]
    if not known or (exact is None and len(known) == 1):
        return None
    return statistics.pvariance(known, exact) ** 0.5


def _cells(peer: PeerReading, texts: Callable[[PeerReading], list[str]]) -> list[Text]:
    heard = "-" if peer.silence is None else f"{peer.silence:.0f} s ago"
    state = Text(peer.state, style=_STYLES.get(peer.state, ""))
    return [Text(peer.name, style="bold"), state, *map(Text, [*texts(peer), heard])]


def _estimate(peer: PeerReading) -> str:
    return f"{peer.parameters} parameters" if peer.parameters else _number(peer.estimate)


def _exchange_texts(peer: PeerReading) -> list[str]:
    """Describe the estimates and exchanges of a peer that exchanges rows."""
    errors = peer.errors
    is_bound = errors.privacy_error is not None and errors.sampling_error is not None
    sampling = f"{'>= ' if is_bound else ''}{_number(errors.sampling_error, 2)}"
    return [
        *(_estimate(peer), _number(errors.gossip_error, 2), sampling),
        *(f"{peer.exchanges or 0:,}", f"{peer.rate:.3g}"),
        *(f"{peer.refused or 0:,}", str(peer.generation or "-")),
    ]


def _study_texts(peer: PeerReading) -> list[str]:
    """Describe the answers of a study's member, and the members it waits for."""
    tally = peer.tally
    answered = "-" if tally is None else f"{tally.answered} of {tally.answered + tally.open}"
    connected = "-" if peer.covers is None else f"{peer.covers[0]} of {peer.covers[1]}"
    awaited = next((one.awaited for one in peer.questions if not one.is_over), ())
    more = ", ..." if len(awaited) > _MOST_AWAITED else ""
    waits = f"{', '.join(awaited[:_MOST_AWAITED])}{more}" or "-"
    rows = "-" if peer.rows is None else f"{peer.rows:,}"
    return [rows, str(peer.members or "-"), connected, answered, waits, f"{peer.refused or 0:,}"]


_EXCHANGE = (
    (
        *("estimate", "gossip error", "sampling error", "exchanges", "per second", "refused"),
        *("generation", "last heard"),
    ),
    _exchange_texts,
    True,
)
_STUDY = (
    ("rows", "members", "connected", "answered", "waits for", "refused", "last heard"),
    _study_texts,
    False,
)
"""The columns of a table, the function for their texts, and whether a curve is above it."""
