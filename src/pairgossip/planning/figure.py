"""The figure of a plan: a bar of messages for every method, and the bound of all methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairgossip.algorithms.methods import METHODS
from pairgossip.bars import BESIDE, finish_bars, open_axes
from pairgossip.results.curves import COLORS, EXACT
from pairgossip.text import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pairgossip.planning.table import Plan, PlannedMethod

_GRAY = "#777777"


def draw_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw a plan; see `Plan.plot`."""
    ax = open_axes(ax, len(plan.rows))
    wall = plan.bounds.messages
    counts = [row.messages for row in plan.rows if row.messages is not None]
    for place, row in enumerate(plan.rows):
        _draw_row(ax, place, row, wall)
    _write_bytes(ax, -0.9, "bytes")
    factor = max([10.0, *(count / wall for count in counts)])  # the longest bar
    left = min([wall / factor**0.12, *(0.8 * count for count in counts)])
    _draw_wall(ax, wall, left)
    ax.set(xscale="log", xlim=(left, wall * factor**1.38))  # with room for its number
    names = [row.name for row in plan.rows]
    finish_bars(ax, names, "messages until the error is reached", plan.title)
    return ax


def _draw_wall(ax: Axes, wall: int, left: float) -> None:
    """Shade the numbers of messages with which some answer cannot depend on every row."""
    ax.axvline(wall, color=EXACT, linewidth=1.5)
    ax.axvspan(left, wall, color=EXACT, alpha=0.12, linewidth=0)
    ax.text(
        (left * wall) ** 0.5,
        0.5,
        f"below {wall:,} some answers lack rows",
        transform=ax.get_xaxis_transform(),
        rotation=90,
        ha="center",
        va="center",
        fontsize="small",
        color=EXACT,
    )


def _draw_row(ax: Axes, place: int, row: PlannedMethod, wall: int) -> None:
    """Draw a bar from the wall on, its messages at its end and its bytes on the right."""
    if row.messages is None or row.bytes is None:
        ax.annotate("left out", (wall, place), (6, 0), color=_GRAY, **BESIDE)
        return
    fitted = row.basis == "fitted"
    ax.barh(
        place,
        row.messages - wall,
        left=wall,
        height=0.66,
        color=COLORS[METHODS[row.method].color % len(COLORS)],
        alpha=0.6 if fitted else 0.9,
        hatch="////" if fitted else None,
        edgecolor="white",
        linewidth=0,
    )
    note = f"{row.messages:,}" + (" (fitted)" if fitted else "")
    ax.annotate(note, (max(row.messages, wall), place), (6, 0), **BESIDE)
    _write_bytes(ax, place, format_bytes(row.bytes))


def _write_bytes(ax: Axes, place: float, text: str) -> None:
    """Write into the column on the right of the axes."""
    where = ax.get_yaxis_transform()
    ax.annotate(text, (1, place), (56, 0), xycoords=where, ha="right", **BESIDE)
