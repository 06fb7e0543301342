"""Run seeded schedules of simulated peers and print what happened in them.

    python -m benchmarks.peer_simulation --seeds 100000 --jobs 2

Each schedule is a random network of the real peer code on a virtual clock, with a phase of faults
and a phase without; all invariants are checked after every event. A seed that breaks one is
printed, and reproduces the failure event for event.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from benchmarks.blocks import add_options, do_all
from tests.peer.schedules import Report, run_schedule


def run_one(seed: int) -> Report | str:
    """Run one schedule; return its report, or the error."""
    try:
        return run_schedule(seed)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


def main() -> int:
    """Run the schedules; return how many broke an invariant, at most 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20_000)
    add_options(parser)
    options = parser.parse_args()
    counts, broken = Counter[str](), 0

    def take(seed: int, outcome: Report | str) -> None:
        nonlocal broken
        if isinstance(outcome, str):
            broken += 1
            print(f"seed {seed} broke: {outcome[:1000]}", flush=True)
        else:
            counts.update(outcome.counts)
            counts["events"] += outcome.events
            counts["audits"] += outcome.checks

    seeds = range(options.start_seed, options.start_seed + options.seeds)
    done = do_all(run_one, seeds, options.jobs, take, "schedules")
    print(f"{done:,} schedules from seed {options.start_seed}: {broken} broken")
    for name, count in sorted(counts.items()):
        print(f"  {count:>12,}  {name}")
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main())
