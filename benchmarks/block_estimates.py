"""How far estimates from blocks of a public tree are from the value of the rows themselves.

Prints the bias of the estimates, their root mean square error, half of the bracket, and the error
that the answer states, all in sampling errors, and how many of the 95 % intervals hold the value of
the law, for several statistics, laws of rows, sizes of sites and least counts. Exits with 1 if a
bracket misses the value of the rows, or if intervals from blocks of 3 rows and more hold the value
clearly less often than they claim; those from single cells are as good as those of
`pairgossip.exact`, which hold it too seldom where fourth moments are infinite.
"""

from __future__ import annotations

import argparse
import functools
import math
import operator
import sys
import time
from collections.abc import Callable
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.counts.cells import Cells, Even, Log

STATISTICS = ("auc", "gini", "variance", "median", "kendall")
SIZES = ((5, 140), (5, 1000), (3, 100))
LEAST = (1, 3, 5, 10)
POSITIVES = 0.3
CORRELATION = 0.5
SAMPLES = 200
"""Samples from which sampling errors are estimated."""
LIKELY = 1e-4
"""Probability of so low a coverage by chance, below which it counts as a failure."""


class Law(NamedTuple):
    """A quantile function of rows, and the cells that a study would agree on."""

    quantile: Callable[[FloatArray], FloatArray]
    cells: Callable[[int], Cells]


def _find_normal(share: FloatArray) -> FloatArray:
    return np.array([NormalDist().inv_cdf(one) for one in share.tolist()])


def _find_lognormal(share: FloatArray) -> FloatArray:
    return np.exp(0.6 * _find_normal(share))


def _find_pareto(share: FloatArray) -> FloatArray:
    return np.minimum((1 - share) ** (-1 / 2.5), 100.0)


LAWS = {
    "even": Law(lambda share: share, lambda count: Even(0, 1, count)),
    "normal": Law(_find_normal, lambda count: Even(-6, 6, count)),
    "lognormal": Law(_find_lognormal, lambda count: Even(0, 30, count)),
    "lognormal, log cells": Law(_find_lognormal, lambda count: Log(0.01, 100, count)),
    "Pareto": Law(_find_pareto, lambda count: Even(0, 100, count)),
    "Pareto, log cells": Law(_find_pareto, lambda count: Log(0.1, 1000, count)),
}


class Sample(NamedTuple):
    """Rows, and their labels if the statistic takes any."""

    rows: FloatArray
    labels: FloatArray | None


def draw(name: str, law: Law, n: int, rng: np.random.Generator) -> Sample:
    """Draw the rows of a statistic."""
    share = rng.random(n)
    if name == "auc":
        labels = (rng.random(n) < POSITIVES).astype(np.float64)
        return Sample(law.quantile(np.where(labels > 0, np.sqrt(share), share)), labels)
    if name != "kendall":
        return Sample(law.quantile(share), None)
    x, y = rng.standard_normal((2, n))
    y = CORRELATION * x + math.sqrt(1 - CORRELATION**2) * y
    both = ([NormalDist().cdf(one) for one in column.tolist()] for column in (x, y))
    return Sample(np.column_stack([law.quantile(np.array(one)) for one in both]), None)


def find_value(name: str, law: Law) -> float:
    """Return the value of the law, from a million of its quantiles where no formula has it."""
    if name in ("auc", "kendall"):
        return 2 / 3 if name == "auc" else 2 / math.pi * math.asin(CORRELATION)
    if name == "median":
        return float(law.quantile(np.array([0.5]))[0])
    count = 1_000_000
    share = (np.arange(count) + 0.5) / count
    rows = law.quantile(share)
    return float(rows.var() if name == "variance" else 4 * (rows * (share - 0.5)).mean())


def find_exact(name: str, sample: Sample) -> float:
    """Return the value of the rows themselves."""
    if name == "median":
        return float(np.median(sample.rows))
    return float(pg.exact(sample.rows, name, labels=sample.labels))


def summarize(name: str, law: Law, sample: Sample, sites: int, least: int) -> pg.Summary:
    """Return the sum of what all sites report."""
    options: dict[str, Any] = {"cells": law.cells(256), "least_cell": least}
    if name == "kendall":
        options["cells"] = [law.cells(32)] * 2
    parts = []
    for at in np.split(np.arange(len(sample.rows)), sites):
        if sample.labels is not None:
            options |= {"labels": sample.labels[at], "classes": [0, 1]}
        parts.append(pg.summarize(sample.rows[at], name, **options))
    return functools.reduce(operator.add, parts)


class Row(NamedTuple):
    """The results of one setting and least count; all but the last three in sampling errors."""

    lean: float
    rms: float
    half: float
    error: float
    held: float
    missed: int
    seconds: float


def measure(name: str, law: Law, size: tuple[int, int], draws: int, seed: int) -> list[Row]:
    """Return the results of every least count, all from the same rows."""
    sites, rows = size
    rng = np.random.default_rng([seed, sites, rows])
    samples = (draw(name, law, sites * rows, rng) for _ in range(SAMPLES))
    spread = float(np.std([find_exact(name, sample) for sample in samples]))
    value, found = find_value(name, law), []
    for _ in range(draws):
        sample = draw(name, law, sites * rows, rng)
        exact = find_exact(name, sample)
        for least in LEAST:
            summary, begin = summarize(name, law, sample, sites, least), time.process_time()
            answer = summary.answer(0.95)
            seconds = time.process_time() - begin
            low, high = answer.bracket
            found.append(
                (
                    (answer.value - exact) / spread,
                    (high - low) / 2 / spread,
                    answer.error / spread,
                    answer.low <= value <= answer.high,
                    not low - 1e-9 <= exact <= high + 1e-9,
                    seconds,
                )
            )
    table = np.array(found).reshape(draws, len(LEAST), -1)
    return [
        Row(
            float(one[:, 0].mean()),
            math.sqrt(float((one[:, 0] ** 2).mean())),
            float(one[:, 1].mean()),
            float(np.nanmean(one[:, 2])),
            float(one[:, 3].mean()),
            int(one[:, 4].sum()),
            float(one[:, 5].mean()),
        )
        for one in table.swapaxes(0, 1)
    ]


def main() -> None:
    """Print a table for each statistic and law."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("statistics", nargs="*", default=STATISTICS, help="; ".join(STATISTICS))
    parser.add_argument("--draws", type=int, default=40, help="samples for each setting")
    parser.add_argument("--seed", type=int, default=2)
    options = parser.parse_args()
    failures = 0
    print(
        "statistic, law, sites x rows, k: lean, rms, half bracket, error (in sampling errors); held"
    )
    for name in options.statistics:
        for title, law in LAWS.items():
            for size in SIZES:
                found = measure(name, law, size, options.draws, options.seed)
                for least, row in zip(LEAST, found, strict=True):
                    held = round(row.held * options.draws)
                    chance = sum(
                        math.comb(options.draws, count)
                        * 0.95**count
                        * 0.05 ** (options.draws - count)
                        for count in range(held + 1)
                    )
                    is_short = least > 1 and chance < LIKELY
                    failures += is_short or row.missed > 0
                    print(
                        f"{name}, {title}, {size[0]} x {size[1]}, {least}: {row.lean:+.2f} "
                        f"{row.rms:.2f} {row.half:.1f} {row.error:.2f}; {row.held:.3f} "
                        f"({1000 * row.seconds:.0f} ms)"
                        + f", {row.missed} missed" * (row.missed > 0)
                        + ", too few" * is_short,
                        flush=True,
                    )
    print(f"All as it must be: {'no' if failures else 'yes'}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
