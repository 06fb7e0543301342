"""A signed result as one self-contained page, to read and to print.

It is for an ethics board: the question, the answer, the members that have signed it, and all that
left each site, in the words in which `pairgossip peer init` asks its operator. In text of members,
characters that control how it looks are spelled out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pairgossip.pages.page import Code, Facts, Heading, Page, Paragraph, Part, Quote, Table, Value
from pairgossip.peer.reports.catalog import find_report, has_statistic
from pairgossip.peer.reports.report import ReportReading
from pairgossip.peer.signed_report import read_signed_report
from pairgossip.peer.signed_result import FIRST_VERSION, Checked, SignedResult, check_signatures
from pairgossip.peer.site_parts import show_sites
from pairgossip.peer.specification.canonical_text import (
    decode_spec,
    find_positive_class,
    restore_spec,
    write_toml,
)
from pairgossip.peer.sums.results import Result, rounded_bracket
from pairgossip.text import format_count, format_ends

_OLD_SUMS = (
    "This result was computed by pairgossip 0.2, whose sums told more than those of today: unless "
    "noise was added, members could read from them a row that was alone in its cell or its class."
)


def write_page(signed: SignedResult, path: Path, later: Sequence[tuple[str, str]] = ()) -> None:
    """Write the page of a signed result."""
    make_page(signed, later=later).write(path)


def make_page(
    signed: SignedResult, curves: Sequence[Part] = (), later: Sequence[tuple[str, str]] = ()
) -> Page:
    """Check all signatures of a signed result, and return its page.

    ``curves`` are those of its table, if no report shows them; ``later`` are facts that nobody has
    signed, such as a question that corrects this one.
    """
    checked = check_signatures(signed, "This result")
    checked.require_all()
    report = read_signed_report(signed)
    return Page(_title(checked.result), tuple(_parts(checked, report, curves, later)))


def write_rehearsal(result: Result, report: ReportReading | None, path: Path) -> None:
    """Write the page that a study would have if its members had these rows."""
    spec = restore_spec(result.specification)
    text = "No member has signed this: it was computed on one machine, from a file of each."
    facts = Facts((*_facts(result, {}), ("specification", f"`{result.hash}`")))
    leaves = Heading("What would leave each site"), Quote(tuple(spec.leaves()))
    code = Heading("Specification"), Code(write_toml(result.specification))
    parts = (*_headline(result), Paragraph(text), facts, *_describe(report))
    parts = (*parts, *show_sites(result, {}), *leaves, *code)
    Page(f"Rehearsal: {_title(result)}", parts).write(path)


def _title(result: Result) -> str:
    """Return the title of the page: the name of the report, or else the question."""
    spec = decode_spec(result.specification)
    return result.question if spec.report is None else find_report(spec.report).title(spec)


def _describe(report: ReportReading | None) -> Iterator[Part]:
    if report is not None:
        yield Heading("What the counts say")
        yield from report.parts()


def _parts(
    checked: Checked,
    report: ReportReading | None,
    curves: Sequence[Part],
    later: Sequence[tuple[str, str]],
) -> Iterator[Part]:
    result = checked.result
    yield from _headline(result)
    hash_of_spec = ("specification", f"`{result.hash}`")
    yield Facts((*_facts(result, checked.signed), *later, *_origin(checked), hash_of_spec))
    yield from _describe(report)
    yield from curves
    yield from show_sites(result, checked.signed)
    yield Heading("What left each site")
    yield from _leaves(checked)
    yield Heading(f"Signed by all {len(checked.signed)} members")
    yield _members(checked)
    yield Paragraph(
        f"Rows are as each member has stated them{_rounded(result)}. "
        "To check the signatures, run `pairgossip verify` on the JSON file of this result, and "
        "compare the ids with those that members have told you."
    )
    if report is not None:
        yield Paragraph(
            "What the counts say was computed from those that all members have signed; they are in "
            "that file, and `pairgossip verify` computes every figure anew."
        )
    yield Heading("Specification that all members agreed to")
    yield Code(write_toml(result.specification))


def _members(checked: Checked) -> Table:
    rows = (
        (name, f"{checked.result.members[member]:,}", f"`{member}`")
        for name, member in sorted((name, member) for member, name in checked.signed.items())
    )
    return Table(("member", "rows", "id"), tuple(rows), text=(True, False, True))


def _rounded(result: Result) -> str:
    """Describe how members' numbers of rows are rounded, if they are."""
    return ", rounded down to tens" if result.table is not None or not result.rounds else ""


