"""How long exact statistics take compared with the best-known ways to compute them, as ratios.

Run with ``python -m benchmarks.exact``. The AUC with its interval is compared with DeLong's error
by mid-ranks, tau-b with SciPy's, and functions of a user's own with NumPy on blocks of pairs. The
compiled loops live in ``pairgossip.engine.exact``; they are compiled before the clock starts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import kendalltau, rankdata

import pairgossip as pg
from benchmarks.timing import alternate, row
from pairgossip.arrays import FloatArray
from pairgossip.kernels.blocks import tile_pairs, tile_side, tiles
from pairgossip.kernels.data import column_count

Function = Callable[[Any, Any], Any]


def delong(scores: FloatArray, labels: FloatArray) -> tuple[float, float]:
    """Return the AUC and its standard error, by mid-ranks (Sun and Xu, 2014)."""
    positive, negative = scores[labels == 1], scores[labels == 0]
    m, n = len(positive), len(negative)
    together = rankdata(np.concatenate((positive, negative)))
    area = float(together[:m].sum() / (m * n) - (m + 1) / (2 * n))
    above = (together[:m] - rankdata(positive)) / n
    below = 1 - (together[m:] - rankdata(negative)) / m
    return area, float(np.sqrt(above.var(ddof=1) / m + below.var(ddof=1) / n))


def average_blocks(data: FloatArray, function: Function) -> float:
    """Average a function over all ordered pairs in NumPy, one block of pairs after another."""
    side = tile_side(column_count(data))
    blocks = tiles(len(data), side, half=False)
    return float(
        sum(function(*tile_pairs(data, *block)).sum() for block in blocks) / len(data) ** 2
    )


def gap(x: Any, y: Any) -> Any:
    """Return |x - y|."""
    return np.abs(x - y)


def bell(x: Any, y: Any) -> Any:
    """Return the Gaussian kernel."""
    return np.exp(-((x - y) ** 2))


def ordered_alike(x: Any, y: Any) -> Any:
    """Return whether two columns order a pair alike."""
    return (x[:, 0] - y[:, 0]) * (x[:, 1] - y[:, 1]) > 0


def distance(x: Any, y: Any) -> Any:
    """Return the Euclidean distance."""
    return np.sqrt(((x - y) ** 2).sum(axis=1))


def hinge(x: Any, y: Any) -> Any:
    """Return a hinge loss of pairs, which is asymmetric."""
    return np.maximum(0.0, 1.0 - (x[:, 0] - y[:, 0])) * (x[:, 1] > y[:, 1])


def compare(
    title: str,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    measure: Callable[..., list[float]],
    faster: bool = False,
) -> None:
    """Print both times and their ratio: ours over theirs, or how many times ours is faster."""
    reference, mine = measure(theirs, ours)
    ratio = reference / mine if faster else mine / reference
    word = "faster" if faster else "as long"
    print(row(title, f"{mine:.3f} s", f"{reference:.3f} s", f"{ratio:.2f} x", word), flush=True)


def main() -> None:
    """Print the ratios, each measured in one run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of auc and tau-b")
    parser.add_argument("--own-rows", type=int, default=20_000, help="rows of own functions")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which medians are shown")
    parser.add_argument(
        "--processor",
        action="store_true",
        help="time the processor and not the clock, for a machine that has other work too",
    )
    asked = parser.parse_args()
    clock = time.process_time if asked.processor else time.perf_counter
    measure = partial(alternate, rounds=asked.rounds, clock=clock)
    rng = np.random.default_rng(0)
    print(row("statistic", "pairgossip", "reference", "ratio"))
    labels = (rng.random(asked.rows) < 0.3).astype(float)
    scores = rng.normal(size=asked.rows) + 0.7 * labels
    areas = pg.exact(scores, "auc", labels=labels, interval=0.95), delong(scores, labels)[0]
    assert abs(areas[0] - areas[1]) < 1e-9
    compare(
        "auc with interval, fast DeLong",
        lambda: pg.exact(scores, "auc", labels=labels, interval=0.95),
        lambda: delong(scores, labels),
        measure,
    )
    xy = rng.normal(size=(asked.rows, 2))
    xy[:, 1] += xy[:, 0] / 2
    for digits, name in ((None, "no ties"), (1, "many ties")):
        table = xy if digits is None else np.round(xy, digits)
        assert abs(pg.exact(table, "kendall-b") - kendalltau(*table.T).statistic) < 1e-9
        theirs = partial(kendalltau, *table.T)
        ours = partial(pg.exact, table, "kendall-b")
        compare(f"tau-b, {name}, scipy kendalltau", ours, theirs, measure)
        with_interval = partial(ours, interval=0.95)
        compare(f"tau-b with interval, {name}", with_interval, theirs, measure)
    for function in (gap, bell, ordered_alike, distance, hinge):
        data = rng.normal(size=(asked.own_rows, 1 if function in (gap, bell) else 2)).squeeze()
        compare(
            f"own function {function.__name__}, blocked NumPy",
            partial(pg.exact, data, function),
            partial(average_blocks, data, function),
            measure,
            faster=True,
        )


if __name__ == "__main__":
    main()
