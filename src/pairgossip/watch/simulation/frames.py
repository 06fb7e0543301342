"""What viewers see of a run: where its nodes are drawn, and one byte for each node's color."""

from __future__ import annotations

import base64
import math
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.graphs import Graph
from pairgossip.watch.simulation.places import Follower
from pairgossip.watch.simulation.runs import WatchedRun

LARGEST_DRAWN = 2_000
"""Beyond this many nodes, nodes are pixels and edges are left out."""
MOST_DRAWN_EDGES = 12_000
"""More lines than this are one gray blot."""
_SPRING_ROUNDS = 60
_RINGS = ("cycle", "watts-strogatz", "complete")
_NODES_PER_ROW, _ROW_WIDTH = 150, 0.035
_LEAST_SHAPE, _MOST_APART = 0.4, 4.0
"""A thin rectangle is this high, relative to its length, or its rows are this many steps apart."""
_REMEMBERED = 16
UNKNOWN, _MIDDLE = 255, 127
"""The level of a node that knows nothing yet, and of one at the middle of the colors."""
_COLORED_SHARE = 0.95
"""The share of nodes inside the colors' range: one far-off node must not take them all."""

_known: OrderedDict[tuple[object, ...], FloatArray] = OrderedDict()


def layout(graph: Graph, key: tuple[object, ...]) -> FloatArray:
    """Place the nodes in the unit square; the key says which layouts are the same."""
    places = _known.get(key)
    if places is None:
        places = _known[key] = fit_square(_place(graph))
        while len(_known) > _REMEMBERED:
            _known.popitem(last=False)
    return places


def _drawn_edges(graph: Graph) -> IntArray | None:
    """Return the edges to draw, or None if there are too many of them."""
    if graph.n > LARGEST_DRAWN or graph.edge_count > MOST_DRAWN_EDGES:
        return None
    edges: IntArray = np.asarray(graph.edges)
    if graph.family == "torus":  # those that wrap around would cross the whole picture
        columns = int(graph.parameters["cols"])
        row, column = np.divmod(edges, columns)
        near = np.abs(row[:, 0] - row[:, 1]) + np.abs(column[:, 0] - column[:, 1]) == 1
        edges = edges[near]
    return edges


def _place(graph: Graph) -> FloatArray:
    n = graph.n
    if graph.positions is not None:
        return graph.positions
    if graph.family in ("grid", "torus"):
        return _rectangle(n, int(graph.parameters["cols"]))
    if n > LARGEST_DRAWN:
        return _spiral(n) if graph.family in ("path", *_RINGS[:2]) else _sunflower(n)
    if graph.family == "path":  # folded: in a straight line nothing would be seen
        return _fold(n)
    if graph.family == "star":
        return np.concatenate([np.zeros((1, 2)), ring(n - 1)])
    if graph.family in _RINGS or n < 4:
        return ring(n)
    return _springs(graph)


def _rectangle(n: int, columns: int) -> FloatArray:
    """Rows and columns; the rows of a thin rectangle stand apart so that it is not a mere line."""
    row, column = np.divmod(np.arange(n), columns)
    rows = n // columns
    apart = np.clip(_LEAST_SHAPE * np.array([rows / columns, columns / rows]), 1, _MOST_APART)
    return np.stack([column * apart[0], row * apart[1]], axis=1)


def _fold(n: int) -> FloatArray:
    """A path that turns back at the end of every row, so that it fills a square."""
    columns = int(np.ceil(np.sqrt(n)))
    row, column = np.divmod(np.arange(n), columns)
    column = np.where(row % 2, columns - 1 - column, column)
    return np.stack([column, row], axis=1).astype(np.float64)


