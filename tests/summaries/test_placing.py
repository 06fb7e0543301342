"""The cell of a value: compiled loops against NumPy, at every edge and next to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.counts.axes import Axis, Labels
from pairgossip.engine import counting as loops
from pairgossip.summaries.counting.placing import Placing, add_rows

c = pg.cells
CELLS = [
    *(c.Even(0, 1, 65536), c.Even(-0.3, 1.7, 1000), c.Even(1e6, 1e6 + 1e-3, 7), c.Even(0, 1, 1)),
    *(c.Log(1e-6, 1e5, 300), c.Logit(1e-4, 100), c.Float(12), c.Float(9), c.Whole(-5, 900)),
    *(c.Edges([0, 1e-300, 1, 1e300]), c.Edges([-8e307, 8e307]), c.Edges([0, 5e-324, 1e-323])),
]


def find_one_by_one(axis: Axis, value: float) -> int | None:
    """Return the cell by definition: closed below, and the last one also above."""
    places = axis.places.tolist()
    if isinstance(axis, Labels):
        return places.index(value) if value in places else None
    if not places[0] <= value <= places[-1]:
        return None
    return max(k for k, edge in enumerate(places[:-1]) if edge <= value)


def check(axis: Axis, values: FloatArray) -> None:
    placing = Placing(axis)
    expected = [find_one_by_one(axis, value) for value in values.tolist()]
    fits = np.array([one is not None for one in expected])
    for twin in (None, loops):
        cells = placing.find_cells(values[fits], twin)
        assert cells is not None and cells.tolist() == [one for one in expected if one is not None]
        for value in values[~fits]:
            assert placing.find_cells(np.append(values[fits], value), twin) is None


@pytest.mark.parametrize("cells", CELLS, ids=str)
def test_values_at_edges_and_just_beside_them(cells: Any) -> None:
    axis = cells.lay()
    places = axis.places
    some = places[np.unique(np.linspace(0, len(places) - 1, 40).astype(int))]
    beside = [np.nextafter(some, side) for side in (-np.inf, np.inf)]
    between = np.random.default_rng(0).choice(axis.middles, 20)
    values = np.concatenate([some, *beside, between, [np.nan, np.inf, -np.inf, -0.0]])
    check(axis, values)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-8e307, 8e307), min_size=2, max_size=20, unique=True),
    st.data(),
)
def test_any_edges(edges: list[float], data: st.DataObject) -> None:
    places = np.unique(edges)
    if len(places) > 1:
        axis = c.Edges(places.tolist()).lay()
        check(axis, np.array(data.draw(st.lists(st.floats() | st.sampled_from(edges), min_size=1))))


def test_even_cells_leave_one_edge_to_compare() -> None:
    assert Placing(c.Even(0, 1, 65536).lay()).mode == 0
    assert all(Placing(one.lay()).mode < 2 for one in (c.Even(-0.3, 1.7, 65536), c.Whole(-5, 900)))


def test_rows_are_added_alike() -> None:
    random = np.random.default_rng(1)
    cells, codes = random.integers(0, 7, 500).astype(np.int32), random.integers(0, 3, 500)
    for kind in (np.uint8, np.int64):
        counts = np.ones((2, 3, 7), dtype=np.int64)
        for at, twin in enumerate((None, loops)):
            add_rows(cells, codes.astype(kind), counts[at], twin)
        expected = np.histogram2d(codes, cells, (range(4), range(8)))[0] + 1
        assert (counts == expected).all()


def test_edges_whose_distance_is_no_number() -> None:
    """Their difference overflows, so that cells cannot be found by scaling."""
    edges = [-1.7e308, -1e300, 0.0, 1.7e308]
    values = np.array([-1.7e308, -1e308, -1e300, -1.0, 0.0, 5.0, 1.7e308])
    summary = pg.summarize(values, "gini", cells=pg.cells.Edges(edges))
    assert summary.counts.ravel().tolist() == [2, 2, 3]
