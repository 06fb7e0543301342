"""How often the intervals of calibration hold the truth of the population.

Run with ``python -m benchmarks.validation_coverage``. All settings were fixed before the first run:
levels of 95 %, three laws, 30 % and 5 % outcomes, 50, 200 and 1,000 rows with at least two of each
class, and the same rows read as they are and in 64 cells that are even on the logit scale. Logits
of outcomes are normal. Truths are computed from the laws, at 20,000 quantiles. Two things were
changed after a first run, in which intervals of calibration in the large held 91 % of the time
where the slope was not 1: their error is now that of the sandwich formula, and intervals of scaled
Brier scores end below 1.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.curves.scores import Scores
from pairgossip.validation.calibration import NAMES, Calibration, read_calibration
from pairgossip.validation.logistic import fit_line, solve_intercept
from pairgossip.validation.placed import expit

ROWS, SHARES = (50, 200, 1_000), (0.3, 0.05)
LEVEL, QUANTILES, SPREAD = 0.95, 20_000, 1.2
CELLS = pg.cells.Logit(1e-4, 64)
SOURCES = ("rows", "cells")
FEWEST = 0.93
"""Coverage below which a line is marked."""
LAWS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "calibrated": lambda x: x,
    "too high, too far apart": lambda x: 1.5 * x + 1,
    "too high in the middle": lambda x: x + np.exp(-((x + 1) ** 2)),
}
"""The logit of the score as a function of the logit of the outcome."""


class Population(NamedTuple):
    """Logits of outcomes, and the true values of a calibration."""

    mean: float
    numbers: dict[str, float]


def find_population(law: Callable[[FloatArray], FloatArray], share: float) -> Population:
    """Return the logits of outcomes with this prevalence, and the true values."""
    from scipy import stats

    normal = SPREAD * stats.norm.ppf((np.arange(QUANTILES) + 0.5) / QUANTILES)
    ones = np.ones(QUANTILES)
    mean = solve_intercept(normal, ones, share * QUANTILES)
    truth, logits = expit(mean + normal), law(mean + normal)
    scores, rows = expit(logits), np.stack([1 - truth, truth])
    line = fit_line(np.stack([logits, logits]), rows)
    assert line is not None
    brier = float((truth * (1 - scores) ** 2 + (1 - truth) * scores**2).mean())
    return Population(
        mean,
        {
            "observed_expected": share / float(scores.mean()),
            "in_the_large": solve_intercept(logits, ones, share * QUANTILES),
            "slope": line.slope,
            "intercept": line.intercept,
            "brier": brier,
            "scaled_brier": 1 - brier / (share * (1 - share)),
        },
    )


def read(source: str, scores: FloatArray, outcomes: FloatArray) -> Calibration:
    """Return the calibration of the rows, or of their counts in cells."""
    if source == "rows":
        return read_calibration(Scores.of_rows(scores, outcomes, np.ones(len(scores))), LEVEL)
    counted = pg.summarize(scores, "auc", labels=outcomes, classes=[0, 1], cells=CELLS)
    return read_calibration(Scores.of_blocks(counted.blocks_of(0)), LEVEL)


def follow(name: str, source: str, n: int, share: float, samples: int) -> str:
    """Return the coverage of intervals over samples of one size."""
    law, held = LAWS[name], dict[str, list[bool | None]]()
    mean, truths = find_population(law, share)
    at = [list(LAWS).index(name), n, SHARES.index(share)]  # the same rows from every source
    for seed in range(samples):
        random = np.random.default_rng([*at, seed])
        while True:
            logits = random.normal(mean, SPREAD, n)
            outcomes = (random.random(n) < expit(logits)).astype(float)
            if 2 <= outcomes.sum() <= n - 2:
                break
        found = read(source, expit(law(logits)), outcomes)
        for key in NAMES:
            one = getattr(found, key)
            is_known = one.low <= one.high
            held.setdefault(key, []).append(
                one.low <= truths[key] <= one.high if is_known else None
            )
    return "; ".join(f"{NAMES[key]}: {describe(all_held)}" for key, all_held in held.items())


def describe(held: list[bool | None]) -> str:
    """Return the coverage, marked where it is low, and the share of known intervals."""
    known = [one for one in held if one is not None]
    if not known:
        return "none"
    mean, part = float(np.mean(known)), len(known) / len(held)
    return f"{mean:.3f}" + " *" * (mean < FEWEST) + f" (known: {part:.2f})" * (part < 1)


def main() -> None:
    """Print a line for every source, law, share and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000)
    parser.add_argument("--sources", nargs="+", default=SOURCES)
    options = parser.parse_args()
    begin = time.perf_counter()
    for source in options.sources:
        for name in LAWS:
            for share in SHARES:
                for n in ROWS:
                    text = follow(name, source, n, share, options.samples)
                    print(f"{source}; {name}; {100 * share:g} % of {n:,}: {text}", flush=True)
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
