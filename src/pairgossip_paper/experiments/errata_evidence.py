"""The errata of the paper, each with evidence computed afresh."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pairgossip_paper import framework as fw
from pairgossip_paper.errata import ERRATA, Erratum
from pairgossip_paper.framework.paper import locate
from pairgossip_paper.framework.typesetting import with_marks

_COLUMNS = ("lines", "severity", "printed", "correct", "hypotheses")


def _row(erratum: Erratum) -> dict[str, Any]:
    evidence = erratum.evidence()
    texts = {name: getattr(erratum, name) for name in _COLUMNS} | {"evidence": evidence.text}
    return texts | {
        "marked": {name: with_marks(text) for name, text in texts.items()},
        "shown": bool(evidence.shown),
        "inside": all(evidence.hypotheses.get(words) for words in erratum.assumed),
    }


def _report(results: fw.Results) -> fw.Section:
    rows = results["errata"]["rows"]
    shown = sum(row["shown"] and row["inside"] for row in rows)
    columns = (*_COLUMNS[1:], "evidence")
    counts = Counter(row["severity"] for row in rows)
    return fw.Section(
        f"{counts['A']} of the {len(rows)} errata would break an implementation, {counts['B']} "
        f"make a bound or a statement wrong, and {counts['C']} are slips, gaps in proofs, "
        f"inferences or remarks. Numbers computed here show {shown} of them.",
        [
            "Severity A breaks an implementation of the printed text, B makes a printed bound or "
            "statement wrong, C leaves it standing: a slip of the pen, a gap in a proof whose "
            "result may hold, an inference, or a remark. Every example satisfies "
            "the paper's own hypotheses, which are listed; a failure beyond them is not an error "
            "of the paper (one row says that a hypothesis is not needed, by examples beyond it). "
            "Numbers in parentheses after a place or a hypothesis are lines of the paper's LaTeX "
            "source.",
        ],
        tables=[
            fw.Table(
                "Errata",
                ("place", *columns),
                # Older results do not mark their formulas.
                [
                    [locate(row["lines"]), *(row.get("marked", row)[name] for name in columns)]
                    for row in rows
                ],
            )
        ],
        claims=[
            fw.Claim(
                "errata",
                "Every erratum is shown by numbers computed here, within the paper's hypotheses.",
                "this project's errata",
                fw.grade([shown == len(rows)]),
                f"{shown} of {len(rows)} rows have evidence that shows what the row says, by an "
                "example that satisfies all hypotheses the row names.",
            )
        ],
    )


ERRATA_EVIDENCE = fw.Experiment(
    "errata",
    "Errata of the paper, with evidence",
    "Which statements of the paper are wrong in print, what is right, and what shows it?",
    lambda _: [fw.Computation("errata", lambda: {"rows": [_row(one) for one in ERRATA]})],
    _report,
    place=17,
)
