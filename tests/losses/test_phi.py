"""Functions of the margin."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.errors import InputError
from pairgossip.losses import MARGINS, Phi, margin
from tests.losses.reference import PHIS

NAMES = tuple(MARGINS)


@pytest.mark.parametrize("name", NAMES)
def test_values_follow_the_formulas(name: str) -> None:
    u = np.concatenate((np.linspace(-60, 60, 2401), [0.0, 1.0, 1e-300, -1e-300]))
    exact = PHIS[name](u.astype(np.longdouble))
    np.testing.assert_allclose(margin(name).value(u), exact.astype(float), rtol=3e-15, atol=1e-300)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=40)
@given(u=st.floats(-50, 50))
def test_derivatives_are_slopes(name: str, u: float) -> None:
    phi, step = margin(name), 1e-5
    at = np.array([u - step, u + step])
    slope = np.diff(phi.value(at))[0] / (2 * step)
    around = phi.derivative(np.array([u - step, u, u + step]))
    # Convex: the slope over an interval lies between the derivatives at its ends.
    assert around[0] - 1e-6 <= slope <= around[2] + 1e-6
    assert around[0] <= around[1] <= around[2] <= 0


@pytest.mark.parametrize("name", NAMES)
def test_extreme_margins_raise_no_warning(name: str) -> None:
    phi, u = margin(name), np.array([-1e308, -1e5, 1e5, 1e308])
    values, slopes = phi.value(u), phi.derivative(u)
    assert not np.isnan(values).any() and not np.isnan(slopes).any()
    np.testing.assert_array_equal(values[2:], 0.0)
    np.testing.assert_array_equal(slopes[2:], 0.0)
    if name != "squared-hinge":
        np.testing.assert_allclose(values[:2], -u[:2], rtol=2e-5)
        np.testing.assert_array_equal(slopes[:2], -1.0)
    else:
        assert values[0] == math.inf


@pytest.mark.parametrize("name", NAMES)
def test_slopes_come_close_to_their_bound_and_never_pass_it(name: str) -> None:
    phi = margin(name)
    steepest = np.abs(phi.derivative(-np.geomspace(1e-3, 1e300, 200))).max()
    assert steepest <= phi.slope_bound
    assert steepest > 1e300 if math.isinf(phi.slope_bound) else steepest == phi.slope_bound


def test_the_kink_of_the_hinge_has_slope_zero() -> None:
    at = np.array([np.nextafter(1.0, 0.0), 1.0, np.nextafter(1.0, 2.0)])
    np.testing.assert_array_equal(margin("hinge").derivative(at), [-1.0, 0.0, 0.0])


def test_codes_are_fixed() -> None:
    codes = {name: int(phi.code) for name, phi in MARGINS.items()}
    assert codes == {"logistic": 0, "hinge": 1, "squared-hinge": 2, "smoothed-hinge": 3}
    assert margin("Squared hinge").code is Phi.SQUARED_HINGE
    assert pickle.loads(pickle.dumps(margin("hinge"))) == margin("hinge")


@pytest.mark.parametrize(
    ("phi", "sentence"),
    [
        ("logistik", "Unknown phi 'logistik': did you mean 'logistic'?"),
        (
            3,
            "phi is the name of a function of the margin, such as 'logistic', but got int.",
        ),
    ],
)
def test_unknown_functions_are_named(phi: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        margin(phi)
    assert str(caught.value) == sentence


def test_a_code_stands_for_its_function() -> None:
    hinge = MARGINS["hinge"]
    assert margin(replace(hinge, name="mine")).name == "mine"
    wrongs: list[dict[str, Any]] = [{"value": np.exp}, {"derivative": np.exp}]
    for wrong in wrongs:
        with pytest.raises(InputError, match="has the code of 'hinge' but other values"):
            margin(replace(hinge, **wrong))
