"""Run seeded schedules of simulated peers and print what happened in them.

    python -m benchmarks.peer_simulation --seeds 20000 --from 0 --jobs 2

Each schedule is a random network of the real peer code on a virtual clock, with a bad time and a
good time; all invariants are checked after every event. A seed that breaks one is printed, and
breaks it again, event for event, whenever it is run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter

from tests.peer.schedules import Report, run_schedule

Outcome = tuple[int, Report | str]


def run_one(seed: int) -> Outcome:
    """Run one schedule; return its report, or what went wrong."""
    try:
        return seed, run_schedule(seed)
    except Exception as problem:
        return seed, f"{type(problem).__name__}: {problem}"


def main() -> int:
    """Run the schedules; return how many broke an invariant, at most 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20_000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    counts, broken = Counter[str](), 0
    with multiprocessing.Pool(options.jobs) as pool:
        seeds = range(options.first, options.first + options.seeds)
        for seed, outcome in pool.imap(run_one, seeds, chunksize=50):
            if isinstance(outcome, str):
                broken += 1
                print(f"seed {seed} broke: {outcome[:1000]}", flush=True)
            else:
                counts.update(outcome.counts)
                counts["events"] += outcome.events
                counts["audits"] += outcome.checks
    print(f"{options.seeds} schedules from seed {options.first}: {broken} broken")
    for name, count in sorted(counts.items()):
        print(f"  {count:>12,}  {name}")
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main())
