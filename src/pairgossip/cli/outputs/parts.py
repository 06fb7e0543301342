"""The parts of a page as text: all of it but the pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pairgossip.cli.console import write_line, write_rows
from pairgossip.pages.parts import Code, Facts, Heading, Paragraph, Part, Quote, Table, Value
from pairgossip.text import align_columns, clean_text

_LONGEST = 10_000
"""Characters of one text; a longer one is cut."""


def print_parts(parts: Iterable[Part]) -> None:
    """Print the parts of a page in their order."""
    for part in parts:
        if (printer := _PRINTERS.get(type(part))) is not None:
            printer(part)


def _clean(text: str) -> str:
    return clean_text(text.replace("`", ""), _LONGEST)


def _print_heading(part: Heading) -> None:
    write_line(f"\n{_clean(part.text)}")


def _print_paragraph(part: Paragraph) -> None:
    write_line(_clean(part.text))


def _print_value(part: Value) -> None:
    write_line(_clean(f"{part.text} ({part.note})" if part.note else part.text))


def _print_lines(part: Quote) -> None:
    for text in part.paragraphs:
        write_line(_clean(text))


def _print_code(part: Code) -> None:
    for line in part.text.splitlines():
        write_line(_clean(line))


def _print_facts(part: Facts) -> None:
    write_rows(("figure", ""), [[*map(_clean, row)] for row in part.rows], numbers=False)


def _print_table(part: Table) -> None:
    """Print a table in full width, because a number that is cut is of no use."""
    if part.caption:
        write_line(f"\n{_clean(part.caption)}")
    for line in align_columns([[*map(_clean, row)] for row in (part.header, *part.rows)]):
        write_line(line)
    write_line("")


_PRINTERS: dict[type, Callable[[Any], None]] = {
    Heading: _print_heading,
    Paragraph: _print_paragraph,
    Value: _print_value,
    Quote: _print_lines,
    Code: _print_code,
    Facts: _print_facts,
    Table: _print_table,
}
"""The function that prints each kind of part; pictures are not printed."""
