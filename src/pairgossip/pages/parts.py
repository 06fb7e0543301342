"""The parts of a page; each writes itself, so a new part is one class with `to_html`.

All text is escaped, and control characters are spelled out. In paragraphs, captions, facts and
tables, text between backticks is set as code.
"""

from __future__ import annotations

import html
import re
from typing import NamedTuple, Protocol

from pairgossip.errors import InputError
from pairgossip.pictures.picture import Picture
from pairgossip.text import align_columns, clean_text, printable

_LONGEST = 10_000
"""Largest number of characters of one text; a longer one is cut."""
_CODE = re.compile("`([^`]+)`")
_BRACKETS = re.compile(r" (\([^()<>]*\)|\[[^\[\]<>]*\])")
"""Text in brackets after a number, such as its interval."""


class Part(Protocol):
    """One part of a page."""

    def to_html(self) -> str:
        """Return the part as HTML."""


class Heading(NamedTuple):
    """A heading; level 1 is the page's own title."""

    text: str
    level: int = 2

    def to_html(self) -> str:
        """Return a heading."""
        return f"<h{self.level}>{escape(self.text)}</h{self.level}>\n"


class Paragraph(NamedTuple):
    """A paragraph of text."""

    text: str

    def to_html(self) -> str:
        """Return a paragraph."""
        return f"<p>{write_words(self.text)}</p>\n"


class Value(NamedTuple):
    """The main number of the page, and a note about its uncertainty."""

    text: str
    note: str = ""

    def to_html(self) -> str:
        """Return the value in large letters, and the note under it."""
        note = f'<p class="note">{write_words(self.note)}</p>\n' if self.note else ""
        return f'<p class="value">{write_words(self.text)}</p>\n{note}'


class Quote(NamedTuple):
    """A quotation, word for word."""

    paragraphs: tuple[str, ...]

    def to_html(self) -> str:
        """Return a quotation."""
        said = "".join(f"<p>{escape(text)}</p>" for text in self.paragraphs)
        return f"<blockquote>{said}</blockquote>\n"


class Code(NamedTuple):
    """Lines of text, kept as they are in a file."""

    text: str

    def to_html(self) -> str:
        """Return the lines unchanged."""
        return f"<pre>{html.escape(printable(self.text))}</pre>\n"


class Figure(NamedTuple):
    """A picture and its caption."""

    picture: Picture
    caption: str = ""

    def to_html(self) -> str:
        """Return the picture as SVG."""
        caption = f"<figcaption>{write_words(self.caption)}</figcaption>" if self.caption else ""
        return f"<figure>{self.picture.to_svg()}{caption}</figure>\n"


class Facts(NamedTuple):
    """Names and their values, in two columns."""

    rows: tuple[tuple[str, str], ...]

    def to_html(self) -> str:
        """Return a table of two columns."""
        rows = "".join(
            f'<tr><th scope="row">{write_words(name)}</th><td>{write_words(said)}</td></tr>\n'
            for name, said in self.rows
        )
        return f'<table class="facts">{rows}</table>\n'


class Table(NamedTuple):
    """Rows under a header; the first column names them."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    text: tuple[bool, ...] = ()
    """Whether each column is text; by default the first is text and the others are numbers."""

    def drop_empty(self) -> Table:
        """Return the table without its empty columns."""
        kept = [at for at in range(len(self.header)) if any(row[at] for row in self.rows)]
        header, *rows = (tuple(row[at] for at in kept) for row in (self.header, *self.rows))
        return self._replace(header=header, rows=tuple(rows))

    def to_text(self) -> str:
        """Return the header and the rows as lines with aligned columns."""
        return "\n".join(align_columns([self.header, *self.rows]))

    def to_html(self) -> str:
        """Return the table in a box that scrolls where the page is narrower."""
        if any(len(row) != len(self.header) for row in self.rows):
            raise InputError(f"Every row of a table needs {len(self.header)} texts, as its header.")
        is_text = self.text or tuple(number == 0 for number in range(len(self.header)))
        kinds = [("", ' class="number"')[not column] for column in is_text]
        caption = f"<caption>{write_words(self.caption)}</caption>" if self.caption else ""
        header = "".join(
            f'<th scope="col"{kind}>{write_words(name)}</th>'
            for kind, name in zip(kinds, self.header, strict=True)
        )
        rows = "".join(f"<tr>{_write_row(row, kinds)}</tr>\n" for row in self.rows)
        return (
            f'<div class="wide"><table>{caption}<thead><tr>{header}</tr></thead>\n'
            f"<tbody>{rows}</tbody></table></div>\n"
        )


def _write_row(row: tuple[str, ...], kinds: list[str]) -> str:
    """Return the cells of a row; the first is its header."""
    first, *others = (
        (kind, _keep_together(write_words(text)) if kind else write_words(text))
        for kind, text in zip(kinds, row, strict=True)
    )
    return f'<th scope="row"{first[0]}>{first[1]}</th>' + "".join(
        f"<td{kind}>{words}</td>" for kind, words in others
    )


def _keep_together(words: str) -> str:
    """Let a number break only before the brackets that follow it."""
    return _BRACKETS.sub(r" <span>\1</span>", words)


def escape(text: object) -> str:
    """Return text as one line of HTML, with control characters spelled out."""
    return html.escape(clean_text(text, _LONGEST))


def write_words(text: object) -> str:
    """Return text as one line of HTML; text between backticks becomes code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))
