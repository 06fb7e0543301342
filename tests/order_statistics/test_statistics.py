"""Statistics of order equal those of numpy and scipy, with ties; weights count rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.inference.answer import Answer

Ask = Callable[..., Any]
SAMPLES = {
    "normal": np.random.default_rng(0).normal(size=101),
    "tied": np.random.default_rng(1).integers(0, 9, 80).astype(float),
    "cauchy": np.random.default_rng(2).standard_cauchy(60),
    "few": np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6]),
}
COUNTS = np.random.default_rng(3).integers(1, 5, 101)

samples = pytest.mark.parametrize("x", SAMPLES.values(), ids=SAMPLES)
statistics = pytest.mark.parametrize(
    "statistic",
    [
        lambda x, **how: pg.quantile(x, 0.3, **how),
        lambda x, **how: pg.trimmed_mean(x, 0.2, **how),
        lambda x, **how: pg.winsorized_mean(x, 0.2, **how),
        pg.hodges_lehmann,
    ],
    ids=["quantile", "trimmed", "winsorized", "hodges-lehmann"],
)


def walsh_averages(x: FloatArray) -> FloatArray:
    return np.sort([(a + b) / 2 for i, a in enumerate(x) for b in x[i:]])


@samples
@pytest.mark.parametrize("share", [0.01, 0.25, 0.5, 0.9])
def test_quantiles_are_those_of_numpy(x: FloatArray, share: float) -> None:
    assert pg.quantile(x, share) == pytest.approx(np.quantile(x, share), rel=1e-12)


@samples
def test_the_interval_of_a_median_lies_between_order_statistics(x: FloatArray) -> None:
    answer = pg.quantile(x, 0.5)
    assert isinstance(answer, Answer)
    n, inside = len(x), np.sort(x)
    # By exact binomial probabilities, the ends lie next to these rows.
    low, high = (int(stats.binom.ppf(end, n, 0.5)) for end in (0.025, 0.975))
    assert inside[max(low - 2, 0)] <= answer.low <= inside[low]
    assert inside[high - 1] <= answer.high <= inside[min(high + 1, n - 1)]


@samples
@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.49])
def test_trimmed_means_are_those_of_scipy(x: FloatArray, share: float) -> None:
    trimmed = pg.trimmed_mean(x, share, interval=None)
    assert trimmed == pytest.approx(stats.trim_mean(x, share), rel=1e-12)
    moved = stats.mstats.winsorize(x, limits=(share, share))
    winsorized = pg.winsorized_mean(x, share, interval=None)
    assert winsorized == pytest.approx(float(moved.mean()), rel=1e-12)


@samples
def test_the_error_of_a_trimmed_mean_is_yuens(x: FloatArray) -> None:
    """The one-sample part of Yuen's test, which scipy has for two samples."""
    answer = pg.trimmed_mean(x, 0.2)
    # Against a huge sample without spread, only the first sample's error remains.
    test = stats.ttest_ind(x, np.zeros(10**6), equal_var=False, trim=0.2)
    assert isinstance(answer, Answer)
    assert answer.value / answer.error == pytest.approx(test.statistic, rel=1e-9)
    left = len(x) - 2 * int(0.2 * len(x))
    wide = stats.t.ppf(0.975, left - 1)
    assert answer.high - answer.value == pytest.approx(wide * answer.error, rel=1e-6)


@samples
def test_the_error_of_a_winsorized_mean_is_that_of_its_influence(x: FloatArray) -> None:
    """Each row's influence counts moved rows, and how it moves both quantiles and all cut rows."""
    answer, n, ordered = pg.winsorized_mean(x, 0.2), len(x), np.sort(x)
    cut = int(0.2 * n)
    low, high = ordered[cut], ordered[n - 1 - cut]
    share = (cut + 0.5) / n
    reach = stats.norm.ppf(0.975) * math.sqrt(n * share * (1 - share))
    rates = []  # one over the density, at either quantile
    for middle in (cut, n - 1 - cut):
        indices = np.clip([middle - reach, middle + reach], 0, n - 1)
        ends = np.interp(indices, np.arange(n), ordered)
        rates.append(n * (ends[1] - ends[0]) / (indices[1] - indices[0]))
    added = np.clip(ordered, low, high) - answer.value
    added += cut / n * rates[0] * (cut / n - (np.arange(n) < cut))
    added += cut / n * rates[1] * ((np.arange(n) >= n - cut) - cut / n)
    assert added.sum() == pytest.approx(0.0, abs=1e-9 * np.abs(added).max())
    assert answer.error == pytest.approx(math.sqrt(added @ added / (n * (n - 1))), rel=1e-9)


