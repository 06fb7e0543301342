"""Send mutated frames to peers and print what they made of them.

    python -m benchmarks.peer_frames --frames 10000000 --jobs 2
    python -m benchmarks.peer_frames --protocol study --frames 1000000

No frame may raise an exception, and a frame that no honest neighbor could have sent may change
nothing but one counter; a violation is printed with its seed, and the exit code is 1. Every 100,000
frames have their own seed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from functools import partial

from benchmarks.blocks import add_options, do_all
from tests.peer.hostile import fuzz
from tests.study.hostile import fuzz_study

BLOCK = 100_000
PROTOCOLS = {"exchange": fuzz, "study": fuzz_study}


def send(seed: int, protocol: str) -> Counter[str] | str:
    """Send the frames of one seed; return the counts of outcomes, or the error."""
    try:
        return PROTOCOLS[protocol](BLOCK, seed)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


def main() -> int:
    """Send the frames in blocks; return 1 if a condition fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=10_000_000, help="a multiple of 100,000")
    parser.add_argument("--protocol", choices=PROTOCOLS, default="exchange")
    add_options(parser)
    options = parser.parse_args()
    verdicts, broken = Counter[str](), 0

    def take(seed: int, found: Counter[str] | str) -> None:
        nonlocal broken
        if isinstance(found, str):
            broken += 1
            print(f"seed {seed} broke: {found[:1000]}", flush=True)
        else:
            verdicts.update(found)

    blocks = -(-options.frames // BLOCK)
    seeds = range(options.start_seed, options.start_seed + blocks)
    send_block = partial(send, protocol=options.protocol)
    done = do_all(send_block, seeds, options.jobs, take, "frames", BLOCK)
    if not broken:
        print(f"{done * BLOCK:,} frames: nothing raised, nothing changed that must not")
    for verdict, count in verdicts.most_common():
        print(f"  {count:>12,}  {verdict}")
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main())
