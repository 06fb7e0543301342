"""Tests of statistics that are degenerate without an effect, by permuting the labels.

Where two samples are alike, no row adds anything of its own to their energy distance or MMD: the
projection vanishes, and a normal law says nothing. Labels that are dealt out anew to the same rows
show how large the statistic gets by chance; the test is exact whatever the rows are like.
"""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import Combination, Pairs
from pairgossip.order_statistics import TestResult

PERMUTATIONS = 999
_MOST_ROWS = 5_000
"""The values of all pairs are kept: 200 MB."""
_AT_ONCE = 128


def permute_labels(pairs: Pairs, seed: int) -> TestResult:
    """Test whether two samples differ: how often are labels dealt out anew as far apart?"""
    kernel = pairs.kernel
    assert isinstance(kernel, Combination) and kernel.contrast is not None
    if pairs.n > _MOST_ROWS:
        raise InputError(
            f"A test of '{kernel.name}' keeps the values of all pairs, which is done up to "
            f"{_MOST_ROWS:,} rows, not {pairs.n:,}: take a sample of the rows."
        )
    if pairs.target == "u":
        raise InputError("Labels are permuted for the V-statistic: leave {argument} out.", "kind")
    rows, labels = pairs.data[:, :-1], pairs.data[:, -1]
    table = Pairs(rows[:, 0] if rows.shape[1] == 1 else rows, kernel.contrast).matrix()
    random = np.random.default_rng(seed)
    dealt = np.stack([labels, *(random.permutation(labels) for _ in range(PERMUTATIONS))], axis=1)
    found = np.concatenate(
        [
            _statistics(kernel, table, dealt[:, at : at + _AT_ONCE])
            for at in range(0, dealt.shape[1], _AT_ONCE)
        ]
    )
    value, chance = float(found[0]), found[1:]
    spread = float(chance.std())
    if not spread > 0:
        raise InputError(
            f"'{kernel.name}' is the same however labels are dealt out, as where all rows are "
            "equal: there is nothing to test."
        )
    # Sums in another order may differ in the last digits of what the value is a difference of.
    as_large = int(np.sum(chance >= value - 1e-12 * np.abs(table).mean()))
    p = (1 + as_large) / (1 + PERMUTATIONS)
    return TestResult(value, spread, (value - float(chance.mean())) / spread, p)


def _statistics(kernel: Combination, table: FloatArray, labels: FloatArray) -> FloatArray:
    """Return the statistic for each column of labels."""
    n, high = len(table), labels.sum(axis=0)
    low = n - high
    both = np.einsum("ij,ij->j", labels, table @ labels)
    mixed = labels.T @ table.sum(axis=1) - both
    neither = table.sum() - 2 * mixed - both
    parts = [2 * mixed, 2 * low * high, neither, low**2, both, high**2]
    return kernel.combine(np.stack(parts, axis=-1) / n**2)
