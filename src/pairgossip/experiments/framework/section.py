"""A section of the report: findings, figures, tables, claims; no number in it is typed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pairgossip.experiments.framework.figures import Sheet

Verdict = Literal["holds", "holds in part", "does not hold", "undecided"]
Cell = str | int | float | None


@dataclass(frozen=True)
class Picture:
    """A figure with the name of its files and the sentence below it."""

    name: str
    caption: str
    sheet: Sheet


@dataclass(frozen=True)
class Table:
    """Rows under columns; numbers are written with four significant digits."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, or of theory, and what was measured about it."""

    name: str
    statement: str
    source: str
    """Who says so: "paper, section 5" or "paper, line 641", or "theory"."""
    verdict: Verdict
    evidence: str


@dataclass(frozen=True)
class Section:
    """What one experiment found."""

    findings: Sequence[str]
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    claims: Sequence[Claim] = ()


def format_cell(value: Cell, digits: int = 4) -> str:
    """Write a cell of a table; numbers have this many significant digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:#.{digits}g}" if isinstance(value, float) else value


def ratio_row(name: str, printed: float, ours: float) -> tuple[Cell, ...]:
    """Return the row of a table with columns: what, printed, ours, ratio."""
    return (name, float(printed), float(ours), float(ours) / float(printed))


def list_values(values: Mapping[str, float], style: str = ".3g") -> str:
    """Write values out, each with its name in parentheses."""
    return ", ".join(f"{value:{style}} ({name})" for name, value in values.items())
