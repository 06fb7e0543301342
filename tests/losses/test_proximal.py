"""Proximal maps against scipy, formulas and the properties that define them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.losses import (
    L1,
    PSD,
    Ball,
    Box,
    Combined,
    Proximal,
    SquaredL2,
    Unconstrained,
    as_proximal,
)
from pairgossip.losses.proximal import _norms, _onto_ball, _onto_cone

ALL: dict[str, Proximal] = {
    "none": Unconstrained(),
    "ball": Ball(1.5),
    "l2": SquaredL2(0.3),
    "l2 ball": Combined(SquaredL2(0.3), Ball(0.7)),
    "l1": L1(0.2),
    "box": Box(-0.5, 1.0),
    "l1 ball": Combined(L1(0.2), Ball(0.7)),
    "l1 box": Combined(L1(0.2), Box(-0.5, 0.25)),
    "half line": Box(0.0, math.inf),
    "psd": PSD(),
    "psd ball": PSD(0.9),
    "l2 psd": Combined(SquaredL2(0.3), PSD(0.9)),
}
vectors = arrays(np.float64, 4, elements=st.floats(-20, 20))


def objective(prox: Proximal, theta: FloatArray, z: FloatArray, gamma: float, t: float) -> float:
    return float(z @ theta + theta @ theta / (2 * gamma) + t * prox.psi(theta))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "name", ["none", "ball", "l2", "l2 ball", "l1", "box", "l1 ball", "l1 box"]
)
def test_scipy_finds_the_same_minimum(name: str, seed: int) -> None:
    prox, rng = ALL[name], np.random.default_rng(seed)
    z, gamma, t = 2 * rng.normal(size=4), float(rng.uniform(0.1, 2)), float(rng.uniform(0.5, 5))
    l1 = prox.strength if isinstance(getattr(prox, "penalty", prox), L1) else 0.0
    l2 = prox.strength - l1

    # theta = p - q with p, q >= 0 makes the l1 norm smooth.
    def smooth(parts: FloatArray) -> float:
        theta = parts[:4] - parts[4:]
        quadratic = theta @ theta * (1 / (2 * gamma) + t * l2)
        return float(z @ theta + quadratic + t * l1 * parts.sum() + 1e-9 * (parts @ parts))

    limits: list[Any] = [
        {"type": "ineq", "fun": lambda p: min(prox.radius, 1e3) ** 2 - np.sum((p[:4] - p[4:]) ** 2)}
    ]
    bounds = [(0, min(prox.high, 1e3))] * 4 + [(0, min(-prox.low, 1e3))] * 4
    found = minimize(
        smooth, np.full(8, 0.1), bounds=bounds, constraints=limits, method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )  # fmt: skip
    np.testing.assert_allclose(prox.map(z, gamma, t), found.x[:4] - found.x[4:], atol=3e-5)


@pytest.mark.parametrize("name", sorted(ALL))
@settings(deadline=None, max_examples=25)
@given(z=vectors, other=vectors, gamma=st.floats(0.01, 10), t=st.floats(0, 10))
def test_no_model_does_better(
    name: str, z: FloatArray, other: FloatArray, gamma: float, t: float
) -> None:
    prox = ALL[name]
    best = prox.map(z, gamma, t)
    least = objective(prox, best, z, gamma, t)
    assert math.isfinite(least)
    rng = np.random.default_rng(0)
    for rival in (prox.project(other), np.zeros(4), *(best + 0.01 * rng.normal(size=(5, 4)))):
        # Projected again, since most directions leave a constraint.
        value = objective(prox, prox.project(rival), z, gamma, t)
        assert least <= value + 1e-9 * (1 + abs(value))


@pytest.mark.parametrize("name", sorted(ALL))
@settings(deadline=None, max_examples=25)
@given(z=vectors, other=vectors, gamma=st.floats(0.01, 10), t=st.floats(0, 10))
def test_maps_do_not_expand(
    name: str, z: FloatArray, other: FloatArray, gamma: float, t: float
) -> None:
    prox = ALL[name]
    moved = np.linalg.norm(prox.map(z, gamma, t) - prox.map(other, gamma, t))
    assert moved <= gamma * np.linalg.norm(z - other) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("name", sorted(ALL))
def test_many_models_at_once(name: str) -> None:
    prox, rng = ALL[name], np.random.default_rng(0)
    z, gamma, t = rng.normal(size=(2, 3, 4)), rng.uniform(0.1, 1, 3), rng.uniform(1, 9, (2, 3))
    together = prox.map(z, gamma, t)
    assert together.shape == z.shape
    for i in range(2):
        for k in range(3):
            np.testing.assert_allclose(together[i, k], prox.map(z[i, k], gamma[k], t[i, k]))
    assert prox.psi(together).shape == (2, 3)


def test_penalties_by_hand() -> None:
    theta = np.array([[3.0, -4.0], [0.0, 0.5]])
    np.testing.assert_allclose(L1(0.5).psi(theta), [3.5, 0.25])
    np.testing.assert_allclose(SquaredL2(2.0).psi(theta), [50.0, 0.5])
    np.testing.assert_array_equal(Ball(1.0).psi(theta), [np.inf, 0.0])
    np.testing.assert_array_equal(Box(-1.0, 5.0).psi(theta), [np.inf, 0.0])
    np.testing.assert_array_equal(Combined(L1(0.5), Ball(1.0)).psi(theta), [np.inf, 0.25])
    np.testing.assert_array_equal(PSD().psi(np.array([[1.0, 2, 2, 1], [2, 1, 1, 2]])), [np.inf, 0])


def test_numbers_for_compiled_code() -> None:
    assert {name for name in ALL if ALL[name].on_line} == {"none", "ball", "l2", "l2 ball"}
    both = as_proximal(Box(-0.5, 2.0), L1(0.25))
    assert (both.strength, both.radius, both.low, both.high) == (0.25, math.inf, -0.5, 2.0)
    assert (PSD().radius, PSD(2.0).radius) == (math.inf, 2.0)
    assert Ball(2.0) == Ball(2.0) != Ball(3.0)


def test_a_constraint_a_penalty_or_both() -> None:
    assert as_proximal() == Unconstrained()
    assert as_proximal(Ball(1.0)) == Ball(1.0)
    assert as_proximal(penalty=L1(1.0)) == L1(1.0)
    assert as_proximal(Ball(1.0), SquaredL2(2.0)) == Combined(SquaredL2(2.0), Ball(1.0))
    assert as_proximal(Unconstrained(), L1(1.0)) == L1(1.0)


RADIUS = "The radius of a constraint is {}: give a finite number > 0, or leave out the constraint."
STRENGTH = "The strength of a penalty is {}: give a finite number >= 0."
BOX = (
    "A box must contain 0, where every model starts, and more, but got {}: "
    "give low <= 0 <= high, not both 0."
)
PAIRS = "combine SquaredL2 or L1 with Ball, L1 with Box, or SquaredL2 with PSD."


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Ball(0.0), RADIUS.format(0.0)),
        (lambda: Ball(-1.0), RADIUS.format(-1.0)),
        (lambda: Ball(math.nan), RADIUS.format("nan")),
        (lambda: Ball(math.inf), RADIUS.format("inf")),
        (lambda: Ball(Fraction(1, 2)), RADIUS.format("1/2")),  # type: ignore[arg-type]
        (lambda: Ball(10**400), RADIUS.format(10**400)),
        (lambda: PSD(0.0), RADIUS.format(0.0)),
        (lambda: L1(-0.1), STRENGTH.format(-0.1)),
        (lambda: SquaredL2(math.nan), STRENGTH.format("nan")),
        (lambda: Box(0.5, 1.0), BOX.format("[0.5, 1.0]")),
        (lambda: Box(0.0, 0.0), BOX.format("[0.0, 0.0]")),
        (lambda: Box(math.nan, 1.0), BOX.format("[nan, 1.0]")),
        (
            lambda: as_proximal(Box(-1, 1), SquaredL2(1)),
            f"SquaredL2 with Box is not supported: {PAIRS}",
        ),
        (lambda: as_proximal(PSD(), L1(1)), f"L1 with PSD is not supported: {PAIRS}"),
        (lambda: as_proximal(3.0), "A constraint is one of Ball, Box, PSD or None, but got float."),
        (lambda: as_proximal(penalty=Ball(1.0)), "A penalty is one of L1, SquaredL2 or None"),
    ],
)
def test_what_makes_no_sense_is_refused(build: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert str(caught.value).startswith(sentence)


def test_norms_of_any_size() -> None:
    theta = np.array([[3e200, 4e200], [0.0, 0.0], [3e-5, -4e-5]])
    np.testing.assert_allclose(_norms(theta), [5e200, 0.0, 5e-5])
    np.testing.assert_allclose(_onto_ball(theta, 10.0), [[6.0, 8.0], [0.0, 0.0], [3e-5, -4e-5]])


def test_a_matrix_is_square() -> None:
    with pytest.raises(InputError, match=r"^PSD needs square matrices, but the model has 5"):
        _onto_cone(np.ones(5))
