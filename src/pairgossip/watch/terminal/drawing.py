"""What a terminal shows: a table that fits its height, a line of blocks for a curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pairgossip.progress import PlainConsole

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = "_.-=+*#@"
REDRAWS_PER_SECOND = 8
HEADING_LINES = 6
"""Lines around a table: what is watched, the curve, the table's head, what was left out."""
Picture = Callable[[int, int], RenderableType]
"""Draws what is to be seen in so many columns and lines."""


def new_console() -> Console:
    """Return the console on standard output, which leaves text as it is."""
    return PlainConsole()


def sparkline(values: Sequence[float | None], width: int, *, log: bool, blocks: str) -> str:
    """Draw a curve in one line, the newest value last; what is unknown stays empty.

    More values than columns share columns; on a logarithmic scale, 0 counts as the least.
    """
    if not values or width < 1:
        return ""
    heights = [_height(value, log) for value in values]
    known = [height for height in heights if height is not None and math.isfinite(height)]
    if not known:
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


def _height(value: float | None, log: bool) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    if not log:
        return value
    return math.log10(value) if value > 0 else -math.inf


def spelled(value: float | None, digits: int = 6) -> str:
    """Spell a number, or a dash for what is unknown."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}g}"


def new_table(columns: Sequence[tuple[str, bool]]) -> Table:
    """Start a table of columns with their names, and whether they hold numbers."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for name, is_number in columns:
        table.add_column(name, justify="right" if is_number else "left", no_wrap=True)
    return table


def rows_that_fit(lines: int) -> int:
    """How many rows of a table a terminal of this height has room for."""
    return max(lines - HEADING_LINES - 3, 1)


def stacked(*parts: RenderableType | None) -> RenderableType:
    """Put one thing below the other."""
    return Group(*(part for part in parts if part is not None))


class _Sized:
    """Draws anew for the size that the terminal has now."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._picture(options.max_width, console.size.height)


@contextmanager
def shown_live(
    console: Console, picture: Picture, *, transient: bool = False
) -> Iterator[Callable[[], None]]:
    """Show a picture as long as the block runs; give a function that redraws it.

    The last picture stays on the terminal unless it is transient.
    """
    live = Live(_Sized(picture), console=console, auto_refresh=False, transient=transient)
    # Not as a context: its first drawing, if Ctrl-C ends it, would leave the cursor hidden.
    try:
        live.start()
        yield live.refresh
    finally:
        live.stop()


def blocks_for(console: Console) -> str:
    """Return the blocks that a terminal can show."""
    try:
        BLOCKS.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII_BLOCKS
    return BLOCKS


def line(text: str, width: int, style: str = "") -> Text:
    """One line of text, cut where the terminal ends."""
    cut = Text(text, style=style, no_wrap=True, overflow="ellipsis")
    cut.truncate(width, overflow="ellipsis")
    return cut
