"""The parts of a picture; each draws itself on a canvas, in the coordinates of the data.

On a canvas NaN is a gap, and an infinite value lies on the border. A new part is one class here;
a new way of drawing is one class with the methods of `Canvas`.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.errors import InputError
from pairgossip.pictures.palette import MAIN, MUTED

Ends = tuple[FloatArray, FloatArray]
"""The lower and the upper ends of bars, as coordinates."""
_BAR_WIDTH = 1.3
"""Width of the bars through dots, in pixels."""


class Canvas(Protocol):
    """The surface that parts are drawn on; lengths are pixels of 1/96 inch."""

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
        """Draw a line through points; NaN separates lines."""

    def polygon(
        self, x: FloatArray, y: FloatArray, *, color: str, opacity: float, label: str = ""
    ) -> None:
        """Fill the polygon with these corners; NaN separates polygons."""

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
        """Draw a circle ("o"), square ("s") or diamond ("D") at every point inside the borders."""


class Part(Protocol):
    """One element of a picture."""

    @property
    def label(self) -> str:
        """The name in the legend; empty if it has no entry there."""

    def draw(self, canvas: Canvas) -> None:
        """Draw the part."""

    def reach(self) -> tuple[FloatArray, FloatArray]:
        """Return the x and the y values that axes without a given range must show."""

    def sample(self) -> Part:
        """Return a sample of its look for the legend, from 0 to 1 on both axes."""


class Line(NamedTuple):
    """A curve; with ``steps`` each value holds until the next x, as in a survival curve."""

    x: FloatArray
    y: FloatArray
    label: str = ""
    color: str = MAIN
    style: str = "-"
    """ "-", "--" or ":"."""
    steps: bool = False
    width: float = 1.8

    def draw(self, canvas: Canvas) -> None:
        """Draw the curve, and a dot for every point without neighbors."""
        x, y = _columns(self.x, self.y)
        if self.steps:
            x, y = hold_values(x, y)
        look = {"color": self.color, "label": self.label}
        canvas.polyline(x, y, width=self.width, style=self.style, **look)
        is_lone = find_lone(x, y)
        if is_lone.any():
            radii = np.full(is_lone.sum(), 1.5 * self.width)
            canvas.markers(x[is_lone], y[is_lone], color=self.color, marker="o", radii=radii)

    def reach(self) -> tuple[FloatArray, FloatArray]:
        """Return all points."""
        return self.x, self.y

    def sample(self) -> Part:
        """Return a line from left to right."""
        return self._replace(x=np.array([0.0, 1.0]), y=np.full(2, 0.5), steps=False)


class Area(NamedTuple):
    """The area between two curves over x, such as a band."""

    x: FloatArray
    low: FloatArray
    high: FloatArray
    label: str = ""
    color: str = MAIN
    opacity: float = 0.2
    steps: bool = False

    def draw(self, canvas: Canvas) -> None:
        """Draw one polygon per stretch on which both curves have values."""
        x, low, high = _columns(self.x, self.low, self.high)
        if self.steps:
            x, low, high = hold_values(x, low, high)
        runs = find_runs(~(np.isnan(x) | np.isnan(low) | np.isnan(high)))
        canvas.polygon(
            _close([(x[run], x[run][::-1]) for run in runs]),
            _close([(high[run], low[run][::-1]) for run in runs]),
            color=self.color,
            opacity=self.opacity,
            label=self.label,
        )

    def reach(self) -> tuple[FloatArray, FloatArray]:
        """Return both edges."""
        return self.x, np.concatenate((self.low, self.high))

    def sample(self) -> Part:
        """Return a filled box."""
        return Region(*_BOX, self.label, self.color, self.opacity)


class Region(NamedTuple):
    """The inside of a closed line, such as the region that holds a curve for certain."""

    x: FloatArray
    y: FloatArray
    label: str = ""
    color: str = MAIN
    opacity: float = 0.2

    def draw(self, canvas: Canvas) -> None:
        """Draw the polygon; NaN separates several polygons."""
        x, y = _columns(self.x, self.y)
        canvas.polygon(x, y, color=self.color, opacity=self.opacity, label=self.label)

    def reach(self) -> tuple[FloatArray, FloatArray]:
        """Return all corners."""
        return self.x, self.y

    def sample(self) -> Part:
        """Return a filled box."""
        return Region(*_BOX, self.label, self.color, self.opacity)


class Dots(NamedTuple):
    """Points, with error bars where these are given."""

    x: FloatArray
    y: FloatArray
    label: str = ""
    color: str = MAIN
    x_ends: Ends | None = None
    y_ends: Ends | None = None
    sizes: FloatArray | None = None
    """Areas relative to each other, such as the weights of a forest plot."""
    marker: str = "o"
    """ "o", "s" or "D"."""

    def draw(self, canvas: Canvas) -> None:
        """Draw the bars, and the points on top."""
        x, y = _columns(self.x, self.y)
        bars = []
        if self.x_ends is not None:
            bars.append((_join_bars(*_columns(*self.x_ends, x)[:2]), _join_bars(y, y)))
        if self.y_ends is not None:
            bars.append((_join_bars(x, x), _join_bars(*_columns(*self.y_ends, x)[:2])))
        for bar in bars:
            canvas.polyline(*bar, color=self.color, width=_BAR_WIDTH)
        radii = _radii(self.sizes, len(x))
        canvas.markers(x, y, color=self.color, marker=self.marker, radii=radii, label=self.label)

    def reach(self) -> tuple[FloatArray, FloatArray]:
        """Return all points and the ends of their error bars."""
        return np.concatenate((self.x, *(self.x_ends or ()))), np.concatenate(
            (self.y, *(self.y_ends or ()))
        )

    def sample(self) -> Part:
        """Return one point with its error bar."""
        middle = np.array([0.5])
        ends = (np.array([0.0]), np.array([1.0]))
        return Dots(
            middle,
            middle,
            self.label,
            self.color,
            x_ends=self.x_ends and ends,
            y_ends=self.y_ends and ends,
            marker=self.marker,
        )


class Rule(NamedTuple):
    """A reference line across the whole picture, at one x or one y."""

    x: float | None = None
    y: float | None = None
    label: str = ""
    style: str = "--"
    color: str = MUTED

    def draw(self, canvas: Canvas) -> None:
        """Draw the line from border to border."""
        across = np.array([-np.inf, np.inf])
        look = {"color": self.color, "style": self.style, "label": self.label}
        if self.x is not None:
            canvas.polyline(np.full(2, self.x), across, width=1.2, **look)
        if self.y is not None:
            canvas.polyline(across, np.full(2, self.y), width=1.2, **look)

    def reach(self) -> tuple[FloatArray, FloatArray]:
        """Return its position."""
        x, y = ([] if at is None else [at] for at in (self.x, self.y))
        return np.array(x), np.array(y)

    def sample(self) -> Part:
        """Return a line from left to right."""
        return Rule(None, 0.5, self.label, self.style, self.color)


_BOX = (np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0, 1.0]))


def hold_values(x: FloatArray, *curves: FloatArray) -> tuple[FloatArray, ...]:
    """Return the corners of curves whose values hold until the next x."""
    return np.repeat(x, 2)[1:], *(np.repeat(curve, 2)[:-1] for curve in curves)


def find_runs(is_known: BoolArray) -> list[slice]:
    """Return the stretches without unknown values."""
    bounded = np.concatenate(([False], is_known, [False]))
    ends = np.flatnonzero(bounded[1:] != bounded[:-1])
    return [slice(int(start), int(stop)) for start, stop in ends.reshape(-1, 2)]


def find_lone(x: FloatArray, y: FloatArray) -> BoolArray:
    """Return which points have no neighbor to draw a line to."""
    is_lone = np.zeros(len(x), dtype=np.bool_)
    for run in find_runs(~np.isnan(x) & ~np.isnan(y)):
        is_lone[run] = run.stop - run.start == 1
    return is_lone


def _columns(*columns: FloatArray) -> tuple[FloatArray, ...]:
    """Return the coordinates of a part as arrays of one length."""
    arrays = tuple(np.asarray(column, dtype=np.float64) for column in columns)
    if any(array.ndim != 1 for array in arrays) or len({len(array) for array in arrays}) > 1:
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise InputError(f"The parts of a picture need coordinates of one length, not {shapes}.")
    return arrays


def _close(rings: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Join the outlines of several polygons, out and back, with NaN between them."""
    gap = np.array([np.nan])
    return np.concatenate([gap, *(part for ring in rings for part in (*ring, gap))])


def _join_bars(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return one coordinate of separate lines, each from its low end to its high end."""
    return np.column_stack((low, high, np.full(len(low), np.nan))).ravel()


_RADIUS, _LARGEST_RADIUS, _LEAST_RADIUS = 3.4, 6.5, 2.2
"""Radii of markers, in pixels: the default, and the largest and smallest of sized markers."""


def _radii(sizes: FloatArray | None, count: int) -> FloatArray:
    """Return the radius of each marker, in pixels."""
    if sizes is None:
        return np.full(count, _RADIUS)
    areas = np.nan_to_num(np.maximum(_columns(sizes, np.zeros(count))[0], 0.0))
    largest = areas.max(initial=0.0) or 1.0
    return np.maximum(_LARGEST_RADIUS * np.sqrt(areas / largest), _LEAST_RADIUS)
