"""A picture drawn with matplotlib, which is imported only when drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import needed_for
from pairgossip.pictures.parts import find_runs
from pairgossip.pictures.scales import Scale, is_on_axis, label_ticks
from pairgossip.pictures.svg_text import measure
from pairgossip.pictures.thinning import thin_line
from pairgossip.text import clean_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pairgossip.pictures.picture import Picture

_WIDTH, _HEIGHT, _SQUARE, _ROW = 7.0, 4.5, 5.2, 0.32
"""Sizes of figures, and the height of a row of a forest plot, in inches."""
_DOTS = 2_000
"""Dots across the axes to which lines are thinned: the resolution of a printer at 7 inches."""
_FONT = 10.0
"""Size of the letters in names of rows, in points."""
_LONGEST, _LONGEST_NAME = 90, 36
"""Largest numbers of characters of a text and of a row's name; longer ones squeeze the axes."""
_POINTS = 0.75
"""Points per pixel."""


class AxesCanvas:
    """Draws on matplotlib axes."""

    def __init__(self, ax: Axes, x: Scale, y: Scale) -> None:
        self._ax, self._x, self._y = ax, x, y

    def polyline(
        self,
        x: FloatArray,
        y: FloatArray,
        *,
        color: str,
        width: float,
        style: str = "-",
        label: str = "",
    ) -> None:
        """Draw one line per run of points; NaN separates runs."""
        x, y = self._thin(x, y)
        look: Any = {"color": color, "linestyle": style, "linewidth": width * _POINTS}
        self._ax.plot(x, y, label=write_plainly(label), **look)

    def polygon(
        self, x: FloatArray, y: FloatArray, *, color: str, opacity: float, label: str = ""
    ) -> None:
        """Fill every polygon; only the first carries the label."""
        x, y = self._thin(x, y)
        for run in find_runs(~np.isnan(x)):
            look: Any = {"color": color, "alpha": opacity, "linewidth": 0}
            self._ax.fill(x[run], y[run], label=write_plainly(label), **look)
            label = ""

    def markers(
        self,
        x: FloatArray,
        y: FloatArray,
        *,
        color: str,
        marker: str,
        radii: FloatArray,
        label: str = "",
    ) -> None:
        """Draw the markers whose centers lie on the axes, without clipping them."""
        is_inside = is_on_axis(self._x, x) & is_on_axis(self._y, y)
        x, y = self._x.hold(x)[is_inside], self._y.hold(y)[is_inside]
        look: Any = {"color": color, "marker": marker, "linewidths": 0, "clip_on": False}
        sizes = _SIDES[marker] * np.square(radii[is_inside] * _POINTS)
        self._ax.scatter(x, y, s=sizes, label=write_plainly(label), zorder=3, **look)

    def _thin(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the points that make a visible difference, with a NaN after each line."""
        x, y = self._x.hold(x), self._y.hold(y)
        across, up = _DOTS * self._x.place(x), _DOTS * self._y.place(y)
        runs = find_runs(~np.isnan(across) & ~np.isnan(up))
        kept = [run.start + thin_line(across[run], up[run]) for run in runs]
        gap = np.array([np.nan])
        return tuple(  # type: ignore[return-value]
            np.concatenate([gap, *(part for one in kept for part in (values[one], gap))])
            for values in (x, y)
        )


_SIDES = {"o": 4.0, "s": np.pi, "D": np.pi}
"""Squared sides of markers of equal area; matplotlib measures squares and diamonds by sides."""


def write_plainly(text: str, longest: int = _LONGEST) -> str:
    """Return text that matplotlib does not take for a formula or for a private name."""
    plain = clean_text(text, longest).replace("$", r"\$")
    return f" {plain}" if plain.startswith("_") else plain


def draw_picture(picture: Picture, ax: Axes | None) -> Axes:
    """Draw on the given axes, or on new ones, and return them; see `Picture.draw`."""
    is_new = ax is None or not ax.has_data()
    ax = _open_axes(picture) if ax is None else ax
    x, y = picture.scales()
    canvas = AxesCanvas(ax, x, y)
    for part in picture.parts:
        part.draw(canvas)
    _set_axes(ax, picture, *((x, y) if is_new else _join(ax, x, y)))
    if picture.rows:
        _write_rows(ax, picture)
    if picture.below:
        _write_below(ax, picture)
    _add_legend(ax, picture)
    return ax


def _open_axes(picture: Picture) -> Axes:
    with needed_for("Drawing"):
        from matplotlib import pyplot
    size = (_SQUARE, _SQUARE) if picture.is_square else (_WIDTH, _HEIGHT)
    if picture.rows:
        size = (_WIDTH, 1.2 + _ROW * len(picture.rows))
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def _join(ax: Axes, x: Scale, y: Scale) -> tuple[Scale, Scale]:
    """Return axes that also show what was drawn before."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    ends = np.minimum if y.low < y.high else np.maximum
    others = np.maximum if y.low < y.high else np.minimum
    return (
        x._replace(low=min(left, x.low), high=max(right, x.high)),
        y._replace(low=float(ends(bottom, y.low)), high=float(others(top, y.high))),
    )


def _set_axes(ax: Axes, picture: Picture, x: Scale, y: Scale) -> None:
    """Set ranges, ticks and labels."""
    if picture.x_log:
        ax.set_xscale("log")
        ax.minorticks_off()
    if picture.x_log or picture.below_at:
        ticks = np.array(picture.below_at) if picture.below_at else x.ticks(6)
        ax.set_xticks(ticks, label_ticks(ticks))
    ax.set(xlim=x[:2], ylim=y[:2])
    ax.set_xlabel(write_plainly(picture.x_label))
    ax.set_ylabel("" if picture.rows else write_plainly(picture.y_label))
    if picture.title:
        pad = 24.0 if picture.rows else None  # above the headings of names and notes
        ax.set_title(write_plainly(picture.title), fontsize="medium", pad=pad)
    if picture.is_square:
        ax.set_box_aspect(1)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(alpha=0.25, axis="x" if picture.rows else "both")


def _write_rows(ax: Axes, picture: Picture) -> None:
    """Write the names of rows at the left and their notes at the right, under their headings."""
    names, notes = (
        [write_plainly(text, _LONGEST_NAME) for text in texts]
        for texts in (picture.rows, picture.notes)
    )
    width = 6 + _FONT * max(measure(name, 1.0) for name in names)
    ax.set_yticks(range(len(names)), names, ha="left")
    ax.tick_params(axis="y", length=0, pad=width)
    ax.spines["left"].set_visible(False)
    look: Any = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points"}
    look |= {"va": "center", "annotation_clip": False}
    for row, note in enumerate(notes):
        ax.annotate(note, (1.0, row), (8, 0), **look)
    ax.annotate(write_plainly(picture.notes_label), (1.0, -0.9), (8, 0), weight="bold", **look)
    ax.annotate(write_plainly(picture.y_label), (0.0, -0.9), (-width, 0), weight="bold", **look)


def _write_below(ax: Axes, picture: Picture) -> None:
    """Write the texts under the x axis at their places."""
    under: Any = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points"}
    under |= {"va": "top", "fontsize": "small", "annotation_clip": False}
    left, base = ax.get_xlim()[0], -38.0
    if picture.below_label:
        label = write_plainly(picture.below_label)
        ax.annotate(label, (left, 0), (-14, base), ha="right", weight="bold", **under)
        base -= 13
    for name, texts in picture.below:
        name = write_plainly(name, _LONGEST_NAME)
        ax.annotate(name, (left, 0), (-14, base), ha="right", **under)
        for x, text in zip(picture.below_at, texts, strict=True):
            ax.annotate(write_plainly(text), (x, 0), (0, base), ha="center", **under)
        base -= 13


def _add_legend(ax: Axes, picture: Picture) -> None:
    handles, labels = ax.get_legend_handles_labels()
    if by_name := dict(zip(reversed(labels), reversed(handles), strict=True)):
        names = list(dict.fromkeys(labels))
        look: Any = {"fontsize": "small", "framealpha": 0.8, "edgecolor": "none"}
        ax.legend([by_name[name] for name in names], names, **look)
