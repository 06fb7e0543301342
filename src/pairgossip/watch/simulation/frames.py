"""The picture of a run: the places of its nodes, and one byte for each node's color."""

from __future__ import annotations

import base64
import math
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, PairArray
from pairgossip.graphs import Graph
from pairgossip.graphs.layout import (
    LARGEST_DRAWN,
    fit_square,
    longest_visible,
    place_nodes,
    visible_edges,
)
from pairgossip.watch.simulation.places import NOBODY
from pairgossip.watch.simulation.runs import WatchedRun

MOST_DRAWN_EDGES = 12_000
"""Largest number of edges that are drawn; more would be one gray blot."""
_PAGE = 65_535
"""Width and height of the page's pictures, in its units."""
_REMEMBERED = 16
UNKNOWN, _MIDDLE = 255, 127
"""The level of a node that knows nothing yet, and of one at the middle of the colors."""
_COLORED_SHARE = 0.95
"""The share of nodes inside the colors' range: one far-off node must not stretch it."""

_layouts: OrderedDict[tuple[object, ...], FloatArray] = OrderedDict()


def layout(graph: Graph, key: tuple[object, ...]) -> FloatArray:
    """Place the nodes in the unit square; the key identifies the layout."""
    places = _layouts.get(key)
    if places is None:
        places = _layouts[key] = fit_square(place_nodes(graph))
        while len(_layouts) > _REMEMBERED:
            _layouts.popitem(last=False)
    return places


def _drawn_edges(graph: Graph, places: FloatArray) -> PairArray | None:
    """Return the edges to draw, or None if there are too many of them."""
    if graph.n > LARGEST_DRAWN or graph.edge_count > MOST_DRAWN_EDGES:
        return None
    return visible_edges(graph, places)


def color_levels(deviations: FloatArray, reach: float | None) -> str:
    """Return a byte per node: 0 and 254 are the ends of the range, 127 its middle, 255 unknown."""
    with np.errstate(invalid="ignore"):
        scaled = np.rint(np.clip(deviations / (reach or 1.0), -1, 1) * _MIDDLE) + _MIDDLE
    return pack(np.where(np.isnan(scaled), UNKNOWN, scaled), np.uint8)


def color_reach(deviations: FloatArray) -> float | None:
    """Return the reach of the colors: 1, 2 or 5 times a power of ten, so that it seldom changes."""
    sizes = np.abs(deviations[np.isfinite(deviations)])
    reach = float(np.quantile(sizes, _COLORED_SHARE)) if sizes.size else 0.0
    if not reach > 1e-300:
        return None
    power = 10.0 ** math.floor(math.log10(reach))
    return next((f * power for f in (1, 2, 5) if f * power >= reach), 10 * power)


def make_setup(run: WatchedRun, key: tuple[object, ...]) -> dict[str, Any]:
    """Return the constant part of a run: the picture, and the names of the curves."""
    sites, graph = run.places, run.places.network
    places = layout(graph, key)
    edges, longest = _drawn_edges(graph, places), longest_visible(graph, places)
    return {
        "title": run.title,
        "nodes": graph.n,
        "sites": None if sites.names is None else {"names": sites.names, "rows": sites.sizes},
        "edge_count": graph.edge_count,
        "family": graph.family,
        "parameters": {name: value for name, value in graph.parameters.items() if name != "seed"},
        "positions": pack(places * _PAGE),
        "edges": None if edges is None else pack(edges),
        "longest_edge": None if longest is None else longest * _PAGE,
        "pixels": graph.n > LARGEST_DRAWN,
        "note": f"{run.remark} {_note(graph, edges is not None)}".strip(),
        "checkpoints": run.checkpoints,
        "curves": run.curve_names,
        "follows": run.follower is not None,
        "again": run.again._asdict(),
        **run.describe(),
    }


def make_frames(
    runs: list[WatchedRun], reach: float | None
) -> tuple[list[dict[str, Any]], float | None]:
    """Return the current state of every run, and the reach of the colors of all.

    All runs share the range, so that their pictures can be compared.
    """
    states = [run.values() for run in runs]
    off = []
    for run, values in zip(runs, states, strict=True):
        deviations, middle = run.deviations(values)
        off.append((run.places.means(deviations), middle))
    reach = color_reach(np.concatenate([deviations for deviations, _ in off])) or reach
    frames = [
        {
            "done": run.done,
            "last": run.iterations,
            "share": run.share,
            "levels": color_levels(deviations, reach),
            "middle": middle,
            "reach": reach,
            "exchanges": run.take_recent(),
            **run.sent(),
            **(NOBODY if run.follower is None else run.follower.describe()),
            **run.readouts(values),
            **run.node_curves(),
        }
        for run, values, (deviations, middle) in zip(runs, states, off, strict=True)
    ]
    return frames, reach


def _note(graph: Graph, has_edges: bool) -> str:
    if has_edges:
        return ""
    nodes = f"{graph.n:,} nodes are drawn as pixels; " if graph.n > LARGEST_DRAWN else ""
    return f"{nodes}{'the' if nodes else 'The'} {graph.edge_count:,} edges are not drawn."


def pack(values: NDArray[Any], kind: type[np.unsignedinteger[Any]] = np.uint16) -> str:
    """Return whole numbers as the page unpacks them."""
    return base64.b64encode(values.astype(kind).tobytes()).decode()