@statistics
@pytest.mark.parametrize("power", [-664, -330, 330, 664])
def test_statistics_scale_with_the_rows(statistic: Ask, power: int) -> None:
    """They scale exactly with powers of two, from 1e-200 to 1e200; with others, up to rounding."""
    x = np.r_[SAMPLES["cauchy"], SAMPLES["tied"]]
    for factor, tolerance in ((2.0**power, 0.0), (0.7 * 2.0**power, 1e-13)):
        answer, scaled = statistic(x), statistic(factor * x)
        for name in ("value", "error", "low", "high"):
            expected = factor * getattr(answer, name)
            assert getattr(scaled, name) == pytest.approx(expected, rel=tolerance, abs=0)


@pytest.mark.parametrize("mean", [pg.trimmed_mean, pg.winsorized_mean])
def test_rows_that_are_cut_take_no_digits(mean: Ask) -> None:
    x = SAMPLES["normal"]
    cut = np.argsort(x)[:5]
    moved = x.copy()
    moved[cut] = -1e250 * np.arange(1, 6)
    before, after = mean(x, 0.2), mean(moved, 0.2)
    assert after.value == before.value
    assert after.error == pytest.approx(before.error, rel=1e-12)


@samples
def test_hodges_lehmann_is_the_median_of_all_means(x: FloatArray) -> None:
    means, answer = walsh_averages(x), pg.hodges_lehmann(x)
    assert answer == pytest.approx(np.median(means), rel=1e-12, abs=1e-12)
    n = len(x)
    if n > 6:
        spread = 1.959964 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        first = round(len(means) / 2 - 0.5 - spread)
        assert answer.low == pytest.approx(means[first], abs=1e-12)
        assert answer.high == pytest.approx(means[-1 - first], abs=1e-12)
        assert answer.low < answer < answer.high


def test_an_outlier_takes_no_digits() -> None:
    x = np.r_[SAMPLES["normal"], 1e30]
    means, labels = walsh_averages(x), np.arange(len(x)) % 2
    assert pg.hodges_lehmann(x) == pytest.approx(np.median(means), rel=1e-12)
    differences = np.subtract.outer(x[labels == 1], x[labels == 0])
    assert pg.hodges_lehmann(x, labels=labels) == pytest.approx(np.median(differences), rel=1e-12)


