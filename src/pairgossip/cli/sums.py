"""Sums tried in one process, a file per member: `estimate --spec` and `train --spec`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pairgossip.cli.console import format_value, tell, write_json, write_line, write_rows
from pairgossip.cli.rehearsal import (
    advise,
    name_unfilled,
    print_groups,
    print_rules,
    read_groups,
)
from pairgossip.errors import InputError
from pairgossip.text import clean_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from pairgossip.arrays import FloatArray
    from pairgossip.cli.data.specified import Specified
    from pairgossip.cli.rehearsal import Tried
    from pairgossip.peer.reports.report import ReportReading
    from pairgossip.peer.sums.results import Result


class Rehearsed(NamedTuple):
    """The result that members with these rows would get."""

    result: Result
    rows: dict[str, FloatArray]
    report: ReportReading | None
    """Their report; None if the specification asks for none."""


def try_sums(
    specified: Specified,
    files: Sequence[Path],
    options: Sequence[DataclassInstance],
    used: Collection[str] = ("spec", "json", "html"),
) -> Rehearsed:
    """Compute the sums with every file as a member; return result, rows and report.

    Sums depend on no network and are computed at once, so every option but those ``used`` is
    refused.
    """
    from pairgossip.peer.reports.catalog import read_report
    from pairgossip.peer.storage.rows import describe_dropped, read_site_rows
    from pairgossip.peer.sums.simulation import run_programs, start_programs

    for group in options:
        for field in fields(group):
            default = field.default if field.default_factory is MISSING else field.default_factory()
            if field.name not in used and getattr(group, field.name) != default:
                raise InputError(
                    f"{specified.path} asks for sums, which depend on the rows and the "
                    f"specification alone: leave --{field.name.replace('_', '-')} out."
                )
    spec = specified.spec
    given = {file.stem: read_site_rows(file, spec) for file in files}
    if len(given) < len(files):
        raise InputError("Two files have the same name, which is that of a member: rename one.")
    for name, own in given.items():
        for sentence in describe_dropped(own, clean_text(name)):
            tell(sentence)
    rows = {name: own.matrix for name, own in given.items()}
    programs = start_programs(spec, rows)
    result, summary = run_programs(programs, is_read_once=True), programs[0].summary
    return Rehearsed(
        result, rows, None if summary is None else read_report(summary, spec, len(rows))
    )


def print_result(
    result: Result,
    rules: Sequence[Tried] = (),
    rows: Mapping[str, FloatArray] | None = None,
    report: ReportReading | None = None,
    *,
    json: bool,
) -> None:
    """Print the result, the cost of other rules, and how real peers differ.

    ``rows`` are those of every member; groups are read from them if there is no ``report``.
    """
    from pairgossip.peer.protocol.program import LEAST_MEMBERS
    from pairgossip.peer.reports.figures import plain_figures
    from pairgossip.peer.specification.canonical_text import decode_spec

    spec = decode_spec(result.specification)
    groups = read_groups(spec, rows or {}, result)
    unfilled = [*name_unfilled(spec, rows or {})]
    if json:
        import msgspec

        more = {"rules": [one.to_json() for one in rules], "advice": [*advise(rules), *unfilled]}
        more |= {"groups": groups} if groups else {}
        more |= {} if report is None else {"report": plain_figures(report.to_dict())}
        write_json(msgspec.to_builtins(result) | (more if rules or report is not None else {}))
        return
    write_rows((clean_text(result.question), ""), result_facts(result), numbers=False)
    if report is not None:
        from pairgossip.cli.outputs.parts import print_parts

        print_parts(report.parts())
    elif groups:
        print_groups(clean_text(spec.by), groups)
    if rules:
        print_rules(rules)
    for sentence in unfilled:
        write_line(clean_text(sentence, 1000))
    if (least := spec.least_sites) > len(result.members):
        write_line(
            f"Real peers count rows in blocks among {least} members or more only: give a file for "
            "each member, or agree on algorithm.least_cell = 1, which counts cells as they are."
        )
    elif len(result.members) < LEAST_MEMBERS:
        write_line(
            f"Real peers contribute to sums over {LEAST_MEMBERS} members or more only: give a file "
            "for each member."
        )
    elif spec.has_noise:
        write_line("Real peers draw noise of their own, once; no row would leave its member.")
    else:
        write_line("Real peers find the same on any network; no row would leave its member.")


def show_class(positive: str | float) -> str:
    """Show a class as its file has it."""
    return clean_text(positive) if isinstance(positive, str) else format_value(positive)


def result_facts(result: Result, names: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """Return the facts of a result as pairs of name and text; ``names`` are those of members."""
    from pairgossip.peer.reports.catalog import has_statistic
    from pairgossip.peer.specification.canonical_text import decode_spec, find_positive_class
    from pairgossip.peer.sums.results import rounded_bracket

    facts = []
    if result.value is not None:
        facts.append(("value", format_value(result.value)))
    if (positive := find_positive_class(result.specification)) is not None:
        name = "positive class" if has_statistic(decode_spec(result.specification)) else "event"
        facts.append((name, show_class(positive)))
    if result.sampling_error is not None:
        facts.append(("sampling error", format_value(result.sampling_error, 2)))
    bracket = result.bracket and rounded_bracket(*result.bracket, digits=6)
    for name, ends in (("95 %", result.interval), ("certainly", bracket)):
        if ends is not None:
            facts.append((name, f"{format_value(ends[0])} to {format_value(ends[1])}"))
    if (advice := result.advise_bins()) is not None:
        facts.append(("left open", advice))
    if result.p is not None:
        facts.append(("p", format_value(result.p)))
    if result.p_bracket is not None:
        ends = rounded_bracket(*result.p_bracket, digits=3) or result.p_bracket
        facts.append(("p certainly", f"{format_value(ends[0])} to {format_value(ends[1])}"))
    if result.noise is not None:
        error = format_value(result.noise.error, 2)
        facts.append(("noise", f"epsilon {result.noise.epsilon:g}, standard error {error}"))
        if result.noise.without_interval is not None:
            facts.append(("no interval", clean_text(result.noise.without_interval)))
    if result.model is not None:
        facts.append(("model", ", ".join(format_value(one) for one in result.model)))
        facts.append(("objective", format_value(result.objective)))
        if not result.finished:
            facts.append(("not at its best", result.describe_lack()))
    return [
        *facts,
        *result.describe_table(names),
        *result.describe_sites(),
        ("members", format_value(len(result.members))),
        ("rows", format_value(result.rows)),
        ("sums", format_value(result.rounds)),
    ]
