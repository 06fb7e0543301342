"""How often intervals of differences between groups hold the truth, and how often tests reject.

Run with ``python -m benchmarks.group_differences``. All laws and sizes were fixed before the first
run: 1,000 samples per cell with seeds 0 to 999, levels of 95 %, and as the truth the statistics of
1,000,000 rows. The second of two groups differs: its classes are half as far apart, its second
column follows the first half as steeply, its amounts are 1.5 times as large. ``tied`` rows are
normal ones rounded to a half. Cells outside of 93 to 97 % are marked. Then, for groups that do not
differ, how often the joint test and the smallest adjusted p are below 5 %. The clusters are 12
towns, each with rows of every group.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray

SAMPLES, LEVEL, LARGE, TOWNS = 1_000, 0.95, 1_000_000, 12
LIMITS = (0.93, 0.97)
SIZES = ((30, 30), (30, 100), (100, 100))
COUNTS = (3, 6)
KERNELS = ("auc", "kendall-b", "gini")
_LAWS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "normal": lambda random, n: random.normal(size=n),
    "lognormal": lambda random, n: np.exp(random.normal(size=n)),
    "t4": lambda random, n: random.standard_t(4, size=n),
    "tied": lambda random, n: np.round(2 * random.normal(size=n)) / 2,
}


def _draw(
    kernel: str, law: str, random: np.random.Generator, n: int, *, differs: bool
) -> FloatArray:
    """Draw the rows of one group, with labels as their last column."""
    x, half = _LAWS[law](random, n), 0.5 if differs else 1.0
    if kernel == "auc":
        labels = random.random(n) < 0.35
        return np.column_stack([x + half * labels, labels])
    if kernel == "kendall-b":
        return np.column_stack([x, half * x + _LAWS[law](random, n)])
    return x * (1.5 if differs else 1.0)


def cover() -> None:
    """Print how often the interval of a difference holds the truth."""
    print(f"differences of two groups: coverage of {LEVEL:.0%} intervals, {SAMPLES:,} samples each")
    print(f"{'':21}" + "".join(f"{f'{one} and {other} rows':>20}" for one, other in SIZES))
    for kernel in KERNELS:
        for law in _LAWS:
            random = np.random.default_rng(LARGE)
            first, second = (
                float(pg.exact(_draw(kernel, law, random, LARGE, differs=differs), kernel))
                for differs in (False, True)
            )
            cells = [_covered(kernel, law, sizes, first - second) for sizes in SIZES]
            print(f"{kernel:11}{law:10}" + "".join(cells), flush=True)


def _covered(kernel: str, law: str, sizes: tuple[int, int], truth: float) -> str:
    held = made = 0
    for seed in range(SAMPLES):
        random = np.random.default_rng(seed)
        parts = [_draw(kernel, law, random, n, differs=bool(at)) for at, n in enumerate(sizes)]
        by = np.repeat([0, 1], sizes)
        (found,) = pg.exact(np.concatenate(parts), kernel, by=by, interval=LEVEL).differences
        made += found.error > 0
        held += found.low <= truth <= found.high
    share = held / max(made, 1)
    mark = "" if LIMITS[0] <= share <= LIMITS[1] else " !"
    return f"{f'{100 * share:.1f}{mark}':>20}"


def reject() -> None:
    """Print how often groups without a difference are found to differ."""
    print(f"groups that do not differ: rejected at 5 %, jointly and by pairs; {SAMPLES:,} samples")
    for kernel in KERNELS:
        for what in ("30 rows", "100 rows", f"100 rows in {TOWNS} towns"):
            cells = [_rejected(kernel, count, what) for count in COUNTS]
            print(f"{kernel:11}{what:24}" + "".join(cells), flush=True)


def _rejected(kernel: str, count: int, what: str) -> str:
    size, jointly, by_pairs = int(what.split()[0]), 0, 0
    for seed in range(SAMPLES):
        random = np.random.default_rng(seed)
        rows = _draw(kernel, "normal", random, count * size, differs=False)
        by = np.arange(count * size) % count
        how: dict[str, Any] = {"by": by, "interval": LEVEL}
        if "towns" in what:
            towns = random.integers(0, TOWNS, count * size)
            shared = random.normal(size=TOWNS)[towns]
            rows = rows + (shared[:, None] * [1, 0] if rows.ndim == 2 else shared)
            how["groups"] = towns
        table = pg.exact(rows, kernel, **how)
        jointly += table.equality is not None and table.equality.p < 1 - LEVEL
        by_pairs += min(one.adjusted for one in table.differences) < 1 - LEVEL
    shares = (100 * number / SAMPLES for number in (jointly, by_pairs))
    return f"   {count} groups: " + " and ".join(f"{share:.1f}" for share in shares)


def main() -> None:
    """Print both tables."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    cover()
    reject()


if __name__ == "__main__":
    main()
