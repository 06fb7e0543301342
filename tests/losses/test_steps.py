"""Step sizes and their sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.errors import InputError
from pairgossip.losses import check_steps, constant, inverse_sqrt, power, step_sum, steps


def test_values_by_hand() -> None:
    assert constant(0.5)(7) == 0.5
    assert inverse_sqrt(3.0)(9) == 1.0
    assert power(2.0, 0.75)(16.0) == 0.25
    np.testing.assert_array_equal(inverse_sqrt(1.0)(np.array([1.0, 4.0, 16.0])), [1, 0.5, 0.25])
    assert isinstance(inverse_sqrt(1.0)(2), float)


@pytest.mark.parametrize("step", [constant(0.3), inverse_sqrt(0.3), power(0.3, 0.9)])
def test_time_zero_counts_as_one(step: Any) -> None:
    assert step(0) == step(0.5) == step(1) == 0.3
    check_steps(step, 10**6)


@settings(deadline=None, max_examples=60)
@given(horizon=st.integers(1, 400), exponent=st.floats(0, 0.99), scale=st.floats(1e-6, 1e6))
def test_sums_are_sums(horizon: int, exponent: float, scale: float) -> None:
    step = power(scale, exponent)
    exact = math.fsum([step(1), *(step(t) for t in range(1, horizon))])
    assert step_sum(step, horizon) == pytest.approx(exact, rel=1e-14)
    assert step_sum(lambda t: step(t), horizon) == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize("exponent", [0.0, 0.1, 0.5, 0.95])
def test_long_sums_are_exact(exponent: float, monkeypatch: pytest.MonkeyPatch) -> None:
    step, horizon = power(1.0, exponent), 3_000_000
    quick = step_sum(step, horizon)
    monkeypatch.setattr(steps, "_DIRECT_TERMS", horizon)
    assert quick == pytest.approx(step_sum(step, horizon), rel=1e-14)


@pytest.mark.parametrize(
    "step",
    [
        lambda t: 0.1 / t**0.3,
        lambda t: 0.1,
        lambda t: 0.1 if t < 10 else 0.05,
        lambda t: 0.1 / math.sqrt(t),
    ],
)
def test_users_functions_may_take_arrays_or_not(step: Any) -> None:
    check_steps(step, 10**5)
    exact = step(1) + math.fsum(step(t) for t in range(1, 100))
    assert step_sum(step, 100) == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (
            lambda t: 1e-3 * t,
            "The step size grows from 0.001 at t = 1 to 0.002 at t = 2: it must never increase.",
        ),
        (
            lambda t: 1.0 - t,
            "The step size at t = 1 is 0: every step size must be a finite number > 0.",
        ),
        (
            lambda t: np.where(t < 500, 1.0, np.nan),
            "is nan: every step size must be a finite number > 0.",
        ),
        (
            lambda t: np.where(t < 5e5, 1.0, 2.0),
            "it must never increase.",
        ),
        (
            0.1,
            "A step size is a function of time, such as steps.inverse_sqrt(1e-3), but got float: "
            "steps.constant makes one of a number.",
        ),
        (
            lambda t: "large",
            "The step size failed at t = 1: it must take a time and return one number.",
        ),
    ],
)
def test_wrong_steps_get_a_sentence(step: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        check_steps(step, 10**6)
    assert str(caught.value).endswith(sentence)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: constant(0.0), "The step size starts at 0.0: give a finite number > 0."),
        (lambda: inverse_sqrt(-1.0), "The step size starts at -1.0: give a finite number > 0."),
        (lambda: constant(math.nan), "The step size starts at nan: give a finite number > 0."),
        (lambda: power(1.0, 1.0), "The step size's exponent is 1.0: give a number from 0 to"),
        (lambda: power(1.0, -0.5), "The step size's exponent is -0.5: give a number from 0 to"),
        (lambda: step_sum(constant(1.0), 0), "The horizon of a sum of step sizes is 0: give one"),
    ],
)
def test_what_is_no_step_size_is_refused(build: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert str(caught.value).startswith(sentence)
