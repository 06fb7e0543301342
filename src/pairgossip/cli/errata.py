"""`pairgossip errata`: where the paper is wrong by its own hypotheses, with evidence."""

from __future__ import annotations

from pairgossip.cli.console import new_table, output, working_on, write_json, write_table
from pairgossip.cli.options import Flag

LINES_WIDTH = 9


def errata_command(*, markdown: Flag = False, json: Flag = False) -> None:
    """List what the paper prints wrong, what is right, and the evidence, computed now.

    Every example satisfies the paper's own hypotheses, which are listed with their lines; what
    fails only beyond them is not listed (one row says that a hypothesis can be done without, by
    examples beyond it). Lines are those of the paper's LaTeX source. Class A
    breaks an implementation, B makes a bound or a claim wrong, C is a slip of the pen, an
    inference, or a remark that does no harm.

    For example:

        pairgossip errata

    Parameters
    ----------
    markdown
        Print the table in Markdown, as in the documentation.
    json
        Print one JSON object instead of a table.
    """
    from pairgossip.theory.errata import ERRATA, markdown_table

    with working_on("Computing the evidence"):
        if markdown:
            output().file.write(markdown_table())
            return
        computed = [(row, row.evidence()) for row in ERRATA]
    if json:
        write_json(
            {
                row.lines: {
                    "class": row.severity,
                    "printed": row.printed,
                    "correct": row.correct,
                    "hypotheses": dict(row.assumed),
                    "satisfied": dict(evidence.hypotheses),
                    "evidence": evidence.text,
                    "shown": evidence.shown,
                }
                for row, evidence in computed
            }
        )
        return
    table = new_table(("line", "class", "printed, correct, hypotheses, evidence"), numbers=False)
    # Some rows list many lines; the evidence needs the room.
    table.columns[0].max_width = LINES_WIDTH
    for row, evidence in computed:
        told = [f"printed: {row.printed}", f"correct: {row.correct}", evidence.text]
        if row.assumed:
            told.insert(2, f"hypotheses: {row.hypotheses}")
        table.add_row(row.lines, row.severity, "\n".join(told), end_section=True)
    write_table(table)
