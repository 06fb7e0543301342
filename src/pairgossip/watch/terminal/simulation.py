"""A simulation on a terminal: the nodes that are farthest off, and the error as a line."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from rich.console import Console, RenderableType

from pairgossip.watch.simulation.runs import Pace, WatchedRun
from pairgossip.watch.terminal.drawing import (
    REDRAWS_PER_SECOND,
    blocks_for,
    line,
    new_table,
    rows_that_fit,
    shown_live,
    sparkline,
    spelled,
    stacked,
)

USUAL_SECONDS = 30.0
"""The length of a run on a terminal unless a speed is given."""
CHECKPOINTS_PER_LINE = 4
"""Where no table is redrawn: this makes about three lines for every factor of ten."""
NAMES = {
    "mean": "mean estimate",
    "error": "error",
    "spread": "spread",
    "objective": "objective",
    "of_nodes": "of single nodes",
}


class TextSimulation:
    """One run to its end, or until Ctrl-C."""

    def __init__(self, run: WatchedRun, speed: float | None, console: Console) -> None:
        self._run, self._console = run, console
        usual = run.iterations / USUAL_SECONDS if console.is_terminal else math.inf
        self._speed = usual if speed is None else speed
        self._pace = Pace([run], 1 / REDRAWS_PER_SECOND)

    def run(self) -> bool:
        """Show the run; return whether it came to its end."""
        try:
            if self._console.is_terminal:
                self._run_live()
            else:
                self._run_in_lines()
        except KeyboardInterrupt:
            return False
        return True

    def summary(self) -> str:
        """Say in one line where the run is."""
        run = self._run
        numbers = ", ".join(_name_numbers(run.readouts(run.values())))
        return f"iteration {run.done:,} of {run.iterations:,}: {numbers}"

    def _run_live(self) -> None:
        with shown_live(self._console, self.picture) as redraw:
            redraw()
            while self._run.done < self._run.iterations:
                self._advance(1 / REDRAWS_PER_SECOND)
                redraw()

    def _run_in_lines(self) -> None:
        run = self._run
        self._console.print(self._heading(), soft_wrap=True)
        written = 0
        while run.done < run.iterations:
            self._advance(1 / REDRAWS_PER_SECOND, stop_at_checkpoint=True)
            is_due = len(run.curves) >= written + CHECKPOINTS_PER_LINE
            if is_due or run.done >= run.iterations:
                written = len(run.curves)
                self._console.print(self.summary(), soft_wrap=True)

    def _advance(self, seconds: float, *, stop_at_checkpoint: bool = False) -> None:
        """Advance for some seconds at the chosen speed; what is too fast is not made up for."""
        run, end = self._run, time.monotonic() + seconds
        left, passed = self._speed * seconds, len(run.curves)
        while left >= 1 and run.done < run.iterations and time.monotonic() < end:
            most = left
            if stop_at_checkpoint:
                most = min(left, int(run.checkpoints[passed]) - run.done)
            left -= self._pace.advance(most)
            if stop_at_checkpoint and len(run.curves) > passed:
                break
        rest = end - time.monotonic()
        if math.isfinite(self._speed) and rest > 0 and run.done < run.iterations:
            time.sleep(rest)

    def picture(self, width: int, height: int) -> RenderableType:
        """Draw the state of the moment."""
        run = self._run
        values = run.values()
        readouts = run.readouts(values)
        measured = [point[0] for point in run.curves]
        curve = sparkline(measured, max(width - 40, 10), log=True, blocks=blocks_for(self._console))
        numbers = "  ".join(_name_numbers(readouts))
        span = f"{spelled(measured[0], 3)} to {spelled(measured[-1], 3)}" if measured else ""
        return stacked(
            line(self._heading(), width, "bold"),
            line(f"{_bar(run.done / run.iterations)} {run.done:,} of "
                 f"{run.iterations:,} iterations", width),
            line(numbers, width),
            line(f"{run.curve_names[0]} (log) {curve} {span}", width, "cyan"),
            self._nodes(values, rows_that_fit(height)),
        )  # fmt: skip

    def _heading(self) -> str:
        run = self._run
        exact = run.describe().get("exact")
        known = "" if exact is None else f", exact value {spelled(exact)}"
        return f"{run.title}, {run.graph.n:,} nodes{known}"

    def _nodes(self, values: Any, rows: int) -> RenderableType:
        run = self._run
        deviations, _ = run.deviations(values)
        known = np.where(np.isnan(deviations), -1.0, np.abs(deviations))
        worst = np.argsort(-known, kind="stable")[:rows]
        what = str(run.describe()["colored"])
        table = new_table([("farthest nodes", False), (what, True), ("off by", True)])
        for node in worst.tolist():
            table.add_row(str(node), spelled(values[node]), spelled(deviations[node], 3))
        more = run.graph.n - len(worst)
        return stacked(table, line(f"and {more:,} nodes nearer", 60, "dim") if more else None)


def _name_numbers(readouts: dict[str, Any]) -> list[str]:
    """Write the numbers that a terminal shows, each after its name."""
    return [f"{NAMES[key]} {spelled(readouts[key])}" for key in NAMES if key in readouts]


def _bar(share: float, columns: int = 20) -> str:
    filled = round(share * columns)
    return "[" + "=" * filled + " " * (columns - filled) + "]"
