"""A canvas that writes SVG, without script or identifiers, so that one page can hold several."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.pictures.parts import find_runs
from pairgossip.pictures.scales import Scale, is_on_axis
from pairgossip.pictures.svg_text import escape, px
from pairgossip.pictures.thinning import thin_line

_DASHES = {
    "-": ' stroke-linecap="round"',
    "--": ' stroke-dasharray="6 4"',
    ":": ' stroke-dasharray="1.5 3"',
}
_OUTSIDE = 1e5
"""Largest distance of a point from the picture's corner, in pixels; farther points are moved in."""
_BORDER = 1.5
"""Pixels by which lines may cross the borders, so that a line on a border keeps its full width."""
_MOST_MARKERS = 2_000
"""Number of markers above which markers on the same pixel are drawn once."""


class Box(NamedTuple):
    """A rectangle, in pixels from the upper left corner."""

    left: float
    top: float
    width: float
    height: float


class SvgCanvas:
    """Draws in a box; `elements` holds lines and areas, clipped at its borders, then markers."""

    def __init__(self, box: Box, x: Scale, y: Scale) -> None:
        self._box, self._x, self._y = box, x, y
        self._inside: list[str] = []
        self._markers: list[str] = []

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
        """Draw one path for all lines; NaN separates lines."""
        if path := self._path(x, y, ""):
            self._inside.append(
                f'<path d="{path}" fill="none" stroke="{escape(color)}" stroke-width="{width:g}"'
                f' stroke-linejoin="round"{_DASHES[style]}/>'
            )

    def polygon(
        self, x: FloatArray, y: FloatArray, *, color: str, opacity: float, label: str = ""
    ) -> None:
        """Draw one path for all polygons; NaN separates polygons."""
        if path := self._path(x, y, "Z"):
            self._inside.append(
                f'<path d="{path}" fill="{escape(color)}" fill-opacity="{opacity:g}"/>'
            )

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
        """Draw the markers whose centers lie in the box, without clipping them."""
        is_inside = is_on_axis(self._x, x) & is_on_axis(self._y, y)
        rows = np.column_stack((self.pixels_x(x), self.pixels_y(y), radii))[is_inside]
        if len(rows) > _MOST_MARKERS:
            rows = np.array(list(dict.fromkeys(map(tuple, np.round(rows).tolist()))))
        self._markers.append(
            f'<g fill="{escape(color)}">'
            + "".join(_MARKERS[marker](*map(float, row)) for row in rows)
            + "</g>"
        )

    @property
    def elements(self) -> str:
        """The SVG elements drawn so far."""
        left, top = self._box.left - _BORDER, self._box.top - _BORDER
        width, height = self._box.width + 2 * _BORDER, self._box.height + 2 * _BORDER
        inside = "".join(self._inside)
        # A nested svg clips at its borders as a clip path would, but needs no identifier.
        return (
            f'<svg x="{px(left)}" y="{px(top)}" width="{px(width)}" height="{px(height)}" '
            f'viewBox="{px(left)} {px(top)} {px(width)} {px(height)}">{inside}</svg>'
            f"{''.join(self._markers)}"
        )

    def pixels_x(self, values: FloatArray) -> FloatArray:
        """Return the positions of values of x, from the left."""
        at = self._box.left + self._box.width * self._x.place(values)
        return np.clip(at, -_OUTSIDE, _OUTSIDE)

    def pixels_y(self, values: FloatArray) -> FloatArray:
        """Return the positions of values of y, from the top."""
        at = self._box.top + self._box.height * (1 - self._y.place(values))
        return np.clip(at, -_OUTSIDE, _OUTSIDE)

    def _path(self, x: FloatArray, y: FloatArray, end: str) -> str:
        x, y = self.pixels_x(x), self.pixels_y(y)
        runs = find_runs(~np.isnan(x) & ~np.isnan(y))
        return "".join(_write_run(x[run], y[run], end) for run in runs if run.stop - run.start > 1)


def _write_run(x: FloatArray, y: FloatArray, end: str) -> str:
    kept = thin_line(x, y)
    points = " ".join(f"{px(a)},{px(b)}" for a, b in zip(x[kept], y[kept], strict=True))
    return f"M{points}{end}"


def _circle(x: float, y: float, radius: float) -> str:
    return f'<circle cx="{px(x)}" cy="{px(y)}" r="{px(radius)}"/>'


def _square(x: float, y: float, radius: float) -> str:
    side = radius * np.sqrt(np.pi)  # of the same area as the circle
    place = f'x="{px(x - side / 2)}" y="{px(y - side / 2)}"'
    return f'<rect {place} width="{px(side)}" height="{px(side)}"/>'


def _diamond(x: float, y: float, radius: float) -> str:
    reach = radius * np.sqrt(np.pi / 2)
    return (
        f'<path d="M{px(x - reach)},{px(y)} {px(x)},{px(y - reach)} '
        f'{px(x + reach)},{px(y)} {px(x)},{px(y + reach)}Z"/>'
    )


_MARKERS = {"o": _circle, "s": _square, "D": _diamond}
