from __future__ import annotations

import base64
import json

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.graphs import build
from pairgossip.watch.simulation.frames import (
    UNKNOWN,
    color_levels,
    color_reach,
    encode_json,
    format_event,
)
from pairgossip.watch.simulation.layouts import drawn_edges, layout


def test_levels_are_symmetric_and_clipped() -> None:
    found = color_levels(np.array([-9.0, -1.0, -0.5, 0.0, 0.5, 1.0, 9.0, np.nan]), 1.0)
    assert list(found) == [0, 0, 63, 127, 191, 254, 254, UNKNOWN]


@pytest.mark.parametrize(("far", "reach"), [(0.9, 1.0), (1.1, 2.0), (3e-7, 5e-7), (6e4, 1e5)])
def test_the_range_of_colors_is_round(far: float, reach: float) -> None:
    assert color_reach(np.array([far, -far, np.nan])) == pytest.approx(reach)


def test_without_differences_there_is_no_range() -> None:
    assert color_reach(np.zeros(3)) is None
    assert color_reach(np.full(3, np.nan)) is None


def test_events_are_one_line_of_json() -> None:
    sent = format_event(
        "frame", encode_json({"text": "a\nb", "nan": np.nan, "array": np.arange(2)})
    )
    assert sent.startswith(b"event: frame\ndata: {") and sent.endswith(b"}\n\n")
    assert sent.count(b"\n") == 3
    assert json.loads(sent.split(b"data: ")[1]) == {"text": "a\nb", "nan": None, "array": [0, 1]}


@pytest.mark.parametrize("family", sorted(pg.graphs.FAMILIES))
@pytest.mark.parametrize("n", [36, 2_500])
def test_every_family_has_a_layout_inside_the_square(family: str, n: int) -> None:
    is_random = pg.graphs.FAMILIES[family].is_random
    graph = build(family, n, **({"seed": 0} if is_random else {}))
    places = layout(graph, (family, n))
    assert places.shape == (n, 2)
    assert places.min() >= -1e-9 and places.max() <= 1 + 1e-9
    assert len(np.unique(places.round(6), axis=0)) == n
    edges = drawn_edges(graph)
    assert (edges is None) == (n > 2_000)
    if edges is not None and family != "torus":
        assert len(edges) == graph.edge_count


def test_edges_around_a_torus_are_not_drawn() -> None:
    edges = drawn_edges(build("torus", 36))
    assert edges is not None
    assert len(edges) == 60  # as many as a 6 x 6 grid has


def test_a_color_takes_one_byte() -> None:
    assert len(base64.b64encode(color_levels(np.zeros(10_000), 1.0))) < 14_000
