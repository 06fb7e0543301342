"""Variance and bias: against enumeration over all reports, formulas and Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.privacy import (
    RandomizedResponse,
    binning_bias,
    binning_bound,
    conditional_variance,
    standard_error,
)
from pairgossip.privacy.debiased import debias
from pairgossip.privacy.moments import (
    choose_scale,
    covariances,
    laws_of,
    means,
    relative_noise,
    rows_for_interval,
)
from tests.privacy.cases import CASES, Case, many_reports
from tests.privacy.enumeration import moments, report_laws
from tests.privacy.test_debiased import components, truth


@pytest.mark.parametrize("target", ["u", "v"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_covariances_against_all_reports(case: Case, target: str) -> None:
    debiased = case.mechanism.debiased(case.kernel)
    laws = laws_of(case.mechanism, case.data)
    mean, covariance = moments(
        report_laws(case.mechanism, case.data), lambda flat: components(debiased, flat, target)
    )
    assert means(debiased, laws, target) == pytest.approx(mean, abs=1e-12)
    assert covariances(debiased, laws, target) == pytest.approx(covariance, abs=1e-11)
    if debiased.components == 1:
        found = conditional_variance(case.mechanism, case.data, case.kernel, target)
        assert found == pytest.approx(covariance[0, 0], abs=1e-11)
        error = standard_error(case.mechanism, case.data, case.kernel, target)
        assert error == pytest.approx(np.sqrt(covariance[0, 0]))


def test_ratios_by_the_delta_method() -> None:
    random = np.random.default_rng(7)
    n, trials = 2000, 1000
    scores = random.random(n)
    data = np.column_stack((scores, (random.random(n) < scores).astype(float)))
    mechanism = RandomizedResponse(2.0, 4, (0, 1), classes=(0, 1))
    debiased = mechanism.debiased("auc")
    drawn = many_reports(mechanism, data, trials, random)
    found = np.array([debiased.statistic(reports) for reports in drawn])
    predicted = standard_error(mechanism, data, "auc")
    # The relative spread of an estimated standard error is 1/sqrt(2 trials).
    assert found.std() == pytest.approx(predicted, rel=4 / np.sqrt(2 * trials))
    center = float(pg.exact(data, "auc", "u")) + binning_bias(mechanism, data, "auc")
    assert abs(found.mean() - center) < 4 * predicted / np.sqrt(trials) + predicted**2


@pytest.mark.parametrize("target", ["u", "v"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_binning_bias_is_cells_minus_raw(case: Case, target: str) -> None:
    debiased = case.mechanism.debiased(case.kernel)
    cells = float(debiased.combine(truth(debiased, case.data, target)))
    raw = pg.exact(case.data, case.kernel, target)
    found = binning_bias(case.mechanism, case.data, case.kernel, target)
    assert found == pytest.approx(cells - raw, abs=1e-12)


def test_rounding_is_unbiased_for_affine_kernels_and_binning_is_not() -> None:
    data = np.random.default_rng(1).random(50)

    def product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return first * second + 2 * first

    rounded = RandomizedResponse(1.0, 4, (0, 1), rounding="stochastic")
    binned = RandomizedResponse(1.0, 4, (0, 1))
    assert binning_bias(rounded, data, product) == pytest.approx(0, abs=1e-12)
    assert abs(binning_bias(binned, data, product)) > 1e-4


@pytest.mark.parametrize("rounding", ["bins", "stochastic"])
@pytest.mark.parametrize("bins", [2, 5, 16])
def test_the_bias_is_within_its_bound(rounding: str, bins: int) -> None:
    random = np.random.default_rng(bins)
    one = RandomizedResponse(1.0, bins, (-1, 3), rounding=rounding)
    step = 4 / bins if rounding == "bins" else 2 * 4 / (bins - 1)
    assert binning_bound(one, 1.0) == pytest.approx(step)
    two = RandomizedResponse(1.0, bins, ((-1, 3), (0, 1)), rounding=rounding)
    for _ in range(20):
        data = np.column_stack((random.uniform(-1, 3, 6), random.random(6)))
        assert abs(binning_bias(one, data[:, 0], "gini")) <= binning_bound(one)
        assert abs(binning_bias(two, data, "distance", "v")) <= binning_bound(two)


def test_refusals() -> None:
    mechanism = RandomizedResponse(1.0, 4, (0, 1))
    with pytest.raises(pg.InputError, match="needs at least 2 observations"):
        conditional_variance(mechanism, [0.5], "gini")
    with pytest.raises(pg.InputError, match=r"outside \[0, 1\]"):
        conditional_variance(mechanism, [0.5, 1.5], "gini")
    with pytest.raises(pg.InputError, match="Lipschitz constant is -1"):
        binning_bound(mechanism, -1)
    rounded = RandomizedResponse(1.0, 2048, (0, 1), rounding="stochastic")
    with pytest.raises(pg.InputError, match="give a sample of the rows"):
        conditional_variance(rounded, np.linspace(0, 1, 40_000), "gini")


def test_the_noise_of_reports_is_that_of_the_shares_they_tell() -> None:
    """It is the sum of the variances of all cells' shares, by drawn reports of known cells."""
    mechanism = RandomizedResponse(1.5, bins=3, range=(0, 3), classes=(0, 1), together=False)
    rng, n = np.random.default_rng(3), 50
    rows = np.column_stack([rng.random(n) * 3, rng.integers(2, size=n)])
    marks = debias(mechanism, np.eye(mechanism.cells), 0)
    reports = [mechanism.flat(mechanism.randomize(rows, rng)) for _ in range(4000)]
    told = np.array([marks[one].mean(axis=0) for one in reports])
    assert relative_noise(mechanism, n) == pytest.approx(np.sqrt(told.var(axis=0).sum()), rel=0.05)
    least = rows_for_interval(mechanism)
    assert relative_noise(mechanism, least) <= 0.125 < relative_noise(mechanism, least - 1)


@pytest.mark.filterwarnings("ignore::pairgossip.errors.NotEnough")
def test_noisy_reports_have_plain_intervals_or_none() -> None:
    mechanism = RandomizedResponse(1.0, bins=8, range=(0, 1))
    least = rows_for_interval(mechanism)
    assert choose_scale(mechanism, least, "log") == "plain"
    assert choose_scale(mechanism, 1000 * least, "log") == "log"
    rows = np.random.default_rng(0).random(200)
    with pytest.raises(InputError, match=f"from 200 rows, which takes {least:,}: give more rows"):
        pg.estimate(rows, "gini", "complete", privacy=mechanism, interval=0.95, iterations=10)
    clear = RandomizedResponse(3.0, bins=8, range=(0, 1))
    run = pg.estimate(
        rows, "gini", "complete", privacy=clear, interval=0.95, iterations=2000, seed=0
    )
    assert run.interval_scale == "plain"
