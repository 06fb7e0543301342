"""How long counting a table larger than memory takes compared with bare loops, and how much memory.

Run with ``python -m benchmarks.large_tables``. A file of Parquet is written in batches: a score
between 0 and 1, and a label. Then, in turn and in one process, the median of rounds is the
processor time of

- a bare loop of pyarrow's batches with a compiled count into 65,536 even cells by label, and
  nothing else: no check of ranges, missing values or labels,
- `pg.summarize` with the same cells, and its answer: value, interval and bracket,
- DuckDB's GROUP BY of the same cells, where duckdb is installed.

The counts of all three are the same, and those of other batches and numbers of threads. Memory is
the peak of a process of its own. Counting a CSV file is compared with ``numpy.loadtxt``.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import pairgossip as pg
from benchmarks.csv_files import write_file
from benchmarks.timing import alternate, row
from pairgossip.arrays import IntArray
from pairgossip.engine.loops import loop
from pairgossip.rows import arrow

_CELLS = 65_536
_GROUP = 1 << 20
"""Rows that are drawn and written at a time."""
_PEAK = """
import sys
import pairgossip as pg

cells = pg.cells.Even(0, 1, {cells})
pg.summarize(sys.argv[1], "auc", columns="score", labels="label", cells=cells).answer(0.95)
with open("/proc/self/status") as file:
    print(next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024)
"""
_QUERY = """
SELECT least(floor(score * {cells}), {last})::INTEGER, label, count(*) FROM '{file}' GROUP BY 1, 2
"""


@loop
def _count(scores, labels, counts):  # type: ignore[no-untyped-def]
    for at in range(len(scores)):
        counts[labels[at] * _CELLS + min(int(scores[at] * _CELLS), _CELLS - 1)] += 1


def write_parquet(file: Path, rows: int) -> None:
    """Write scores and labels, one group of rows at a time."""
    random = np.random.default_rng(1)
    schema = pa.schema([("score", pa.float64()), ("label", pa.bool_())])
    with parquet.ParquetWriter(file, schema) as writer:
        for start in range(0, rows, _GROUP):
            count = min(_GROUP, rows - start)
            label = random.random(count) < 0.3
            writer.write_table(pa.table([random.beta(2 + label, 3), label], schema=schema))


def count_barely(file: Path) -> IntArray:
    """Count the rows of all batches, and do nothing else."""
    counts = np.zeros(2 * _CELLS, dtype=np.int64)
    # Otherwise the whole file is read into memory before the first batch, which takes longer.
    reader = parquet.ParquetFile(file, pre_buffer=False)
    for batch in reader.iter_batches(columns=["score", "label"]):
        labels = batch.column(1).to_numpy(zero_copy_only=False)
        _count(batch.column(0).to_numpy(), labels.view(np.uint8), counts)
    return counts.reshape(2, _CELLS)


def summarize(file: Path, **how: Any) -> pg.Summary:
    """Count the rows as users do."""
    cells = pg.cells.Even(0, 1, _CELLS)
    return pg.summarize(file, "auc", columns="score", labels="label", cells=cells, **how)


def summarize_and_answer(file: Path) -> object:
    """Count the rows, and return the interval of their statistic."""
    return summarize(file).answer(0.95)


def group_by(file: Path) -> IntArray:
    """Count the rows by DuckDB."""
    import duckdb

    query = _QUERY.format(cells=_CELLS, last=_CELLS - 1, file=file)
    columns = duckdb.connect().execute(query).fetchnumpy().values()
    cell, label, count = (np.asarray(column, dtype=np.int64) for column in columns)
    counts = np.zeros((2, _CELLS), dtype=np.int64)
    counts[label, cell] = count
    return counts


def measure_peak(file: Path) -> float:
    """Return the peak memory, in MB, of a process that counts the rows and answers."""
    code = _PEAK.format(cells=_CELLS)
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def check_counts(file: Path) -> None:
    """Check that batches of other sizes, and more threads, give the same counts."""
    expected = count_barely(file)
    ways = [(arrow._BATCH, 1), (arrow._BATCH, 2), (10_007, 1), (1 << 20, 2)]
    for batch, jobs in ways:
        arrow._BATCH = batch
        assert (summarize(file, n_jobs=jobs).counts == expected).all(), (batch, jobs)
    arrow._BATCH = ways[0][0]
    print(f"The same counts from {len(ways)} sizes of batches and numbers of threads.")


def compare_parquet(folder: Path, rows: int, rounds: int) -> None:
    """Print the times of the three, and the memory."""
    file = folder / "large.parquet"
    write_parquet(file, rows)
    sides: dict[str, Callable[[Path], object]] = {
        "bare loop of batches": count_barely,
        "pg.summarize and answer(0.95)": summarize_and_answer,
    }
    if importlib.util.find_spec("duckdb") is not None:
        sides["DuckDB's GROUP BY"] = group_by
        assert (group_by(file) == count_barely(file)).all()
    work = [partial(side, file) for side in sides.values()]
    times = alternate(*work, rounds=rounds, clock=time.process_time)
    print(row(f"{rows:,} rows, {_CELLS:,} cells", "processor", "", "ratio", "at most"))
    for (name, side), seconds in zip(sides.items(), times, strict=True):
        limit = "1.2 x" if side is summarize_and_answer else ""
        print(row(name, f"{seconds:.3f} s", "", f"{seconds / times[0]:.2f} x", limit))
    if len(sides) == 2:
        print("DuckDB is not installed: its GROUP BY is skipped.")
    print(row("peak memory of pg.summarize", f"{measure_peak(file):.0f} MB", "", "", "500 MB"))
    check_counts(file)


def compare_csv(folder: Path, lines: int, rounds: int) -> None:
    """Print how long counting the lines of a CSV file takes compared with NumPy's reader."""
    file = folder / "a.csv"
    write_file(file, lines, 6)
    theirs, ours = alternate(
        partial(np.loadtxt, file, delimiter=",", skiprows=1),
        partial(summarize, file),
        rounds=rounds,
        clock=time.process_time,
    )
    print(row(f"{lines:,} lines of CSV", "pg.summarize", "numpy.loadtxt", "ratio", "at most"))
    print(
        row("processor time", f"{ours:.3f} s", f"{theirs:.3f} s", f"{ours / theirs:.2f} x", "2 x")
    )


def main() -> None:
    """Print the ratios, each measured in one run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000_000, help="rows of the Parquet file")
    parser.add_argument("--lines", type=int, default=1_000_000, help="lines of the CSV file")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which medians are shown")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare_parquet(Path(folder), asked.rows, asked.rounds)
        compare_csv(Path(folder), asked.lines, asked.rounds)


if __name__ == "__main__":
    main()
