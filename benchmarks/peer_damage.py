"""Damage the files of killed peers' states in random ways, and count what came of it.

    python -m benchmarks.peer_damage [--histories 40] [--damages 100]

Each history is of forty saves, some synced, with the log written back on the way or not. Each
damage is to one file: the database, its log, the log's index or the witness. The state must then be
the same, bit for bit, or refused; an older one or another ends the benchmark with an error.
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
