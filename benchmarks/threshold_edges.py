"""How wide brackets are at agreed thresholds, by the placement of these among the cells.

    python -m benchmarks.threshold_edges

Sites count scores in blocks of cells. "inside" leaves the cells as they are, "nearest" moves the
nearest edge to each threshold, and "tree" is `Cells.at`, which places the first halvings there.
Printed are mean widths of the brackets of sensitivity and specificity, the larger of those at all
thresholds, and of the AUC, and the number of brackets that miss the value, which must be 0.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

import numpy as np

import pairgossip as pg
from benchmarks.disclosure_costs import LEAST, SITES, draw_rows, sum_up
from pairgossip.arrays import FloatArray

THRESHOLDS = (0.1, 0.2)
DRAWS = {140: 20, 1_000: 20, 10_000: 5}
PLACEMENTS = ("inside", "nearest", "tree")


def draw_risks(random: np.random.Generator, rows: int) -> FloatArray:
    """Draw risks of a rare outcome, and outcomes with these risks: 9 % have it, the AUC is 0.79."""
    risk = 1 / (1 + np.exp(2.9 - 1.2 * random.normal(size=rows)))
    return np.column_stack([risk, random.random(rows) < risk])


LAWS: dict[str, tuple[Callable[[np.random.Generator, int], FloatArray], pg.cells.Cells]] = {
    "even scores, half of the rows positive, Even(0, 1, 256)": (draw_rows, pg.cells.Even(0, 1)),
    "risks of a rare outcome, Logit(0.0001, 256)": (draw_risks, pg.cells.Logit()),
}


def place(cells: pg.cells.Cells, placement: str) -> pg.cells.Cells:
    """Return the cells after placing the thresholds among them."""
    if placement == "tree":
        return cells.at(*THRESHOLDS)
    edges = cells.lay().places.copy()
    for one in THRESHOLDS if placement == "nearest" else ():
        edges[1 + np.abs(edges[1:-1] - one).argmin()] = one
    return pg.cells.Edges(edges.tolist())


def measure(study: Sequence[FloatArray], cells: pg.cells.Cells, least: int) -> list[float]:
    """Return three widths of brackets, and how many brackets miss the value of all rows."""
    summed = sum_up(study, cells, least)
    scores, died = np.concatenate(study).T
    try:
        curve = pg.roc(summed, thresholds=THRESHOLDS)
    except pg.InputError:  # a class has no rows
        return [1.0, 1.0, 1.0, 0.0]
    points = [curve.at(one) for one in THRESHOLDS]
    found = [[one.sensitivity, one.specificity] for one in points]
    exact = [
        [(scores[died == 1] >= one).mean(), (scores[died == 0] < one).mean()] for one in THRESHOLDS
    ]
    brackets = [*(one.bracket for pair in found for one in pair), curve.auc.bracket]
    values = [*(one for pair in exact for one in pair), float(pg.exact(scores, "auc", labels=died))]
    is_all = summed.rows == len(scores)  # otherwise it is that of the sites that fill both classes
    missed = sum(
        not low - 1e-9 <= value <= high + 1e-9
        for (low, high), value in zip(brackets, values, strict=True)
    )
    widths = [high - low for low, high in brackets]
    return [max(widths[0:-1:2]), max(widths[1:-1:2]), widths[-1], float(missed * is_all)]


def main() -> int:
    """Print a table for every law; return 1 if a bracket misses the value of the rows."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    missed = 0.0
    for name, (draw, cells) in LAWS.items():
        print(f"\n{name}: {SITES} sites, thresholds {THRESHOLDS}: sensitivity; specificity; AUC")
        print(f"{'rows':>6} {'k':>3}  " + "".join(f"{one:>24}" for one in PLACEMENTS))
        placed = [place(cells, one) for one in PLACEMENTS]
        for rows, times in DRAWS.items():
            random = np.random.default_rng(rows)
            studies = [[draw(random, rows) for _ in range(SITES)] for _ in range(times)]
            for least in LEAST:
                widths = np.array(
                    [[measure(study, one, least) for study in studies] for one in placed]
                )
                missed += widths[..., -1].sum()
                shown = [f"{a:.4f}; {b:.4f}; {c:.4f}" for a, b, c, _ in widths.mean(axis=1)]
                print(f"{rows:6,} {least:3}  " + "".join(f"{one:>24}" for one in shown), flush=True)
    print(f"\nmissed: {missed:.0f}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
