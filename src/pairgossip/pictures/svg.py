"""A canvas that writes SVG, and text in SVG: no script, no fonts of its own, no identifiers."""

from __future__ import annotations

import html
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.pictures.parts import find_runs
from pairgossip.pictures.scales import Scale
from pairgossip.pictures.thinning import thin_line
from pairgossip.text import clean_text

_DASHES = {"-": "", "--": ' stroke-dasharray="6 4"', ":": ' stroke-dasharray="1.5 3"'}
_OUTSIDE = 1e5
"""Pixels from the picture's corner beyond which points are drawn as if they were there."""
_BORDER = 1.5
"""Pixels that lines may go beyond the borders, so that a line on a border has its full width."""
_MOST_MARKERS = 2_000
"""Markers beyond which those on the same pixel are drawn once."""
_LONGEST = 500
"""Characters of one text; a longer one is cut."""
_NARROW, _WIDE, _CAPITALS = "iIjlftr.,:;|!'()[] /", "mwMW@%", "ABCDEFGHKNOPQRSUVXYZ"


class Box(NamedTuple):
    """A rectangle, in pixels from the upper left corner."""

    left: float
    top: float
    width: float
    height: float


class SvgCanvas:
    """Draws in a box; `elements` has what is cut at its borders, then markers, which are not."""

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
        """Draw one path for all lines that NaN separates."""
        if path := self._path(x, y, ""):
            self._inside.append(
                f'<path d="{path}" fill="none" stroke="{escape(color)}" stroke-width="{width:g}"'
                f' stroke-linejoin="round"{_DASHES[style]}/>'
            )

    def polygon(
        self, x: FloatArray, y: FloatArray, *, color: str, opacity: float, label: str = ""
    ) -> None:
        """Draw one path for all polygons that NaN separates."""
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
        """Draw the markers whose middles lie in the box, whole."""
        at_x, at_y = self._x.place(x), self._y.place(y)
        is_inside = (np.abs(at_x - 0.5) <= 0.5 + 1e-9) & (np.abs(at_y - 0.5) <= 0.5 + 1e-9)
        rows = np.column_stack((*self._to_pixels(at_x, at_y), radii))[is_inside]
        if len(rows) > _MOST_MARKERS:
            rows = np.array(list(dict.fromkeys(map(tuple, np.round(rows).tolist()))))
        self._markers.append(
            f'<g fill="{escape(color)}">'
            + "".join(_MARKERS[marker](*map(float, row)) for row in rows)
            + "</g>"
        )

    @property
    def elements(self) -> str:
        """What was drawn."""
        left, top = self._box.left - _BORDER, self._box.top - _BORDER
        width, height = self._box.width + 2 * _BORDER, self._box.height + 2 * _BORDER
        inside = "".join(self._inside)
        # A nested svg cuts at its borders as a clip path would, which needs an identifier.
        return (
            f'<svg x="{px(left)}" y="{px(top)}" width="{px(width)}" height="{px(height)}" '
            f'viewBox="{px(left)} {px(top)} {px(width)} {px(height)}">{inside}</svg>'
            f"{''.join(self._markers)}"
        )

    def _path(self, x: FloatArray, y: FloatArray, end: str) -> str:
        x, y = self._to_pixels(self._x.place(x), self._y.place(y))
        runs = find_runs(~np.isnan(x) & ~np.isnan(y))
        return "".join(_write_run(x[run], y[run], end) for run in runs if run.stop - run.start > 1)

    def _to_pixels(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        box = self._box
        return (
            np.clip(box.left + box.width * x, -_OUTSIDE, _OUTSIDE),
            np.clip(box.top + box.height * (1 - y), -_OUTSIDE, _OUTSIDE),
        )


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


def px(length: float) -> str:
    """Return a length in pixels, to the hundredth."""
    return f"{round(float(length), 2) + 0.0:.8g}"


def escape(text: object) -> str:
    """Return text on one line for an element or an attribute, control characters spelled out."""
    return html.escape(clean_text(text, _LONGEST))


def write_text(
    x: float, y: float, text: str, size: float, anchor: str = "start", more: str = ""
) -> str:
    """Return a text whose baseline starts, has its middle, or ends at a point."""
    placed = f'<text x="{px(x)}" y="{px(y)}" font-size="{size:g}"'
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f"{placed}{anchored}{more}>{escape(text)}</text>"


def measure(text: str, size: float) -> float:
    """Return about how wide a text is in the usual fonts, in pixels; rather too wide."""
    return size * sum(map(_letter_width, clean_text(text, _LONGEST)))


def _letter_width(letter: str) -> float:
    """Return the width of a letter as a share of the size of its font."""
    if letter in _NARROW:
        return 0.36
    if letter in _WIDE or letter > "\u2e80":
        return 0.95
    return 0.72 if letter in _CAPITALS else 0.57


def wrap(text: str, size: float, width: float) -> list[str]:
    """Break a text between words into lines that are no wider, where words allow."""
    lines: list[str] = []
    for word in clean_text(text, _LONGEST).split():
        if lines and measure(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
