"""Compiled counts of ordered pairs against NumPy's, and orders that are computed once."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.engine.exact import counts
from pairgossip.kernels import CATALOG, calling, orders
from tests.kernels.reference import random_data

ORDERED = (
    *("auc", "auc-difference", "concordance", "goodman-kruskal-gamma"),
    *("kendall", "kendall-b", "ranking-risk", "somers-d"),
)


@pytest.fixture
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Force NumPy or compiled code to count, whatever the number of rows."""

    def choose(numpy: bool) -> None:
        monkeypatch.setattr(calling, "_FEWEST_ROWS", sys.maxsize if numpy else 1)

    return choose


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 100, 1025])
def test_twins_agree_to_the_last_bit(n: int, by_numpy: Callable[[bool], None]) -> None:
    rng = np.random.default_rng(n)
    ranks, marked = rng.permutation(n), rng.random(n) < 0.5
    above, below = rng.random(n), rng.random(n)
    levels = rng.integers(0, 1 + n // 3, (2, n)).astype(float)
    found: list[Any] = []
    for numpy in (True, False):
        by_numpy(numpy)
        assert (calling.find_counts(n) is None) is numpy
        count = orders.count_ascents(ranks, marked)
        found.append((count, *orders.weigh_ascents(ranks, above, below), *orders.lay_out(*levels)))
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)
    rises = (ranks[:, None] < ranks) & (np.arange(n)[:, None] < np.arange(n))
    assert found[0][0] == rises[marked].sum()
    np.testing.assert_allclose(found[0][1], rises @ above, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[0][2], rises.T @ below, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("weights", [None, "whole", "fractions"])
def test_statistics_do_not_depend_on_who_counts(
    name: str, weights: str | None, by_numpy: Callable[[bool], None]
) -> None:
    data = random_data(name, 300)
    rng = np.random.default_rng(3)
    how: dict[str, Any] = {}
    if weights is not None:
        drawn = rng.integers(1, 4, 300) if weights == "whole" else rng.random(300) + 0.5
        how = {"weights": drawn, "groups": np.arange(300)}
    answers = []
    for numpy in (True, False):
        by_numpy(numpy)
        answers.append(pg.exact(data, name, interval=0.9, **how))
        assert pg.exact(data, name, weights=how.get("weights")) == answers[-1].value
    assert (answers[0].value, answers[0].error) == (answers[1].value, answers[1].error)


def test_whole_weights_count_what_fractions_count() -> None:
    """Opposite pairs are the remainder for whole weights, and are counted for other weights."""
    data = random_data("kendall", 200)
    weights = np.random.default_rng(0).integers(1, 5, 200).astype(float)
    for name in ("kendall", "ranking-risk"):
        rows = CATALOG[name]().components[0].row_totals
        assert rows is not None
        halves = 2 * rows(data, weights / 2 + 0.25) - rows(data, np.full(200, 0.5))
        np.testing.assert_allclose(rows(data, weights), halves, rtol=1e-12, atol=1e-9)


def test_orders_are_found_once_and_then_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    sorted_columns: list[int] = []
    plain = orders._sort_column

    def counting(column: Any) -> orders.Order:
        sorted_columns.append(len(column))
        return plain(column)

    monkeypatch.setattr(orders, "_sort_column", counting)
    data = np.random.default_rng(0).normal(size=(500, 2))
    pg.exact(data, "kendall-b", interval=0.95)
    assert sorted_columns.count(500) == 2
    assert orders._shelf.get() is None
    with orders.sharing_orders():
        first = orders.order_column(data[:, 0])
        assert orders.order_column(data[:, 0].copy()) is first
        assert orders.order_column(data[:, 1]) is not first
        data[:, 0] = -data[:, 0]
        assert np.array_equal(orders.order_column(data[:, 0]).places, 499 - first.places)


def test_counts_load_numba_only_where_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert calling.find_counts(calling._FEWEST_ROWS) is counts
    assert calling.find_counts(calling._FEWEST_ROWS - 1) is None
    monkeypatch.delitem(sys.modules, "numba")
    assert calling.find_counts(calling._FEWEST_ROWS) is None
    assert calling.find_counts(calling._FEWEST_TO_LOAD) is counts


def test_few_orders_are_kept_at_a_time() -> None:
    """Otherwise many clusters in turn would be searched repeatedly."""
    with orders.sharing_orders():
        kept = [orders.order_column(np.arange(3.0) + shift) for shift in range(100)]
        assert orders.order_column(np.arange(3.0) + 99) is kept[-1]
        assert orders.order_column(np.arange(3.0)) is not kept[0]


def test_without_a_place_for_compiled_loops_numpy_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise RuntimeError("cannot cache function 'lay_out': no locator available")

    monkeypatch.setattr(importlib, "import_module", fail)
    assert calling.find_counts(calling._FEWEST_ROWS) is None
