"""Progress bars for work that takes a while; silent if nobody watches."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.text import Text

from pairgossip.text import printable

_SHOW_AFTER_SECONDS = 1.0

Advance = Callable[[int], None]
Show = bool | Advance | None


@contextmanager
def progress_bar(what: str, total: int | None, show: Show = None) -> Iterator[Advance | None]:
    """Yield a function that reports finished steps, or None if no bar is wanted.

    ``show=None`` shows a bar when standard error is a terminal; a function is yielded itself. The
    bar appears after a second, so that quick work leaves no trace. It has no end if the total is
    not known.
    """
    if callable(show):
        yield show
        return
    if show is None:
        show = sys.stderr.isatty()
    if not show:
        yield None
        return
    bar = LateBar(what, total)
    try:
        yield bar
    finally:
        bar.stop()


def in_steps(advance: Advance | None) -> Callable[[float], None] | None:
    """Return a function that reports a growing fraction to a bar of 1000 steps; None without
    one."""
    if advance is None:
        return None
    reported = 0

    def report(fraction: float) -> None:
        nonlocal reported
        steps = int(1000 * fraction) - reported
        advance(steps)
        reported += steps

    return report


COMPILING = "compiling, once"
"""The text beside a bar while loops are compiled; the result is kept on disk."""


class LateBar:
    """A bar that is called with finished steps, and appears when they take a while."""

    def __init__(self, what: str, total: int | None) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeRemainingColumn(),
            console=PlainConsole(stderr=True),
        )
        self._task = self._bar.add_task(what, total=total)
        self._appears = time.monotonic() + _SHOW_AFTER_SECONDS
        self._lock = threading.Lock()
        self._started = self._compiling = False
        self._what = what

    def __call__(self, steps: int) -> None:
        """Report finished steps."""
        self._bar.advance(self._task, steps)
        if self._compiling:
            self._compiling = False
            self._bar.update(self._task, description=self._what)
        if time.monotonic() > self._appears:
            self._start()

    @property
    def description(self) -> str:
        """The text before the bar."""
        return str(self._bar.tasks[0].description)

    def describe(self, what: str) -> None:
        """Change the text before the bar."""
        self._what = what
        self._bar.update(self._task, description=what)

    def tell_compiling(self) -> None:
        """Say until the next step that loops are being compiled, which takes seconds."""
        self._compiling = True
        self._bar.update(self._task, description=f"{self._what} ({COMPILING})")
        self._start()

    def _start(self) -> None:
        with self._lock:
            if not self._started:
                self._started = True
                self._bar.start()

    def stop(self) -> None:
        """Leave the bar as it is."""
        if self._started:
            self._bar.stop()


# The one way to a terminal: text from files passes, but no control characters in it.


class PlainConsole(Console):
    """Shows text as it is, with control characters spelled out.

    Names of files and columns may hold text that rich takes for markup or emoji, or escape
    sequences that clear the screen, rename the window or hide the rest.
    """

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:
        super().__init__(stderr=stderr, markup=False, highlight=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Spell control characters out before widths are measured and rich drops some of them."""
        return super().render_str(printable(text), **options)

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as usual; remaining control characters come from the text shown."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)
