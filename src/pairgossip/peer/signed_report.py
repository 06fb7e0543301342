"""The report of a signed result, computed from the table whose digest all members have signed.

Nobody signs the figures of a report. The file holds the table with them, so anybody can compute
them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.protocol.messages import MOST_ROWS
from pairgossip.peer.protocol.program import Disagreement
from pairgossip.peer.reports.catalog import read_report
from pairgossip.peer.reports.figures import find_difference, list_figures, plain_figures
from pairgossip.peer.reports.report import ReportReading
from pairgossip.peer.signed_result import SignedResult, altered, publish_table, published_table
from pairgossip.peer.specification.canonical_text import decode_spec, restore_spec
from pairgossip.peer.sums.figures import find_estimate, find_other_figure, round_estimate
from pairgossip.peer.sums.plausibility import check_sums
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.statistics import cells_of, summary_of
from pairgossip.peer.sums.tables import Table, read_table
from pairgossip.summaries.summary import Summary
from pairgossip.text import clean_text

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec

_LONGEST_FIGURE = 40
"""Largest number of characters of a figure in a sentence; a longer one is cut."""


class Recomputed(NamedTuple):
    """The figures that follow from the counts in a file."""

    figures: int
    """The number of figures of the file that follow from the counts."""
    report: ReportReading | None
    """The report; None if the specification asks for none."""


def asks_report(result: Result) -> bool:
    """Return whether a result can have a report: it asks for one, and there is a table."""
    return decode_spec(result.specification).report is not None and result.table is not None


def explain_lack(result: Result) -> str | None:
    """Explain why a result has no value; return None if it has one, or is a model."""
    if result.value is not None or result.model is not None:
        return None
    if (no_table := dict(result.describe_table()).get("no table")) is not None:
        return f"no table was made, {no_table}"
    if asks_report(result):
        return "the result is a report, which peer result --json and --html write"
    return "the counts of all members' rows give no value: there may be one class only"


def add_report(signed: SignedResult, table: bytes) -> SignedResult:
    """Return a result with its table, and with the figures of the report that it asks for."""
    published = publish_table(signed, table)
    report = read_signed_report(published)
    if report is None:
        return published
    return msgspec.structs.replace(published, report=plain_figures(report.to_dict()))


def read_signed_report(signed: SignedResult) -> ReportReading | None:
    """Return the report of a result; None if it asks for none, or there is no table."""
    if signed.table is None or decode_spec(signed.result.specification).report is None:
        return None
    spec = restore_spec(signed.result.specification)
    table = _read_table(signed, spec, "This result")
    return _read_report(signed, summary_of(spec, table.numbers[1:]), spec)


def recompute(signed: SignedResult, where: str) -> Recomputed | None:
    """Compute all figures of a file again from its counts; return None without exact counts.

    Raise `InputError` for the first figure that differs.
    """
    result, spec = signed.result, decode_spec(signed.result.specification)
    if signed.table is None or spec.has_noise:
        if signed.report is not None:
            raise altered(where, "it holds a report without its counts")
        return None
    spec = restore_spec(result.specification)  # refuses text that nobody can agree to
    table = _read_table(signed, spec, where)
    if result.rows != (numbers := table.numbers)[0]:
        raise altered(where, f"it is of {result.rows:,} rows, and its table of {numbers[0]:,}")
    if result.heterogeneity != table.sites:
        raise altered(where, "its sums over sites are not those of its table")
    summary, estimate = find_estimate(spec, numbers)
    if (other := find_other_figure(result, estimate)) is not None:
        raise _differs(signed, where, other)
    own = round_estimate(estimate).values()
    count = sum(one is not None for _, one in list_figures([*own]))
    report = _read_report(signed, summary, spec)
    if report is None:
        if signed.report is not None:
            raise altered(where, "it holds a report that nobody has asked for")
        return Recomputed(count, None)
    if signed.report is None:
        raise altered(where, f"it lacks the figures of its report, '{spec.report}'")
    figures = plain_figures(report.to_dict())
    if (difference := find_difference(signed.report, figures)) is not None:
        name, stated, computed = difference
        raise _differs(signed, where, f"{name} is {_show(computed)} here and {_show(stated)} there")
    return Recomputed(count + sum(1 for _ in list_figures(figures)), report)


def _read_report(signed: SignedResult, summary: Summary, spec: Spec) -> ReportReading | None:
    return read_report(summary, spec, len(signed.result.members))


def _read_table(signed: SignedResult, spec: Spec, where: str) -> Table:
    """Return the table in a file; refuse counts that no rows have, though members signed them."""
    cells = cells_of(spec)
    try:
        table = read_table(published_table(signed))
        numbers = table.numbers
        if len(numbers) != cells.words:
            raise ValueError("other cells")
    except ValueError:
        raise InputError("The table is of another form: use the version that wrote it.") from None
    if not 0 <= (rows := int(numbers[0])) <= MOST_ROWS:
        raise altered(where, f"its table is of {rows:,} rows")
    try:
        check_sums(cells, cells.read_sums(numbers), (rows, rows), None)
    except Disagreement as problem:
        raise altered(where, f"no rows have its table: {problem}") from None
    return table


def _differs(signed: SignedResult, where: str, how: str) -> InputError:
    version = ", ".join(signed.result.versions.values())
    return InputError(
        f"{where} says otherwise than the counts in it ({how}): it was altered, or version "
        f"{version[:40]} of pairgossip reads counts otherwise; ask for the original."
    )


def _show(figure: object) -> str:
    return "missing" if figure is None else clean_text(repr(figure), _LONGEST_FIGURE)
