"""Formulas of random effects, against statsmodels and formulas written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects

from pairgossip.agreement.pooling import METHODS, pool_by_errors, pool_equally
from pairgossip.arrays import FloatArray


def draw(seed: int, n: int, tau: float) -> tuple[FloatArray, FloatArray]:
    random = np.random.default_rng(seed)
    v = random.uniform(0.01, 0.3, n)
    return random.normal(1, np.sqrt(v + tau * tau)), v


@pytest.mark.parametrize("tau", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("n", [2, 3, 6, 40])
def test_weighted_means_are_those_of_statsmodels(n: int, tau: float) -> None:
    for seed in range(5):
        y, v = draw(seed, n, tau)
        found = pool_by_errors(y, v)
        with np.errstate(invalid="ignore"):
            known = combine_effects(y, v, method_re="dl", use_t=True)
        # statsmodels goes on with a negative tau^2; at 0 effects are fixed.
        kind = "re" if known.tau2 > 0 else "fe"
        mean = getattr(known, f"mean_effect_{kind}")
        error = getattr(known, f"sd_eff_w_{kind}_hksj")
        assert found.mean == pytest.approx(mean, rel=1e-12)
        assert found.error == pytest.approx(error, rel=1e-9)
        assert found.weights == pytest.approx(getattr(known, f"weights_rel_{kind}"), rel=1e-9)
        assert found.tau**2 == pytest.approx(max(known.tau2, 0), abs=1e-12)
        assert found.i_squared == pytest.approx(max(known.i2, 0), abs=1e-12)
        assert found.q == pytest.approx(known.q, rel=1e-9)
        assert found.q_p == pytest.approx(stats.chi2.sf(known.q, n - 1), rel=1e-9)
        ends = mean + error * stats.t.ppf([0.05, 0.95], n - 1)
        assert found.interval(0.9) == pytest.approx(ends, rel=1e-9)


def test_tau_is_cut_off_and_not() -> None:
    """The cases above have both, so that each can be tested."""
    taus = [pool_by_errors(*draw(seed, 6, 0.2)).tau for seed in range(5)]
    assert min(taus) == 0 < max(taus)


def test_equal_weights_by_hand() -> None:
    y, v = np.array([0.0, 1.0, 2.0, 5.0]), np.array([0.5, 0.5, 1.0, 2.0])
    found = pool_equally(y, v)
    assert found.mean == 2 and found.weights.tolist() == [0.25] * 4
    assert found.tau**2 == pytest.approx(14 / 3 - 1)
    assert found.i_squared == pytest.approx(1 - 3 / 14)
    half = stats.t.ppf(0.975, 3) * math.sqrt(14 / 3 / 4)
    assert found.interval(0.95) == pytest.approx((2 - half, 2 + half))
    new = stats.t.ppf(0.975, 2) * math.sqrt(14 / 3 - 1 + 14 / 3 / 4)
    assert found.predict(0.95) == pytest.approx((2 - new, 2 + new))
    # Weights 2, 2, 1 and 1/2 have the mean 13/11.
    assert found.q == pytest.approx((2 * 13**2 + 2 * 2**2 + 9**2 + 42**2 / 2) / 121)


@pytest.mark.parametrize("method", METHODS)
def test_values_that_are_all_the_same(method: str) -> None:
    """Their spread suggests that the mean is certain; the sites' own errors do not."""
    found = METHODS[method](np.full(4, 1.5), np.full(4, 0.04))
    assert (found.mean, found.tau, found.i_squared, found.q_p) == (1.5, 0, 0, 1)
    assert found.error == pytest.approx(0.1)
    # Thirty logits of 0.875 have a mean that is off by rounding.
    many = METHODS[method](np.full(30, math.log(7)), np.full(30, 0.3))
    assert many.error == pytest.approx(0.1) and many.tau == 0


@pytest.mark.parametrize("method", METHODS)
def test_two_sites_predict_nothing(method: str) -> None:
    found = METHODS[method](np.array([1.0, 2.0]), np.array([0.1, 0.1]))
    assert all(map(math.isnan, found.predict(0.95)))
    assert math.isfinite(found.interval(0.95)[0])
