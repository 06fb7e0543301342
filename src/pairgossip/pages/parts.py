"""What a page is made of; each part writes itself, so a new one is one class with `to_html`.

All text is escaped, with characters that control how it looks spelled out. In paragraphs, captions,
facts and tables, text between backticks is set as code.
"""

from __future__ import annotations

import html
import re
from typing import NamedTuple, Protocol

from pairgossip.errors import InputError
from pairgossip.pictures.picture import Picture
from pairgossip.text import align_columns, clean_text, printable

_LONGEST = 10_000
"""Characters of one text; a longer one is cut."""
_CODE = re.compile("`([^`]+)`")
_BRACKETS = re.compile(r" (\([^()<>]*\)|\[[^\[\]<>]*\])")
"""What stands in brackets after a number, such as its interval."""


class Part(Protocol):
    """One thing on a page."""

    def to_html(self) -> str:
        """Return it as HTML."""


class Heading(NamedTuple):
    """The title of what follows; level 1 is the page's own."""

    text: str
    level: int = 2

    def to_html(self) -> str:
        """Return a heading."""
        return f"<h{self.level}>{escape(self.text)}</h{self.level}>\n"


class Paragraph(NamedTuple):
    """Sentences."""

    text: str

    def to_html(self) -> str:
        """Return a paragraph."""
        return f"<p>{write_words(self.text)}</p>\n"


class Value(NamedTuple):
    """The number that the page is about, and how sure it is."""

    text: str
    note: str = ""

    def to_html(self) -> str:
        """Return the value in large letters, and the note under it."""
        note = f'<p class="note">{write_words(self.note)}</p>\n' if self.note else ""
        return f'<p class="value">{write_words(self.text)}</p>\n{note}'


class Quote(NamedTuple):
    """What was said elsewhere, word for word."""

    paragraphs: tuple[str, ...]

    def to_html(self) -> str:
        """Return a quotation."""
        said = "".join(f"<p>{escape(text)}</p>" for text in self.paragraphs)
        return f"<blockquote>{said}</blockquote>\n"


class Code(NamedTuple):
    """Text in lines, as it is in a file."""

    text: str

    def to_html(self) -> str:
        """Return the lines as they are."""
        return f"<pre>{html.escape(printable(self.text))}</pre>\n"


class Figure(NamedTuple):
    """A picture and what it says."""

    picture: Picture
    caption: str = ""

    def to_html(self) -> str:
        """Return the picture as SVG."""
        caption = f"<figcaption>{write_words(self.caption)}</figcaption>" if self.caption else ""
        return f"<figure>{self.picture.to_svg()}{caption}</figure>\n"


class Facts(NamedTuple):
    """Names, and what is said of each."""

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
    """Which columns are text; unless given the first is, and the others are numbers."""

    def drop_empty(self) -> Table:
        """Return the table without the columns in which nothing is known."""
        kept = [at for at in range(len(self.header)) if any(row[at] for row in self.rows)]
        header, *rows = (tuple(row[at] for at in kept) for row in (self.header, *self.rows))
        return self._replace(header=header, rows=tuple(rows))

    def to_text(self) -> str:
        """Return the header and the rows as lines of equal columns."""
        return "\n".join(align_columns([self.header, *self.rows]))

    def to_html(self) -> str:
        """Return a table in a box of its own, which scrolls where it is narrower."""
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
    """Return the cells of a row, of which the first is its header."""
    first, *others = (
        (kind, _keep_together(write_words(text)) if kind else write_words(text))
        for kind, text in zip(kinds, row, strict=True)
    )
    return f'<th scope="row"{first[0]}>{first[1]}</th>' + "".join(
        f"<td{kind}>{words}</td>" for kind, words in others
    )


def _keep_together(words: str) -> str:
    """Let a line of numbers break only between what is in brackets and what is not."""
    return _BRACKETS.sub(r" <span>\1</span>", words)


def escape(text: object) -> str:
    """Return text as HTML on one line, with control characters spelled out."""
    return html.escape(clean_text(text, _LONGEST))


def write_words(text: object) -> str:
    """Return text as HTML on one line; what stands between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))
