"""Kill simulated peers once, and twice, in every possible way, and print how many ways there are.

    python -m benchmarks.peer_crash_points

For each script of a few exchanges: at every write and every send of every peer, with every number
of unsynced writes lost. After each, every exchange must be done by both sides or neither.
"""

from __future__ import annotations

from benchmarks.timing import only_help
from tests.peer.crash_points import SCRIPTS, sweep_doubly, sweep_singly


def main() -> None:
    """Sweep all scripts."""
    only_help(__doc__)
    for name, script in SCRIPTS.items():
        once = [sweep_singly(script, rows) for rows in (1, 2, 3)]
        print(f"{name}: {sum(once)} ways to kill once, {sweep_doubly(script)} to kill twice")


if __name__ == "__main__":
    main()
