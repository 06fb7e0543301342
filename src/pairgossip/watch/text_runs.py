"""Simulations on a terminal: the state of the nodes, and the ROC curves that some of them know."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.text import Text

from pairgossip.arrays import BoolArray
from pairgossip.text import format_count
from pairgossip.watch.terminal import cut_line, draw_curve, show_live

if TYPE_CHECKING:
    from pairgossip.watch.simulation.node_curves import Path
    from pairgossip.watch.simulation.runs import WatchedRun

_FRAMES = 240
"""Largest number of pictures of a run."""
_FRAMES_BETWEEN_LINES = 24
"""Number of pictures between lines where no picture is redrawn."""
_SECONDS_BETWEEN_FRAMES = 0.04
_WIDEST, _TALLEST = 48, 20
"""Width and height of a picture of curves, in columns and lines."""
_LINES_AROUND_CURVES = 7
_BRAILLE = 0x2800
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""The bits of the dots in a character: four lines of two."""
_MARGIN = 5
"""Number of columns for the labels of the axis."""


class TextRuns:
    """Shows simulations until they are over, or until Ctrl-C."""

    def __init__(
        self,
        runs: Sequence[WatchedRun],
        console: Console,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._runs, self._console, self._wait = runs, console, wait

    def run(self) -> bool:
        """Show the runs, one below the other; return whether they came to their ends."""
        try:
            if self._console.is_terminal:
                with show_live(self._console, self._draw) as redraw:
                    for _ in self._advance():
                        redraw()
            else:
                self._print_lines()
        except KeyboardInterrupt:
            return False
        return True

    def _advance(self) -> Iterator[None]:
        """Advance all runs until they are over, and yield after each picture."""
        for _ in zip_longest(*map(_advance_run, self._runs)):
            yield
            self._wait(_SECONDS_BETWEEN_FRAMES)

    def _print_lines(self) -> None:
        """Print a line from time to time, and the last curves."""
        for at, _ in enumerate(self._advance(), 1):
            if at % _FRAMES_BETWEEN_LINES == 0 or all(run.is_over for run in self._runs):
                for run in self._runs:
                    self._console.print(f"{run.title}: {describe_run(run)}", soft_wrap=True)
        for run in self._runs:
            for line in draw_node_curves(self._console, run, _WIDEST, _TALLEST):
                self._console.print(line, soft_wrap=True)

    def _draw(self, width: int, height: int) -> RenderableType:
        room = min(_TALLEST, height // len(self._runs) - _LINES_AROUND_CURVES)
        return Group(*(self._draw_run(run, width, room) for run in self._runs))

    def _draw_run(self, run: WatchedRun, width: int, height: int) -> RenderableType:
        known = [point[0] for point in run.curves]
        last = f"{known[-1]:.3g}" if known else ""
        return Group(
            cut_line(run.title, width, "bold"),
            cut_line(describe_run(run), width),
            draw_curve(self._console, run.curve_names[0], known, width, last),
            *draw_node_curves(self._console, run, min(width, _WIDEST), height),
        )


def _advance_run(run: WatchedRun) -> Iterator[None]:
    """Advance a run to its end, each time by the same factor, or by one round of a solver."""
    if not run.iterations:  # their number is not known beforehand
        while not run.is_over:
            run.step()
            yield
        return
    moments = np.geomspace(min(run.graph.n, run.iterations), run.iterations, _FRAMES)
    for moment in np.unique(moments.round().astype(int)).tolist():
        run.advance(moment - run.done)
        yield


def describe_run(run: WatchedRun) -> str:
    """Describe the progress of a run, and the results of its nodes."""
    found = run.readouts(run.values())
    said = [
        f"{name.replace('_', ' ')} {value:.4g}"
        for name, value in found.items()
        if not math.isnan(value)
    ]
    said += [] if said else ["no estimates of all nodes yet"]
    exact = run.describe()["exact"]
    said += [] if exact is None else [f"exact value {exact:.4g}"]
    return f"{run.done:,} of {format_count(run.iterations, 'iteration')}: {', '.join(said)}"


def draw_node_curves(console: Console, run: WatchedRun, width: int, height: int) -> list[Text]:
    """Return the ROC curves that nodes know as lines of dots; empty if there are no curves."""
    exact = run.describe().get("roc")
    if exact is None or height < 4 or width < 4 * _MARGIN:
        return []
    if not _can_draw(console):
        return [Text("ROC curves take a terminal that shows Unicode.", "dim")]
    known = [path for path in run.node_curves().get("roc", ()) if path is not None]
    columns = width - _MARGIN
    of_all = _rasterize([exact], columns, height)
    of_nodes = _rasterize(known, columns, height)
    lines = []
    for at in range(height):
        mark = {0: "1.0", height // 2: "0.5", height - 1: "0.0"}.get(at, "")
        line = Text(f"{mark:>{_MARGIN - 1}} ")
        for column in range(columns):
            dots = (slice(4 * at, 4 * at + 4), slice(2 * column, 2 * column + 2))
            bits = int(_DOTS[of_all[dots] | of_nodes[dots]].sum())
            line.append(chr(_BRAILLE + bits), "bold" if of_all[dots].any() else "cyan")
        lines.append(line)
    said = f"sensitivity over 1 - specificity: all rows (bold), {format_count(len(known), 'node')}"
    return [*lines, Text(f"{'':{_MARGIN}}{said}", "dim")]


def _rasterize(paths: Sequence[Path], columns: int, lines: int) -> BoolArray:
    """Return the dots that lie on one of these curves."""
    dots = np.zeros((4 * lines, 2 * columns), dtype=np.bool_)
    across, down = dots.shape[1] - 1, dots.shape[0] - 1
    for alarms, sensitivity in paths:
        x, y = np.array(alarms) * across, (1 - np.array(sensitivity)) * down
        steps = np.ceil(np.maximum(abs(np.diff(x)), abs(np.diff(y)))).astype(int) + 1
        at = np.concatenate(
            [k + np.arange(count) / count for k, count in enumerate(steps.tolist())]
            + [[len(steps)]]
        )
        places = np.arange(len(x))
        found = np.rint([np.interp(at, places, y), np.interp(at, places, x)]).astype(int)
        dots[tuple(found)] = True
    return dots


def _can_draw(console: Console) -> bool:
    try:
        chr(_BRAILLE).encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
