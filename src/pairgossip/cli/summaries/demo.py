"""The two figures of the demonstration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from pairgossip.results.plots import compare

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pairgossip.results import Run


NETWORK_SHOWN = "watts-strogatz"
EARLY_EXCHANGES_PER_NODE = 10
"""When the network is drawn: everybody has met somebody, and nobody knows the answer yet."""

_LABELS = {"estimate": "estimate (francs)", "error": "error (francs)"}


def convergence_figure(runs: Mapping[str, Run]) -> Figure:
    """Draw one column per graph: estimates above, errors and their bounds below."""
    figure = Figure(figsize=(10, 6.8), layout="constrained")
    grid = figure.add_gridspec(4, len(runs), height_ratios=(1, 0.08, 1.1, 0.08))
    for row, what in ((0, "estimate"), (2, "error")):
        first: Axes | None = None
        for column, run in enumerate(runs.values()):
            panel = figure.add_subplot(grid[row, column], sharey=first)
            run.plot(what, ax=panel)
            _simplify_panel(panel, is_first=first is None)
            first = first or panel
        assert first is not None
        first.set_ylabel(_LABELS[what])
        _row_legend(figure.add_subplot(grid[row + 1, :]), first)
    panels = figure.axes
    for panel, (name, run) in zip(panels, runs.items(), strict=False):
        panel.set_title(f"{name}\nnormalized gap {_gap(run)}", fontsize="large")
        panel.set_xlabel("")
    return figure


def graphs_figure(runs: Mapping[str, Run]) -> Figure:
    """Draw the errors on all graphs together, and one network early in its run."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    curves, network = figure.subplots(1, 2, width_ratios=(1.3, 1))
    compare({f"{name}, normalized gap {_gap(run)}": run for name, run in runs.items()}, ax=curves)
    curves.set_ylabel("RMS error over nodes (francs)")
    curves.set_title("measured error on three networks", fontsize="medium")
    shown = runs[NETWORK_SHOWN]
    early = int(np.searchsorted(shown.iterations, EARLY_EXCHANGES_PER_NODE * shown.nodes))
    shown.plot_graph(checkpoint=early, ax=network)
    title = f"{NETWORK_SHOWN}: estimates after {shown.exchanges[early]:,} exchanges"
    network.set_title(title, fontsize="medium")
    return figure


def _simplify_panel(panel: Axes, *, is_first: bool) -> None:
    """Leave titles, legends and y labels to the row, and label every second decade only."""
    panel.set_title("")
    legend = panel.get_legend()
    if legend is not None:
        legend.remove()
    if not is_first:
        panel.set_ylabel("")
        panel.tick_params(labelleft=False)
    panel.xaxis.set_major_locator(LogLocator(numticks=5))
    panel.xaxis.set_minor_locator(NullLocator())


def _row_legend(place: Axes, panel: Axes) -> None:
    handles, labels = panel.get_legend_handles_labels()
    place.set_axis_off()
    legend = place.legend(
        handles, labels, loc="center", ncols=5, frameon=False, fontsize=9, columnspacing=1.5
    )
    # It may be wider than the panels, which must not shrink to its width.
    legend.set_in_layout(False)


def _gap(run: Run) -> str:
    mantissa, _, exponent = f"{run.graph.normalized_gap(run.law):.1e}".partition("e")
    return rf"${mantissa} \times 10^{{{int(exponent)}}}$"
