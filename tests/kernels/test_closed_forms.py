"""The closed forms against the blocked sums, at offsets and at sizes that loops cannot reach."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pairgossip.kernels import CATALOG, exact
from pairgossip.kernels.kernel import blocked_rows, blocked_total

from .reference import random_data

CLOSED = sorted(n for n in CATALOG if all(part.total for part in CATALOG[n]().components))
ROWED = sorted(n for n in CATALOG if all(part.row_totals for part in CATALOG[n]().components))


def test_which_kernels_have_closed_forms() -> None:
    assert set(CATALOG) - set(CLOSED) == {"distance", "metric-learning-risk"}
    assert ROWED == ["gini", "variance", "within-cluster-scatter"]


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("n", [2, 3, 7, 700])
def test_totals_are_the_blocked_sums(name: str, n: int) -> None:
    data = random_data(name, n)
    for part in CATALOG[name]().components:
        assert part.total is not None
        assert part.total(data) == pytest.approx(blocked_total(part, data), rel=1e-12)


@pytest.mark.parametrize("name", ROWED)
@pytest.mark.parametrize("n", [1, 2, 3, 700])
def test_row_totals_are_the_blocked_sums(name: str, n: int) -> None:
    data = random_data(name, n)
    (part,) = CATALOG[name]().components
    assert part.row_totals is not None
    np.testing.assert_allclose(part.row_totals(data), blocked_rows(part, data), rtol=1e-12)


def test_concordance_without_events() -> None:
    data = random_data("concordance", 300)[:, :2]
    for part in CATALOG["concordance"]().components:
        assert part.total is not None
        assert part.total(data) == blocked_total(part, data)


@pytest.mark.parametrize("kernel", ["variance", "gini"])
def test_a_large_offset_costs_no_digits(kernel: str) -> None:
    data = 1e9 + np.random.default_rng(5).normal(size=200)
    points = [Fraction(x) for x in data.tolist()]
    pairs = [abs(x - y) for x in points for y in points]
    summed = sum(d * d / 2 for d in pairs) if kernel == "variance" else sum(pairs)
    assert exact(data, kernel) == pytest.approx(float(summed / len(pairs)), rel=1e-12)


def test_a_large_offset_costs_no_digits_of_the_scatter() -> None:
    labels = np.arange(200) % 3
    data = 1e9 + np.random.default_rng(6).normal(size=200) + 100.0 * labels
    points = [(Fraction(x), c) for x, c in zip(data.tolist(), labels.tolist(), strict=True)]
    summed = sum((x - y) ** 2 for x, c in points for y, e in points if c == e)
    statistic = exact(data, "within-cluster-scatter", labels=labels)
    assert statistic == pytest.approx(float(summed / 200**2), rel=1e-12)


@pytest.mark.parametrize("name", CLOSED)
def test_a_million_points(name: str) -> None:
    data = random_data(name, 1_000_000, levels=1000)
    if name == "within-cluster-scatter":
        data[:, -1] %= 10
    assert 0.0 < abs(exact(data, name, "u")) < 1e7


def test_counts_of_a_million_points_are_exact() -> None:
    n = 1_000_000
    rising = np.arange(n)
    assert exact(np.column_stack((rising, rising)), "kendall", "u") == 1.0
    assert exact(np.column_stack((rising, -rising)), "ranking-risk", "u") == 1.0
    assert exact(np.column_stack((rising, rising)), "concordance") == 1.0