def _circle(angle: FloatArray) -> FloatArray:
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def ring(n: int) -> FloatArray:
    """Place nodes on a ring, of several rows where one has no room for them."""
    rows = -(-n // _NODES_PER_ROW)
    reach = 1 - _ROW_WIDTH * (np.arange(n) % rows)
    return reach[:, None] * _circle(np.linspace(0, 2 * np.pi, n, endpoint=False) - np.pi / 2)


def _spiral(n: int) -> FloatArray:
    """Neighbors in the row stay neighbors, and the disk is filled evenly."""
    turns = np.sqrt(n / np.pi)
    reach = np.sqrt(np.linspace(0.0, 1.0, n))
    return reach[:, None] * _circle(2 * np.pi * turns * reach)


def _sunflower(n: int) -> FloatArray:
    order = np.arange(n)
    golden = np.pi * (3 - np.sqrt(5))
    return np.sqrt((order + 0.5) / n)[:, None] * _circle(golden * order)


def _springs(graph: Graph) -> FloatArray:
    """Let edges pull and all pairs push (Fruchterman and Reingold), from a fixed start."""
    n, edges = graph.n, np.asarray(graph.edges)
    x = _sunflower(n)[np.random.default_rng(0).permutation(n)].astype(np.float32)
    length = np.float32(1.6 / np.sqrt(n))
    for heat in np.linspace(0.2, 0.004, _SPRING_ROUNDS, dtype=np.float32):
        horizontal = x[:, 0][:, None] - x[:, 0]
        vertical = x[:, 1][:, None] - x[:, 1]
        push = length**2 / (horizontal**2 + vertical**2 + np.float32(1e-6))
        force = np.stack([(horizontal * push).sum(axis=1), (vertical * push).sum(axis=1)], axis=1)
        along = x[edges[:, 0]] - x[edges[:, 1]]
        pull = along * np.linalg.norm(along, axis=1, keepdims=True) / length
        np.add.at(force, edges[:, 0], -pull)
        np.add.at(force, edges[:, 1], pull)
        size = np.linalg.norm(force, axis=1, keepdims=True)
        x = x + force / np.maximum(size, np.float32(1e-9)) * np.minimum(size, heat)
    return x.astype(np.float64)


def fit_square(positions: FloatArray) -> FloatArray:
    """Scale into the unit square, keeping proportions, in the middle."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    largest = float((high - low).max()) or 1.0
    return (positions - (low + high) / 2) / largest + 0.5


def color_levels(deviations: FloatArray, reach: float | None) -> str:
    """Return a byte per node: 0 and 254 are the ends of the range, 127 its middle, 255 unknown."""
    with np.errstate(invalid="ignore"):
        scaled = np.rint(np.clip(deviations / (reach or 1.0), -1, 1) * _MIDDLE) + _MIDDLE
    return pack(np.where(np.isnan(scaled), UNKNOWN, scaled), np.uint8)


def color_reach(deviations: FloatArray) -> float | None:
    """Return how far the colors go: 1, 2 or 5 times a power of ten, so that it seldom changes."""
    known = np.abs(deviations[np.isfinite(deviations)])
    wanted = float(np.quantile(known, _COLORED_SHARE)) if known.size else 0.0
    if not wanted > 1e-300:
        return None
    power = 10.0 ** math.floor(math.log10(wanted))
    return next((f * power for f in (1, 2, 5) if f * power >= wanted), 10 * power)


def make_setup(run: WatchedRun, key: tuple[object, ...]) -> dict[str, Any]:
    """Return what stays the same all along: the picture, and the names of the curves."""
    places = run.places
    graph = places.network
    edges = _drawn_edges(graph)
    return {
        "title": run.title,
        "nodes": graph.n,
        "sites": None if places.names is None else {"names": places.names, "rows": places.sizes},
        "edge_count": graph.edge_count,
        "family": graph.family,
        "parameters": {name: value for name, value in graph.parameters.items() if name != "seed"},
        "positions": pack(layout(graph, key) * 65_535),
        "edges": None if edges is None else pack(edges),
        "pixels": graph.n > LARGEST_DRAWN,
        "note": " ".join(filter(None, (run.remark, _note(graph, edges is not None)))),
        "checkpoints": run.checkpoints,
        "curves": run.curve_names,
        "follows": run.follower is not None,
        "again": run.again._asdict(),
        **run.describe(),
    }


def make_frames(
    runs: list[WatchedRun], reach: float | None
) -> tuple[list[dict[str, Any]], float | None]:
    """Return the state of every run now, and how far the colors of all go.

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
            **_followed(run.follower),
            **run.readouts(values),
        }
        for run, values, (deviations, middle) in zip(runs, states, off, strict=True)
    ]
    return frames, reach


def _followed(follower: Follower | None) -> dict[str, Any]:
    if follower is None:
        return {"token": None, "trail": [], "moves": 0}
    return {"token": follower.token, "trail": list(follower.trail), "moves": follower.moves}


def _note(graph: Graph, has_edges: bool) -> str:
    if has_edges:
        return ""
    nodes = f"{graph.n:,} nodes are drawn as pixels; " if graph.n > LARGEST_DRAWN else ""
    return f"{nodes}{'the' if nodes else 'The'} {graph.edge_count:,} edges are not drawn."


def pack(values: NDArray[Any], kind: type[np.unsignedinteger[Any]] = np.uint16) -> str:
    """Return whole numbers as the page unpacks them."""
    return base64.b64encode(values.astype(kind).tobytes()).decode()
