"""The kinds of reports by name, and the checks that they share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pairgossip.errors import InputError, canonical, unknown_name
from pairgossip.peer.reports.report import RefusedReading, Report, ReportReading
from pairgossip.peer.reports.survival import SurvivalReport
from pairgossip.peer.reports.validation import ValidationReport
from pairgossip.text import join_names

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec
    from pairgossip.summaries.summary import Summary

REPORTS: dict[str, Report] = {one.name: one for one in (ValidationReport(), SurvivalReport())}


def find_report(name: str) -> Report:
    """Return the report of this name; raise `InputError` if there is none."""
    plain = canonical(name)
    if plain not in REPORTS:
        raise unknown_name("report", name, REPORTS)
    return REPORTS[plain]


def read_report(summary: Summary, spec: Spec, sites: int) -> ReportReading | None:
    """Return the reading of a specification's report from the counts of a number of sites.

    None if the specification has no report.
    """
    if spec.report is None:
        return None
    try:
        return find_report(spec.report).read(summary, spec, sites)
    except InputError as problem:  # such as counts of one class only
        return RefusedReading(str(problem))


def has_statistic(spec: Spec) -> bool:
    """Return whether members state the statistic of the kernel, which some reports lack."""
    return spec.report is None or find_report(spec.report).has_statistic


def name_kernel(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the table of a specification, with the kernel of its report if it names no measure."""
    name = table.get("report")
    if name is None:
        return table
    if not isinstance(name, str):
        raise InputError('report must be a name in quotes, as in report = "validation".')
    report = find_report(name)
    if "kernel" in table or "loss" in table:
        return table
    return {**table, "kernel": report.kernels[0]}


def check_report(spec: Spec) -> None:
    """Refuse a specification that does not fit its report, and keys for other reports."""
    allowed = () if spec.report is None else find_report(spec.report).keys
    for report in REPORTS.values():
        for key in report.keys:
            if key not in allowed and getattr(spec, key) is not None:
                raise InputError(
                    f'{key} is for report = "{report.name}": remove it, or ask for that report.'
                )
    if spec.report is None:
        return
    report = find_report(spec.report)
    if spec.kernel not in report.kernels:
        kernels = join_names([f"'{name}'" for name in report.kernels], "or")
        raise InputError(
            f"report '{report.name}' is read from the counts of kernel {kernels}, not of "
            f"'{spec.kernel}': leave kernel out, or report."
        )
    report.check(spec)
