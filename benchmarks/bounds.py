"""How often bounds from blocks miss the value of the rows, which they never should.

    python -m benchmarks.bounds [--tables 10000] [--public 500] [--seed 1] [statistic ...]

Each line is a statistic: random tables of few rows, with ties, of one to four sites of different
sizes, some of which are left out, U and V, cells and whole numbers, k = 1, 3, 5 and 10; how many
values lie outside of their bounds, how many bounds are unknown, and how wide they are on average.
In six of ten tables, rows are moved within their blocks to places where a bound is nearly attained.
The first tables are also summarized site by site, added up and read as users do (``pg.summarize``):
the counts must be the same, and the bracket must hold the value too. Below are statistics within
strata, of groups and of all rows, with weights where k = 1. Exits with 1 if a value is missed.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.counts.axes import Axis, Labels
from pairgossip.errors import InputError, RowsDropped
from tests.counts.drawing import CASES, Drawn, draw_judged, is_missed, judge
from tests.summaries.parts import KERNELS, Rows, compare

LEAST = (1, 3, 5, 10)

READINGS = {
    "auc, ties 0": None,
    "kendall by grade": "kendall",
    "kendall-b by grade": "kendall-b",
    "concordance by event": "concordance",
    "quantile": "quantile-0.3",
    "trimmed-mean": "trimmed-mean-0.2",
    "winsorized-mean": "winsorized-mean-0.2",
}
"""Names of statistics in `pg.summarize` where they differ from those here; None if it has none."""


def main() -> int:
    """Judge every statistic, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--public", type=int, default=500, help="tables read as users read them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("statistics", nargs="*", default=list(CASES))
    asked = parser.parse_args()
    missed = 0
    print(
        f"{'statistic':28} {'tables':>7} {'missed':>7} {'unknown':>8} {'width':>8} "
        f"{'public':>7} {'missed':>7}   seconds"
    )
    for name in asked.statistics:
        start = time.perf_counter()
        found = judge(CASES[name], asked.tables, asked.seed)
        read, outside = judge_public(name, min(asked.public, asked.tables), asked.seed)
        missed += found.missed + outside
        seconds = time.perf_counter() - start
        print(
            f"{name:28} {found.judged:7,} {found.missed:7} {found.unknown:8} {found.width:8.3f} "
            f"{read:7,} {outside:7} {seconds:9.1f}",
            flush=True,
        )
    for name in KERNELS if asked.statistics == list(CASES) else ():
        read, outside = judge_parts(name, min(asked.public, asked.tables), asked.seed)
        missed += outside
        print(f"{name + ' within strata':28} {read:7,} {outside:7}", flush=True)
    return int(missed > 0)


def judge_parts(kernel: str, tables: int, seed: int) -> tuple[int, int]:
    """Judge a statistic of groups within strata; return how many values are judged and missed."""
    random, judged, missed = np.random.default_rng(seed), 0, 0
    warnings.simplefilter("ignore", RowsDropped)
    for number in range(tables):
        rows = Rows(number, int(random.integers(12, 90)), kernel)
        least, cells = int(random.choice(LEAST)), int(random.choice([2, 4, 16]))
        if random.random() < 0.6:
            rows.push(number, cells)
        kind = str(random.choice(["u", "v"]))
        for value, ends in compare(rows, kernel, least, kind, pg.cells.Even(0, 1, cells)):
            if not (math.isnan(ends[0]) or math.isnan(value)):
                judged += 1
                missed += is_missed(value, ends)
    return judged, missed


def judge_public(name: str, tables: int, seed: int) -> tuple[int, int]:
    """Read the first tables of a statistic as users do; return how many are judged and missed.

    Tables that a summary refuses, such as those of one cell, are not read.
    """
    reading = READINGS.get(name, name.removesuffix(", p"))
    if reading is None:
        return 0, 0
    random, judged, missed = np.random.default_rng(seed), 0, 0
    for _ in range(tables):
        drawn, target, value = draw_judged(random, CASES[name])
        try:
            summed = sum_up(drawn, reading, target)
            answer = summed.answer(0.95)
        except InputError:
            continue
        if reading == "auc-difference":
            # Columns are counted separately, so rows that are moved within the blocks of both
            # differ.
            value = CASES[name].value(np.concatenate(drawn.sites), target)
        else:
            tree = drawn.blocks.tree
            counts = summed.counts if drawn.least > 1 else tree.report(summed.counts, 1)
            assert (counts == drawn.blocks.counts).all()
        ends = answer.p_bracket if name.endswith(", p") else answer.bracket
        if ends is not None and not math.isnan(ends[0]):
            judged += 1
            missed += is_missed(value, ends)
    return judged, missed


def sum_up(drawn: Drawn, reading: str, target: str) -> pg.Summary:
    """Summarize the rows of every site, and add the summaries up."""
    axes = drawn.blocks.axes
    columns = len(drawn.blocks.tree.shape)
    total: pg.Summary | None = None
    for rows in filter(len, drawn.sites):
        one = _summarize(rows, axes, columns, drawn.least, reading, target)
        total = one if total is None else total + one
    if total is None:
        raise InputError("There are no sites.")
    return total


def _summarize(
    rows: FloatArray, axes: tuple[Axis, ...], columns: int, least: int, reading: str, target: str
) -> pg.Summary:
    cells = [_cells(axis) for axis in axes[:columns]]
    more = {}
    if reading == "concordance" and rows.shape[1] == 3:
        columns = 3  # whether an event was observed is a column
    elif rows.shape[1] > columns:
        labels = axes[-1].places.tolist()
        more = {"labels": rows[:, -1], "classes": labels}
    data = rows[:, 0] if columns == 1 else rows[:, :columns]
    return pg.summarize(data, reading, target, cells=cells, least_cell=least, **more)


def _cells(axis: Axis) -> pg.cells.Cells:
    if isinstance(axis, Labels):
        return pg.cells.Whole(int(axis.values[0]), int(axis.values[-1]))
    return pg.cells.Edges(axis.edges.tolist())


if __name__ == "__main__":
    sys.exit(main())
