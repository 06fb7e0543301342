"""How long a user waits: help, the first picture in a fresh process with a warm cache.

And how long the first `pg.minimize` and `pg.plan` compile, in processor time with an empty cache.

Run with ``python -m benchmarks.startup``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.timing import only_help, seconds

PAIRGOSSIP = str(Path(sys.executable).with_name("pairgossip"))


def command(*words: str) -> None:
    """Run a command line in a process of its own."""
    subprocess.run([PAIRGOSSIP, *words], check=True, stdout=subprocess.DEVNULL)


FIRST_CALLS = {
    "pg.minimize, 60 rows": "pg.minimize(rows[:60], labels[:60], seed=0)",
    "pg.minimize, 500 rows": "pg.minimize(rows, labels, iterations=500, seed=0)",
    "pg.plan, 500 rows": "pg.plan(rows[:, 0], 'variance', 'watts-strogatz', seed=0)",
}
_SCRIPT = """
import time
import numpy as np
import pairgossip as pg
rows = np.random.default_rng(0).normal(size=(500, 4))
labels = (rows[:, 0] + rows[:, 1] ** 2 > 0.5).astype(float)
def once():
    start = time.process_time()
    {call}
    return time.process_time() - start
print(once(), once())
"""


def first_and_second(call: str) -> tuple[float, float]:
    """Return the processor time of a first call with an empty cache, and of a second."""
    with tempfile.TemporaryDirectory() as cache:
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
    """Print the medians."""
    only_help(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        command("demo", "--quick", "--out", folder)  # fills the compiler's cache
        helps = median(seconds(lambda: command("--help")) for _ in range(5))
        demos = median(
            seconds(lambda: command("demo", "--quick", "--out", folder)) for _ in range(3)
        )
    print(f"pairgossip --help: {helps:.2f} s")
    print(f"pairgossip demo --quick, second process, warm cache: {demos:.1f} s")
    for name, call in FIRST_CALLS.items():
        first, second = first_and_second(call)
        print(
            f"{name}, processor time: {first:.1f} s at first, with compiling; then {second:.1f} s"
        )


if __name__ == "__main__":
    main()
