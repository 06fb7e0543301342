"""How often bounds from blocks miss the value of the rows, which they never should.

    python -m benchmarks.bounds [--tables 10000] [--seed 1] [statistic ...]

Each line is a statistic: random tables of few rows, with ties, of one to four sites of different
sizes, some of which are left out; how many values lie outside of their bounds, how many bounds are
unknown, and how wide they are on average. Six in ten tables have their rows moved to where in their
blocks a bound is nearly attained. Ends with 1 if a value is missed.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.summaries.drawing import CASES, judge


def main() -> int:
    """Judge every statistic, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("statistics", nargs="*", default=list(CASES))
    asked = parser.parse_args()
    missed = 0
    print(f"{'statistic':28} {'tables':>7} {'missed':>7} {'unknown':>8} {'width':>8}   seconds")
    for name in asked.statistics:
        start = time.perf_counter()
        found = judge(CASES[name], asked.tables, asked.seed)
        missed += found.missed
        seconds = time.perf_counter() - start
        print(
            f"{name:28} {found.judged:7,} {found.missed:7} {found.unknown:8} {found.width:8.3f} "
            f"{seconds:9.1f}",
            flush=True,
        )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
