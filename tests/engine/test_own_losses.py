"""A user's own losses in `minimize`: compiled, they learn the same as uncompiled."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip import GeneralLoss, InputError, Loss, NotCompiled
from pairgossip.arrays import FloatArray
from pairgossip.engine.descent.engines import Descent
from pairgossip.engine.descent.trial import build_descent
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.losses import as_proximal
from pairgossip.losses.learning import LearningProblem
from pairgossip.losses.margins import Margin
from pairgossip.losses.steps import adaptive, inverse_sqrt
from tests.engine.test_rehearsal import check_notice

GRAPH = pg.graphs.watts_strogatz(20, 4, 0.3, seed=1)
RNG = np.random.default_rng(0)
LABELS = np.arange(20.0) % 2
FEATURES = RNG.normal(size=(20, 3)) + LABELS[:, None]
ROWS = np.column_stack([FEATURES, LABELS])
SHIFT = 0.2


def value(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    each = np.log1p(np.exp(-(first[:, :-1] - second[:, :-1]) @ theta - SHIFT))
    return np.where(first[:, -1] > second[:, -1], each, 0.0)


def gradient(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    # By loops, which numba compiles in a seventh of the time.
    slopes = np.zeros((len(first), len(theta)))
    for pair in range(len(first)):
        if first[pair, -1] > second[pair, -1]:
            margin = SHIFT
            for c in range(len(theta)):
                margin += theta[c] * (first[pair, c] - second[pair, c])
            for c in range(len(theta)):
                slopes[pair, c] = (second[pair, c] - first[pair, c]) / (1 + np.exp(margin))
    return slopes


def center(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    return np.square(first * second - theta[0])


def center_slope(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    return -2 * (first * second - theta[0])


def soft(u: FloatArray) -> FloatArray:
    return np.sqrt(1 + np.square(1 - u)) - u


def soft_slope(u: FloatArray) -> FloatArray:
    return (u - 1) / np.sqrt(1 + np.square(1 - u)) - 1


def apart(first: FloatArray, second: FloatArray) -> FloatArray:
    return first[:, :-1] - second[:, :-1]


def is_above(first: FloatArray, second: FloatArray) -> FloatArray:
    return (first[:, -1] > second[:, -1]).astype(np.float64)


GENERAL = GeneralLoss(value, gradient, dimension=3)
OF_NUMBERS = GeneralLoss(center, center_slope, dimension=1)
OWN_MARGIN = Loss(apart, Margin(None, "soft", soft, soft_slope, 2.0), is_above)
CASES: dict[str, tuple[Any, Any, Any, Any, str]] = {
    "adaptive": (ROWS, GENERAL, None, adaptive(), "async"),
    "steps": (ROWS, GENERAL, pg.L1(0.01), inverse_sqrt(0.3), "async"),
    "all-adaptive": (ROWS, GENERAL, None, adaptive(), "sync"),
    "all-steps": (ROWS, GENERAL, None, inverse_sqrt(0.3), "sync"),
    "numbers": (FEATURES[:, 0], OF_NUMBERS, None, adaptive(), "async"),
    "margin-adaptive": (ROWS, OWN_MARGIN, None, adaptive(), "async"),
    "margin-all-steps": (ROWS, OWN_MARGIN, pg.L1(0.01), inverse_sqrt(0.3), "sync"),
}


@pytest.mark.parametrize("case", CASES)
def test_compiled_losses_learn_what_they_learn_as_written(case: str) -> None:
    data, loss, penalty, steps, clock = CASES[case]
    probabilities = GRAPH.pick_probabilities("node-clocks")
    proximal = as_proximal(pg.Ball(0.7), penalty)
    descent = Descent(LearningProblem(data, loss), proximal, steps, clock, probabilities)
    (exchanges,) = Schedule(GRAPH, "node-clocks", root_seed(0)).draw(700)
    plain, compiled, later = (build_descent(name, descent) for name in ("plain", "auto", "auto"))
    assert type(plain).__name__.startswith("Plain")
    assert type(compiled).__name__.startswith("Own")
    for network in (plain, compiled):
        network.advance(exchanges)
    right, models = plain.snapshot(), compiled.snapshot()
    assert np.abs(right.theta).max() > 0.05
    for mine, theirs in zip(models, right, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    halfway = build_descent("auto", descent)
    halfway.advance(exchanges[:300])
    later.restore(halfway.snapshot(), 300)
    later.advance(exchanges[300:])
    for mine, same in zip(later.snapshot(), models, strict=True):
        np.testing.assert_array_equal(mine, same)


def fit(loss: Any = GENERAL, **settings: Any) -> pg.Fit:
    chosen = {"graph": GRAPH, "clock": "async", "iterations": 300, "seed": 2, "trials": 2}
    return pg.minimize(FEATURES, LABELS, loss, **(chosen | settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("faults", [None, "half_loss=0.1, liars=1, attack=sign", "loss=0.3"])
def test_minimize_compiles_without_a_word(faults: str | None) -> None:
    settings = {} if faults is None else {"faults": pg.Faults.from_text(faults)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = fit(**settings)
        plain = fit(**settings, engine="plain")
    np.testing.assert_allclose(compiled.models, plain.models, rtol=1e-9)
    np.testing.assert_allclose(compiled.objective, plain.objective, rtol=1e-9)


def with_care(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):
        return gradient(theta, first, second)


def test_what_numba_refuses_runs_as_written_with_one_notice() -> None:
    line = with_care.__code__.co_firstlineno + 1
    loss = GeneralLoss(value, with_care, dimension=3, name="mine")
    with pytest.warns(NotCompiled) as told:
        run = fit(loss)
    check_notice(told, "Loss 'mine'", __file__, line)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = fit(loss, engine="plain")
    np.testing.assert_array_equal(run.models, plain.models)


def test_what_is_no_function_or_gives_other_numbers_runs_as_written() -> None:
    scaled = GeneralLoss(value, partial(gradient), dimension=3)
    with pytest.warns(NotCompiled, match="numba does not compile a partial, only functions; "):
        fit(scaled)

    def growing(u: FloatArray) -> FloatArray:
        return soft_slope(u) * (1 + 1e-6 * np.random.random())  # noqa: NPY002

    own = Loss(apart, Margin(None, "growing", soft, growing, 2.0), is_above)
    with pytest.warns(NotCompiled, match=r"other numbers within 200 iterations: .* random numbers"):
        fit(own)


def test_mistakes_show_as_they_are() -> None:
    def mistaken(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        return gradient(theta, first, second)[:, :2]

    with pytest.raises(InputError, match="declares the dimension"):
        fit(GeneralLoss(value, mistaken, dimension=3))
    for loss in (GENERAL, OWN_MARGIN):
        with pytest.raises(InputError, match=r"with a built-in phi: use engine='auto'\.$"):
            fit(loss, engine="vectors")
