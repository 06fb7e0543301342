"""Work in many seeded pieces: in several processes, with progress, and resumable."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
BETWEEN_LINES = 10.0
LARGEST_CHUNK = 50


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that split and resume."""
    parser.add_argument(
        "--start-seed",
        "--seed",
        type=int,
        default=0,
        help="the first seed, to split or resume",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes; one per core unless given"
    )


def do_all(
    work: Callable[[int], T],
    seeds: range,
    jobs: int,
    take: Callable[[int, T], None],
    what: str,
    size: int = 1,
) -> int:
    """Do the work of every seed, hand over the results in order, and print the progress.

    ``size`` is how many of ``what`` the work of one seed does. Ctrl-C ends it early, and prints the
    seed to continue from. Return how many seeds are done.
    """
    begin = printed_at = time.monotonic()
    done = 0
    chunk = max(1, min(LARGEST_CHUNK, len(seeds) // (4 * jobs)))
    with multiprocessing.Pool(jobs, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            for result in pool.imap(work, seeds, chunksize=chunk):
                take(seeds[done], result)
                done += 1
                if time.monotonic() >= printed_at + BETWEEN_LINES:
                    printed_at = time.monotonic()
                    _print_progress(done * size, len(seeds) * size, printed_at - begin, what)
        except KeyboardInterrupt:
            print(f"Interrupted: go on with --start-seed {seeds[0] + done}", file=sys.stderr)
    seconds = time.monotonic() - begin
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime
    print(
        f"{done * size:,} {what} in {seconds:.0f} s with {jobs} processes: "
        f"{done * size / seconds:,.0f} per second, {done * size / processor:,.0f} per second of "
        f"processor time"
    )
    return done


def _print_progress(done: int, total: int, seconds: float, what: str) -> None:
    rate = done / seconds
    minutes = (total - done) / rate / 60
    line = f"{seconds:.0f} s: {done:,} of {total:,} {what}, {rate:,.0f} per second"
    print(f"{line}, about {minutes:.0f} min left", file=sys.stderr, flush=True)
