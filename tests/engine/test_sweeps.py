"""Users' own functions: compiled where that gives the same numbers, otherwise called on blocks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import joblib
import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.engine.exact import expressions, sweeps
from pairgossip.engine.exact.tracing import trace
from pairgossip.kernels import CATALOG, Kernel, calling
from pairgossip.kernels.blocks import blocked_rows, blocked_total
from tests.kernels.reference import random_data

Function = Callable[..., Any]
METRIC = np.array([[2.0, 0.3], [0.3, 1.0]])
WEIGHTS = np.array([0.5, -2.0])


def squares_in_place(x: Any, y: Any) -> Any:
    gap = x - y
    gap *= gap
    return gap.sum(axis=1)


def kendall(x: Any, y: Any) -> Any:
    above, below = (x > y).astype(float), x < y
    signs = above - below
    return signs[:, 0] * signs[:, 1]


ONE_COLUMN: dict[str, tuple[Function, bool]] = {
    "bell": (lambda x, y: np.exp(-((x - y) ** 2) / 0.7) - np.abs(x - y), True),
    "powers": (lambda x, y: (x - y) ** 3 + abs(x - y) ** 1.5 + np.abs(x) ** 0.3, False),
    "logistic": (lambda x, y: np.log1p(np.exp(y - x)) + np.tanh(x - y), False),
    "smaller": (lambda x, y: np.minimum(x, y) - np.clip(y, -1, 1), False),
    "trigonometric": (lambda x, y: np.cos(x - y) + np.sin(x - y) * np.sin(y - x), True),
    "bools": (lambda x, y: ((x > 0) & ~(y > 0)) | (x == y), False),
    "sums of bools": (lambda x, y: (x > 0) + (y > 0) + (x > y).astype(int) - 2 * (x < y), False),
    "where": (lambda x, y: np.where(x < y, x, 2.0) / (1 + y * y), False),
    "signs": (lambda x, y: np.sign(x - y) * np.sign(y) + (+x - -y), False),
    "column": (lambda x, y: (x[:, None] - y[:, None]).max(axis=1), False),
}
TWO_COLUMNS: dict[str, tuple[Function, bool]] = {
    "ordered alike": (lambda x, y: (x[:, 0] - y[:, 0]) * (x[:, 1] - y[:, 1]) > 0, True),
    "norm": (lambda x, y: np.linalg.norm(x - y, axis=1) + np.einsum("ij,ij->i", x, y), True),
    "squares": (squares_in_place, True),
    "metric": (lambda x, y: (((x - y) @ METRIC) * (x - y)).sum(axis=1), True),
    "vector": (lambda x, y: np.maximum(0, 1 - (x - y) @ WEIGHTS), False),
    "columns": (
        lambda x, y: (
            np.mean(WEIGHTS * x - y, axis=-1)
            + x[:, :1].sum(axis=1)
            + y[..., -1] * x.shape[1] * x.ndim
        ),
        False,
    ),
    "kendall": (kendall, True),
    "product": (lambda x, y: np.prod(x, axis=1) - np.amin(y, axis=1), False),
}
CASES = [
    pytest.param(function, symmetric, columns, id=name)
    for columns, cases in ((None, ONE_COLUMN), (2, TWO_COLUMNS))
    for name, (function, symmetric) in cases.items()
]


def rows(n: int, columns: int | None = None) -> FloatArray:
    drawn = np.random.default_rng(7).normal(size=(n, columns or 1))
    return drawn[:, 0] if columns is None else drawn


@pytest.mark.parametrize(("function", "symmetric", "columns"), CASES)
def test_compiled_sums_are_those_of_blocks(
    function: Function, symmetric: bool, columns: int | None
) -> None:
    data, kernel = rows(601, columns), Kernel(function)
    traced = trace(function, columns)
    assert traced is not None and traced[2] is symmetric
    total = sweeps.sum_pairs(kernel, data)
    assert total == pytest.approx(blocked_total(kernel, data), rel=1e-12, abs=1e-7)
    weights = np.random.default_rng(1).random(601)
    for given in (None, weights):
        summed = sweeps.sum_rows(kernel, data, given)
        assert summed is not None
        np.testing.assert_allclose(summed, blocked_rows(kernel, data, given), rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("name", ["distance", "metric-learning-risk", "kendall"])
def test_built_in_functions_can_be_followed(name: str) -> None:
    data = random_data(name, 130)
    for part in CATALOG[name]().components:
        total = sweeps.sum_pairs(replace(part, symmetric=False), data)
        assert total == pytest.approx(blocked_total(part, data), rel=1e-12)


def depends_on_numbers(x: Any, y: Any) -> Any:
    return x if (x > 0).all() else y


def writes_where(x: Any, y: Any) -> Any:
    gap = x - y
    gap[gap < 0] = 0.0
    return gap


def writes_to_view(x: Any, y: Any) -> Any:
    gap = x[:, None] - y[:, None]
    first = gap[:, 0]
    first *= 0.0  # of the array that gap holds, and not of a number
    return gap.sum(axis=1)


def reads_changed_view(x: Any, y: Any) -> Any:
    gap = x[:, None] - y[:, None]
    first = gap[:, 0]
    gap *= 0.0
    return first


def writes_to_itself(x: Any, y: Any) -> Any:
    same = x.astype(float, copy=False)
    same -= y
    return x


def goes_another_way(x: Any, y: Any) -> Any:
    try:
        return np.asarray(x) - y
    except Exception:
        return np.minimum(x - y, 300.0)


UNKNOWN: dict[str, Function] = {
    "a view that is written to": writes_to_view,
    "a view of what is written to": reads_changed_view,
    "a block that is written to by another name": writes_to_itself,
    "a failure that is caught": goes_another_way,
    "one row": lambda x, y: x - y if x.shape[0] == 1 else y - x,
    "what arrays have": lambda x, y: x - y if hasattr(x, "__len__") else y - x,
    "small whole numbers": lambda x, y: (x > y) ** 2 * 100 + (x > 1) ** 2 * 100,
    "bools multiplied": lambda x, y: (x[:, None] > y[:, None]) @ np.array([True]),
    "the sign of zero": lambda x, y: np.arctan2(y - x, x - 3),
    "a jump at a pole": lambda x, y: 1 / (x - y) > 0,
    "a jump of what is rounded": lambda x, y: np.floor(np.log2(x / y)),
    "a jump of products": lambda x, y: np.einsum("ij,ij->i", x[:, None], y[:, None]) > 1,
    "a jump of a power": lambda x, y: np.sign((x - y) ** 3 - 1),
    "a branch": depends_on_numbers,
    "a mask": writes_where,
    "other rows": lambda x, y: x - y.mean(),
    "how many rows": lambda x, y: x * len(y),
    "a new array": lambda x, y: np.zeros(x.shape[0]) + x,
    "an array of rows": lambda x, y: np.asarray(x) - y,
    "a sum of all": lambda x, y: np.sum(x - y, axis=0) + x,
    "sorting": lambda x, y: np.sort(x) - y,
    "rows in another order": lambda x, y: x[::-1] - y,
    "single precision": lambda x, y: (x - y).astype(np.float32),
    "infinite": lambda x, y: np.minimum(x - y, np.inf),
    "two columns": lambda x, y: x[:, None] - y[:, None],
    "no block": lambda x, y: np.float64(1.0),
    "whole division": lambda x, y: x // 1 + y,
    "very long": lambda x, y: sum(np.cos(k * x) + y for k in range(300)),
}


RARE: dict[str, tuple[Function, bool]] = {
    "vanishing": (lambda x, y: np.exp(-np.abs(x - y)) ** 0.01, True),
    "below normal": (lambda x, y: np.minimum(np.exp(x - y) * 1e300 * 1e20, 1), True),
    "growing": (lambda x, y: 1 / (1 + np.exp(x - y)), True),
    "flat": (lambda x, y: np.tanh(1e-12 * (x - y)) / 1e-12, True),
    "sign": (lambda x, y: np.sign((x - y) * 1e306), True),
    "shape": (lambda x, y: x - y if x.shape == y.shape else y, True),
    "array": (lambda x, y: x - y if isinstance(x, np.ndarray) else y, True),
    "chosen": (lambda x, y: np.where(x == y, 2.0, 1 / (y - x + (x == y))), True),
    "pole": (lambda x, y: np.arctan(1 / (y - x)), False),
    "negative power": (lambda x, y: np.arctan((y - x) ** -3), False),
    "no zero": (lambda x, y: (2 + np.cos(x - y)) ** -1.5, True),
}


@pytest.mark.parametrize(("function", "is_swept"), RARE.values(), ids=RARE)
def test_rare_pairs_need_no_sample(
    monkeypatch: pytest.MonkeyPatch, function: Function, is_swept: bool
) -> None:
    """Numbers are far apart, close and equal; no pairs are examined beforehand."""
    data = np.append(rows(60), [900.0, -850.0, 730.0, 0.25, 0.25, 0.25 + 1e-15, 0.0, -0.0])
    monkeypatch.setattr(sweeps, "_agrees", lambda *given: True)
    kernel = Kernel(function)
    with np.errstate(all="ignore"):
        summed = sweeps.sum_rows(kernel, data, None)
        assert (summed is not None) is is_swept
        if summed is not None:
            expected = blocked_rows(kernel, data)
            np.testing.assert_allclose(summed, expected, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("columns", [2, 7])
def test_few_columns_are_added_one_after_the_other(columns: int) -> None:
    """Sums that are compared equal NumPy's to the last bit."""
    data = rows(200, columns)
    first, second = np.repeat(data, 200, axis=0), np.concatenate([data] * 200)
    squares = (first - second) ** 2
    expected = squares[:, 0]
    for column in range(1, columns):
        expected = expected + squares[:, column]
    assert np.array_equal(squares.sum(axis=1), expected)
    assert np.array_equal(np.linalg.norm(first - second, axis=1), np.sqrt(expected))
    assert trace(lambda x, y: (x - y).sum(axis=1) > 0, columns) is not None
    assert trace(lambda x, y: (x - y).sum(axis=1) > 0, 8) is None
    assert trace(lambda x, y: x[:, 0] - y[:, 0], expressions.MOST_OPERATIONS) is None


