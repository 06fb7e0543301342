"""How often the intervals and bands of ROC curves hold the truth of the population.

Run with ``python -m benchmarks.roc_coverage``. All settings but one were fixed beforehand: levels
of 95 %, four laws, scores from 0 to 1, classes drawn by chance so that predictive values and net
benefit are those of a population, and the same rows read as they are, in 64 and in 256 even cells,
and in 64 cells of five sites that hide counts below 3. Truths are computed from the laws, on a grid
of 20,000 thresholds. Welch's degrees of freedom for partial areas came after a first run, in which
normal quantiles held 92 to 94 % of those of 50 + 50 rows.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.curves.roc import Band

SIZES = ((20, 20), (50, 50), (200, 200), (1000, 50))
LEVEL, THRESHOLDS = 0.95, (0.5, 0.7)
SPECIFICITY = (0.8, 1.0)
SITES, LEAST = 5, 3
GRID, LATTICE = 20_000, 10
FEWEST = 0.93
"""Coverage below which a line is marked."""

Sample = Callable[[np.random.Generator, int], FloatArray]


class Law(NamedTuple):
    """Samplers of the scores of both classes, and the shares at or above thresholds."""

    draw: tuple[Sample, Sample]
    above: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    thresholds: FloatArray


def squash(values: FloatArray) -> FloatArray:
    """Return numbers as scores from 0 to 1, in the same order."""
    return np.asarray(1 / (1 + np.exp(-values)))


def make_smooth(name: str, shift: float, spread: float) -> Law:
    """Return a law of scipy's, shifted and spread for positive rows."""
    from scipy import stats

    law = stats.t(3) if name == "t" else stats.norm()

    def above(thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
        with np.errstate(divide="ignore"):
            at = np.log(thresholds / (1 - thresholds))
        return law.sf(at), law.sf((at - shift) / spread)

    def draw(random: np.random.Generator, n: int) -> FloatArray:
        return np.asarray(random.standard_t(3, n) if name == "t" else random.normal(size=n))

    return Law(
        (
            lambda random, n: squash(draw(random, n)),
            lambda random, n: squash(shift + spread * draw(random, n)),
        ),
        above,
        np.linspace(0, 1, GRID + 1)[1:-1],
    )


def make_lattice(low: float, high: float) -> Law:
    """Return the law of binomial numbers over their largest, which has many ties."""
    from scipy import stats

    laws = stats.binom(LATTICE, low), stats.binom(LATTICE, high)

    def above(thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
        at = np.ceil(thresholds * LATTICE - 1e-9) - 1
        return laws[0].sf(at), laws[1].sf(at)

    return Law(
        (
            lambda random, n: random.binomial(LATTICE, low, n) / LATTICE,
            lambda random, n: random.binomial(LATTICE, high, n) / LATTICE,
        ),
        above,
        np.arange(LATTICE + 1) / LATTICE,
    )


LAWS: dict[str, Callable[[], Law]] = {
    "normal, equal spread": lambda: make_smooth("normal", 1.2, 1.0),
    "normal, unequal spread": lambda: make_smooth("normal", 1.5, 1.8),
    "t with 3 degrees of freedom": lambda: make_smooth("t", 1.5, 1.0),
    "whole numbers, ties": lambda: make_lattice(0.4, 0.6),
}


class Truth(NamedTuple):
    """The values of a population."""

    numbers: dict[str, float]
    best: float
    fpr: FloatArray
    tpr: FloatArray


def find_truth(law: Law, share: float) -> Truth:
    """Return the values of a population with this share of positives."""
    fpr, tpr = law.above(law.thresholds)
    ends = (np.concatenate([[0.0], one[::-1], [1.0]]) for one in (fpr, tpr))
    x, y = ends
    beyond = np.maximum(1 - SPECIFICITY[1], 0.0), 1 - SPECIFICITY[0]
    inside = np.union1d(x[(x >= beyond[0]) & (x <= beyond[1])], beyond)
    numbers = {"AUC": float(np.trapezoid(y, x))}
    numbers["partial AUC"] = float(np.trapezoid(np.interp(inside, x, y), inside))
    true, false = share * y[1:], (1 - share) * x[1:]
    precision = true / (true + false)
    numbers["average precision"] = float(np.diff(y) @ precision)
    index = tpr - fpr
    numbers["Youden's index"] = float(index.max())
    for threshold in THRESHOLDS:
        ((negative,), (positive,)) = law.above(np.array([threshold]))
        odds = threshold / (1 - threshold)
        more = {
            "sensitivity": positive,
            "specificity": 1 - negative,
            "ppv": share * positive / (share * positive + (1 - share) * negative),
            "lr_positive": positive / negative,
            "lr_negative": (1 - positive) / (1 - negative),
            "net_benefit": share * positive - odds * (1 - share) * negative,
        }
        numbers |= {f"{name} at {threshold}": float(one) for name, one in more.items()}
    return Truth(numbers, float(law.thresholds[index.argmax()]), x, y)


def draw_rows(
    law: Law, n: int, share: float, seed: tuple[int, ...]
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Draw rows of both classes by chance, at least two of each, and their sites."""
    random = np.random.default_rng(seed)
    while True:
        labels = (random.random(n) < share).astype(float)
        if 2 <= labels.sum() <= n - 2:
            break
    scores = np.where(labels == 1, law.draw[1](random, n), law.draw[0](random, n))
    return scores, labels, random.integers(0, SITES, n)


def read(source: str, scores: FloatArray, labels: FloatArray, sites: IntArray) -> pg.Roc:
    """Return the curve of the rows, or of their counts in cells."""
    if source == "rows":
        return pg.roc(scores, labels, interval=LEVEL)
    cells = pg.cells.Even(0, 1, int(source.split()[0]))
    if "sites" not in source:
        counted = pg.summarize(scores, "auc", labels=labels, classes=[0, 1], cells=cells)
        return pg.roc(counted, interval=LEVEL)
    total = pg.Summary.of("auc", cells=cells, classes=[0, 1], least_cell=LEAST)
    for site in range(SITES):
        own = sites == site
        if own.any():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", pg.RowsDropped)
                total = total + pg.summarize(
                    scores[own],
                    "auc",
                    labels=labels[own],
                    classes=[0, 1],
                    cells=cells,
                    least_cell=LEAST,
                )
    return pg.roc(total, interval=LEVEL)


SOURCES = ("rows", "64 cells", "256 cells", "64 cells, 5 sites, k = 3")


def judge(r: pg.Roc, truth: Truth) -> Iterator[tuple[str, bool | None]]:
    """Yield for every interval whether it holds the truth; None where there is no interval."""
    found = {
        "AUC": r.auc,
        "partial AUC": r.partial_auc(SPECIFICITY),
        "average precision": r.average_precision,
        "Youden's index": (best := r.youden()).value,
    }
    for threshold in THRESHOLDS:
        point = r.at(threshold)
        for name in ("sensitivity", "specificity", "ppv", "lr_positive", "lr_negative"):
            found[f"{name} at {threshold}"] = getattr(point, name)
        found[f"net_benefit at {threshold}"] = point.net_benefit
    for name, one in found.items():
        is_known = not math.isnan(one.low)
        yield name, (one.low <= truth.numbers[name] <= one.high) if is_known else None
    yield "best threshold", best.thresholds[0] - 1e-9 <= truth.best <= best.thresholds[1] + 1e-9
    yield "band", holds_curve(r.band, truth)


def holds_curve(band: Band, truth: Truth) -> bool:
    """Return whether the whole curve lies in a band."""
    hair = 1e-9
    low = np.interp(truth.fpr - hair, *band.lower)
    high = np.interp(truth.fpr + hair, *band.upper)
    return bool((low - hair <= truth.tpr).all() and (truth.tpr <= high + hair).all())


def follow(law: Law, source: str, size: tuple[int, int], samples: int, line: int) -> str:
    """Return the coverage of intervals over samples of one size."""
    n, share = sum(size), size[1] / sum(size)
    truth, held, refused = find_truth(law, share), dict[str, list[bool | None]](), 0
    for seed in range(samples):
        try:
            r = read(source, *draw_rows(law, n, share, (line, seed)))
        except pg.InputError:  # too few rows of a class at every site
            refused += 1
            continue
        for name, one in judge(r, truth):
            held.setdefault(name, []).append(one)
    parts = [f"refused: {refused / samples:.2f}"] if refused else []
    for name, all_held in held.items():
        known = [one for one in all_held if one is not None]
        if not known:
            parts.append(f"{name}: none")
            continue
        mean, part = float(np.mean(known)), len(known) / len(all_held)
        marked = "" if mean >= FEWEST else " *"
        parts.append(f"{name}: {mean:.3f}{marked}" + (f" (known: {part:.2f})" * (part < 1)))
    return "; ".join(parts)


def main() -> None:
    """Print a line for every law, source and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000)
    parser.add_argument("--sources", nargs="+", default=SOURCES)
    parser.add_argument("--laws", nargs="+", default=tuple(LAWS))
    options = parser.parse_args()
    begin = time.perf_counter()
    for source in options.sources:
        for number, (name, make) in enumerate(LAWS.items()):
            if name not in options.laws:
                continue
            law = make()
            for at, size in enumerate(SIZES):
                line = number * len(SIZES) + at  # the same rows from every source
                text = follow(law, source, size, options.samples, line)
                print(f"{source}; {name}; {size[0]} + {size[1]}: {text}", flush=True)
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