def _leaves(checked: Checked) -> Iterator[Part]:
    """Yield what left each site, in the words that its operator was asked with."""
    if checked.version == FIRST_VERSION:
        yield Paragraph(_OLD_SUMS)
        return
    command = "peer init" if checked.asked is None else "peer questions"
    yield Paragraph(
        f"Before a site takes part, `pairgossip {command}` tells its operator, and asks:"
    )
    yield Quote(tuple(restore_spec(checked.result.specification).leaves()))


def _headline(result: Result) -> Iterator[Part]:
    if result.value is None:
        return
    if result.interval is None:
        yield Value(f"{result.value:.4g}")
        return
    value, *ends = format_ends(result.value, result.interval)
    text = f"95 % interval for the population that the rows are drawn from: {' to '.join(ends)}"
    yield Value(value, text)


def _facts(result: Result, names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the facts about the figures of a result, and about their errors."""
    members = format_count(len(result.members), "member")
    adding = sum(map(bool, result.members.values()))
    if result.is_of_study and adding < len(result.members):
        members = f"{adding} of {members}"
    facts = [] if _title(result) == result.question else [("value", result.question)]
    facts += [("covers", f"{members}, {format_count(result.rows, 'row')} together")]
    facts += result.describe_table(names)
    if (positive := find_positive_class(result.specification)) is not None:
        shown = positive if isinstance(positive, str) else f"{positive:g}"
        spec = decode_spec(result.specification)
        speaks = ("positive class", f"{shown} ({spec.label}): the class that high scores indicate")
        facts.append(speaks if has_statistic(spec) else ("event", f"{spec.label} is {shown}"))
    if result.sampling_error is not None:
        text = "standard error as an estimate of the population's value"
        facts.append(("sampling error", f"{result.sampling_error:.2g} ({text})"))
    if result.bracket is not None and (ends := rounded_bracket(*result.bracket, digits=6)):
        low, high = ends
        facts.append(("over all rows", f"between {low:.6g} and {high:.6g} for certain"))
    if (advice := result.advise_bins()) is not None:
        facts.append(("left open", advice))
    if result.p is not None:
        facts.append(("p", f"{result.p:.3g}"))
    if result.p_bracket is not None and (ends := rounded_bracket(*result.p_bracket, digits=3)):
        low, high = ends
        facts.append(("p over all rows", f"between {low:.3g} and {high:.3g} for certain"))
    if result.noise is not None:
        noise = result.noise
        error = "unknown" if noise.error is None else f"{noise.error:.2g}"
        text = f"added to every count for epsilon {noise.epsilon:g}; standard error {error}"
        facts.append(("noise", text))
        if noise.without_interval is not None:
            facts.append(("no interval", noise.without_interval))
    if result.model is not None:
        columns = json.loads(result.specification)["columns"]
        parts = zip(columns, result.model, strict=False)
        facts.append(("model", ", ".join(f"{name}: {entry:.6g}" for name, entry in parts)))
        if not result.finished:
            facts.append(("not at its best", result.describe_lack()))
    return [*facts, ("what was shared", f"{format_count(result.rounds, 'sum')} over all members")]


def _origin(checked: Checked) -> list[tuple[str, str]]:
    """Return the date, the computation and the versions of a result."""
    result, date = checked.result, "not recorded"
    if checked.kept is not None:
        date = (
            f"{checked.kept:%Y-%m-%d %H:%M %Z}, when the peer that wrote this had all signatures; "
            "by its clock, and signed by nobody"
        )
    return [
        ("date", date),
        *_place(checked),
        ("versions", ", ".join(f"{name} {one}" for name, one in result.versions.items())),
    ]


def _place(checked: Checked) -> list[tuple[str, str]]:
    """Return the computation of a result: a generation of a run, or a question of a study."""
    if (asked := checked.asked) is None:
        return [("generation", str(checked.result.ordinal))]
    asker = checked.signed.get(asked.asker, asked.asker[:16])
    return [
        ("question", f"`{asked.name.hex()[:12]}`, asked by {asker}"),
        *asked.describe_relations(),
        ("list of members", f"`{asked.list.hex()[:12]}`"),
    ]
