"""Other statistics of a table of counts, such as that which all members have signed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclopts import Group, Parameter

from pairgossip.cli.console import write_line, write_rows
from pairgossip.cli.options import Flag
from pairgossip.errors import InputError, unknown_name
from pairgossip.text import clean_text, join_names

if TYPE_CHECKING:
    from pairgossip.peer.signed_result import SignedResult
    from pairgossip.summaries.summary import Summary
    from pairgossip.summaries.summary_reading import SummaryAnswer

_READING = Group.create_ordered("Another reading of the table")


@Parameter(name="*", group=_READING)
@dataclass(frozen=True)
class TableReading:
    """The statistic that is read from a table of counts, and the rows that it is about."""

    reading: str | None = None
    """Print this statistic of the table: a kernel, a statistic of order such as median or
    quantile-0.9, or a test by ranks that takes its columns."""
    column: str | None = None
    """The column to read it of, by name, if the table has two."""
    group: str | None = None
    """The group to read it of, where rows are counted by groups; of the first statistic unless
    --reading names another."""
    pooled: Flag = False
    """Compare all rows, where they are counted by strata, and not only those within one."""

    def answer(self, summary: Summary, columns: Sequence[str], level: float) -> SummaryAnswer:
        """Return the statistic of a table whose columns have these names."""
        columns = columns[: len(summary.cells)]
        self._check(summary, columns)
        try:
            return summary.answer(
                level,
                self.reading,
                column=None if self.column is None else columns.index(self.column),
                group=self.group,
                within=not self.pooled,
            )
        except InputError as problem:
            if problem.argument != "column":
                raise
            named = join_names(columns, "or")
            raise InputError(
                f"'{self.reading}' is of one column: give --column, {named}."
            ) from None

    def count_rows(self, summary: Summary) -> int:
        """Return how many rows it is of."""
        return (summary if self.group is None else summary.select(self.group)).rows

    def _check(self, summary: Summary, columns: Sequence[str]) -> None:
        """Refuse what the table cannot be read by."""
        from pairgossip.counts.layouts import find_order_question

        if self.column is not None and self.column not in columns:
            raise unknown_name("column", self.column, columns)
        if self.pooled and summary.strata is None:
            raise InputError("--pooled is for strata, and this table has none: leave it out.")
        is_of_pairs = find_order_question(self.reading or summary.reading) is None
        if summary.strata is not None and not self.pooled and not is_of_pairs:
            raise InputError(
                f"'{self.reading}' is of all rows, not of pairs within strata: give --pooled to "
                "read it."
            )


@Parameter(name="*", group=_READING)
@dataclass(frozen=True)
class ReadingOptions(TableReading):
    """The same of a result that members have signed."""

    level: float | None = None
    """The level of the interval; by default 0.95."""

    @property
    def is_asked(self) -> bool:
        """Whether a reading is asked for."""
        return self.reading is not None or self.group is not None or self.pooled

    def check(self) -> None:
        """Refuse options of a reading where none is asked for."""
        for option, value in (("--column", self.column), ("--level", self.level)):
            if not self.is_asked and value is not None:
                raise InputError(f"{option} is for --reading: leave it out.")

    def print(self, signed: SignedResult, table: bytes) -> None:
        """Print the statistic, of the table that a result was read from."""
        from pairgossip.peer.specification.canonical_text import decode_spec
        from pairgossip.peer.sums.tables import read_summary

        spec = decode_spec(signed.result.specification)
        summary = read_summary(spec, table)
        answer = self.answer(summary, spec.columns, 0.95 if self.level is None else self.level)
        facts = [("answer", str(answer)), ("rows", f"{self.count_rows(summary):,}")]
        if self.group is not None:
            facts.insert(0, (clean_text(str(spec.by)), clean_text(self.group)))
        write_rows((clean_text(self.reading or str(spec.kernel)), ""), facts, numbers=False)
        members = len(signed.result.members)
        write_line(f"Read from the table that all {members} members have signed: nothing was sent.")
