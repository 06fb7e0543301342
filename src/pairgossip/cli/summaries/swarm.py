"""The output of `pairgossip swarm run`: the swarm while it runs, and the audit at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pairgossip.cli.console import (
    format_value,
    new_table,
    tell,
    write_json,
    write_line,
    write_table,
)

if TYPE_CHECKING:
    from pairgossip.peer.reading import SwarmReading
    from pairgossip.swarm.plan import Plan
    from pairgossip.swarm.running import OnReading, Report


@contextmanager
def show_swarm(plan: Plan) -> Iterator[OnReading]:
    """Yield a function that shows a reading: in a table on a terminal, in a line otherwise."""
    from pairgossip.progress import PlainConsole
    from pairgossip.swarm.chaos import format_faults
    from pairgossip.watch.terminal.drawing import shown_live
    from pairgossip.watch.terminal.peers import PeersPicture

    console = PlainConsole(stderr=True)
    heading = f"{len(plan.names)} peers: {plan.spec.kernel or plan.spec.loss}"
    picture = PeersPicture(console, heading, exact=None)

    def add(reading: SwarmReading, faults: Mapping[str, int]) -> None:
        picture.add(reading, f"; {format_faults(faults)}" if faults else "")

    def show_line(reading: SwarmReading, faults: Mapping[str, int]) -> None:
        add(reading, faults)
        if (text := picture.line()) is not None:
            tell(text)

    if not console.is_terminal:
        yield show_line
        return
    with shown_live(console, picture.draw, transient=True) as redraw:

        def show_table(reading: SwarmReading, faults: Mapping[str, int]) -> None:
            add(reading, faults)
            redraw()

        yield show_table


def write_report(report: Report, plan: Plan, within: float | None, *, as_json: bool) -> bool:
    """Write figures and the verdict; return whether all is well."""
    is_near = within is None or _is_near(report, within)
    is_well = report.is_sound and is_near
    sentence = verdict(report, within)
    if as_json:
        write_json({"sound": is_well, "verdict": sentence, **_figures(report, plan)})
        return is_well
    _write_facts(report, plan)
    for problem in (*report.audit.violations, *report.failures):
        write_line(f"Problem: {problem}")
    write_line(f"Verdict: {sentence}")
    return is_well


def verdict(report: Report, within: float | None = None) -> str:
    """Say in one line how the run ended."""
    from pairgossip.swarm.chaos import format_faults

    audit = report.audit
    faults = format_faults(report.faults)
    after = f" after {faults}" if faults else ""
    if audit.violations:
        return f"NOT conserved{after}: {_first(audit.violations)}"
    if report.failures:
        return f"records and mass conserved{after}, but {_first(report.failures)}"
    mass = "" if audit.weight is None else " and the mass"
    kept = f"all {audit.records} records{mass} of {audit.exchanges:,} exchanges conserved{after}"
    errors = report.errors()
    if not errors:
        return f"{kept}."
    near = f"{kept}; estimates within {max(errors):.2%} of the exact value {report.exact:.6g}"
    if within is not None and not _is_near(report, within):
        return f"{near}, which is NOT within {within:.2%}."
    return f"{near}."


def _is_near(report: Report, within: float) -> bool:
    errors = report.errors()
    return len(errors) == len(report.audit.findings) and max(errors) <= within


def _first(problems: tuple[str, ...]) -> str:
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return problems[0] + more


def intervals_with(report: Report) -> tuple[int, int] | None:
    """Count the peers whose interval holds the exact value, among those that have one."""
    intervals = [one.interval for one in report.audit.findings if one.interval is not None]
    if not intervals or report.exact is None:
        return None
    return sum(low <= report.exact <= high for low, high in intervals), len(intervals)


def _write_facts(report: Report, plan: Plan) -> None:
    audit, errors, covered = report.audit, report.errors(), intervals_with(report)
    facts = new_table(("swarm", f"{len(plan.names)} peers, {len(plan.links)} links"), numbers=False)
    rows = [
        ("records", f"{audit.records}, each held once" if audit.is_sound else str(audit.records)),
        ("exchanges", f"{audit.exchanges:,}, {report.rate:.0f} per second"),
        ("in flight at the end", f"{audit.parked}, of which {audit.decided} decided"),
        *_kills(report),
        ("frames refused", format_value(report.refused)),
        ("processor", f"{report.cpu_seconds:.1f} s in {report.seconds:.1f} s"
         f", and {report.cpu_starting:.1f} s to start"),
    ]  # fmt: skip
    if audit.weight is not None:
        due = format_value(audit.weight_due, 12)
        rows.append(("weight held", f"{format_value(audit.weight, 12)}, given {due}"))
    if report.memory is not None:
        resident, shared = (size / 1e6 for size in report.memory)
        rows.append(
            ("memory of a peer", f"{resident:.0f} MB, {shared:.0f} MB with shared pages divided")
        )
    if report.exact is not None:
        rows.append((f"exact {plan.spec.kernel}", format_value(report.exact, 10)))
    if errors:
        mean = sum(errors) / len(errors)
        rows.append(("errors of the peers", f"{mean:.2%} on average, {max(errors):.2%} at most"))
    if plan.spec.privacy is not None and report.exact is not None:
        # Intervals are about the value of the reports, which need not be near that of the rows.
        rows.append(("privacy", "errors are to the rows' value, noise of the reports included"))
    elif covered is not None:
        rows.append(("intervals that hold it", f"{covered[0]} of {covered[1]}"))
    for name, value in rows:
        facts.add_row(name, value)
    write_table(facts)


def _kills(report: Report) -> list[tuple[str, str]]:
    """Say what the kills met; nothing where there were none."""
    if not report.faults.get("kills"):
        return []
    count = format_value(report.faults["kills"])
    return [
        ("kills", f"{count}, each of a peer that had exchanged since its start"),
        ("offers in flight then", f"{format_value(report.offers_in_flight)} different ones"),
    ]


def _figures(report: Report, plan: Plan) -> dict[str, Any]:
    audit, covered = report.audit, intervals_with(report)
    return {
        "peers": len(plan.names),
        "links": len(plan.links),
        "records": audit.records,
        "exchanges": audit.exchanges,
        "exchanges_per_second": report.rate,
        "parked": audit.parked,
        "decided": audit.decided,
        "weight": audit.weight,
        "weight_due": audit.weight_due,
        "violations": list(audit.violations),
        "failures": list(report.failures),
        "faults": report.faults,
        "interrupted": report.is_interrupted,
        "offers_in_flight_at_kills": report.offers_in_flight,
        "refused": report.refused,
        "seconds": report.seconds,
        "cpu_seconds": report.cpu_seconds,
        "cpu_starting": report.cpu_starting,
        "memory": report.memory,
        "exact": report.exact,
        "errors": report.errors(),
        "intervals_that_hold_it": covered,
        "estimates": {one.name: one.estimate for one in audit.findings},
    }
