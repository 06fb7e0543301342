"""A picture of the network, its nodes colored by their estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.results.curves import describe
from pairgossip.results.plots import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pairgossip.results.run import Run

LARGEST_PICTURE = 20_000
MOST_EDGES_DRAWN = 20_000
LARGEST_SPECTRAL_LAYOUT = 3_000
COLORED_SHARE = 0.95


def plot_graph(run: Run, *, trial: int = 0, checkpoint: int = -1, ax: Axes | None = None) -> Axes:
    """Draw one trial's network at one checkpoint; see `Run.plot_graph`."""
    graph = run.sites
    if graph.n > LARGEST_PICTURE:
        raise InputError(
            f"A picture of {graph.n:,} nodes shows nothing: it is limited to {LARGEST_PICTURE:,}."
        )
    estimates = run.by_site(_estimates_at(run, trial, checkpoint))
    positions = layout(graph)
    center = float(np.mean(run.target))
    if not np.isfinite(center):
        center = float(np.nanmean(estimates))
    reach = _reach(estimates - center)
    ax = new_axes(ax)
    if graph.edge_count <= MOST_EDGES_DRAWN:
        _draw_edges(ax, positions, graph)
    points = ax.scatter(
        positions[:, 0],
        positions[:, 1],
        c=estimates,
        cmap="RdBu_r",
        vmin=center - reach,
        vmax=center + reach,
        s=float(np.clip(4_000 / graph.n, 3, 120)),
        edgecolors="#444444",
        linewidths=0.3,
        zorder=2,
    )
    bar = ax.figure.colorbar(points, ax=ax, shrink=0.8, extend="both")
    bar.set_label("estimate (white: exact value)" if np.ndim(run.target) == 0 else "estimate")
    ax.set_aspect("equal")
    ax.set_axis_off()
    after = run.iterations[checkpoint]
    number = trial % run.trials
    which = f"trial {number}, " if run.trials > 1 else ""
    ax.set_title(f"{describe(run)}\n{which}after {after:,} iterations", fontsize="medium")
    return ax


def _reach(deviations: FloatArray) -> float:
    """How far the colors go: one far-off node must not take them all."""
    known = np.abs(deviations[~np.isnan(deviations)])
    return float(np.quantile(known, COLORED_SHARE)) or 1.0 if known.size else 1.0


def layout(graph: Graph) -> FloatArray:
    """Place the nodes: where the graph says, by its family's shape, or by its spectrum."""
    if graph.positions is not None:
        return graph.positions
    rows, columns = (int(graph.parameters.get(side, 0)) for side in ("rows", "cols"))
    if graph.family in ("grid", "torus") and rows * columns == graph.n:
        row, column = np.divmod(np.arange(rows * columns), columns)
        return np.stack([column, -row], axis=1).astype(np.float64)
    if graph.family == "path":  # an open arc: in a straight line nothing would be seen
        angle = np.pi * np.linspace(1, 0, graph.n)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    round_families = ("complete", "cycle", "star", "watts-strogatz")
    if graph.family in round_families or graph.n > LARGEST_SPECTRAL_LAYOUT or graph.n < 4:
        return _circle(graph.n, hub=graph.family == "star")
    return _spectral(graph)


def _circle(n: int, hub: bool) -> FloatArray:
    around = n - 1 if hub else n
    angle = np.pi / 2 - 2 * np.pi * np.arange(around) / max(around, 1)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.concatenate([np.zeros((1, 2)), ring]) if hub else ring


def _spectral(graph: Graph) -> FloatArray:
    """The two slowest modes as coordinates, by rank so that no cluster collapses to a point."""
    _, vectors = np.linalg.eigh(graph.laplacian_dense())
    ranks = vectors[:, 1:3].argsort(axis=0).argsort(axis=0) / (graph.n - 1)
    spread: FloatArray = vectors[:, 1:3] / np.abs(vectors[:, 1:3]).max(axis=0)
    return 0.5 * spread + (ranks - 0.5)


def _draw_edges(ax: Axes, positions: FloatArray, graph: Graph) -> None:
    from matplotlib.collections import LineCollection

    edges = graph.edges
    if graph.family == "torus":  # the edges that wrap around would cross the whole picture
        length = np.abs(positions[edges[:, 0]] - positions[edges[:, 1]]).max(axis=1)
        edges = edges[length < 1.5]
    # Many edges overlap: drawn faintly, their density still shows.
    alpha = float(np.clip(400 / max(len(edges), 1), 0.03, 0.6))
    lines = LineCollection(list(positions[edges]), colors="#777777", linewidths=0.6, alpha=alpha)
    ax.add_collection(lines)


def _estimates_at(run: Run, trial: int, checkpoint: int) -> FloatArray:
    if not -run.trials <= trial < run.trials:
        raise InputError(f"There is no trial {trial}: the run has {run.trials}.")
    count = len(run.iterations)
    if not -count <= checkpoint < count:
        raise InputError(f"There is no checkpoint {checkpoint}: the run has {count}.")
    if checkpoint in (-1, count - 1):
        return run.estimates[trial]
    if run.history is None:
        raise InputError(
            "This run kept summaries only: estimate again with {argument} to draw "
            "checkpoints before the last.",
            "record",
            "nodes",
        )
    estimates: FloatArray = run.history[trial, checkpoint]
    return estimates
