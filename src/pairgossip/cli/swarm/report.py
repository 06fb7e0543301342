"""The final report of `pairgossip swarm run` on peers that exchange rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairgossip.cli.console import format_value

if TYPE_CHECKING:
    from pairgossip.swarm.audit import Audit
    from pairgossip.swarm.plan import Plan as ExchangePlan
    from pairgossip.swarm.running import Plan, Report

_AUDIT_FIGURES = ("records", "exchanges", "parked", "decided", "weight", "weight_due", "violations")
_RUN_FIGURES = (
    *("failures", "faults", "refused", "seconds", "cpu_seconds", "cpu_starting", "memory"),
    "exact",
)


def verdict(report: Report[Audit], within: float | None = None) -> str:
    """Describe the outcome of the run in one line."""
    audit, errors, after = report.books, report.errors(), after_faults(report)
    if audit.violations:
        return f"NOT conserved{after}: {first_of(audit.violations)}"
    if report.failures:
        return f"records and mass conserved{after}, but {first_of(report.failures)}"
    mass = "" if audit.weight is None else " and the mass"
    text = f"all {audit.records} records{mass} of {audit.exchanges:,} exchanges conserved{after}"
    if errors:
        text += f"; estimates within {max(errors):.2%} of the exact value {report.exact:.6g}"
    if within is None or report.is_well(within):
        return f"{text}."
    count = len(audit.findings)
    if len(errors) < count:
        return f"{text}, but {count - len(errors)} of {count} peers have NO estimate."
    return f"{text}, which is NOT within {within:.2%}."


def after_faults(report: Report[Any]) -> str:
    """Describe the faults of the run, to follow a statement; return an empty text without any."""
    from pairgossip.swarm.chaos import format_faults

    faults = format_faults(report.faults)
    return f" after {faults}" if faults else ""


def first_of(problems: tuple[str, ...]) -> str:
    """Return the first of several problems, and the number of the others."""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return problems[0] + more


def intervals_with(report: Report[Audit]) -> tuple[int, int] | None:
    """Count the peers whose gossip interval holds the exact value, among those that have one."""
    all_ends = (one.errors.gossip_interval for one in report.books.findings)
    intervals = [ends for ends in all_ends if ends is not None]
    if not intervals or report.exact is None:
        return None
    return sum(low <= report.exact <= high for low, high in intervals), len(intervals)


def sampling_errors(report: Report[Audit]) -> dict[str, float]:
    """Return the sampling errors of the peers that know theirs."""
    errors = {one.name: one.errors.sampling_error for one in report.books.findings}
    return {name: error for name, error in errors.items() if error is not None}


def list_facts(report: Report[Audit], plan: ExchangePlan) -> list[tuple[str, str]]:
    """Return the facts about the run, each with its name."""
    audit, errors, covered = report.books, report.errors(), intervals_with(report)
    rows = [
        ("records", f"{audit.records}, each held once" if audit.is_sound else str(audit.records)),
        ("exchanges", f"{audit.exchanges:,}, {report.rate:.0f} per second"),
        ("in flight at the end", f"{audit.parked}, of which {audit.decided} decided"),
        *_kills(report),
        ("frames refused", format_value(report.refused)),
        ("processor", processor_time(report)),
    ]
    if audit.weight is not None:
        due = format_value(audit.weight_due, 12)
        rows.append(("weight held", f"{format_value(audit.weight, 12)}, given {due}"))
    rows += memory_of(report)
    if report.exact is not None:
        rows.append((f"exact {plan.spec.kernel}", format_value(report.exact, 10)))
    if errors:
        mean = sum(errors) / len(errors)
        rows.append(("errors of the peers", f"{mean:.2%} on average, {max(errors):.2%} at most"))
    if plan.spec.is_private and report.exact is not None:
        # Gossip errors are to the value of the reports, which need not be near that of the rows.
        rows.append(("privacy", "errors are to the rows' value, noise of the reports included"))
    elif covered is not None:
        rows.append(("gossip intervals with it", f"{covered[0]} of {covered[1]}"))
    if sampling := sampling_errors(report):
        ends = [format_value(end, 2) for end in (min(sampling.values()), max(sampling.values()))]
        rows.append(("sampling errors", " to ".join(ends) + ", as the peers see them"))
    return rows


def processor_time(report: Report[Any]) -> str:
    """Describe the processor time of the peers, and the time of the run."""
    return (
        f"{report.cpu_seconds:.1f} s in {report.seconds:.1f} s, and {report.cpu_starting:.1f} s to "
        "start"
    )


def memory_of(report: Report[Any]) -> list[tuple[str, str]]:
    """Return the memory of a peer as a fact; nothing if it is unknown."""
    if report.memory is None:
        return []
    resident, shared = (size / 1e6 for size in report.memory)
    return [("memory of a peer", f"{resident:.0f} MB, {shared:.0f} MB with shared pages divided")]


def _kills(report: Report[Audit]) -> list[tuple[str, str]]:
    """Return facts on the kills; nothing if there were none."""
    if not report.faults.get("kills"):
        return []
    count = format_value(report.faults["kills"])
    return [
        ("kills", f"{count}, each of a peer that had exchanged since its start"),
        ("offers in flight then", f"{format_value(report.offers_in_flight)} different ones"),
    ]


def figures(report: Report[Audit], plan: ExchangePlan) -> dict[str, Any]:
    """Return the figures of the report as numbers."""
    audit = report.books
    return {
        **run_figures(report, plan),
        **{name: getattr(audit, name) for name in _AUDIT_FIGURES},
        "exchanges_per_second": report.rate,
        "offers_in_flight_at_kills": report.offers_in_flight,
        "errors": report.errors(),
        "gossip_intervals_that_hold_it": intervals_with(report),
        "sampling_errors": sampling_errors(report),
        "estimates": {one.name: one.estimate for one in audit.findings},
    }


def run_figures(report: Report[Any], plan: Plan[Any]) -> dict[str, Any]:
    """Return the figures that any run has."""
    return {
        "peers": len(plan.names),
        "links": len(plan.links),
        **{name: getattr(report, name) for name in _RUN_FIGURES},
        "interrupted": report.is_interrupted,
    }
