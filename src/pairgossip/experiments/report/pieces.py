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
    """Set a table; columns that hold numbers are aligned for numbers.

    On a narrow screen a table without numbers is stacked, a block per row; others scroll.
    """
    numbers = [
        any(isinstance(row[at], int | float) for row in content.rows)
        for at in range(len(content.columns))
    ]
    head = "".join(
        f"<th{_aligned(is_number)}>{escape(name)}</th>"
        for name, is_number in zip(content.columns, numbers, strict=True)
    )
    is_text = not any(numbers)
    labels = content.columns if is_text else [""] * len(numbers)
    rows = "\n".join(f"<tr>{_cells(row, numbers, labels)}</tr>" for row in content.rows)
    note = f'<p class="note">{escape(content.note)}</p>' if content.note else ""
    return (
        f'<figure class="table"><figcaption>{escape(content.title)}</figcaption>'
        f'<div class="scroll"><table{_stacked(is_text)}><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>{note}</figure>"
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
        f'<td data-label="source">{escape(claim.source)}</td>'
        f'<td data-label="experiment">{escape(experiment)}</td></tr>'
        for experiment, claim in checked
    )
    head = "<tr><th>verdict</th><th>statement</th><th>source</th><th>experiment</th></tr>"
    return f'<table class="stacked verdicts"><thead>{head}</thead><tbody>{rows}</tbody></table>'


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


def _cells(row: Sequence[Cell], numbers: Sequence[bool], labels: Sequence[str]) -> str:
    return "".join(
        f"<td{_aligned(is_number)}{_labeled(label)}>{escape(written(cell))}</td>"
        for cell, is_number, label in zip(row, numbers, labels, strict=True)
    )


def _labeled(label: str) -> str:
    """Let a cell name its column where there is no room for a head."""
    return f' data-label="{escape(label)}"' if label else ""


def _stacked(is_text: bool) -> str:
    return ' class="stacked"' if is_text else ""


def _aligned(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def _mark(claim: Claim) -> str:
    return f'<span aria-hidden="true">{MARKS[claim.verdict]}</span>'


def _class(claim: Claim) -> str:
    return claim.verdict.replace(" ", "-")
