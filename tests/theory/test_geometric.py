from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairgossip.theory.expectation import geometric_sum

ratios = st.floats(-1, 1, allow_subnormal=False).filter(lambda r: r == 0 or abs(r) > 1e-3)


def exact_sum(a: float, b: float, terms: int) -> float:
    x, y = Fraction(a), Fraction(b)
    return float(sum(x ** (terms - 1 - s) * y**s for s in range(terms)))


@given(a=ratios, b=ratios, terms=st.integers(1, 60))
def test_equals_rational_arithmetic(a: float, b: float, terms: int) -> None:
    got = geometric_sum(np.array([a]), np.array([b]), terms)[0]
    size = sum(abs(a) ** (terms - 1 - s) * abs(b) ** s for s in range(terms))
    assert got == pytest.approx(exact_sum(a, b, terms), rel=1e-12, abs=1e-13 * size)


@given(a=st.floats(0.1, 1), offset=st.floats(-1e-6, 1e-6), terms=st.integers(1, 60))
def test_nearly_equal_ratios_lose_no_digits(a: float, offset: float, terms: int) -> None:
    b = min(a + offset, 1.0)
    got = geometric_sum(np.array([a]), np.array([b]), terms)[0]
    assert got == pytest.approx(exact_sum(a, b, terms), rel=1e-13)


def test_many_terms_of_equal_ratios() -> None:
    got = geometric_sum(np.ones((1, 2)), np.array([[1.0], [0.5]]), 10**9)
    np.testing.assert_allclose(got, [[1e9, 1e9], [2.0, 2.0]], rtol=1e-15)
