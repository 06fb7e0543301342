"""The layout of a picture as SVG: axes, labels, legend, and the texts beside and below."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.pictures.palette import GRID, INK
from pairgossip.pictures.parts import Part
from pairgossip.pictures.scales import Scale, label_ticks
from pairgossip.pictures.svg import Box, SvgCanvas
from pairgossip.pictures.svg_text import Words, escape, measure, px, set_words

if TYPE_CHECKING:
    from pairgossip.pictures.picture import Picture

_SMALL, _NORMAL, _LARGE = 12.0, 13.0, 15.0
"""Sizes of ticks and notes, of labels, and of the title, in pixels."""
_EDGE = 8.0
"""Pixels left free around the picture, and between text and the thing it labels."""
_TICK = 5.0
"""Length of a tick, in pixels."""
_ROW = 26.0
"""Smallest height of a row of a forest plot, in pixels."""
_SHAPE = 0.68
"""Height of axes that are not square, as a share of their width."""
_NAMES = 0.36
"""Largest share of the width for names or notes of rows; longer ones are broken into lines."""
_LABEL = 0.52
"""Largest length of a line of the y axis label, as a share of the picture's width."""
_LEAST_WIDTH = 60.0
"""Smallest width of the axes, in pixels, however long the texts beside them are."""
_KEY = 24.0
"""Width of a sample in the legend, in pixels."""
_BOLD = ' font-weight="600"'


def write_svg(picture: Picture, width: int) -> str:
    """Return the picture as one SVG element of this width in pixels."""
    layout = Layout(picture, float(width))
    body = layout.write()
    key = "picture-" + hashlib.sha256(body.encode()).hexdigest()[:12]
    title = picture.title or f"{picture.y_label} by {picture.x_label}"
    size = f"{px(layout.width)} {px(layout.bottom)}".split()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {" ".join(size)}" '
        f'width="{size[0]}" height="{size[1]}" role="img" '
        f'aria-labelledby="{key}-title {key}-desc" color="{INK}" fill="currentColor" '
        'font-family="system-ui, -apple-system, sans-serif" style="max-width:100%;height:auto">'
        f'<title id="{key}-title">{escape(title)}</title>'
        f'<desc id="{key}-desc">{escape(picture.description or title)}</desc>'
        f'<rect width="{size[0]}" height="{size[1]}" fill="#fff"/>{body}</svg>'
    )


