"""A section of the report: findings, figures, tables, claims; no number in it is typed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

Verdict = Literal["holds", "holds in part", "does not hold", "undecided"]
Cell = str | int | float | None


@dataclass(frozen=True)
class Picture:
    """A figure with the name of its files and the sentence below it."""

    name: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class Table:
    """Rows under columns; numbers are written with four significant digits."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, or of theory, and what was measured about it."""

    name: str
    statement: str
    source: str
    """Who says so: "paper, section 5" or "paper, line 641", or "theory"."""
    verdict: Verdict
    evidence: str


@dataclass(frozen=True)
class Section:
    """What one experiment found."""

    findings: Sequence[str]
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    claims: Sequence[Claim] = ()


def written(value: Cell, digits: int = 4) -> str:
    """Write a cell of a table: numbers with so many significant digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:#.{digits}g}" if isinstance(value, float) else value


def compared(name: str, printed: float, ours: float) -> tuple[Cell, ...]:
    """Return the row of a table with columns: what, printed, ours, ratio."""
    return (name, float(printed), float(ours), float(ours) / float(printed))


# How figures of the report look: one size, one style, labeled axes.


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
