"""Counts of many rows: in one pass, from 16 partitions of Dask's, and by the SQL of DuckDB.

    python -m benchmarks.partitions [ROWS]

Everything runs in one thread of this process, so that processor times are comparable: those of Dask
include its own work, the counts of each partition and their sum. Rows are drawn beforehand, one
partition at a time, and are always in memory. Counts must be equal.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import dask
import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd

import pairgossip as pg

ROWS, PARTITIONS, REPEATS = 3_200_000, 16, 3
CELLS = {"even": pg.cells.Even(0, 1, 1024), "of equal ratio": pg.cells.Log(1e-6, 1, 1024)}


def draw(rows: int) -> pd.DataFrame:
    """Return scores and outcomes."""
    rng = np.random.default_rng(0)
    died = rng.integers(0, 2, rows)
    return pd.DataFrame({"risk": rng.uniform(1e-4, 1, rows) ** (1.5 - died / 2), "died": died})


def measure(work: Callable[[], pg.Summary]) -> tuple[float, pg.Summary]:
    """Return the least processor time of some repetitions, and the summary."""
    seconds = []
    for _ in range(REPEATS):
        begun = time.process_time()
        found = work()
        seconds.append(time.process_time() - begun)
    return min(seconds), found


def compare(frame: pd.DataFrame, cells: pg.cells.Cells) -> tuple[float, float, float]:
    """Return the processor time of one pass, and those of the others as multiples of it."""
    layout: dict[str, Any] = {"cells": cells, "classes": [0, 1]}
    given: dict[str, Any] = {"columns": "risk", "labels": "died", **layout}
    split: Any = dd.from_pandas
    partitions = split(frame, npartitions=PARTITIONS, sort=False)
    database = duckdb.connect(config={"threads": 1})
    database.execute("CREATE TABLE admissions AS SELECT * FROM frame")
    empty = pg.Summary.of("auc", **layout)
    query = empty.sql("admissions", "risk", "died")
    whole, expected = measure(lambda: pg.summarize(frame, "auc", **given))
    with dask.config.set(scheduler="synchronous"):
        parts, found = measure(lambda: pg.summarize(partitions, "auc", **given))
    engine, asked = measure(lambda: empty.from_counts(database.sql(query)))
    if not found == asked == expected:
        raise SystemExit("The counts differ.")
    return whole, parts / whole, engine / whole


def main() -> None:
    """Print the ratios of processor times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=float, nargs="?", default=ROWS)
    rows = int(parser.parse_args().rows)
    frame = draw(rows)
    print(f"{rows:,} rows, {PARTITIONS} partitions, least of {REPEATS} repetitions, one thread")
    print(f"{'cells':<16}{'one pass':>12}{'partitions':>14}{'DuckDB':>10}")
    for name, cells in CELLS.items():
        whole, parts, engine = compare(frame, cells)
        print(f"{name:<16}{whole:>10.2f} s{parts:>12.2f} x{engine:>8.2f} x")


if __name__ == "__main__":
    main()
