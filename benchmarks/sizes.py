"""Sizes of the tests of order: how often they reject where there is no effect.

Run with ``python -m benchmarks.sizes``; name kernels to run only these. All settings were fixed
before the first run: 2,000 samples per cell with seeds 0 to 1,999, two columns of independent
normal numbers (for the AUC, one column, and labels 0 and 1 in turn); ``tied`` numbers are rounded
to whole ones. Three sizes are printed for every test: by Wald's z (the sampling error and the
normal law, as before version 0.3), by the null's variance and the normal law on any number of rows
(as `scipy.stats` with ``method="asymptotic"``), and as `pairgossip.test` chooses. Samples that
Wald's z cannot judge, and those without a value, count as not rejected. A size of `pairgossip.test`
more than three standard errors above its level is marked.

Given the ties, the four rank correlations are functions of one number and have the same p, so that
their two right columns agree; the left ones differ.
"""

from __future__ import annotations

import argparse
import math
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.order_statistics.laws import map_law, two_sided
from pairgossip.order_statistics.null_laws import judge_auc, judge_order, normal_p

SAMPLES, LEVELS = 2_000, (0.05, 0.01)
SIZES = (6, 8, 10, 15, 20, 30, 50, 100, 200)
CORRELATIONS = ("kendall", "kendall-b", "somers-d", "goodman-kruskal-gamma")
KERNELS = ("auc", *CORRELATIONS)
_AT_ONCE = 2**22
"""Pairs that are compared at a time."""


class Judged(NamedTuple):
    """The p-values of many samples, by the three methods."""

    wald: FloatArray
    normal: FloatArray
    chosen: FloatArray


def draw(n: int, is_tied: bool, seeds: range) -> FloatArray:
    """Draw two columns without an effect, shape (samples, 2, n)."""
    drawn = np.stack([np.random.default_rng(seed).normal(size=(n, 2)).T for seed in seeds])
    return np.round(drawn) if is_tied else drawn


def judge(rows: FloatArray, name: str) -> Judged:
    """Return the p-values of samples, shape (samples, 2, n); for the AUC, classes alternate."""
    at_once = max(1, _AT_ONCE // rows.shape[-1] ** 2)
    parts = [_judge_part(rows[at : at + at_once], name) for at in range(0, len(rows), at_once)]
    return Judged(*map(np.concatenate, zip(*parts, strict=True)))


def _judge_part(rows: FloatArray, name: str) -> Judged:
    with np.errstate(divide="ignore", invalid="ignore"):
        if name == "auc":
            away, errors, scores = _compare_classes(rows[:, 0])
        else:
            away, errors, scores = _compare_columns(rows, name)
        z = np.where(errors > 1e-9, away / errors, 0.0)
    test = _test_auc if name == "auc" else _test_order
    known = np.array(
        [test(float(s), *map(_count, sample)) for s, sample in zip(scores, rows, strict=True)]
    )
    wald = np.nan_to_num(map_law(two_sided, z), nan=1.0)
    return Judged(wald, known[:, 0], known[:, 1])


def _count(column: FloatArray) -> tuple[int, ...]:
    return tuple(np.unique(column, return_counts=True)[1].tolist())


@cache  # the four correlations share it
def _test_order(
    score: float, first: tuple[int, ...], second: tuple[int, ...]
) -> tuple[float, float]:
    """Return p by the null's variance and the normal law, and by the chosen law."""
    if min(len(first), len(second)) == 1:
        return 1.0, 1.0
    found = judge_order(score, first, second)
    return normal_p(score, found.error, "two-sided"), found.p


@cache
def _test_auc(auc: float, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[float, float]:
    """Return the same for the AUC of the first column."""
    n = sum(first)
    sizes = ((n + 1) // 2, n // 2)
    if len(first) == 1:
        return 1.0, 1.0
    found = judge_auc(auc, sizes, first)
    return normal_p(auc - 0.5, found.error, "two-sided", 0.5 / math.prod(sizes)), found.p


def _compare_classes(columns: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return how far AUCs are off, their sampling errors by DeLong, and the AUCs."""
    low, high = columns[:, 0::2], columns[:, 1::2]
    wins = (np.sign(high[:, :, None] - low[:, None, :]) + 1) / 2
    auc = wins.mean(axis=(1, 2))
    spread = partial(np.var, axis=1, ddof=1)
    variance = spread(wins.mean(axis=2)) / high.shape[1] + spread(wins.mean(axis=1)) / low.shape[1]
    return auc - 0.5, np.sqrt(variance), auc


def _compare_columns(rows: FloatArray, name: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rank correlations, their sampling errors from the rows' influences, and S."""
    x, y = (np.sign(column[:, :, None] - column[:, None, :]) for column in rows.swapaxes(0, 1))
    n = rows.shape[-1]
    alike, first, second, both = (
        table.mean(axis=2) for table in (x * y, np.abs(x), np.abs(y), np.abs(x * y))
    )
    divisors = {
        "kendall": (),
        "kendall-b": ((first, 0.5), (second, 0.5)),
        "somers-d": ((first, 1.0),),
        "goodman-kruskal-gamma": ((both, 1.0),),
    }[name]
    size = np.prod([part.mean(axis=1) ** power for part, power in divisors], axis=0)
    value = alike.mean(axis=1) / size
    added = 2 * (alike / np.expand_dims(size, -1) - value[:, None])
    for part, power in divisors:
        share = part / part.mean(axis=1, keepdims=True)
        added = added - 2 * power * value[:, None] * (share - 1)
    errors = np.sqrt((added**2).sum(axis=1) / (n * (n - 1)))
    return value, errors, np.round(alike.sum(axis=1) * n / 2)


def measure(name: str, n: int, is_tied: bool) -> str:
    """Return a line with the three sizes at both levels, in percent."""
    found = np.array(judge(draw(n, is_tied, range(SAMPLES)), name))
    parts = []
    for level in LEVELS:
        rejected = (found <= level + 1e-12).mean(axis=1)
        most = level + 3 * math.sqrt(level * (1 - level) / SAMPLES)
        mark = "!" if rejected[-1] > most else " "
        parts.append("".join(f"{100 * size:8.2f}" for size in rejected) + mark)
    return "   ".join(parts)


def main() -> None:
    """Print the sizes of the kernels that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("kernels", nargs="*", choices=[*KERNELS, []], help="all if none is named")
    chosen = parser.parse_args().kernels or KERNELS
    errors = [100 * math.sqrt(level * (1 - level) / SAMPLES) for level in LEVELS]
    print(f"rejected of {SAMPLES:,} samples without an effect, in percent")
    print(f"(standard errors {errors[0]:.2f} and {errors[1]:.2f})")
    ways = "".join(f"{way:>8}" for way in ("Wald", "normal", "test"))
    for name in chosen:
        print(f"\n{name}\n{'rows':18}{'at 5 %':>24}{'at 1 %':>28}\n{'':18}{ways}    {ways}")
        for is_tied in (False, True):
            for n in SIZES:
                label = f"{n:4} {'tied' if is_tied else 'continuous'}"
                print(f"{label:18}{measure(name, n, is_tied)}", flush=True)


if __name__ == "__main__":
    main()
