"""A picture as SVG: where axes, their words, the legend and the texts beside and below stand."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.pictures.palette import GRID, INK, MUTED
from pairgossip.pictures.parts import Part
from pairgossip.pictures.scales import Scale, label_ticks
from pairgossip.pictures.svg import Box, SvgCanvas, escape, measure, px, wrap, write_text

if TYPE_CHECKING:
    from pairgossip.pictures.picture import Picture

_SMALL, _NORMAL, _LARGE = 12.0, 13.0, 15.0
"""Sizes of ticks, of other words and of the title, in pixels."""
_LINE = 1.35
"""Height of a line of text, as a multiple of its size."""
_EDGE = 8.0
"""Pixels left free around everything."""
_GAP = 8.0
"""Pixels between words and what they belong to."""
_TICK = 5.0
"""Length of a tick, in pixels."""
_ROW = 26.0
"""Height of a row of a forest plot, in pixels."""
_SHAPE = 0.68
"""Height of axes that are not square, as a share of their width."""
_KEY = 24.0
"""Width of a sample in the legend, in pixels."""
_MOST_FOR_NAMES = 0.38
"""Share of the width that names of rows may take; longer ones are broken into lines."""
_MUTED_FILL = f' fill="{MUTED}"'
_BOLD = ' font-weight="600"'


def write_svg(picture: Picture, width: int) -> str:
    """Return the picture as one SVG element of so many pixels."""
    return _Drawing(picture, float(width)).write()


class _Entry(NamedTuple):
    """A part in the legend, and its name in lines."""

    part: Part
    lines: list[str]

    @property
    def width(self) -> float:
        return _KEY + 6 + max(measure(line, _NORMAL) for line in self.lines)


class _Drawing:
    """One picture at one width, from top to bottom."""

    def __init__(self, picture: Picture, width: float) -> None:
        self.picture, self.width = picture, width
        self.x, self.y = picture.scales()
        rows = np.arange(len(picture.rows), dtype=np.float64)
        self.y_ticks = rows if picture.rows else self.y.ticks(6)
        self.title = wrap(picture.title, _LARGE, width - 2 * _EDGE)
        self.rows = [wrap(row, _NORMAL, _MOST_FOR_NAMES * width) or [""] for row in picture.rows]
        self.box = self._place_box()
        at = picture.below_at
        most = max(2, int(self.box.width / 65))
        self.x_ticks = np.array(at, dtype=np.float64) if at else self.x.ticks(most)

    def write(self) -> str:
        """Return the whole SVG."""
        legend, bottom = self._write_legend(self._end_of_axes())
        canvas = SvgCanvas(self.box, self.x, self.y)
        for part in self.picture.parts:
            part.draw(canvas)
        body = (
            f'<rect width="{px(self.width)}" height="{px(bottom)}" fill="#fff"/>'
            f"{''.join(self._write_axes())}{canvas.elements}{''.join(self._write_words())}{legend}"
        )
        return self._wrap_body(body, bottom)

    def _wrap_body(self, body: str, height: float) -> str:
        picture = self.picture
        key = "picture-" + hashlib.sha256(body.encode()).hexdigest()[:12]
        title = picture.title or f"{picture.y_label} by {picture.x_label}"
        size = f'width="{px(self.width)}" height="{px(height)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {px(self.width)} {px(height)}" '
            f'{size} role="img" aria-labelledby="{key}-title {key}-desc" color="{INK}" '
            'fill="currentColor" font-family="system-ui, -apple-system, sans-serif" '
            'style="max-width:100%;height:auto">'
            f'<title id="{key}-title">{escape(title)}</title>'
            f'<desc id="{key}-desc">{escape(picture.description or title)}</desc>{body}</svg>'
        )

    def _place_box(self) -> Box:
        picture = self.picture
        names = max((measure(name, _SMALL) for name, _ in picture.below), default=0.0)
        left = max(self._width_of_y() + _EDGE, names + 2 * _GAP + _EDGE)
        notes = max(
            (measure(note, _SMALL) for note in (*picture.notes, picture.notes_label)), default=0.0
        )
        right = notes + _GAP + _EDGE if picture.notes else 2.5 * _EDGE
        top = _EDGE + len(self.title) * _LARGE * _LINE + (_GAP if self.title else 4)
        if picture.rows and (picture.y_label or picture.notes_label):
            top += _NORMAL * _LINE
        width = max(self.width - left - right, 60.0)
        if picture.rows:
            return Box(left, top, width, sum(self._row_heights()))
        return Box(left, top, width, width if picture.is_square else _SHAPE * width)

    def _row_heights(self) -> list[float]:
        tallest = max(len(lines) for lines in self.rows)
        return [max(_ROW, 10 + tallest * _NORMAL * _LINE)] * len(self.rows)

    def _width_of_y(self) -> float:
        """Return how much room the y axis takes to the left of it."""
        if self.picture.rows:
            return max(measure(line, _NORMAL) for lines in self.rows for line in lines) + 1.5 * _GAP
        labels = max((measure(label, _SMALL) for label in label_ticks(self.y_ticks)), default=0.0)
        return labels + _TICK + 4 + (_NORMAL * _LINE + 2 if self.picture.y_label else 0)

    def _write_axes(self) -> Iterator[str]:
        box, bottom = self.box, self.box.top + self.box.height
        across = self._pixels_x(self.x_ticks)
        up = self._pixels_y(self.y_ticks)
        grid = [f"M{px(x)},{px(box.top)}V{px(bottom)}" for x in across]
        ticks = [f"M{px(x)},{px(bottom)}v{px(_TICK)}" for x in across]
        frame = f"M{px(box.left)},{px(bottom)}H{px(box.left + box.width)}"
        if not self.picture.rows:
            grid += [f"M{px(box.left)},{px(y)}H{px(box.left + box.width)}" for y in up]
            ticks += [f"M{px(box.left)},{px(y)}h{px(-_TICK)}" for y in up]
            frame += f"M{px(box.left)},{px(box.top)}V{px(bottom)}"
        yield f'<path d="{"".join(grid)}" stroke="{GRID}" fill="none"/>'
        yield f'<path d="{"".join(ticks)}{frame}" stroke="currentColor" fill="none"/>'

    def _write_words(self) -> Iterator[str]:
        yield from self._write_title()
        yield from self._write_x_words()
        yield from self._write_rows() if self.picture.rows else self._write_y_words()
        yield from self._write_below()

    def _write_title(self) -> Iterator[str]:
        for number, line in enumerate(self.title):
            yield write_text(
                _EDGE, _EDGE + _LARGE + number * _LARGE * _LINE, line, _LARGE, more=_BOLD
            )

    def _write_x_words(self) -> Iterator[str]:
        bottom = self.box.top + self.box.height
        labels = label_ticks(self.x_ticks)
        for x, label in zip(self._pixels_x(self.x_ticks), labels, strict=True):
            yield write_text(x, bottom + _TICK + _SMALL + 1, label, _SMALL, "middle")
        middle = self.box.left + self.box.width / 2
        base = bottom + _TICK + _SMALL * _LINE + _NORMAL + 3
        yield write_text(middle, base, self.picture.x_label, _NORMAL, "middle")

    def _write_y_words(self) -> Iterator[str]:
        for y, label in zip(self._pixels_y(self.y_ticks), label_ticks(self.y_ticks), strict=True):
            yield write_text(self.box.left - _TICK - 3, y + 0.35 * _SMALL, label, _SMALL, "end")
        x, y = _EDGE + _NORMAL - 2, self.box.top + self.box.height / 2
        turned = f' transform="rotate(-90 {px(x)} {px(y)})"'
        yield write_text(x, y, self.picture.y_label, _NORMAL, "middle", turned)

    def _write_rows(self) -> Iterator[str]:
        picture, right = self.picture, self.width - _EDGE
        heading = self.box.top - _GAP
        yield write_text(_EDGE, heading, picture.y_label, _SMALL, more=_BOLD)
        yield write_text(right, heading, picture.notes_label, _SMALL, "end", _BOLD)
        for y, lines in zip(self._pixels_y(self.y_ticks), self.rows, strict=True):
            first = y + 0.35 * _NORMAL - (len(lines) - 1) * _NORMAL * _LINE / 2
            for number, line in enumerate(lines):
                yield write_text(_EDGE, first + number * _NORMAL * _LINE, line, _NORMAL)
        for y, note in zip(self._pixels_y(self.y_ticks), picture.notes, strict=False):
            yield write_text(right, y + 0.35 * _SMALL, note, _SMALL, "end")

    def _write_below(self) -> Iterator[str]:
        base = self.box.top + self.box.height + _TICK + (_SMALL + _NORMAL) * _LINE + _GAP
        across = self._pixels_x(self.x_ticks)
        if self.picture.below_label:
            base += _SMALL * _LINE
            yield write_text(_EDGE, base, self.picture.below_label, _SMALL, more=_BOLD)
        for name, texts in self.picture.below:
            base += _SMALL * _LINE
            yield write_text(_EDGE, base, name, _SMALL)
            for x, text in zip(across, texts, strict=True):
                yield write_text(x, base, text, _SMALL, "middle")

    def _end_of_axes(self) -> float:
        """Return where the words under the x axis end."""
        lines = len(self.picture.below) + bool(self.picture.below_label)
        words = _SMALL * _LINE + (_NORMAL * _LINE + 3 if self.picture.x_label else 0)
        below = lines * _SMALL * _LINE + (_GAP if lines else 0)
        return self.box.top + self.box.height + _TICK + words + below + _GAP

    def _write_legend(self, top: float) -> tuple[str, float]:
        """Return the legend below the axes, and where it ends."""
        left, right, written = self.box.left, self.width - _EDGE, []
        x, height = left, 0.0
        for entry in _list_entries(self.picture.parts, right - left - _KEY - 6):
            if x > left and x + entry.width > right:
                x, top, height = left, top + height, 0.0
            written.append(_write_entry(entry, x, top))
            x += entry.width + 16
            height = max(height, len(entry.lines) * _NORMAL * _LINE + 2)
        return "".join(written), top + height + (_EDGE / 2)

    def _pixels_x(self, values: FloatArray) -> FloatArray:
        return self.box.left + self.box.width * self.x.place(values)

    def _pixels_y(self, values: FloatArray) -> FloatArray:
        return self.box.top + self.box.height * (1 - self.y.place(values))


def _list_entries(parts: Sequence[Part], width: float) -> list[_Entry]:
    """Return what the legend names, each name once."""
    by_name: dict[str, Part] = {}
    for part in parts:
        by_name.setdefault(part.label, part)
    return [
        _Entry(part, wrap(name, _NORMAL, width)) for name, part in by_name.items() if name.strip()
    ]


def _write_entry(entry: _Entry, left: float, top: float) -> str:
    unit = Scale(0.0, 1.0)
    canvas = SvgCanvas(Box(left, top + 3, _KEY, _NORMAL * _LINE - 6), unit, unit)
    entry.part.sample().draw(canvas)
    lines = (
        write_text(left + _KEY + 6, top + _NORMAL + number * _NORMAL * _LINE, line, _NORMAL)
        for number, line in enumerate(entry.lines)
    )
    return canvas.elements + "".join(lines)
