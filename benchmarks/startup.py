"""How long a user waits: for help, and for the first picture in a new process with a warm cache.

Also the processor time of first calls in a new process, with an empty and with a full cache of
compiled loops.

Run with ``python -m benchmarks.startup``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.timing import only_help, row, seconds

PAIRGOSSIP = str(Path(sys.executable).with_name("pairgossip"))


def command(*words: str) -> None:
    """Run a command line in a separate process."""
    subprocess.run([PAIRGOSSIP, *words], check=True, stdout=subprocess.DEVNULL)


FIRST_CALLS = {
    "pg.estimate, 500 rows": "pg.estimate(rows[:, 0], 'gini', graph, iterations=1000, seed=0)",
    "pg.minimize, 60 rows": "pg.minimize(rows[:60], labels[:60], seed=0)",
    "pg.minimize, 500 rows": "pg.minimize(rows, labels, iterations=500, seed=0)",
    "GossipAUCClassifier, 500 rows": "pg.learn.GossipAUCClassifier(random_state=0)"
    ".fit(rows, labels)",
    "pg.plan, 500 rows": "pg.plan(rows[:, 0], 'variance', 'watts-strogatz', seed=0)",
}
_SCRIPT = """
import time
import numpy as np
import pairgossip as pg
rows = np.random.default_rng(0).normal(size=(500, 4))
labels = (rows[:, 0] + rows[:, 1] ** 2 > 0.5).astype(float)
graph = pg.graphs.watts_strogatz(500, k=4, p=0.3, seed=0)
def once():
    start = time.process_time()
    {call}
    return time.process_time() - start
print(once(), once())
"""


class Times(NamedTuple):
    """Processor time of one call, in seconds."""

    cold: float
    """In a fresh process, with an empty cache of compiled loops."""
    warm: float
    """In a fresh process, with a full one."""
    again: float
    """Once more in the same process."""


def measure(call: str) -> Times:
    """Return how long a first call takes in two fresh processes, of which the first compiles."""
    with tempfile.TemporaryDirectory() as cache:
        cold, _ = run_twice(call, cache)
        return Times(cold, *run_twice(call, cache))


def run_twice(call: str, cache: str) -> tuple[float, float]:
    """Return the processor time of a first call in a fresh process, and of a second."""
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT.format(call=call)],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        check=True,
        capture_output=True,
        text=True,
    )
    first, second = done.stdout.split()
    return float(first), float(second)


def main() -> None:
    """Print the medians, and the first calls."""
    only_help(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        command("demo", "--quick", "--out", folder)  # fills the compiler's cache
        helps = median(seconds(lambda: command("--help")) for _ in range(5))
        demos = median(
            seconds(lambda: command("demo", "--quick", "--out", folder)) for _ in range(3)
        )
    print(f"pairgossip --help: {helps:.2f} s")
    print(f"pairgossip demo --quick, second process, warm cache: {demos:.1f} s")
    print("\nProcessor time of a first call:")
    print(row("", "empty cache", "full cache", "again"))
    for name, call in FIRST_CALLS.items():
        print(row(name, *(f"{one:.2f} s" for one in measure(call))), flush=True)


if __name__ == "__main__":
    main()
