"""The bin of a number by arithmetic: exactly the one that a search finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.counts import axes
from pairgossip.counts.axes import Axis, Grid, Labels

c = pg.cells
CELLS = [
    *(c.Even(0, 1), c.Even(-0.3, 1.7, 1000), c.Even(1e6, 1e6 + 1e-3, 7), c.Even(0, 1, 1)),
    *(c.Even(-8e307, 8e307, 9), c.Log(1, 1e6), c.Log(1e-300, 1e300, 999), c.Log(0.9, 1, 64)),
    *(c.Logit(1e-4, 100), c.Float(12), c.Whole(0, 1), c.Whole(-5, 900), c.Edges([0, 1, 10])),
    *(c.Edges([0, 1e-300, 1, 1e300]), c.Edges([0, 5e-324, 1e-323]), c.Edges([1, 1.999, 3, 4])),
]
EVEN = (c.Even, c.Log, c.Whole)
MORE = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, -1e300, 1e300])


def find_by_search(axis: Axis, values: FloatArray) -> Any:
    """Return the bins by definition: the last one also has its upper end, and all beyond."""
    if isinstance(axis, Labels):
        return np.searchsorted(axis.values, values)
    return np.clip(np.searchsorted(axis.edges, values, side="right") - 1, 0, axis.bins - 1)


def check(axis: Axis, values: FloatArray) -> None:
    """Compare the bins of numbers with a search, among enough others that arithmetic is used."""
    many = np.resize(values, 2 * axes._FEWEST_SCALED + len(values))
    np.testing.assert_array_equal(axis.find_bins(many), find_by_search(axis, many))
    np.testing.assert_array_equal(axis.find_bins(values), find_by_search(axis, values))


def beside(places: FloatArray) -> FloatArray:
    """Return places, and the nearest floats on both sides of each."""
    sides = [np.nextafter(places, side) for side in (-np.inf, np.inf)]
    return np.concatenate([places, *sides])


@pytest.mark.parametrize("cells", CELLS, ids=str)
def test_numbers_at_every_edge_and_just_beside_it(cells: Any) -> None:
    axis = cells.lay()
    check(axis, np.concatenate([beside(axis.places), axis.middles, MORE]))


@pytest.mark.parametrize("cells", [one for one in CELLS if isinstance(one, EVEN)], ids=str)
def test_even_cells_need_no_search(cells: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    axis = cells.lay()
    bins = np.resize(np.arange(axis.bins), 2 * axes._FEWEST_SCALED)
    monkeypatch.setattr(np, "searchsorted", lambda _, values, side="left": np.full(len(values), -9))
    assert axis.find_bins(axis.middles[bins]).tolist() == bins.tolist()


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.builds(
            lambda low, width, count: c.Even(low, low + width, count).lay(),
            st.floats(-1e6, 1e6),
            st.floats(1e-3, 1e9),
            st.integers(1, 300),
        ),
        st.builds(
            lambda low, ratio, count: c.Log(low, low * ratio, count).lay(),
            st.floats(1e-9, 1e9),
            st.floats(1.001, 1e12),
            st.integers(1, 300),
        ),
        st.builds(lambda low, count: c.Whole(low, low + count).lay(), *2 * [st.integers(1, 999)]),
        st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20, unique=True).map(
            lambda edges: Grid(np.sort(edges))
        ),
        st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20, unique=True).map(
            lambda values: Labels(np.sort(values) + 0.0)
        ),
    ),
    st.lists(st.floats(), min_size=1, max_size=50),
)
def test_any_numbers_in_any_cells(axis: Axis, values: list[float]) -> None:
    check(axis, np.concatenate([values, beside(axis.places)]))
