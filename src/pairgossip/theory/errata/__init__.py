"""What the paper prints wrong, what is right, and the evidence, computed afresh each time.

An erratum counts only within the paper's own hypotheses: every row names them, and its evidence
says whether the example satisfies them. What fails beyond them is no error of the paper.

The paper's line numbers are those of its LaTeX source. Most wrong constants have one cause: the
paper counts undirected edges but keeps constants of earlier papers, which counted ordered pairs.
"""

from __future__ import annotations

from pairgossip.theory.errata import ergodic, estimation, network, optimization, rates
from pairgossip.theory.errata import ergodic as regret
from pairgossip.theory.errata import estimation as extensions
from pairgossip.theory.errata.erratum import Erratum, Evidence

ERRATA: tuple[Erratum, ...] = (
    *estimation.ROWS,
    *network.ROWS,
    *optimization.ROWS,
    *rates.ROWS,
    *ergodic.ROWS,
    *regret.REGRET_ROWS,
    *extensions.EXTENSION_ROWS,
)

__all__ = ["ERRATA", "Erratum", "Evidence", "markdown_table"]


def markdown_table() -> str:
    """Compute all evidence and lay it out as a Markdown table."""
    lines = [
        "| line | class | printed | correct | hypotheses | evidence |",
        "|---|---|---|---|---|---|",
    ]
    for row in ERRATA:
        texts = (row.printed, row.correct, row.hypotheses, row.evidence().text)
        cells = (row.lines, row.severity, *texts)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
