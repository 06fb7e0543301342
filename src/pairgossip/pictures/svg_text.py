"""Text in SVG: its width depends on the reader's font, so it is estimated from its letters."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import NamedTuple

from pairgossip.text import clean_text

_LINE = 1.35
"""Height of a line, as a multiple of the size of its letters."""
_LONGEST = 500
"""Largest number of characters of one text; a longer one is cut."""
_MOST_LINES = 4
"""Largest number of lines of one text; the rest is cut."""
_NARROW, _WIDE = "iIjlftr.,:;|!'()[]-/ ", "mwMW@%+<=>"
"""Characters about half as wide as others, and about one and a half times as wide."""


class Words(NamedTuple):
    """Lines of text of one size."""

    lines: list[str]
    size: float

    @property
    def width(self) -> float:
        """The estimated width of the longest line, in pixels."""
        return max((measure(line, self.size) for line in self.lines), default=0.0)

    @property
    def height(self) -> float:
        """The distance from the top of the first line to the bottom of the last, in pixels."""
        return len(self.lines) * self.size * _LINE

    def write(self, x: float, top: float, anchor: str = "start", more: str = "") -> str:
        """Return the lines below each other; the anchor of each, such as its middle, is at x."""
        look = f' font-size="{self.size:g}"' + more
        if anchor != "start":
            look += f' text-anchor="{anchor}"'
        return "".join(
            f'<text x="{px(x)}" y="{px(top + (1 + number * _LINE) * self.size)}"{look}>'
            f"{escape(line)}</text>"
            for number, line in enumerate(self.lines)
        )


def set_words(text: str, size: float, width: float) -> Words:
    """Break a text into lines between words, and inside words that are wider than a line."""
    lines: list[str] = []
    for word in _split_words(text, size, width):
        if lines and measure(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    cut = (
        [f"{lines[_MOST_LINES - 1]} ..."] if len(lines) > _MOST_LINES else lines[_MOST_LINES - 1 :]
    )
    return Words([*lines[: _MOST_LINES - 1], *cut], size)


def _split_words(text: str, size: float, width: float) -> Iterator[str]:
    for word in clean_text(text, _LONGEST).split():
        fitting = max(1, int(len(word) * min(1.0, width / measure(word, size))))
        yield from (word[start : start + fitting] for start in range(0, len(word), fitting))


def measure(text: str, size: float) -> float:
    """Return the estimated width of a text in the widest common font, in pixels."""
    return size * sum(map(_measure_letter, clean_text(text, _LONGEST)))


def _measure_letter(letter: str) -> float:
    """Return the width of a letter as a share of the size of its font."""
    if letter in _NARROW:
        return 0.37
    if letter in _WIDE or letter > "\u2e80":
        return 0.95
    return 0.7 if letter.isupper() else 0.62


def escape(text: object) -> str:
    """Return text on one line for an element or attribute, with control characters spelled out."""
    return html.escape(clean_text(text, _LONGEST))


def px(length: float) -> str:
    """Return a length in pixels, rounded to hundredths."""
    return f"{round(float(length), 2) + 0.0:.8g}"
