"""How often the intervals of a calibration hold the numbers of the population.

Run with ``python -m benchmarks.validation_coverage``. Risks have normal logits, and the outcome a
slope of 1 or 0.7 over them; a fifth of the rows have it. Truths are means over 2,000,000 rows.
"""

from __future__ import annotations

import argparse

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.curves.scores import Scores
from pairgossip.validation.calibration import NAMES, read_calibration
from pairgossip.validation.logistic import solve_intercept
from pairgossip.validation.placed import expit

SIZES, SLOPES, LEVEL = (60, 200, 1000), (1.0, 0.7), 0.95
MEAN, SPREAD, SHIFT = -2.0, 1.2, 0.2
POPULATION = 2_000_000


def find_truth(random: np.random.Generator, slope: float) -> dict[str, float]:
    """Return the numbers of the population."""
    x = random.normal(MEAN, SPREAD, POPULATION)
    p, q = expit(x), expit(SHIFT + slope * x)
    brier, share = float((q * (1 - p) ** 2 + (1 - q) * p**2).mean()), float(q.mean())
    return {
        "observed_expected": share / float(p.mean()),
        "in_the_large": solve_intercept(x, np.ones(len(x)), float(q.sum())),
        "slope": slope,
        "intercept": SHIFT,
        "brier": brier,
        "scaled_brier": 1 - brier / (share * (1 - share)),
    }


def measure(seed: int, samples: int, rows: int, slope: float) -> dict[str, float]:
    """Return the part of intervals that hold the truth, of all that there are."""
    random = np.random.default_rng(seed)
    truth = find_truth(random, slope)
    held: dict[str, list[bool]] = {name: [] for name in NAMES}
    for _ in range(samples):
        x = random.normal(MEAN, SPREAD, rows)
        y: FloatArray = (random.random(rows) < expit(SHIFT + slope * x)).astype(np.float64)
        if not 0 < y.sum() < rows:
            continue
        found = read_calibration(Scores.of_rows(expit(x), y, np.ones(rows)), LEVEL)
        for name, hits in held.items():
            number = getattr(found, name)
            if number.low <= number.high:
                hits.append(bool(number.low <= truth[name] <= number.high))
    return {name: float(np.mean(hits)) for name, hits in held.items()}


def main() -> None:
    """Print a line per number of rows and slope."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=600)
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    print("rows  slope  " + "  ".join(NAMES))
    for rows in SIZES:
        for slope in SLOPES:
            parts = measure(given.seed, given.samples, rows, slope).values()
            print(f"{rows:>4}  {slope:>5}  " + "  ".join(f"{part:.3f}" for part in parts))


if __name__ == "__main__":
    main()
