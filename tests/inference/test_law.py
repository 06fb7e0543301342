"""The bias of statistics, and the accuracy of their errors: by brute force and Monte Carlo."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import optimize, stats

import pairgossip as pg
from pairgossip.inference.answer import Answer, Law, interval
from pairgossip.inference.projection import project
from pairgossip.kernels import CATALOG, Pairs
from pairgossip.kernels.kernel import Scale
from tests.kernels.reference import random_data

AMOUNTS = np.random.default_rng(0).lognormal(size=40)
TOWNS = np.random.default_rng(1).permutation(np.arange(40) % 7)


@pytest.mark.pairs
@pytest.mark.parametrize("name", sorted(CATALOG))
@pytest.mark.parametrize("target", ["v", "u"])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_bias_is_that_of_leaving_out(name: str, target: str, grouped: bool) -> None:
    data = random_data(name, 40)
    groups = TOWNS if grouped else np.arange(40)
    left_out = [Pairs(data[groups != one], name, target).exact() for one in range(groups.max() + 1)]
    found = project(Pairs(data, name, target), TOWNS if grouped else None)
    bias = groups.max() * (np.mean(left_out) - found.value)
    assert found.bias == pytest.approx(bias, rel=1e-8, abs=1e-10 * abs(found.value))


def test_weights_leave_out_one_of_the_rows_they_stand_for() -> None:
    weights = 1 + np.arange(40) % 3
    rows, repeated = (
        project(Pairs(AMOUNTS, "gini-coefficient", weights=weights)),
        project(Pairs(np.repeat(AMOUNTS, weights), "gini-coefficient")),
    )
    assert rows.law() == pytest.approx(repeated.law(), rel=1e-10)
    by_town, again = (
        project(Pairs(AMOUNTS, "gini-coefficient", weights=weights), TOWNS),
        project(Pairs(np.repeat(AMOUNTS, weights), "gini-coefficient"), np.repeat(TOWNS, weights)),
    )
    assert by_town.law() == pytest.approx(again.law(), rel=1e-10)


def test_the_law_is_that_of_a_mean_of_what_rows_add() -> None:
    found = project(Pairs(AMOUNTS, "gini"))
    law, n = found.law(), len(AMOUNTS)
    assert law.skewness == pytest.approx(stats.skew(found.influence) / math.sqrt(n))
    kurtosis = stats.kurtosis(found.influence, fisher=False)
    assert law.effective_freedom == pytest.approx(2 * n / (kurtosis - 1))
    assert law.effective_freedom < law.freedom == n - 1
    assert law.shift == pytest.approx(-found.value / (n - 1) / found.error())
    sums = np.bincount(TOWNS, found.influence)
    by_town = project(Pairs(AMOUNTS, "gini"), TOWNS).law()
    assert by_town.skewness == pytest.approx(stats.skew(sums) / math.sqrt(7), rel=0.02)
    assert by_town.freedom == 6


Function = Callable[[float], float]
SCALES: dict[str, tuple[Function, Function]] = {
    "plain": (lambda v: v, lambda v: 0.0),
    "log": (math.log, lambda v: -1 / v),
    "logit": (lambda v: math.log(v / (1 - v)), lambda v: (2 * v - 1) / (v * (1 - v))),
    "fisher": (math.atanh, lambda v: 2 * v / (1 - v**2)),
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("skewness", [-0.4, 0.0, 0.5])
def test_ends_are_where_halls_cubic_reaches_students_t(scale: Scale, skewness: float) -> None:
    value, error, freedom, shift = 0.3, 0.04, 12.5, -0.2 if skewness else 0.0
    to_scale, bend = SCALES[scale]
    step = 1e-6
    spread = error * (to_scale(value + step) - to_scale(value - step)) / (2 * step)
    lean = skewness / 3 + error * bend(value) / 2
    ends = interval(value, error, 0.9, scale, Law(40, skewness, shift, freedom))
    for end, probability in zip(ends, (0.95, 0.05), strict=True):

        def cubic(t: float, probability: float = probability) -> float:
            moved = t + lean * t**2 + lean**2 * t**3 / 3 + skewness / 6 - shift
            return float(moved - stats.t.ppf(probability, freedom))

        found = optimize.brentq(cubic, -1e3, 1e3)
        least = stats.t.ppf(probability, 40)
        if abs(found) < abs(least):  # neither end comes nearer than Student's t
            found = least
        assert to_scale(end) == pytest.approx(to_scale(value) - spread * found, rel=1e-7)


def test_an_interval_holds_students_whatever_the_bias() -> None:
    least = interval(0.3, 0.1, 0.3, "log", Law(20))
    for skewness, shift in ((0.1, -2.0), (0.1, 2.0), (-0.5, 0.0)):
        low, high = interval(0.3, 0.1, 0.3, "log", Law(20, skewness, shift))
        assert low <= least[0] < 0.3 < least[1] <= high and (low, high) != least


def _symmetric(answer: Answer, freedom: float) -> tuple[float, float]:
    return interval(answer.value, answer.error, 0.95, answer.scale, Law(freedom))


def test_intervals_hold_the_mean_difference_of_lognormal_rows() -> None:
    """Symmetric intervals on the logarithm hold it in far fewer of 400 samples of 50 rows."""
    truth = 2 * math.exp(0.5) * (2 * stats.norm.cdf(math.sqrt(0.5)) - 1)
    held = np.zeros(2)
    for seed in range(400):
        rows = np.random.default_rng(seed).lognormal(size=50)
        answer = pg.exact(rows, "gini", interval=0.95)
        for k, (low, high) in enumerate([(answer.low, answer.high), _symmetric(answer, 49)]):
            held[k] += low <= truth <= high
    assert held[0] >= 0.91 * 400 and held[1] <= 0.88 * 400


@pytest.mark.parametrize("name", ["somers-d", "kendall-b", "goodman-kruskal-gamma"])
def test_rounding_tells_no_bias_where_all_that_is_left_is_tied(name: str) -> None:
    """Without the first row nothing is left to compare: 0 / 0, in any unit and order."""
    rows = np.column_stack([[1.0] + 12 * [2.0], [3.0, *np.arange(12) % 5]])
    for seed in range(20):
        shuffled = np.random.default_rng(seed).permutation(rows)
        for target in ("u", "v"):
            assert project(Pairs(shuffled, name, target)).bias == 0.0


def test_rounding_makes_no_tails_of_what_is_equal() -> None:
    """Half of the rows add as much as the others subtract."""
    for seed in range(20):
        rows = np.random.default_rng(seed).permutation(np.repeat([1.0, 3.0], 5))
        law = project(Pairs(rows, "gini-coefficient", "u")).law()
        assert law.effective_freedom == math.inf and law.shift > 0.1
        assert law.skewness == pytest.approx(0.0, abs=1e-9)
