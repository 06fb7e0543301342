"""The final report of `pairgossip swarm run` on a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pairgossip.cli.console import format_value
from pairgossip.cli.swarm.report import (
    after_faults,
    first_of,
    memory_of,
    processor_time,
    run_figures,
)
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.swarm.running import Report
    from pairgossip.swarm.study_audit import Answered, StudyAudit
    from pairgossip.swarm.study_plan import StudyPlan

_AUDIT_FIGURES = ("signatures", "disclosures", "searched", "violations")


def verdict(report: Report[StudyAudit], within: float | None = None) -> str:
    """Describe the outcome of the run in one line."""
    audit, errors, after = report.books, report.errors(), after_faults(report)
    if audit.violations:
        return f"NOT as it must be{after}: {first_of(audit.violations)}"
    count = format_count(len(audit.answers), "question")
    if not audit.answers:
        text = f"interrupted before anything was answered{after}; what there is is sound"
    elif report.is_interrupted:
        text = f"interrupted after {count}, answered alike by all members{after}"
    else:
        text = f"{count} answered alike by all members, as their rows say{after}"
    if report.failures:
        return f"{text}, but {first_of(report.failures)}"
    if errors:
        text += f"; within {max(errors):.2%} of the exact values"
    if report.is_well(within):
        return f"{text}."
    if len(errors) < audit.due or not errors:
        return f"{text}, but there are values MISSING."
    return f"{text}, which is NOT within {within:.2%}."


def list_facts(report: Report[StudyAudit], plan: StudyPlan) -> list[tuple[str, str]]:
    """Return the facts about the run, each with its name."""
    audit = report.books
    rows = [(one.title, _describe(one)) for one in audit.answers]
    if plan.joins or plan.leaves:
        rows.append(("members", f"{plan.joins} joined meanwhile, {plan.leaves} left"))
    rows += [
        ("signatures checked", format_value(audit.signatures)),
        ("lines of disclosures", f"{format_value(audit.disclosures)}, each chained"),
        ("rows elsewhere", _search(audit)),
    ]
    if report.faults.get("kills"):
        count, early = format_value(report.faults["kills"]), format_value(report.early_kills)
        rows.append(("kills", f"{count}, of which {early} while a question was open"))
    return [
        *rows,
        ("frames refused", format_value(report.refused)),
        ("processor", processor_time(report)),
        *memory_of(report),
    ]


def _describe(one: Answered) -> str:
    """Describe the answer to a question, and its precision."""
    result = one.result
    if result.model is not None:
        text = f"a model of {format_count(len(result.model), 'parameter')}"
    else:
        text = "no value" if result.value is None else format_value(result.value)
    if result.bracket is not None:
        low, high = map(format_value, result.bracket)
        text += f", certainly {low} to {high}"
    if one.exact is not None:
        text += f"; exact {format_value(one.exact)}"
    took = "" if one.seconds is None else f", in {one.seconds:.1f} s"
    return f"{text}; {format_count(result.rows, 'row')} of {one.adding} members{took}"


def _search(audit: StudyAudit) -> str:
    """Describe the search for rows in the files of peers that do not own them."""
    if not audit.searched:
        return "not looked for: no value is so long that it cannot be there by chance"
    sought = format_count(audit.searched, "value")
    return f"none of {sought} found" if audit.is_sound else f"{sought} looked for"


def figures(report: Report[StudyAudit], plan: StudyPlan) -> dict[str, Any]:
    """Return the figures of the report as numbers."""
    audit = report.books
    return {
        **run_figures(report, plan),
        **{name: getattr(audit, name) for name in _AUDIT_FIGURES},
        "joins": plan.joins,
        "leaves": plan.leaves,
        "early_kills": report.early_kills,
        "answers": [
            {
                "title": one.title,
                "exact": one.exact,
                "adding": one.adding,
                "seconds": one.seconds,
                "result": msgspec.to_builtins(one.result),
            }
            for one in audit.answers
        ],
        "errors": report.errors(),
    }
