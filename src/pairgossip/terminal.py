"""The one way to a terminal: text from files passes, but nothing in it that steers a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.text import Text

from pairgossip.errors import printable


class PlainConsole(Console):
    """Shows text as it is, with control characters spelled out.

    Names of files and columns may hold what rich takes for markup or emoji, or escape sequences
    that clear the screen, rename the window or hide what follows.
    """

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:
        super().__init__(stderr=stderr, markup=False, highlight=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Spell control characters out before widths are measured and rich drops some of them."""
        return super().render_str(printable(text), **options)

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as usual; what remains of control characters comes from the text shown."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)
