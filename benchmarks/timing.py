"""Fair timing on a noisy machine: both sides in turn, in one process, the median of rounds."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

Work = Callable[[], object]


def only_help(about: str | None) -> None:
    """Answer --help for a benchmark without options, and refuse everything else."""
    argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()


def seconds(work: Work, clock: Callable[[], float] = time.perf_counter) -> float:
    """Time one call."""
    start = clock()
    work()
    return clock() - start


def alternate(
    *sides: Work, rounds: int = 7, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Warm every side up, then time them in turn; return each side's median seconds."""
    for side in sides:
        side()
    times = [[seconds(side, clock) for side in sides] for _ in range(rounds)]
    return [median(column) for column in zip(*times, strict=True)]


def row(*cells: str) -> str:
    """Return one line of a table."""
    widths = (52, 14, 14, 10, 10)
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False))