@pytest.mark.parametrize("function", UNKNOWN.values(), ids=UNKNOWN)
def test_what_cannot_be_followed_is_left_to_blocks(function: Function) -> None:
    assert trace(function, None) is None


def test_what_numba_does_not_know_is_left_to_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(expressions._PLAIN, "exp", "np.of_another_version({})")
    kernel = Kernel(lambda x, y: np.exp(x - 2 * y))
    assert trace(kernel.function, None) is not None
    assert sweeps.prepare(kernel, rows(50)) is None


def test_a_function_that_numba_takes_for_another_is_left_to_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(expressions._PLAIN, "exp", "np.sqrt(abs({}))")
    kernel = Kernel(lambda x, y: np.exp(x - 3 * y))
    assert sweeps.prepare(kernel, rows(50)) is None


def test_functions_that_change_are_left_to_blocks() -> None:
    """Their computation is traced once; other calls give other numbers."""
    rng, calls = np.random.default_rng(0), count()
    data = rows(50)
    for function in (lambda x, y: x * y + rng.normal(), lambda x, y: x * y + next(calls)):
        assert trace(function, None) is not None
        assert sweeps.prepare(Kernel(function), data) is None


def test_constants_are_read_anew() -> None:
    """Functions that differ only in numbers are compiled once, and keep their own numbers."""
    data, sizes = rows(40), sweeps._compile.cache_info().misses
    for width in (0.5, 2.0):
        kernel = Kernel(lambda x, y, width=width: np.exp(-np.abs(x - y) / width))  # type: ignore[misc]
        assert sweeps.sum_pairs(kernel, data) == pytest.approx(blocked_total(kernel, data))
    assert sweeps._compile.cache_info().misses <= sizes + 1


