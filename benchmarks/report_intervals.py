"""Print how often the intervals of private reports hold the population's value.

    python -m benchmarks.report_intervals

Rows are reported by randomized response in eight bins, as in runs with ``privacy=`` and in those of
peers that exchange reports. Every sample has new rows and new reports; gossip is assumed to have
converged, and the population's value is that of the bins. The columns:

    noise     the standard deviation of the noise in all cells' shares together
    kernel    the share of samples whose interval on the kernel's scale holds the value
    plain     the same for plain intervals
    chosen    the same for the interval that is given; a dash where there is none

Settings were fixed before the first run; the limit of noise for intervals was chosen after it.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.noisy_intervals import EPSILONS, LAWS, ROWS, population
from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.inference.answer import Law, intervals
from pairgossip.privacy import DebiasedKernel, RandomizedResponse
from pairgossip.privacy.debiased import expect
from pairgossip.privacy.moments import (
    choose_scale,
    laws_by_row,
    relative_noise,
    rows_for_interval,
)

BINS, LEVEL = 8, 0.95
CASES = [
    ("gini", "normal"),
    ("gini", "exponential"),
    ("variance", "normal"),
    ("auc", "even classes"),
    ("auc", "rare class"),
]


def draw_reports(
    kernel: DebiasedKernel, law: str, n: int, samples: int
) -> tuple[FloatArray, float]:
    """Draw histograms of reports, shape (samples, cells); return also the population's value."""
    rows = population(law)
    shares = laws_by_row(kernel.mechanism, rows).mean(axis=0)
    value = float(kernel.combine(np.einsum("kij,i,j->k", kernel.cell_tables, shares, shares)))
    chances = shares @ expect(kernel.mechanism, np.eye(len(shares)), 0)
    rng = np.random.default_rng([11, n])
    return rng.multinomial(n, chances / chances.sum(), size=samples).astype(np.float64), value


def find_errors(
    kernel: DebiasedKernel, counts: FloatArray, n: int
) -> tuple[FloatArray, FloatArray]:
    """Return the estimates from reports, and their errors by Hoeffding's projection."""
    tables = (kernel.tables + kernel.tables.transpose(0, 2, 1)) / 2
    means = [(counts @ one - np.diagonal(one)) / (n - 1) for one in tables]
    averages = np.stack([(counts * one).sum(axis=1) / n for one in means], axis=1)
    slopes = kernel.kernel.slopes(averages)
    added = 2 * np.einsum("sk,ksj->sj", slopes, np.array(means))
    about = added - (counts * added).sum(axis=1, keepdims=True) / n
    return kernel.combine(averages), np.sqrt((counts * about**2).sum(axis=1) / n / (n - 1))


def line(name: str, law: str, n: int, epsilon: float, samples: int) -> str:
    """Study one setting; return its line."""
    classes = (0, 1) if "class" in law else None
    mechanism = RandomizedResponse(epsilon, BINS, LAWS[law].range, classes=classes)
    kernel = mechanism.debiased(name)
    counts, value = draw_reports(kernel, law, n, samples)
    values, errors = find_errors(kernel, counts, n)
    scale = kernel.kernel.interval_scale

    def hold(low: FloatArray, high: FloatArray) -> BoolArray:
        return (low <= value) & (value <= high)

    by_scale, plain, chosen = (
        hold(*intervals(values, errors, LEVEL, one, Law(n - 1))).mean()
        for one in (scale, "plain", choose_scale(mechanism, n, scale))
    )
    given = f"{chosen:.1%}" if n >= rows_for_interval(mechanism) else "-"
    return (
        f"{name:<10}{law:<14}{n:>7}{epsilon:>8}{relative_noise(mechanism, n):>8.1%}"
        f"{by_scale:>8.1%}{plain:>8.1%}{given:>8}"
    )


def main() -> None:
    """Print the study, setting by setting."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=1000)
    samples = parser.parse_args().samples
    print(f"{'kernel':<10}{'law':<14}{'n':>7}{'epsilon':>8}{'noise':>8}{'kernel':>8}{'plain':>8}"
          f"{'chosen':>8}")  # fmt: skip
    for name, law in CASES:
        for n in ROWS:
            for epsilon in EPSILONS:
                print(line(name, law, n, epsilon, samples), flush=True)


if __name__ == "__main__":
    main()
