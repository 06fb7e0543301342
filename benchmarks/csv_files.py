"""How long reading a CSV file takes, and how much memory, beside numpy.loadtxt: as ratios.

Run with ``python -m benchmarks.csv_files``. The files have two columns of numbers, a score and a
label. Both readers are timed in turn, in processor time; memory is the growth of a separate
process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.timing import alternate, row
from pairgossip.tables import read_columns

_GROWTH = """
import sys
import numpy as np
from pairgossip.tables import read_columns

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key)) / 1024

before = status("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
kept = {reading}
print(status("VmHWM") - before)
"""
_READINGS = {
    "numpy.loadtxt": "np.loadtxt(sys.argv[1], delimiter=',', skiprows=1)",
    "pairgossip": "read_columns(sys.argv[1], ['score', 'label'])",
}


def measure_growth(reader: str, file: Path) -> float:
    """Return the peak growth of a process that reads a file, in megabytes."""
    code = _GROWTH.format(reading=_READINGS[reader])
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def write_file(file: Path, rows: int, digits: int) -> None:
    """Write scores with this many digits, and labels."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, rows)
    scores = rng.beta(2 + labels, 3)
    lines = [f"{x:.{digits}g},{y}" for x, y in zip(scores.tolist(), labels.tolist(), strict=True)]
    file.write_text("\n".join(["score,label", *lines, ""]), encoding="utf-8")


def main() -> None:
    """Print the ratios, each measured in one run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="lines of the files")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which medians are shown")
    asked = parser.parse_args()
    print(row(f"{asked.rows:,} lines", "pairgossip", "numpy.loadtxt", "ratio", "at most"))
    with tempfile.TemporaryDirectory() as folder:
        for digits in (6, 17):
            file = Path(folder) / f"{digits}.csv"
            write_file(file, asked.rows, digits)
            theirs, ours = alternate(
                partial(np.loadtxt, file, delimiter=",", skiprows=1),
                partial(read_columns, file, ["score", "label"]),
                rounds=asked.rounds,
                clock=time.process_time,
            )
            title = f"{digits} digits, processor time"
            print(row(title, f"{ours:.3f} s", f"{theirs:.3f} s", f"{ours / theirs:.2f} x", "2 x"))
            theirs, ours = (measure_growth(name, file) for name in _READINGS)
            title = f"{digits} digits, memory"
            print(row(title, f"{ours:.1f} MB", f"{theirs:.1f} MB", f"{ours / theirs:.2f} x", "2 x"))


if __name__ == "__main__":
    main()