def test_no_shift_in_the_interval_is_rejected_by_the_test() -> None:
    """Ends of the interval are where Mann and Whitney's p crosses 5 %."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=40), rng.normal(0.7, 2.0, 30)
    labels = np.r_[np.zeros(40), np.ones(30)]
    answer = pg.hodges_lehmann(np.r_[x, y], labels=labels)
    differences = np.subtract.outer(y, x)
    assert answer == pytest.approx(np.median(differences), rel=1e-12)
    for end, inward in ((answer.low, 1), (answer.high, -1)):
        for step, rejected in ((-1e-2, True), (1e-2, False)):
            moved = y - (end + inward * step)
            p = stats.mannwhitneyu(moved, x, use_continuity=False, method="asymptotic").pvalue
            assert (p < 0.05) == rejected


@samples
def test_ranks_are_those_of_scipy(x: FloatArray) -> None:
    assert pg.ranks(x).tolist() == stats.rankdata(x).tolist()


@samples
@statistics
def test_weights_count_rows(x: FloatArray, statistic: Ask) -> None:
    counts = COUNTS[: len(x)]
    weighted, repeated = statistic(x, weights=counts), statistic(np.repeat(x, counts))
    for name in ("value", "error", "low", "high"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=1e-12)


@samples
@statistics
def test_weights_that_are_not_whole_count_by_their_proportions(
    x: FloatArray, statistic: Ask
) -> None:
    alone = statistic(x, interval=None)
    for share in (1 / len(x), 0.3, 12.3):
        weights = np.full(len(x), share)
        found = statistic(x, weights=weights, interval=None)
        assert found == pytest.approx(alone, rel=1e-9)
        with pytest.raises(pg.InputError, match="not frequencies of rows"):
            statistic(x, weights=weights)


def test_ranks_count_weights() -> None:
    x, counts = SAMPLES["tied"], COUNTS[:80]
    repeated = stats.rankdata(np.repeat(x, counts))[np.cumsum(counts) - 1]
    assert pg.ranks(x, weights=counts) == pytest.approx(repeated)


def test_a_quantile_without_rows_beyond_has_no_bound() -> None:
    answer = pg.quantile(np.arange(50.0), 0.99)
    assert answer.high == math.inf
    assert answer.low < answer < 49
    assert math.isfinite(answer.error)


def half() -> Any:
    return "half"


@statistics
@pytest.mark.parametrize(
    ("x", "sentence"),
    [
        ([1.0, 2.0, math.nan], r"missing in x \(row 2\)"),
        ([1.0, 2.0, math.inf], "NaN or infinite values in row 2"),
        ([4.0] * 9, "All rows are 4, which says nothing"),
        ([1.0], "row"),
        ([[1.0, 2.0], [3.0, 4.0]], "one number per row, but x has 2 columns"),
        ([], "empty"),
    ],
)
def test_bad_rows_are_refused(statistic: Ask, x: list[float], sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        statistic(x)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: pg.quantile([1, 2, 3], 0), "must lie between 0 and 1"),
        (lambda: pg.quantile([1, 2, 3], 1.5), "between 0 and 1"),
        (lambda: pg.quantile([1, 2, 3], half()), "between 0 and 1, not 'half'"),
        (lambda: pg.trimmed_mean([1, 2, 3], 0.5), "leaves none: give a share below 0.5"),
        (lambda: pg.winsorized_mean([1, 2, 3], -0.1), "between 0 and 0.5"),
        (lambda: pg.trimmed_mean([1, 2, 3, 4, 9], 0.45), "leaves 1, which is too few"),
        (lambda: pg.trimmed_mean([1, 2, 3, 4, 9], 0.45, weights=[1, 1.5, 1, 1, 1]), "leaves 1, "),
        (lambda: pg.trimmed_mean([0, 1, 1, 1, 1, 7], 0.2), "at either end are 1, which gives"),
        (lambda: pg.winsorized_mean([0, 1, 1, 1, 1, 7], 0.2), "cut less, or give interval=None"),
        (lambda: pg.quantile([1, 2, 3], interval=95), "between 0 and 1"),
        (lambda: pg.hodges_lehmann([1, 2, 3], labels=[1, 1, 1]), "needs two classes"),
        (lambda: pg.hodges_lehmann([1, 2, 3], labels=[1, 2, 3]), "needs two classes"),
        (lambda: pg.quantile([1, 2, 3], weights=[1, 1]), "give one weight per row"),
        (lambda: pg.quantile([1, 2, 3], weights=[1, 1.5, 1]), "not frequencies of rows"),
        (lambda: pg.quantile([1, 2, 3], weights=[1, 0, 1]), "must be positive, but row 1"),
    ],
)
def test_bad_arguments_are_refused(call: Ask, sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        call()


def test_the_error_of_an_open_interval_is_not_cut_short() -> None:
    x = np.random.default_rng(0).random((500, 200))
    found = [pg.quantile(row, 0.995) for row in x]
    assert all(answer.high == np.inf for answer in found)
    spread = np.std([answer.value for answer in found])
    assert 0.65 * spread < np.mean([answer.error for answer in found]) < 1.2 * spread
