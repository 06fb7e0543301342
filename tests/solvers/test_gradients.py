"""Sketched sums over pairs against brute force: values, gradients and the stated error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pairgossip.arrays import FloatArray
from pairgossip.losses.margins import MARGINS, Margin
from pairgossip.solvers.polynomials import Polynomials, choose_order, slope_error
from pairgossip.solvers.scores import Agreement, ScoreRows, ScoreSketch


class Case(NamedTuple):
    """Rows with grades and weights, and a model whose scores have this range."""

    features: FloatArray
    grades: Any
    weights: FloatArray
    theta: FloatArray


def make(seed: int, rows: int, grades: int, spread: float) -> Case:
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (rows, 3))
    labels = np.concatenate([np.arange(grades), rng.integers(grades, size=rows - grades)])
    weights = rng.choice([0.5, 1.0, 3.0], size=rows)
    theta = rng.normal(size=3)
    theta *= spread / max(float(np.ptp(features @ theta)), 1e-9)
    return Case(features, labels, weights / weights.sum(), theta)


def brute(case: Case, phi: Margin) -> tuple[float, FloatArray, float]:
    """Return value, gradient and mean slope over all pairs of a higher and a lower grade."""
    x, w, y = case.features, case.weights, case.grades
    margins = (x @ case.theta)[:, None] - (x @ case.theta)[None, :]
    pair = np.outer(w, w) * (y[:, None] > y[None, :])
    slopes = pair * phi.derivative(margins)
    gradient = (slopes.sum(axis=1) - slopes.sum(axis=0)) @ x
    return float((pair * phi.value(margins)).sum()), gradient, float(np.abs(slopes).sum())


def sketched(case: Case, phi: Margin, *, apart: bool = False) -> tuple[FloatArray, float]:
    """Return the final averages of nodes, and how far slopes may be from their mean."""
    n = len(case.features)
    owner = np.arange(n) if apart else None
    rows = ScoreRows(
        case.features, case.grades, case.weights, owner, n if apart else 1, phi,
        int(case.grades.max()) + 1,
    )  # fmt: skip
    scores = rows.scores(np.tile(case.theta, (n if apart else 1, 1)))
    low, high = -rows.extremes(scores)[:, 0].max(), rows.extremes(scores)[:, 1].max()
    order, error, slope, out = 0, 0.0, None, np.zeros(0)
    for _ in range(8):
        finer = rows.choose_order((high - low) / 2, slope, order, error)
        if finer == order:
            break
        order = finer
        sketch = ScoreSketch(rows, scores, Agreement(low, high, order))
        first = np.tile(sketch.add_up().sum(axis=0), (n if apart else 1, 1))
        out = sketch.weigh(first, None).sum(axis=0)
        slope, error = float(out[-2]), float(out[-1] / out[-2]) if out[-2] > 0 else 0.0
    return out, error


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(sorted(MARGINS)),
    seed=st.integers(0, 10_000),
    rows=st.integers(4, 60),
    grades=st.integers(2, 4),
    spread=st.floats(0.01, 50.0),
)
def test_gradients_are_as_exact_as_they_state(
    name: str, seed: int, rows: int, grades: int, spread: float
) -> None:
    case, phi = make(seed, rows, grades, spread), MARGINS[name]
    value, gradient, slope = brute(case, phi)
    scores = case.features @ case.theta
    # At its kink the hinge has many slopes.
    assume(name != "hinge" or np.abs(np.subtract.outer(scores, scores) - 1.0).min() > 1e-9)
    out, error = sketched(case, phi)
    # A row's pairs may have errors both as the higher and as the lower row.
    reach = np.linalg.norm(case.features, axis=1).max()
    rounding = 1e-12 * (1.0 + slope)
    assert np.linalg.norm(out[:3] - gradient) <= error * slope * reach + rounding
    # The bound is one on the gradient. The hinge has the least exact value: in 8,000 cases its
    # largest relative error was 6e-6, and that of the others 3e-7.
    about = 1e-4 if name == "hinge" else 1e-6
    assert out[3] == pytest.approx(value, rel=about, abs=1e-9)
    if name != "squared":  # slopes with both signs may cancel
        assert out[4] == pytest.approx(slope, rel=max(error, 1e-9), abs=rounding)


@pytest.mark.parametrize("name", sorted(MARGINS))
def test_the_stated_error_is_within_the_tolerance(name: str) -> None:
    case, phi = make(1, 400, 2, 20.0), MARGINS[name]
    _, gradient, slope = brute(case, phi)
    out, error = sketched(case, phi)
    tolerance = {"hinge": 1e-2, "squared-hinge": 1e-3, "smoothed-hinge": 1e-3}.get(name, 1e-6)
    assert error <= tolerance
    reach = np.sqrt((case.features**2).sum(axis=1).mean())
    assert np.linalg.norm(out[:3] - gradient) <= tolerance * slope * reach


@pytest.mark.parametrize("name", ["logistic", "hinge"])
def test_nodes_that_are_told_apart_bring_the_same_sums(name: str) -> None:
    case = make(2, 30, 3, 4.0)
    together, _ = sketched(case, MARGINS[name])
    apart, _ = sketched(case, MARGINS[name], apart=True)
    np.testing.assert_allclose(apart, together, rtol=1e-10, atol=1e-13)


def test_a_bin_of_one_score_is_cut_exactly() -> None:
    # Two scores, one on either side of the kink: no bin holds more than one.
    case = Case(np.array([[-1.0], [0.2], [1.0]]), np.array([0, 1, 1]), np.ones(3) / 3, np.ones(1))
    value, gradient, _ = brute(case, MARGINS["hinge"])
    rows = ScoreRows(case.features, case.grades, case.weights, None, 1, MARGINS["hinge"], 2)
    sketch = ScoreSketch(rows, rows.scores(np.ones((1, 1))), Agreement(-1.0, 1.0, 256))
    out = sketch.weigh(sketch.add_up(), None)[0]
    assert out[0] == pytest.approx(gradient[0], abs=1e-15)
    assert out[1] == pytest.approx(value, abs=1e-15)
    assert out[3] == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("half", [0.5, 3.0, 25.0])
@pytest.mark.parametrize("order", [12, 48, 128])
def test_the_bound_of_polynomials_holds(half: float, order: int) -> None:
    phi = MARGINS["logistic"]
    scores = np.linspace(-half, half, 301)
    worst = 0.0
    for other in np.linspace(-half, half, 23):
        features = np.concatenate([scores, [other]])[:, None]
        rows = ScoreRows(
            features, np.append(np.ones(301, dtype=int), 0), np.ones(302), None, 1, phi, 2
        )
        kind = rows.sketch(Agreement(-half, half, order))
        alone = kind.add_up(kind.features(np.array([other])), np.ones(1), None, 1)
        read = kind.read(kind.features(scores), alone, below=True)
        worst = max(worst, float(np.abs(read.slopes - phi.derivative(scores - other)).max()))
    bound = slope_error(phi, half, order)
    assert worst <= bound
    # The bound is tight enough that orders are not several times too high.
    assert bound <= max(1e4 * worst, 1e-11)


@pytest.mark.parametrize("half", [1.0, 1e4])
def test_a_parabola_is_three_numbers_on_any_range(half: float) -> None:
    assert choose_order(MARGINS["squared"], half, 1e-11) == 3


@pytest.mark.parametrize(("half", "order"), [(0.7, 64), (25.0, 384), (25.0, 256), (3.0, 96)])
def test_all_sums_read_at_once_are_those_over_all_pairs(half: float, order: int) -> None:
    rng, phi = np.random.default_rng(order), MARGINS["logistic"]
    kind = Polynomials(phi, -half, half, order)
    low, high = rng.uniform(-half, half, 40), rng.uniform(-half, half, 30)
    counts = rng.uniform(0.5, 2.0, 30), rng.uniform(0.5, 2.0, 40)
    features = [kind.features(low), kind.features(high)]
    sums = [
        kind.add_up(features[1], counts[0], None, 1),
        kind.add_up(features[0], counts[1], None, 1),
    ]
    margins = high[None, :] - low[:, None]
    above, below = kind.read_several(features, sums, [False, True])
    tolerance = 100.0 * slope_error(phi, half, order)
    for read, weights, u in ((above, counts[0], margins), (below, counts[1], margins.T)):
        falls = 1.0 / (1.0 + np.exp(u))
        np.testing.assert_allclose(read.values, np.logaddexp(0, -u) @ weights, atol=tolerance)
        np.testing.assert_allclose(read.slopes, -falls @ weights, atol=tolerance)
        np.testing.assert_allclose(
            read.bends, (falls * (1 - falls)) @ weights, atol=tolerance * 100
        )


def test_scores_too_far_apart_for_exponentials_still_have_slopes() -> None:
    kind = Polynomials(MARGINS["logistic"], -800.0, 800.0, 384)
    lowest = kind.add_up(kind.features(np.array([-800.0])), np.ones(1), None, 1)
    read = kind.read(kind.features(np.array([0.0, 700.0])), lowest, below=True)
    assert np.isfinite(read.values).all()
    np.testing.assert_allclose(read.slopes, 0.0, atol=0.05)


@pytest.mark.parametrize("name", ["logistic", "squared"])
def test_a_grade_without_rows_reads_nothing(name: str) -> None:
    kind = Polynomials(MARGINS[name], -2.0, 2.0, 16)
    others = kind.add_up(kind.features(np.array([0.5])), np.ones(1), None, 1)
    read = kind.read(kind.features(np.empty(0)), others, below=True)
    assert all(part.shape == (0,) for part in read)
    empty = kind.add_up(kind.features(np.empty(0)), np.empty(0), None, 1)
    assert empty.shape == (1, 16) and not empty.any()
