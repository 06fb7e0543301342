"""Pieces of the HTML: tables, claims, figures; whatever is text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from pairgossip.experiments.framework.section import Cell, Claim, Table, Verdict, written

MARKS: dict[Verdict, str] = {
    "holds": "✓",
    "holds in part": "◐",
    "does not hold": "✗",
    "undecided": "?",
}


def paragraphs(texts: Iterable[str]) -> str:
    """Set texts as paragraphs."""
    return "\n".join(f"<p>{escape(text)}</p>" for text in texts)


def table(content: Table) -> str:
    """Set a table; columns that hold numbers are aligned for numbers."""
    numbers = [
        any(isinstance(row[at], int | float) for row in content.rows)
        for at in range(len(content.columns))
    ]
    head = "".join(
        f"<th{_aligned(is_number)}>{escape(name)}</th>"
        for name, is_number in zip(content.columns, numbers, strict=True)
    )
    rows = "\n".join(f"<tr>{_cells(row, numbers)}</tr>" for row in content.rows)
    note = f'<p class="note">{escape(content.note)}</p>' if content.note else ""
    return (
        f'<figure class="table"><figcaption>{escape(content.title)}</figcaption>'
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>'
        f"</div>{note}</figure>"
    )


def claims(checked: Sequence[Claim]) -> str:
    """Set claims as a list of statement, verdict and evidence."""
    return "\n".join(
        f'<div class="claim {_class(claim)}" id="claim-{escape(claim.name)}">'
        f'<p class="verdict">{_mark(claim)} {escape(claim.verdict)}</p>'
        f'<p class="statement">{escape(claim.statement)} '
        f'<span class="source">({escape(claim.source)})</span></p>'
        f"<p>{escape(claim.evidence)}</p></div>"
        for claim in checked
    )


def verdicts(checked: Iterable[tuple[str, Claim]]) -> str:
    """Set all claims as one table: verdict, statement with a link, where it was checked."""
    rows = "\n".join(
        f'<tr class="{_class(claim)}"><td class="verdict">{_mark(claim)} '
        f"{escape(claim.verdict)}</td>"
        f'<td><a href="#claim-{escape(claim.name)}">{escape(claim.statement)}</a></td>'
        f"<td>{escape(claim.source)}</td><td>{escape(experiment)}</td></tr>"
        for experiment, claim in checked
    )
    head = "<tr><th>verdict</th><th>statement</th><th>source</th><th>experiment</th></tr>"
    return f'<div class="scroll"><table class="verdicts"><thead>{head}</thead>{rows}</table></div>'


def figure(name: str, source: str, caption: str) -> str:
    """Set a figure with its caption and links to its files."""
    files = " ".join(
        f'<a href="figures/{escape(name)}.{suffix}">{suffix.upper()}</a>'
        for suffix in ("png", "svg")
    )
    return (
        f'<figure><img src="{source}" alt="{escape(caption)}">'
        f"<figcaption>{escape(caption)} {files}</figcaption></figure>"
    )


def facts(content: Mapping[str, object]) -> str:
    """Set names and values as a list of definitions."""
    pairs = "".join(
        f"<dt>{escape(name.replace('_', ' '))}</dt><dd>{escape(str(value))}</dd>"
        for name, value in content.items()
    )
    return f"<dl>{pairs}</dl>"


def _cells(row: Sequence[Cell], numbers: Sequence[bool]) -> str:
    return "".join(
        f"<td{_aligned(is_number)}>{escape(written(cell))}</td>"
        for cell, is_number in zip(row, numbers, strict=True)
    )


def _aligned(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def _mark(claim: Claim) -> str:
    return f'<span aria-hidden="true">{MARKS[claim.verdict]}</span>'


def _class(claim: Claim) -> str:
    return claim.verdict.replace(" ", "-")
