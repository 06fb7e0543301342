"""Pictures of networks, the same in figures and on the page: places of nodes, and visible edges.

Coordinates are those of `Graph.positions`: y grows upward. Families begin at the top and continue
clockwise, or begin in the upper left corner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, PairArray
from pairgossip.checks import choice
from pairgossip.families import FAMILIES, formula_family
from pairgossip.pictures.palette import MAIN, MUTED
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.graphs.graph import Graph

LARGEST_DRAWN = 2_000
"""The largest number of nodes with visible edges; more nodes fill an area evenly."""
LARGEST_SHOWN = 300
"""The largest number of nodes of a network that a notebook draws."""
_SIDE, _RADIUS = 240, 3
"""The sides of a picture in a notebook and the radius of its nodes, in pixels."""
_NODES_PER_ROW, _ROW_WIDTH = 150, 0.035
"""The largest number of nodes per row of a ring, and the distance of rows in radii."""
_LEAST_SHAPE, _MOST_APART = 0.4, 4.0
"""The least ratio of a rectangle's sides, and the largest distance of rows that serves it."""
_LONGEST_VISIBLE = 0.75
"""The largest length of a visible edge, relative to the picture, in families whose edges wrap."""
_SPRING_ROUNDS = 60
"""The number of moves of every node until the springs count as at rest."""


def place_nodes(graph: Graph) -> FloatArray:
    """Place the nodes by the graph's positions, in the shape of its family, or by springs."""
    if graph.positions is not None:
        return graph.positions
    family = FAMILIES.get(graph.family or "")
    layout = "springs" if family is None else family.layout
    return (LAYOUTS[choice("layout", layout, LAYOUTS)] if isinstance(layout, str) else layout)(
        graph
    )


def fit_square(positions: FloatArray) -> FloatArray:
    """Scale positions into the middle of the unit square of a page, where y grows downward."""
    turned = positions * np.array([1.0, -1.0])
    low, high = turned.min(axis=0), turned.max(axis=0)
    largest = float((high - low).max()) or 1.0
    return (turned - (low + high) / 2) / largest + 0.5


class NetworkPicture(NamedTuple):
    """A small picture of a network, a part of a page or a notebook."""

    graph: Graph

    def to_html(self) -> str:
        """Return the network as SVG, without script."""
        places = place_nodes(self.graph)
        at = np.round(fit_square(places) * (_SIDE - 4 * _RADIUS) + 2 * _RADIUS, 1)
        pairs = visible_edges(self.graph, places)
        # Many edges overlap: drawn faintly, their density still shows.
        faint = float(np.clip(400 / max(len(pairs), 1), 0.05, 0.6))
        path = "".join(f"M{a:g} {b:g}L{c:g} {d:g}" for (a, b), (c, d) in at[pairs])
        nodes = "".join(f'<circle cx="{x:g}" cy="{y:g}" r="{_RADIUS}"/>' for x, y in at)
        label = f"A network of {format_count(self.graph.n, 'node')}"
        return (
            f'<figure><svg xmlns="http://www.w3.org/2000/svg" width="{_SIDE}" height="{_SIDE}" '
            f'role="img" aria-label="{label}">'
            f'<path d="{path}" fill="none" stroke="{MUTED}" stroke-opacity="{faint:.2f}"/>'
            f'<g fill="{MAIN}">{nodes}</g></svg></figure>\n'
        )


def longest_visible(graph: Graph, places: FloatArray) -> FloatArray | None:
    """Return the largest lengths of visible edges along x and y; None if all are visible."""
    family = formula_family(graph)
    if graph.positions is not None or family is None or not family.wraps:
        return None
    return np.asarray(_LONGEST_VISIBLE * np.ptp(places, axis=0))


def visible_edges(graph: Graph, places: FloatArray) -> PairArray:
    """Return the edges without those that wrap around the picture, which would cross all of it."""
    edges, longest = graph.edges, longest_visible(graph, places)
    if longest is None:
        return edges
    return edges[(np.abs(places[edges[:, 0]] - places[edges[:, 1]]) <= longest).all(axis=1)]


def ring(n: int) -> FloatArray:
    """Place nodes on a ring, in several rows where one is not enough."""
    rows = -(-n // _NODES_PER_ROW)
    reach = 1 - _ROW_WIDTH * (np.arange(n) % rows)
    return reach[:, None] * _circle(np.linspace(0, 2 * np.pi, n, endpoint=False) - np.pi / 2)


def _circle(angle: FloatArray) -> FloatArray:
    """Return points of the unit circle, clockwise."""
    return np.stack([np.cos(angle), -np.sin(angle)], axis=1)


def _spiral(n: int) -> FloatArray:
    """Wind a row of nodes into a spiral: neighbors stay close, and the disk is filled evenly."""
    turns = np.sqrt(n / np.pi)
    reach = np.sqrt(np.linspace(0.0, 1.0, n))
    return reach[:, None] * _circle(2 * np.pi * turns * reach)


def _sunflower(n: int) -> FloatArray:
    """Fill a disk evenly, without regard to neighbors."""
    order = np.arange(n)
    golden = np.pi * (3 - np.sqrt(5))
    return np.sqrt((order + 0.5) / n)[:, None] * _circle(golden * order)


def _ring(graph: Graph) -> FloatArray:
    return ring(graph.n) if graph.n <= LARGEST_DRAWN else _spiral(graph.n)


def _disk(graph: Graph) -> FloatArray:
    return ring(graph.n) if graph.n <= LARGEST_DRAWN else _sunflower(graph.n)


def _hub(graph: Graph) -> FloatArray:
    if graph.n > LARGEST_DRAWN:
        return _sunflower(graph.n)
    return np.concatenate([np.zeros((1, 2)), ring(graph.n - 1)])


def _row(graph: Graph) -> FloatArray:
    return _spiral(graph.n)


def _rectangle(graph: Graph) -> FloatArray:
    """Place rows and columns; rows of a thin rectangle move apart, so that it is not a line."""
    rows, cols = (int(graph.parameters.get(side) or 0) for side in ("rows", "cols"))
    if rows * cols != graph.n:  # it has the name of a rectangle, but not its sides
        return _springs(graph)
    row, column = np.divmod(np.arange(graph.n), cols)
    apart = np.clip(_LEAST_SHAPE * np.array([rows / cols, cols / rows]), 1, _MOST_APART)
    return np.stack([column * apart[0], -row * apart[1]], axis=1)


def _springs(graph: Graph) -> FloatArray:
    """Place nodes by springs (Fruchterman and Reingold): edges pull, all pairs push."""
    n = graph.n
    if n < 4 or n > LARGEST_DRAWN:
        return _disk(graph)
    edges = graph.edges
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


LAYOUTS: Mapping[str, Callable[[Graph], FloatArray]] = {
    "ring": _ring,
    "disk": _disk,
    "hub": _hub,
    "row": _row,
    "rectangle": _rectangle,
    "springs": _springs,
}
"""The shapes that a family may name as its layout."""