def test_exponentials_are_as_exact_as_what_they_are_of() -> None:
    at = np.linspace(-707, 709, 3001)
    found = np.array([sweeps.exponential(y) for y in at])
    off = np.abs(found / np.exp(at) - 1)
    assert np.all(off <= 9e-16 + np.spacing(np.abs(at)))
    small = np.linspace(-746, -707, 100)
    found = np.array([sweeps.exponential(y) for y in small])
    np.testing.assert_allclose(found, np.exp(small), rtol=1e-12, atol=5e-324)
    assert sweeps.exponential(0.0) == 1 and sweeps.exponential(-1e9) == 0
    assert sweeps.exponential(709.8) == np.inf == sweeps.exponential(1e9)
    assert np.isnan(sweeps.exponential(np.nan))


def test_hyperbolic_tangents_are_exact_near_zero() -> None:
    at = np.concatenate((np.geomspace(1e-300, 400, 2001), [0.0]))
    for sign in (1, -1):
        found = np.array([sweeps.hyperbolic_tangent(sign * y) for y in at])
        np.testing.assert_allclose(found, np.tanh(sign * at), rtol=1e-12)
    assert np.isnan(sweeps.hyperbolic_tangent(np.nan))


def test_sums_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    data, found = rows(2000), []
    kernels = [Kernel(lambda x, y: np.exp(x - y)), Kernel(lambda x, y: np.abs(x - y) ** 1.5)]
    for jobs in (1, 2, 3):

        def share(n_jobs: int, jobs: int = jobs, **how: Any) -> Any:
            return joblib.Parallel(n_jobs=jobs, **how)

        monkeypatch.setattr(sweeps, "Parallel", share)
        found.append([sweeps.sum_pairs(kernel, data) for kernel in kernels])
    assert found[0] == found[1] == found[2]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "_FEWEST_PAIRS", 1)


