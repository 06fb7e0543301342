"""Charts of horizontal bars, one for every row of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pairgossip.errors import needed_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BESIDE: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": "small"}
"""The layout of texts beside bars."""


def figure_size(rows: int) -> tuple[float, float]:
    """Return the width and height, in inches, for this number of bars."""
    return 7, 0.36 * rows + 1.35


def open_axes(ax: Axes | None, rows: int) -> Axes:
    """Return the axes given, or new ones of pyplot for this number of bars."""
    if ax is not None:
        return ax
    with needed_for("Drawing"):
        from matplotlib import pyplot
    _, created = pyplot.subplots(figsize=figure_size(rows), layout="constrained")
    return created


def finish_bars(ax: Axes, names: Sequence[str], x_label: str, title: str) -> None:
    """Name the bars, the first on top, and leave only a light grid behind them."""
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel(x_label)
    ax.set_title(title, fontsize="medium", pad=16)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.grid(axis="x", alpha=0.25)
    ax.set_axisbelow(True)