class Layout:
    """One picture at one width, written from top to bottom; `bottom` is the next free position."""

    def __init__(self, picture: Picture, width: float) -> None:
        self.picture, self.width, self.bottom = picture, width, _EDGE
        self.x, self.y = picture.scales()
        self._names = [set_words(row, _NORMAL, _NAMES * width) for row in picture.rows]
        self._notes = [set_words(note, _SMALL, _NAMES * width) for note in picture.notes]
        self._below = [set_words(name, _SMALL, _NAMES * width) for name, _ in picture.below]
        self._y_label = set_words(picture.y_label, _NORMAL, _LABEL * width)
        rows = np.arange(len(picture.rows), dtype=np.float64)
        self._y_ticks = rows if picture.rows else self.y.ticks(6)
        self._above = [
            set_words(picture.title, _LARGE, width - 2 * _EDGE),
            set_words(picture.y_label if picture.rows else "", _SMALL, _NAMES * width),
            set_words(picture.notes_label, _SMALL, _NAMES * width),
        ]
        self.box = self._place_box()
        self._canvas = SvgCanvas(self.box, self.x, self.y)
        at = np.array(picture.below_at, dtype=np.float64)
        self._x_ticks = at if at.size else self._choose_x_ticks()

    def write(self) -> str:
        """Return all elements of the picture."""
        for part in self.picture.parts:
            part.draw(self._canvas)
        above, axes = self._write_above(), self._write_axes()
        self.bottom = self.box.top + self.box.height
        beside = self._write_rows() if self.picture.rows else self._write_y_words()
        words = (above, beside, self._write_x_words(), self._write_below(), self._write_legend())
        return axes + self._canvas.elements + "".join(words)

    def _place_box(self) -> Box:
        picture, (title, *headings) = self.picture, self._above
        first = max((measure(texts[0], _SMALL) for _, texts in picture.below if texts), default=0.0)
        left = _EDGE + max(
            self._measure_y_words(), _widest(self._below) + first / 2 + _EDGE * bool(first)
        )
        notes = [*self._notes, headings[1]]
        right = _widest(notes) + 2 * _EDGE if self._notes else 2.5 * _EDGE
        top = _EDGE + title.height + max(words.height for words in headings)
        top += _EDGE if title.lines else _EDGE / 2
        width = max(self.width - left - right, _LEAST_WIDTH)
        height = width if picture.is_square else _SHAPE * width
        if picture.rows:
            tallest = max(words.height for words in (*self._names, *self._notes))
            height = max(_ROW, tallest + 4) * len(picture.rows)
        return Box(left, top, width, height)

    def _measure_y_words(self) -> float:
        """Return the width needed to the left of the y axis, in pixels."""
        if self.picture.rows:
            return _widest([*self._names, self._above[1]]) + 1.5 * _EDGE
        labels = [measure(label, _SMALL) for label in label_ticks(self._y_ticks)]
        return max(labels, default=0.0) + _TICK + 5 + self._y_label.height

    def _choose_x_ticks(self) -> FloatArray:
        """Return as many ticks as there is room for labels."""
        choices = [self.x.ticks(most) for most in range(8, 1, -1)]
        for ticks in choices:
            widths = [measure(label, _SMALL) + 2 * _EDGE for label in label_ticks(ticks)]
            if sum(widths) <= self.box.width:
                return ticks
        return choices[-1]

    def _write_axes(self) -> str:
        box, bottom = self.box, self.box.top + self.box.height
        across, up = self._canvas.pixels_x(self._x_ticks), self._canvas.pixels_y(self._y_ticks)
        grid = [f"M{px(x)},{px(box.top)}V{px(bottom)}" for x in across]
        ticks = [f"M{px(x)},{px(bottom)}v{px(_TICK)}" for x in across]
        frame = f"M{px(box.left)},{px(bottom)}H{px(box.left + box.width)}"
        if not self.picture.rows:
            grid += [f"M{px(box.left)},{px(y)}H{px(box.left + box.width)}" for y in up]
            ticks += [f"M{px(box.left)},{px(y)}h{px(-_TICK)}" for y in up]
            frame += f"M{px(box.left)},{px(box.top)}V{px(bottom)}"
        return (
            f'<path d="{"".join(grid)}" stroke="{GRID}" fill="none"/>'
            f'<path d="{"".join(ticks)}{frame}" stroke="currentColor" fill="none"/>'
        )

    def _write_above(self) -> str:
        """Write the title, and the headings of names and notes of rows."""
        title, names, notes = self._above
        base = self.box.top - _EDGE / 2
        return (
            title.write(_EDGE, _EDGE, more=_BOLD)
            + names.write(_EDGE, base - names.height, more=_BOLD)
            + notes.write(self.width - _EDGE, base - notes.height, "end", _BOLD)
        )

    def _write_rows(self) -> str:
        """Write the names of rows at the left and their notes at the right."""
        middles = self._canvas.pixels_y(self._y_ticks)
        names = (
            words.write(_EDGE, middle - words.height / 2)
            for middle, words in zip(middles, self._names, strict=True)
        )
        notes = (
            words.write(self.width - _EDGE, middle - words.height / 2, "end")
            for middle, words in zip(middles, self._notes, strict=False)
        )
        return "".join((*names, *notes))

    def _write_y_words(self) -> str:
        right, middle = self.box.left - _TICK - 3, self.box.top + self.box.height / 2
        left = self.box.left - self._measure_y_words()
        turned = f' transform="rotate(-90 {px(left)} {px(middle)})"'
        return self._y_label.write(left, middle - 2, "middle", turned) + "".join(
            Words([label], _SMALL).write(right, y - 0.65 * _SMALL, "end")
            for y, label in zip(
                self._canvas.pixels_y(self._y_ticks), label_ticks(self._y_ticks), strict=True
            )
        )

    def _write_x_words(self) -> str:
        labels = self._write_at_ticks(label_ticks(self._x_ticks), self.bottom + _TICK + 1)
        middle = self.box.left + self.box.width / 2
        reach = min(middle, self.width - middle) - _EDGE / 2
        words = set_words(self.picture.x_label, _NORMAL, 2 * reach)
        top = self.bottom + _TICK + 1.6 * _SMALL
        self.bottom = top + words.height + _EDGE
        return labels + words.write(middle, top, "middle")

    def _write_below(self) -> str:
        """Write the table under the x axis, with the names of its lines at the left."""
        label = set_words(self.picture.below_label, _SMALL, self.width - 2 * _EDGE)
        written = label.write(_EDGE, self.bottom, more=_BOLD)
        self.bottom += label.height
        for name, (_, texts) in zip(self._below, self.picture.below, strict=True):
            written += name.write(_EDGE, self.bottom)
            written += self._write_at_ticks(texts, self.bottom)
            self.bottom += name.height
        self.bottom += _EDGE * bool(self._below)
        return written

    def _write_at_ticks(self, texts: Iterable[str], top: float) -> str:
        return "".join(
            Words([text], _SMALL).write(x, top, "middle")
            for x, text in zip(self._canvas.pixels_x(self._x_ticks), texts, strict=True)
        )

    def _write_legend(self) -> str:
        """Write a sample and the name of each part below the axes, as many per line as fit."""
        left, right, written = self.box.left, self.width - _EDGE, ""
        left -= self._measure_y_words() if right - left < self.width / 2 else 0
        x, height = left, 0.0
        for part in _list_named(self.picture.parts):
            words = set_words(part.label, _NORMAL, right - left - _KEY - 6)
            if x > left and x + _KEY + 6 + words.width > right:
                x, self.bottom, height = left, self.bottom + height, 0.0
            written += _write_sample(part, x, self.bottom)
            written += words.write(x + _KEY + 6, self.bottom)
            x += _KEY + 22 + words.width
            height = max(height, words.height + 2)
        self.bottom += height + _EDGE / 2
        return written


def _widest(words: Sequence[Words]) -> float:
    return max((one.width for one in words), default=0.0)


def _list_named(parts: Sequence[Part]) -> list[Part]:
    """Return the parts that the legend names, each name once."""
    by_name: dict[str, Part] = {}
    for part in parts:
        by_name.setdefault(part.label, part)
    return [part for name, part in by_name.items() if name.strip()]


def _write_sample(part: Part, left: float, top: float) -> str:
    canvas = SvgCanvas(Box(left, top + 3, _KEY, 12), Scale(0.0, 1.0), Scale(0.0, 1.0))
    part.sample().draw(canvas)
    return canvas.elements
