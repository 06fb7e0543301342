"""Errors in print, their corrections, and the evidence, computed anew each time.

An erratum counts only within the paper's own hypotheses: every row names them, and its evidence
says whether the example satisfies them. A failure outside them is not an error of the paper.

The paper's line numbers are those of its LaTeX source. Most wrong constants have one cause: the
paper counts undirected edges but keeps constants of earlier papers, which counted ordered pairs.
"""

from __future__ import annotations

from pairgossip_paper.errata import ergodic, estimation, network, optimization, rates
from pairgossip_paper.errata.erratum import Erratum, Evidence

ERRATA = tuple(
    row
    for module in (estimation, network, optimization, rates, ergodic)
    for row in vars(module).values()
    if isinstance(row, Erratum)
)

__all__ = ["ERRATA", "Erratum", "Evidence", "markdown_table"]


def markdown_table() -> str:
    """Compute all evidence and format it as a Markdown table."""
    lines = [
        "| line | class | printed | correct | hypotheses | evidence |",
        "|---|---|---|---|---|---|",
    ]
    for row in ERRATA:
        texts = (row.printed, row.correct, row.hypotheses, row.evidence().text)
        cells = (row.lines, row.severity, *texts)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
