"""A table of counts, which adds up over parts of the rows and gives statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import REFUSE, STATISTICS, choice
from pairgossip.counts.axes import Labels
from pairgossip.counts.bounds import Blocks, Ends
from pairgossip.counts.cells import Cells
from pairgossip.counts.intervals import LEVEL
from pairgossip.counts.layouts import OrderQuestion, lay_out
from pairgossip.counts.readings import Estimate
from pairgossip.counts.tables import Columns, Layout
from pairgossip.errors import InputError, unknown_name
from pairgossip.inference.answer import check_level
from pairgossip.kernels import Combination, Kernel
from pairgossip.kernels.data import format_label
from pairgossip.pages.page import Facts, show
from pairgossip.summaries.count_frames import read_counts
from pairgossip.summaries.heads import (
    check_factors,
    check_least_cell,
    list_names,
    list_weights,
    make_head,
)
from pairgossip.summaries.hiding import hide_counts, list_facts
from pairgossip.summaries.sql import write_query
from pairgossip.summaries.summary_bytes import (
    FACTORS,
    HEAD,
    has_counts,
    is_head,
    read_bytes,
    write_bytes,
)
from pairgossip.summaries.summary_reading import (
    SummaryAnswer,
    find_measure,
)
from pairgossip.summaries.table_reading import find_table, read_table, refuse_empty
from pairgossip.text import format_count


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """Rows counted per cell: all that is kept of them, and enough for many statistics.

    `summarize` makes one. Summaries of parts of the rows add up (``+``) to that of all rows, if
    they have the same cells, classes and first reading.

    Attributes
    ----------
    reading, kind
        The kernel, statistic of order or test that is read by default, and "v" or "u".
    cells
        The cells of every column, one or two.
    classes
        The labels as numbers; None without labels.
    has_events
        Whether the classes mean that an event was seen (1) or not (0).
    positive
        The name of the positive one of two classes; None if there is no such class.
    least_cell
        Every count is 0 or at least this number: rows are counted in blocks of cells.
    groups, strata
        The names of groups, each of which has its own statistics, and of strata, within which
        pairs are compared; None without.
    weights
        The possible weights of rows, in ascending order; None if all rows count once.
    follows_rows
        Whether cells, classes, groups or strata were found from the rows, and reveal something
        about them.
    counts
        Whole numbers, by class, group, stratum, weight and cell; with a larger ``least_cell``, by
        block instead of by cell. Several tables, one per column, follow one another.
    """

    reading: str
    kind: str
    cells: tuple[Cells, ...]
    classes: tuple[float, ...] | None
    has_events: bool
    positive: str | None
    least_cell: int
    counts: IntArray
    groups: tuple[str, ...] | None = None
    strata: tuple[str, ...] | None = None
    weights: tuple[int, ...] | None = None
    follows_rows: bool = False

    @property
    def rows(self) -> int:
        """The number of rows that are counted."""
        return int(self.counts.sum()) // len(self.layout.tables)

    def __add__(self, other: Summary) -> Self:
        """Return the summary of the rows of both."""
        if not isinstance(other, Summary):
            return NotImplemented
        if self.weights is not None and other.weights is not None:
            weights = tuple(sorted({*self.weights, *other.weights}))
            self, other = self.with_weights(weights), other.with_weights(weights)
        for name in HEAD:
            own, others = getattr(self, name), getattr(other, name)
            if own != others and name != "follows_rows":
                raise InputError(
                    f"Summaries add up only with the same {name}, but one has {own} and the other "
                    f"{others}: summarize both with the same arguments."
                )
        follows = self.follows_rows or other.follows_rows
        return replace(self, counts=self.counts + other.counts, follows_rows=follows)

    def with_weights(self, weights: tuple[int, ...]) -> Self:
        """Return the summary with more weights, which no rows have."""
        own = self.weights or ()
        lacking = np.searchsorted(own, [one for one in weights if one not in own])
        at = sum(getattr(self, name) is not None for name in FACTORS[:-1])
        parts = self.layout.split(self.counts)
        return self.change([np.insert(one, lacking, 0, axis=at) for one in parts], weights=weights)

    def change(self, parts: Sequence[IntArray], **head: Any) -> Self:
        """Return the summary with other counts of every table, and other attributes."""
        counts = np.concatenate([part.ravel() for part in parts])
        return replace(self, counts=counts, **head).with_counts(counts)

    def __radd__(self, other: object) -> Self:
        """Begin a sum: ``sum(summaries)`` adds to 0."""
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Summary) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def __repr__(self) -> str:
        cells = " x ".join(map(str, self.cells))
        given = ((name, getattr(self, name)) for name in FACTORS)
        factors = [f", {len(values)} {name}" for name, values in given if values is not None]
        least = "" if self.least_cell == 1 else f", counts of at least {self.least_cell}"
        return (
            f"<Summary for {self.reading}: {format_count(self.rows, 'row')} in {cells}"
            f"{''.join(factors)}{least}; {len(self.to_bytes()):,} bytes>"
        )

    def _repr_html_(self) -> str:
        return show((Facts(tuple(list_facts(self))),))

    def to_bytes(self) -> bytes:
        """Return the summary as bytes: their number depends on the cells, not on the rows."""
        return write_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the summary that `to_bytes` wrote; raise `InputError` for other bytes."""
        summary = cls(**read_bytes(data))
        summary.check()
        return summary

    def check(self) -> None:
        """Raise `InputError` if no rows can have these counts."""
        if not (
            is_head(self) and self.counts.shape == self._shape and has_counts(self, self._tables)
        ):
            raise InputError("The counts of this summary do not fit its cells: ask for it again.")

    @classmethod
    def of(
        cls,
        kernel: Kernel | Combination | str,
        kind: str = "v",
        *,
        cells: Cells | Sequence[Cells],
        classes: Sequence[Any] | None = None,
        groups: Sequence[Any] | None = None,
        strata: Sequence[Any] | None = None,
        weights: Sequence[int] | None = None,
        least_cell: int = 1,
    ) -> Self:
        """Return the summary of no rows, to which counts from elsewhere are added.

        It takes the arguments of `summarize`, and the weights that rows may have.

        Examples
        --------
        >>> import pairgossip as pg
        >>> pg.Summary.of("auc", cells=pg.cells.Even(0, 1, 1024), classes=[0, 1])
        <Summary for auc: 0 rows in Even(0, 1, 1024), 2 classes; 16,530 bytes>
        """
        listed = {"strata": strata, "weights": weights}
        given = (None if values is None else name for name, values in listed.items())
        check_factors(find_measure(kernel), *given)
        summary = cls.empty(
            **make_head(kernel, kind, cells, classes),
            least_cell=check_least_cell(least_cell),
            groups=list_names(groups, "groups"),
            strata=list_names(strata, "strata"),
            weights=list_weights(weights),
        )
        summary.check()
        return summary

    def sql(
        self,
        table: str | Sequence[str],
        columns: str | Sequence[str],
        labels: str | None = None,
        *,
        by: str | None = None,
        within: str | None = None,
        weights: str | None = None,
        dialect: str = "duckdb",
    ) -> str:
        """Return the query that counts the rows of a table in a database engine.

        `from_counts` reads its answer. Every number is counted in the same cell as by `summarize`,
        also on edges. Rows that cannot be counted come back, too, with the cell -1, or NULL if a
        value is missing.

        Parameters
        ----------
        table
            The name of a table, or the parts of its path, such as ``("hospital", "admissions")``.
        columns, labels, by, within, weights
            The names of its columns. ``labels`` also names the column of events.
        dialect
            "duckdb", "postgres", "spark", "bigquery" or "sqlite".

        Examples
        --------
        >>> import pairgossip as pg
        >>> s = pg.Summary.of("gini", cells=pg.cells.Whole(0, 9))
        >>> query = s.sql("admissions", "visits", dialect="sqlite")
        >>> s.from_counts([(2, 30), (3, 12)])  # what sqlite3 returns for it
        <Summary for gini: 42 rows in Whole(0, 9); 186 bytes>
        """
        factors = {"labels": labels, "by": by, "within": within, "weights": weights}
        return write_query(self, table, columns, factors, dialect)

    def from_counts(
        self, frame: Any, *, classes: Sequence[Any] | None = None, missing: str = REFUSE
    ) -> Summary:
        """Return the summary with the counts that the query of `sql` gave.

        Parameters
        ----------
        frame
            The answer: a frame, an Arrow table, a DuckDB relation, the path of a file, or rows in a
            list.
        classes
            The labels of the classes, from the lowest to the highest, if they are not numbers.
        missing
            "refuse", or "drop" to leave out rows with missing values.
        """
        plain = replace(self, least_cell=1)
        counted = plain.with_counts(read_counts(plain, frame, classes, missing))
        counted.check()
        return counted.hide(self.least_cell)

    @classmethod
    def empty(cls, **head: Any) -> Self:
        """Return the summary of no rows with these attributes."""
        summary = cls(**head, counts=np.zeros(0, dtype=np.int64))
        return summary.with_counts(np.zeros(summary.layout.counts, dtype=np.int64))

    def with_counts(self, counts: IntArray) -> Self:
        """Return the summary with these counts of all tables, flat."""
        return replace(self, counts=counts.reshape(self._shape))

    def with_rows(self, rows: FloatArray) -> Self:
        """Return the summary of these rows: columns, label, group, stratum and weight."""
        return self.with_counts(self.layout.count(rows))

    def hide(self, least_cell: int) -> Summary:
        """Return the summary to show to others: every count is 0 or at least ``least_cell``.

        Rows are counted in blocks of cells of a public tree, as `summarize` does if it is given
        ``least_cell``. Combinations of class, group, stratum and weight with fewer rows are left
        out. Hide the same rows once: two summaries in other blocks reveal their difference.

        Examples
        --------
        >>> import pairgossip as pg
        >>> s = pg.summarize([1, 2, 2, 5, 9], "gini", cells=pg.cells.Whole(0, 9))
        >>> s.hide(3) == pg.summarize([1, 2, 2, 5, 9], "gini", cells=s.cells, least_cell=3)
        True
        """
        return hide_counts(self, check_least_cell(least_cell))

    @property
    def _shape(self) -> tuple[int, ...]:
        """The shape of the only table; several tables lie one after the other."""
        first, *others = self.layout.tables
        return (self.layout.counts,) if others else first.shape_of(self.least_cell)

    def select(self, group: Any = None, *, within: bool = True) -> Self:
        """Return the summary of one group of rows, or of all, without groups and weights.

        Parameters
        ----------
        group
            The name of a group; by default all groups are added up.
        within
            False to leave strata out, too: then all pairs of rows are compared.
        """
        if not isinstance(within, bool | np.bool_):
            raise InputError(
                "Pairs within strata are compared, or all with {argument}: give True or False.",
                "within",
                False,
            )
        if group is not None:
            group = format_label(group)
            if self.groups is None:
                raise InputError("This summary has no groups: leave {argument} out.", "group")
            if group not in self.groups:
                raise unknown_name("group", group, self.groups)
        times = {
            "groups": [int(group in (None, one)) for one in self.groups or ()],
            "weights": self.weights or (),
            "strata": [int(not within)] * len(self.strata or ()),
        }
        if not any(map(any, times.values())):
            return self
        present = [name for name in FACTORS if getattr(self, name) is not None]
        parts = self.layout.split(self.counts)
        for at, name in reversed(list(enumerate(present))):
            if any(times.get(name, ())):
                parts = [np.tensordot(part, np.array(times[name]), (at, 0)) for part in parts]
        strata = self.strata if within else None
        return self.change(parts, groups=None, strata=strata, weights=None)

    def count_groups(self) -> dict[str, int]:
        """Return the number of rows of each group, whatever their weights; empty without groups."""
        at = int(self.classes is not None)
        counts = np.moveaxis(self.layout.split(self.counts)[0], at, 0)
        rows = counts.reshape(len(counts), -1).sum(axis=1).tolist()
        return dict(zip(self.groups or (), rows, strict=False))

    def __reduce__(self) -> tuple[Any, ...]:
        return Summary.from_bytes, (self.to_bytes(),)

    def answer(
        self,
        level: float = 0.95,
        reading: str | None = None,
        *,
        column: int | None = None,
        kind: str | None = None,
        group: Any = None,
        within: bool = True,
    ) -> SummaryAnswer:
        """Return a statistic with its sampling error, its interval, and its certain bounds.

        Parameters
        ----------
        level
            The level of the interval, which covers the uncertainty from rows and from cells.
        reading
            A kernel, a statistic of order, such as ``"median"`` or ``"quantile-0.9"``, or a test by
            ranks that takes the columns of this summary; by default the first reading. Labels
            that it does not take are left out.
        column
            The number, 0 or 1, of one of two columns, if the reading takes one.
        kind
            "v" or "u"; by default that of the summary.
        group
            The group to read; by default all rows.
        within
            False to compare all pairs of rows, not only those within strata. Statistics of order
            and tests do not use pairs, so they need it where there are strata. Strata of one row
            have no pair, and are left out.

        Examples
        --------
        >>> import pairgossip as pg
        >>> s = pg.summarize([1, 2, 2, 5, 9], "gini", cells=pg.cells.Whole(0, 9))
        >>> float(s.answer(0.95, "median"))
        2.0
        """
        level = check_level(level)
        measure = find_measure(self.reading if reading is None else reading)
        if self.weights is not None and isinstance(measure, OrderQuestion) and measure.is_test:
            raise InputError(
                f"Test '{measure.name}' needs rows that count once, and these have weights: read "
                "another statistic."
            )
        part = self.select(group, within=within)
        if group is not None and not part.rows:
            raise InputError(f"Group '{format_label(group)}' has no rows: read another group.")
        kind = self.kind if kind is None else choice("kind of statistic", kind, STATISTICS)
        found, positive = read_table(part, part._tables, measure, column, kind, level)
        if math.isnan(found.value):
            raise refuse_empty(measure, part.rows)
        kernel = measure if isinstance(measure, Kernel | Combination) else None
        scale = "plain" if kernel is None else kernel.interval_scale
        ends = (found.bracket, found.p, found.p_bracket, self.least_cell)
        return SummaryAnswer(
            found.value, found.error, found.low, found.high, level, scale, positive, *ends
        )

    def bracket(self, reading: str | None = None, **more: Any) -> Ends:
        """Return the two values between which a statistic of the counted rows lies for certain.

        It takes the arguments of `answer`.
        """
        return self.answer(0.95, reading, **more).bracket

    def find(self) -> Estimate:
        """Return the first reading of all rows, as members of a run report it."""
        whole, measure = self.select(), find_measure(self.reading)
        return read_table(whole, whole._tables, measure, None, self.kind, LEVEL)[0]

    def blocks_of(self, column: int = 0) -> Blocks:
        """Return the counts of one column in blocks, by class if there are any."""
        return find_table(self, self._tables, (column,), self.classes is not None)

    @cached_property
    def layout(self) -> Layout:
        """The tables that rows are counted in."""
        columns = Columns(
            tuple(one.lay() for one in self.cells),
            None if self.classes is None else Labels(np.array(self.classes)),
            self.kind,
            self.least_cell,
            groups=_number(self.groups),
            strata=_number(self.strata),
            weights=None if self.weights is None else Labels(np.array(self.weights, np.float64)),
        )
        return lay_out(columns, self.reading)

    @cached_property
    def _tables(self) -> tuple[Blocks, ...]:
        """The counts of every table, in blocks."""
        return self.layout.read_sums(np.append(self.rows, self.counts.ravel())).tables


def _number(names: Sequence[str] | None) -> Labels | None:
    """Return the axis of groups or strata, which rows give by their numbers."""
    return None if names is None else Labels(np.arange(float(len(names))))
