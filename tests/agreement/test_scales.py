"""Scales there and back, and half a row where there is no error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pairgossip.agreement.scales import center, go_back, place, place_as_share
from pairgossip.kernels.kernel import Scale


@pytest.mark.parametrize("scale", ["plain", "log", "logit", "fisher"])
@pytest.mark.parametrize("value", [0.03, 0.5, 0.94])
def test_scales_there_and_back(scale: Scale, value: float) -> None:
    y, v = place(value, 0.01, scale)
    assert go_back(scale, np.array([y]))[0] == pytest.approx(value, rel=1e-12)
    slope = (place(value + 1e-6, 0.01, scale)[0] - place(value - 1e-6, 0.01, scale)[0]) / 2e-6
    assert v == pytest.approx((0.01 * slope) ** 2, rel=1e-6)


@pytest.mark.parametrize(
    ("value", "error", "scale"),
    [
        (1.0, 0.1, "logit"),
        (0.0, 0.1, "logit"),
        (0.0, 0.1, "log"),
        (-1.0, 0.1, "log"),
        (1.0, 0.1, "fisher"),
        (0.5, 0.0, "logit"),
        (0.5, math.nan, "plain"),
        (math.nan, 0.1, "plain"),
    ],
)
def test_no_place(value: float, error: float, scale: Scale) -> None:
    assert all(map(math.isnan, place(value, error, scale)))


def test_far_ends_do_not_overflow() -> None:
    far = np.array([-1e4, 1e4])
    assert go_back("logit", far).tolist() == [0, 1]
    assert go_back("fisher", far).tolist() == [-1, 1]
    assert go_back("log", far).tolist() == [0, math.inf]


def test_half_a_row() -> None:
    y, v = place_as_share(1.0, 20)
    assert (y, v) == (math.log(41), 1 / 20.5 + 2)
    assert place_as_share(0.0, 20)[0] == -y
    assert place_as_share(0.5, 3)[0] == 0


def test_a_centered_logit_has_little_bias() -> None:
    """The plain logit of shares of 40 rows with a true share of 0.85 is too large on average."""
    shares = np.random.default_rng(0).binomial(40, 0.85, 4000) / 40
    shares = shares[shares < 1]
    truth = math.log(0.85 / 0.15)
    plain = np.log(shares / (1 - shares)).mean() - truth
    errors = np.sqrt(shares * (1 - shares) / 40)
    centered = np.mean([center(a, e)[0] for a, e in zip(shares, errors, strict=True)]) - truth
    assert plain > 0.05 and abs(centered) < 0.01


def test_a_centered_logit_of_many_rows_is_the_logit() -> None:
    assert center(0.8, 1e-4) == pytest.approx(place(0.8, 1e-4, "logit"), rel=1e-5)
