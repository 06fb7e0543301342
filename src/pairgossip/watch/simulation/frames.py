"""Messages to the viewers: small JSON, with one byte for each node's color."""

from __future__ import annotations

import base64
import math
from typing import Any

import msgspec
import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.graphs import Graph
from pairgossip.text import json_value
from pairgossip.watch.simulation.layouts import LARGEST_DRAWN, drawn_edges, layout
from pairgossip.watch.simulation.runs import WatchedRun

UNKNOWN, MIDDLE = 255, 127
"""The level of a node that knows nothing yet, and of one at the middle of the colors."""
COLORED_SHARE = 0.95
"""The share of nodes inside the colors' range: one far-off node must not take them all."""


def encode_json(value: Any) -> bytes:
    """Return JSON; a number that is not finite becomes null."""
    return msgspec.json.encode(json_value(value))


def format_event(name: str, payload: bytes) -> bytes:
    """Return JSON, which has no line ends, as one server-sent event."""
    return b"event: " + name.encode() + b"\ndata: " + payload + b"\n\n"


def color_levels(deviations: FloatArray, reach: float) -> bytes:
    """Return a byte per node: 0 and 254 are the ends of the range, 127 its middle, 255 unknown."""
    with np.errstate(invalid="ignore"):
        scaled = np.rint(np.clip(deviations / reach, -1, 1) * MIDDLE) + MIDDLE
    return np.where(np.isnan(scaled), UNKNOWN, scaled).astype(np.uint8).tobytes()


def color_reach(deviations: FloatArray) -> float | None:
    """Return how far the colors go: 1, 2 or 5 times a power of ten, so that it seldom changes."""
    known = np.abs(deviations[np.isfinite(deviations)])
    wanted = float(np.quantile(known, COLORED_SHARE)) if known.size else 0.0
    if not wanted > 1e-300:
        return None
    power = 10.0 ** math.floor(math.log10(wanted))
    return next((f * power for f in (1, 2, 5) if f * power >= wanted), 10 * power)


def make_setup(run: WatchedRun, key: tuple[object, ...]) -> dict[str, Any]:
    """Return what stays the same all along: the picture, and the names of the curves."""
    graph = run.graph
    edges = drawn_edges(graph)
    return {
        "title": run.title,
        "nodes": graph.n,
        "edge_count": graph.edge_count,
        "family": graph.family,
        "parameters": {name: value for name, value in graph.parameters.items() if name != "seed"},
        "positions": _pack(layout(graph, key) * 65_535, np.uint16),
        "edges": None if edges is None else _pack(edges, np.uint16),
        "pixels": graph.n > LARGEST_DRAWN,
        "note": _note(graph, edges is not None),
        "checkpoints": run.checkpoints,
        "curves": run.curve_names,
        "exchanges_per_iteration": run.exchanges_per_iteration,
        "follows": run.follower is not None,
        **run.describe(),
    }


def make_frames(
    runs: list[WatchedRun], reach: float | None
) -> tuple[list[dict[str, Any]], float | None]:
    """Return the state of every run now, and how far the colors of all go.

    All runs share the range, so that their pictures can be compared.
    """
    states = [run.values() for run in runs]
    off = [run.deviations(values) for run, values in zip(runs, states, strict=True)]
    reach = color_reach(np.concatenate([deviations for deviations, _ in off])) or reach
    frames = [
        _frame(run, values, deviations, middle, reach)
        for run, values, (deviations, middle) in zip(runs, states, off, strict=True)
    ]
    return frames, reach


def _frame(
    run: WatchedRun,
    values: FloatArray,
    deviations: FloatArray,
    middle: float | None,
    reach: float | None,
) -> dict[str, Any]:
    follower = run.follower
    followed = follower is not None and follower.token is not None
    return {
        "done": run.done,
        "levels": base64.b64encode(color_levels(deviations, reach or 1.0)).decode(),
        "middle": middle,
        "reach": reach,
        "exchanges": run.take_recent(),
        "token": follower.token if follower else None,
        "trail": list(follower.trail) if follower and followed else [],
        "moves": follower.moves if follower else 0,
        **run.readouts(values),
    }


def _note(graph: Graph, has_edges: bool) -> str | None:
    if has_edges:
        return None
    nodes = f"{graph.n:,} nodes are drawn as pixels; " if graph.n > LARGEST_DRAWN else ""
    return f"{nodes}{'the' if nodes else 'The'} {graph.edge_count:,} edges are not drawn."


def _pack(values: Any, kind: Any) -> str:
    return base64.b64encode(np.asarray(values).astype(kind).tobytes()).decode()
