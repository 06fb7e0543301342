"""Damage the files of killed peers' states at random, and count the outcomes.

    python -m benchmarks.peer_damage [--histories 40] [--damages 100]

Each history is of forty saves, some of them synced, with or without the log written back in
between. Each damage is to one file: the database, its log, the log's index or the witness. The
state must then be the same, bit for bit, or be refused; any other state, such as an older one, ends
the benchmark with an error.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.peer.damage import REFUSED, SAME, sweep


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--histories", type=int, default=40)
    parser.add_argument("--damages", type=int, default=100, help="of each history")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = sweep(Path(folder), range(options.histories), options.damages)
    total = options.histories * options.damages
    print(
        f"{total:,} damages: {counts[SAME]:,} harmless, {counts[REFUSED]:,} refused, "
        f"{total - counts[SAME] - counts[REFUSED]:,} accepted as another state"
    )


if __name__ == "__main__":
    main()
