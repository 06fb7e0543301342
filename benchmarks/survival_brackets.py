"""What hidden counts of several sites leave open of Harrell's concordance index.

Run with ``python -m benchmarks.survival_brackets``. All settings were fixed before the first run: 5
sites of 1,000 or 10,000 rows each, times exponential with a mean of 10 over the exponential of a
normal risk, rows censored at even times up to 30; a table of 32 x 32 cells of prediction and time
(even predictions from -4 to 4; times in equal ratios from .01 to 30, or even), and one of 64 x 64.
Prints half of the bracket and the distance of the estimate from the value of
the rows in sampling errors, means over draws, and exits with 1 if a bracket misses a value.
"""

from __future__ import annotations

import argparse
import functools
import operator
import sys

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray

SITES, SIZES, LEAST = 5, (1_000, 10_000), (1, 3, 5)
MEAN, LAST = 10.0, 30.0
RISKS, SHORTEST = 4.0, 0.01


def draw(random: np.random.Generator, n: int) -> FloatArray:
    """Return rows of prediction, time and event."""
    risk = random.normal(size=n).clip(-RISKS, RISKS)
    times = MEAN * random.exponential(size=n) * np.exp(-risk)
    ends = random.uniform(SHORTEST, LAST, n)
    observed = np.minimum(times, ends).clip(SHORTEST, LAST)
    return np.column_stack((-risk, observed, times <= ends))


def lay_cells(kind: str, count: int) -> list[pg.cells.Cells]:
    """Return the cells of prediction and time."""
    times = {
        "log": pg.cells.Log(SHORTEST, LAST, count),
        "even": pg.cells.Even(0.0, LAST, count),
    }
    return [pg.cells.Even(-RISKS, RISKS, count), times[kind]]


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
            cells = lay_cells(kind, count)
            for k in LEAST:
                found = []
                for seed in range(options.draws):
                    random = np.random.default_rng([seed, n])
                    sites = [draw(random, n) for _ in range(SITES)]
                    parts = (
                        pg.summarize(one, "concordance", cells=cells, least_cell=k) for one in sites
                    )
                    answer = functools.reduce(operator.add, parts).answer(0.95)
                    exact = pg.exact(np.concatenate(sites), "concordance", interval=0.95)
                    low, high = answer.bracket
                    missed += not low <= float(exact) <= high
                    found.append((high - low, abs(answer.value - exact.value), exact.error))
                width, distance, error = np.mean(found, axis=0)
                print(
                    f"{SITES} x {n:,}, {kind} {count} x {count}, {k}: {width / 2:.4f} = "
                    f"{width / 2 / error:.1f} errors, {distance / error:.2f} errors; {error:.4f}"
                )
                sys.stdout.flush()
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