@pytest.mark.usefixtures("always")
def test_exact_takes_own_functions_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    data, weights = rows(300), np.random.default_rng(2).integers(1, 4, 300)
    strata = np.arange(300) % 3
    own = Kernel(lambda x, y: np.abs(x - y), zero_diagonal=True, interval_scale="log")
    shown: list[float] = []
    options: tuple[dict[str, Any], ...] = (
        {},
        {"kind": "u"},
        {"weights": weights},
        {"within": strata},
        {"between": strata},
    )
    for how in options:
        found = pg.exact(data, own, interval=0.9, progress=shown.append, **how)
        expected = pg.exact(data, "gini", interval=0.9, **how)
        assert found == pytest.approx(expected, rel=1e-12)
        assert found.error == pytest.approx(expected.error, rel=1e-9)
    assert shown[-1] == 1.0 and all(0 < part <= 1 for part in shown)
    calls: list[int] = []
    monkeypatch.setattr(sweeps, "prepare", lambda *given: calls.append(len(given)))
    assert pg.exact(data, own) == pytest.approx(pg.exact(data, "gini"), rel=1e-12)
    assert calls == [2]


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_pair_without_a_number_is_named(bad: float) -> None:
    """Compiled sums detect that there is one; blocks show which."""
    data = np.arange(1000.0)
    with np.errstate(all="ignore"):
        pole = Kernel(
            lambda x, y: np.where((x == 700) & (y == 3), 1.0, 0.0) / (x * 0 + 1), name="p"
        )
        assert pg.exact(data, pole) == 1e-6
        pole = Kernel(lambda x, y: 1.0 / np.where((x == 700) & (y == 3), 0.0, 1.0), name="pole")
        with pytest.raises(pg.InputError, match="'pole' is NaN or infinite for observations 700"):
            pg.exact(data, pole)


def test_few_pairs_are_not_worth_compiling() -> None:
    side = int(calling._FEWEST_PAIRS**0.5) + 1
    assert calling.find_sweeps(side, symmetric=False) is sweeps
    assert calling.find_sweeps(side - 1, symmetric=False) is None
    assert calling.find_sweeps(side, symmetric=True) is None


@pytest.mark.usefixtures("always")
def test_ctrl_c_stops_the_sums() -> None:
    def interrupt(done: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pg.exact(rows(3000), lambda x, y: x * y * y, progress=interrupt)


@pytest.mark.usefixtures("always")
def test_without_numba_blocks_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel: Function = lambda x, y: x * y * y  # noqa: E731
    found = pg.exact(rows(100), kernel)
    monkeypatch.delitem(sys.modules, "pairgossip.engine.exact.sweeps")
    monkeypatch.setitem(sys.modules, "numba", None)
    assert calling.find_sweeps(100, symmetric=False) is None
    assert pg.exact(rows(100), kernel) == pytest.approx(found, rel=1e-12)
