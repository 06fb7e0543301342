"""Send mutated frames to peers and print what they made of them.

    python -m benchmarks.peer_frames --frames 10000000 --from 0

No frame may raise, and none that an honest neighbor could not have sent may change anything but
one counter; the first that does is printed.
"""

from __future__ import annotations

import argparse
from collections import Counter

from tests.peer.hostile import fuzz

BLOCK = 100_000


def main() -> None:
    """Send the frames in blocks, each from a seed of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=10_000_000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    options = parser.parse_args()
    verdicts, sent = Counter[str](), 0
    while sent < options.frames:
        block = min(BLOCK, options.frames - sent)
        verdicts += fuzz(block, seed=options.first + sent // BLOCK)
        sent += block
    print(f"{sent:,} frames: nothing raised, nothing changed that must not")
    for verdict, count in verdicts.most_common():
        print(f"  {count:>12,}  {verdict}")


if __name__ == "__main__":
    main()
