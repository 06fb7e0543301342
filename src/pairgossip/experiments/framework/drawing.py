"""How figures of the report look: one size, one style, labeled axes."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

PANEL_WIDTH, PANEL_HEIGHT = 4.4, 3.5


def panels(columns: int, rows: int = 1, **how: Any) -> tuple[Figure, Any]:
    """Start a figure of panels in rows and columns; options go to ``Figure.subplots``."""
    size = (PANEL_WIDTH * columns, PANEL_HEIGHT * rows)
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, **how)


def finish_panel(axes: Axes, x: str, y: str, title: str = "", *, legend: bool = True) -> None:
    """Label a panel; its x axis is logarithmic."""
    axes.set_xscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize="medium")
    axes.grid(alpha=0.25, which="major")
    if legend:
        axes.legend(fontsize="small", framealpha=0.8, edgecolor="none")


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """Put one panel's legend below all panels, where it covers no curve."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
