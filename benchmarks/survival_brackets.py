"""How wide the bracket of Harrell's concordance index is for hidden counts of several sites.

Run with ``python -m benchmarks.survival_brackets``. All settings were fixed before the first run,
except the smallest sites, which were added later: 5 sites of 200, 1,000 or 10,000 rows each, times
exponential with a mean of 10 over the exponential of a normal risk, rows censored at even times up
to 30; a table of 32 x 32 cells of risk and time (even risks from -4 to 4; times in equal ratios
from .01 to 30, or even), and one of 64 x 64. Prints half of the bracket and the distance of the
estimate from the value of the rows in sampling errors, as means over draws, and how many draws
`concordance` refuses. Exits with 1 if a bracket misses a value.
"""

from __future__ import annotations

import argparse
import functools
import operator
import sys
from typing import NamedTuple

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray

SITES, SIZES, LEAST = 5, (200, 1_000, 10_000), (1, 3, 5)
MEAN, LAST = 10.0, 30.0
RISKS, SHORTEST = 4.0, 0.01


def draw(random: np.random.Generator, n: int) -> FloatArray:
    """Return rows of risk, time and event."""
    risk = random.normal(size=n).clip(-RISKS, RISKS)
    times = MEAN * random.exponential(size=n) * np.exp(-risk)
    ends = random.uniform(SHORTEST, LAST, n)
    observed = np.minimum(times, ends).clip(SHORTEST, LAST)
    return np.column_stack((risk, observed, times <= ends))


def lay_cells(kind: str, count: int) -> list[pg.cells.Cells]:
    """Return the cells of risk and time."""
    times = {
        "log": pg.cells.Log(SHORTEST, LAST, count),
        "even": pg.cells.Even(0.0, LAST, count),
    }
    return [pg.cells.Even(-RISKS, RISKS, count), times[kind]]


class Measured(NamedTuple):
    """The results of one draw for one table."""

    width: float
    distance: float
    error: float
    is_missed: bool
    is_refused: bool


def measure(seed: int, n: int, cells: list[pg.cells.Cells], least: int) -> Measured:
    """Compare the index of the sum of all sites' counts with that of their rows."""
    random = np.random.default_rng([seed, n])
    sites = [draw(random, n) for _ in range(SITES)]
    parts = (pg.summarize(one, "concordance", cells=cells, least_cell=least) for one in sites)
    summary = functools.reduce(operator.add, parts)
    answer = summary.answer(0.95)
    exact = pg.exact(np.concatenate(sites), "concordance", interval=0.95)
    low, high = answer.bracket
    try:
        pg.survival.concordance(summary)
        is_refused = False
    except pg.InputError:
        is_refused = True
    distance, is_missed = abs(answer.value - exact.value), not low <= float(exact) <= high
    return Measured(high - low, distance, exact.error, is_missed, is_refused)


def main() -> None:
    """Print a line for each size, cells and least count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5, help="samples for each setting")
    options = parser.parse_args()
    missed = 0
    settings = [("log", 32), ("even", 32), ("even", 64)]
    print("sites x rows, cells, k: half of the bracket, distance of the estimate; sampling error")
    for n in SIZES:
        for kind, count in settings:
            for k in LEAST:
                found = [
                    measure(seed, n, lay_cells(kind, count), k) for seed in range(options.draws)
                ]
                missed += sum(one.is_missed for one in found)
                refused = sum(one.is_refused for one in found)
                width, distance, error = np.mean([one[:3] for one in found], axis=0)
                print(
                    f"{SITES} x {n:,}, {kind} {count} x {count}, {k}: {width / 2:.4f} = "
                    f"{width / 2 / error:.1f} errors, {distance / error:.2f} errors; {error:.4f}; "
                    f"refused {refused} of {options.draws}",
                    flush=True,
                )
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
