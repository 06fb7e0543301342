"""The final report of `pairgossip swarm run` on peers that computed sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pairgossip.cli.console import format_value
from pairgossip.cli.sums import result_facts
from pairgossip.cli.swarm.report import (
    after_faults,
    first_of,
    memory_of,
    processor_time,
    run_figures,
)
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.swarm.plan import Plan
    from pairgossip.swarm.running import Report
    from pairgossip.swarm.sums_audit import SumsAudit

_AUDIT_FIGURES = ("rounds", "sums", "signatures", "searched", "violations")


def verdict(report: Report, within: float | None = None) -> str:
    """Say in one line how the run ended."""
    audit, errors, after = _books(report), report.errors(), after_faults(report)
    if audit.violations:
        return f"NOT the result of all rows{after}: {first_of(audit.violations)}"
    if audit.result is None:
        text = f"interrupted before all peers had the result{after}; what they have is sound"
    else:
        members, rows = len(audit.result.members), format_value(audit.result.rows)
        text = f"all {members} peers have the same result, that of all {rows} rows{after}"
    if report.failures:
        return f"{text}, but {first_of(report.failures)}"
    if errors:
        text += f"; within {errors[0]:.2%} of the exact value {report.exact:.6g}"
    if report.is_well(within):
        return f"{text}."
    if not errors:
        return f"{text}, but there is NO value."
    return f"{text}, which is NOT within {within:.2%}."


def _books(report: Report) -> SumsAudit:
    from pairgossip.swarm.sums_audit import SumsAudit

    assert isinstance(report.books, SumsAudit)
    return report.books


def list_facts(report: Report, plan: Plan) -> list[tuple[str, str]]:
    """Return what there is to say of the run, each with its name."""
    audit, rows = _books(report), list[tuple[str, str]]()
    if audit.result is not None:
        rows += [("question", audit.result.question), *result_facts(audit.result)]
    if report.exact is not None:
        rows.append((f"exact {plan.spec.kernel}", format_value(report.exact, 10)))
    if report.result_after is not None:
        rows.append(("time to the result", f"{report.result_after:.1f} s from the first start"))
    rows += [
        ("rounds complete", format_value(audit.rounds)),
        ("plain sums compared", format_value(audit.sums)),
        ("signatures checked", format_value(audit.signatures)),
        ("rows elsewhere", _search(audit)),
    ]
    if report.faults.get("kills"):
        count = format_value(report.faults["kills"])
        early = format_value(report.early_kills)
        rows.append(("kills", f"{count}, of which {early} before the peer had the result"))
    return [
        *rows,
        ("frames refused", format_value(report.refused)),
        ("processor", processor_time(report)),
        *memory_of(report),
    ]


def _search(audit: SumsAudit) -> str:
    """Say what was looked for in the files of peers that are not its owner."""
    if not audit.searched:
        return "not looked for: no value is so long that it cannot be there by chance"
    sought = format_count(audit.searched, "value")
    return f"none of {sought} found" if audit.is_sound else f"{sought} looked for"


def figures(report: Report, plan: Plan) -> dict[str, Any]:
    """Return the same as numbers."""
    audit = _books(report)
    return {
        **run_figures(report, plan),
        **{name: getattr(audit, name) for name in _AUDIT_FIGURES},
        "result": msgspec.to_builtins(audit.result),
        "result_after": report.result_after,
        "early_kills": report.early_kills,
        "errors": report.errors(),
    }
