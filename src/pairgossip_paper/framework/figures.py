"""Figures of the report, made of panels: one size, one style, labeled axes.

A panel keeps the curves that it draws, so that the page of `pairgossip watch` can draw the same
curves with zoom and values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pairgossip.arrays import FloatArray
from pairgossip.results.curves import Band, Curve
from pairgossip_paper.framework.typesetting import Marked

if TYPE_CHECKING:  # the list of experiments and the errata need no figures
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT = 4.4, 3.5
"""Size of a panel, in inches."""
_LINES = ("--", "-.", ":", "-")


class PlacedCurve(NamedTuple):
    """A curve with its abscissas."""

    x: FloatArray | None
    """None for a level across the whole panel."""
    curve: Curve
    points: bool = False
    """Whether points are drawn without a line through them."""


@dataclass
class Panel:
    """Axes and the curves drawn on them; other marks are drawn on the axes but not kept."""

    axes: Axes
    is_first: bool
    """Whether it is the first of its row."""
    curves: list[PlacedCurve] = field(default_factory=list)
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    x_log: bool = True
    y_log: bool = False
    x_names: Sequence[str] = ()
    """Names of the places 0, 1, ... on the axis; empty if it has numbers."""
    y_names: Sequence[str] = ()

    def plot(
        self,
        x: ArrayLike,
        y: ArrayLike,
        label: str,
        color: str,
        style: str = "-",
        *,
        band: Band | None = None,
        error: ArrayLike | None = None,
        legend: bool = True,
        **look: Any,
    ) -> None:
        """Draw a curve: its color is "#rrggbb", its style a format of matplotlib.

        The page names every curve; the legend of the figure leaves some to the caption.
        """
        line, label = next((line for line in _LINES if line in style), ""), Marked(label)
        curve = Curve(label, np.asarray(y, dtype=np.float64), color, line or "-", band)
        self.curves.append(PlacedCurve(np.asarray(x, dtype=np.float64), curve, points=not line))
        look |= {"color": color, "label": _legend_label(label, legend)}
        if error is None:
            self.axes.plot(x, y, style, **look)
        else:
            self.axes.errorbar(x, y, error, fmt=style, **look)
        if band is not None:
            self.axes.fill_between(x, *band, color=color, alpha=0.2, linewidth=0)

    def level(
        self,
        y: float,
        label: str,
        color: str,
        style: str = "-",
        *,
        legend: bool = True,
        **look: Any,
    ) -> None:
        """Draw a line at one height across the panel."""
        self.curves.append(PlacedCurve(None, Curve(label, np.array([y, y]), color, style)))
        look |= {"color": color, "label": _legend_label(label, legend)}
        self.axes.axhline(y, linestyle=style, **look)

    def bars(self, x: FloatArray, heights: FloatArray, label: str, color: str) -> None:
        """Draw a bar chart; the page shows the tops of its bars."""
        self.curves.append(PlacedCurve(x, Curve(label, heights, color), points=True))
        self.axes.bar(x, heights, color=color, width=0.8, label=label)

    def legend_entry(self, label: str, color: str, style: str, **look: Any) -> None:
        """Explain in the legend the common style of curves of several colors."""
        self.axes.plot([], [], style, color=color, label=label, **look)

    def name_places(self, x: Sequence[str] = (), y: Sequence[str] = (), **look: Any) -> None:
        """Put names at the places 0, 1, ... of an axis."""
        x, y = ([Marked(name) for name in names] for names in (x, y))
        self.x_names, self.y_names = x, y
        if x:
            self.axes.set_xticks(range(len(x)), x, **look)
        if y:
            self.axes.set_yticks(range(len(y)), y, **look)

    def number_ticks(self, ticks: Sequence[float]) -> None:
        """Write numbers at these places of the x axis, and nowhere else."""
        self.axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        self.axes.set_xticks([], minor=True)

    def finish(
        self,
        x: str,
        y: str,
        title: str = "",
        *,
        x_log: bool = True,
        y_log: bool = True,
        legend: bool = False,
        y_once: bool = False,
    ) -> None:
        """Label the panel and scale its axes; ``y_once`` labels y on a row's first panel only."""
        x, y, title = map(Marked, (x, "" if y_once and not self.is_first else y, title))
        self.x_label, self.y_label, self.title = x, y, title
        self.x_log, self.y_log = x_log, y_log
        axes = self.axes
        axes.set(xscale="log" if x_log else "linear", yscale="log" if y_log else "linear")
        axes.set(xlabel=x, ylabel=y)
        axes.set_title(title, fontsize="medium")
        axes.grid(alpha=0.25, which="major")
        if legend:
            axes.legend(fontsize="small", framealpha=0.8, edgecolor="none")


def _legend_label(label: str, legend: bool) -> str:
    return label if legend else f"_{label}"


class Sheet:
    """A figure of panels in rows and columns."""

    def __init__(
        self, columns: int, rows: int = 1, *, size: tuple[float, float] | None = None, **how: Any
    ) -> None:
        from matplotlib.figure import Figure

        size = (_WIDTH * columns, _HEIGHT * rows) if size is None else size
        self.figure = Figure(figsize=size, layout="constrained")
        grid = self.figure.subplots(rows, columns, squeeze=False, **how)
        self.rows = [[Panel(axes, axes is row[0]) for axes in row] for row in grid]

    @property
    def panels(self) -> list[Panel]:
        """All panels, row by row."""
        return [panel for row in self.rows for panel in row]

    def over(self, rows: Iterable[str], columns: Iterable[str]) -> Iterator[tuple[Panel, str, str]]:
        """Yield all panels, each with the name of its row and of its column."""
        keys = list(columns)
        for panels, row in zip(self.rows, rows, strict=True):
            for panel, column in zip(panels, keys, strict=True):
                yield panel, row, column

    def add_legend(self, columns: int, panel: Panel | None = None, **look: Any) -> None:
        """Put the legend of a panel, by default the first, below all panels."""
        handles, labels = (panel or self.panels[0]).axes.get_legend_handles_labels()
        how: dict[str, Any] = {"loc": "outside lower center", "frameon": False} | look
        self.figure.legend(handles, labels, ncols=columns, **how)
