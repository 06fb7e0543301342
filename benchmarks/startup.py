"""How long a user waits: help, the first picture in a fresh process with a warm cache.

Run with ``python -m benchmarks.startup``.
"""

from __future__ import annotations

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


if __name__ == "__main__":
    main()
