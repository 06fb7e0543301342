"""Axes: ranges, ticks and their labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairgossip.errors import InputError
from pairgossip.pictures.scales import Scale, fit_scale, label_ticks, linear_ticks

inf, nan = np.inf, np.nan
SIZES = st.floats(-1e12, 1e12)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0, 1, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (-0.04, 1.04, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.6, 0.9, ["0.60", "0.65", "0.70", "0.75", "0.80", "0.85", "0.90"]),
        (-2, 2, ["\u22122", "\u22121", "0", "1", "2"]),
        (0, 365, ["0", "100", "200", "300"]),
        (0, 50_000, ["0", "10,000", "20,000", "30,000", "40,000", "50,000"]),
        (0, 4e8, ["0", "1e8", "2e8", "3e8", "4e8"]),
        (1e-9, 3e-9, ["1e\u22129", "1.5e\u22129", "2e\u22129", "2.5e\u22129", "3e\u22129"]),
        (1e9, 1e9 + 2000, ["1e9", "1.0000005e9", "1.000001e9", "1.0000015e9", "1.000002e9"]),
    ],
)
def test_ticks_are_nice_numbers(low: float, high: float, labels: list[str]) -> None:
    assert label_ticks(linear_ticks(low, high)) == labels


@given(SIZES, SIZES)
def test_ticks_are_few_and_inside_and_their_labels_tell_them_apart(a: float, b: float) -> None:
    scale = fit_scale("x", None, np.array([a, b]))
    ticks = scale.ticks(6)
    slack = 1e-8 * (scale.high - scale.low)
    assert 1 <= len(ticks) <= 7
    assert (ticks >= scale.low - slack).all() and (ticks <= scale.high + slack).all()
    labels = label_ticks(ticks)
    assert len({*labels}) == len(ticks)
    read = [float(label.replace(",", "").replace("\N{MINUS SIGN}", "-")) for label in labels]
    assert np.abs(np.array(read) - ticks).max() <= 0.01 * (scale.high - scale.low)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.1, 10, ["0.1", "0.2", "0.5", "1", "2", "5", "10"]),
        (0.05, 20, ["0.1", "0.3", "1", "3", "10"]),
        (1, 1e4, ["1", "10", "100", "1,000", "10,000"]),
        (1.01, 1.05, ["1.01", "1.02", "1.03", "1.04", "1.05"]),
        (1e-12, 1e12, ["1e\u221212", "1e\u22127", "1e\u22122", "1e3", "1e8"]),
    ],
)
def test_ticks_of_logarithmic_axes(low: float, high: float, labels: list[str]) -> None:
    assert label_ticks(Scale(low, high, True).ticks(6)) == labels


def test_values_lie_where_they_should() -> None:
    values = np.array([-inf, 0.0, 5.0, inf, nan, 20.0])
    np.testing.assert_allclose(Scale(0, 10).place(values), [0, 0, 0.5, 1, nan, 2])
    np.testing.assert_allclose(Scale(10, 0).place(values), [1, 1, 0.5, 0, nan, -1])
    ratios = np.array([-1.0, 0.0, 1.0, 10.0, inf])
    np.testing.assert_allclose(Scale(0.1, 10, True).place(ratios), [nan, 0, 0.5, 1, 1])


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize(
    "values",
    [
        [],
        [nan, inf],
        [3.0],
        [3.0, 3.0],
        [0.0, -0.0],
        [-1e308, 1e308],
        [0.0, 5e-324],
        [1e9, 1e9 + 1e-6],
        [1e-300, 1e300],
    ],
)
def test_any_values_have_an_axis_with_ticks(values: list[float], is_log: bool) -> None:
    given_values = np.array(values)
    scale = fit_scale("x", None, given_values, is_log)
    assert np.isfinite(scale[:2]).all() and scale.low < scale.high
    assert len(label_ticks(scale.ticks(6))) >= 2
    shown = given_values[np.isfinite(given_values) & ((given_values > 0) | (not is_log))]
    places = scale.place(shown)
    assert ((places >= 0) & (places <= 1)).all()


@pytest.mark.parametrize(
    ("ends", "is_log", "sentence"),
    [
        ((1, 1), False, "The range of x must be two different numbers, not (1, 1)."),
        ((0, inf), False, "The range of x must be two different numbers, not (0, inf)."),
        (
            (0, 1),
            True,
            "The range of x must be above 0 on a logarithmic axis, not (0, 1).",
        ),
    ],
)
def test_ranges_that_are_none(ends: tuple[float, float], is_log: bool, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        fit_scale("x", ends, np.zeros(0), is_log)
    assert str(refused.value) == sentence
