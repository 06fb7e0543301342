"""How far the AUC is off if rows are counted in blocks, or with noise: the cost of hiding rows.

    python -m benchmarks.disclosure_costs

`benchmarks.disclosure` prints the same tables, after what each rule hides.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence

import numpy as np

import pairgossip as pg
from benchmarks.noisy_intervals import forms_kept
from pairgossip.arrays import FloatArray
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.sums.simulation import run_programs, start_programs

SITES = 5
LEAST = (1, 3, 5, 10)
ERROR_DRAWS = {140: 40, 1_000: 40, 10_000: 10}
NOISE_DRAWS = {140: 20, 1_000: 20, 10_000: 5}
NOISE_CELLS = (16, 32, 64)
EPSILONS = (1.0, 3.0, 0.3)


def draw_rows(random: np.random.Generator, rows: int) -> FloatArray:
    """Draw even scores of one class, and higher ones of another: the AUC is 0.77."""
    died = random.random(rows) < 0.5
    even = random.random(rows)
    return np.column_stack([np.where(died, even**0.3, even), died])


def print_blocks(draws: Mapping[int, int]) -> int:
    """Print how far the AUC in blocks is off and how wide its bracket is; return how many miss."""
    print("\nAUC of even scores in 256 cells, five sites: root mean square error; mean bracket")
    print(f"{'rows':>6} {'sampling':>9}  " + "".join(f"{'k = ' + str(k):>18}" for k in LEAST))
    cells, missed = pg.cells.Even(0.0, 1.0, 256), 0
    for rows, times in draws.items():
        random = np.random.default_rng(rows)
        off, sampling = np.zeros((2, len(LEAST), times)), []
        for draw in range(times):
            parts = [draw_rows(random, rows) for _ in range(SITES)]
            exact = pg.exact(np.concatenate(parts), "auc", interval=0.95)
            sampling.append(exact.error)
            for at, least in enumerate(LEAST):
                summed = sum_up(parts, cells, least)
                found = summed.answer(0.95)
                off[0, at, draw] = found.value - float(exact)
                low, high = found.bracket
                off[1, at, draw] = high - low
                missed += not low <= float(exact) <= high
        errors = np.sqrt(np.mean(off[0] ** 2, axis=-1))
        shown = "".join(
            f"{error:10.5f}; {width:.4f}"
            for error, width in zip(errors, off[1].mean(axis=-1), strict=True)
        )
        print(f"{rows:6,} {np.mean(sampling):9.4f}  {shown}", flush=True)
    return missed


def sum_up(parts: Sequence[FloatArray], cells: pg.cells.Cells, least: int) -> pg.Summary:
    """Return the sum of the counts of all sites."""
    first, *others = (
        pg.summarize(
            part[:, 0], "auc", labels=part[:, 1], cells=cells, least_cell=least, classes=[0, 1]
        )
        for part in parts
    )
    for one in others:
        first = first + one
    return first


def print_noise(draws: Mapping[int, int]) -> None:
    """Print how far the AUC from few noisy cells is off."""
    print("\nAUC from noisy counts, five sites, four honest: root mean square error from the rows")
    print(f"{'rows':>6}  " + "".join(f"{f'epsilon {e:g}: 16 / 32 / 64':>30}" for e in EPSILONS))
    for rows, times in draws.items():
        random, shown = np.random.default_rng(rows), f"{rows:6,}  "
        studies = [[draw_rows(random, rows) for _ in range(SITES)] for _ in range(times)]
        for epsilon in EPSILONS:
            errors = [_noisy_error(studies, cells, epsilon) for cells in NOISE_CELLS]
            shown += f"{' / '.join(f'{error:.4f}' for error in errors):>30}"
        print(shown, flush=True)


def _noisy_error(studies: Sequence[Sequence[FloatArray]], cells: int, epsilon: float) -> float:
    spec = parse_spec(
        'kernel = "auc"\ncolumns = ["score"]\nlabel = "died"\n'
        "[ranges]\nscore = [0, 1]\ndied = [0, 1]\n"
        f"[algorithm]\nbins = {cells}\n[privacy]\nepsilon = {epsilon}\n"
    )
    off = []
    for parts in studies:
        rows = {str(at): tuple(map(tuple, part.tolist())) for at, part in enumerate(parts)}
        with forms_kept():
            value = run_programs(start_programs(spec, rows)).value
        assert value is not None
        off.append(value - float(pg.exact(np.concatenate(parts), "auc")))
    return math.sqrt(np.mean(np.square(off)))


def main() -> int:
    """Print both tables; return 1 if a bracket misses the value of the rows."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    missed = print_blocks(ERROR_DRAWS)
    print_noise(NOISE_DRAWS)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
