"""One pass over all rows: in batches, in several threads, and with full checks where needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError, RowsDropped
from pairgossip.kernels.rows import rows_dropped
from pairgossip.progress import Advance, LateBar, Show, progress_bar
from pairgossip.rows.batches import RereadNeeded, count_threads, visit
from pairgossip.summaries.counting.counter import Counter, join
from pairgossip.summaries.counting.factors import Factor
from pairgossip.summaries.counting.incoming import Incoming, Lost, Part, Rows

_State = TypeVar("_State")

_LARGEST_SAMPLE = 1 << 20
"""Number of rows up to which quantiles use all of them; beyond, they use evenly spaced ones."""
ROLES = {"classes": "labels", "groups": "by", "strata": "within", "weights": "weights"}
"""The arguments that hold the entries of factors."""
Refuse = Callable[[Rows, dict[str, Any], list[FloatArray]], InputError]
"""Return the error for rows that cannot be counted, given the entries of their factors."""


class Extent:
    """The range of the numbers of a column, and a sample of them."""

    def __init__(self) -> None:
        self.low, self.high, self.is_whole, self.rows = np.inf, -np.inf, True, 0
        self._sample: list[FloatArray] = []
        self._stride = 1

    def add(self, column: FloatArray) -> None:
        """Add the numbers that follow."""
        self.low, self.high = min(self.low, column.min()), max(self.high, column.max())
        self.is_whole = self.is_whole and bool((column == np.rint(column)).all())
        self._sample.append(column[-self.rows % self._stride :: self._stride].copy())
        self.rows += len(column)
        while sum(map(len, self._sample)) > _LARGEST_SAMPLE:
            self._sample = [np.concatenate(self._sample)[::2]]
            self._stride *= 2

    def merge(self, other: Extent) -> None:
        """Add the range of another extent; the result has no values."""
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.is_whole, self.rows = self.is_whole and other.is_whole, self.rows + other.rows
        self._sample.clear()

    @property
    def values(self) -> FloatArray:
        """All numbers; if there are many, the extremes and evenly spaced ones."""
        ends = [] if self._sample and self._stride == 1 else [[self.low, self.high]]
        return np.concatenate([*self._sample, *ends])


class Tally:
    """Passes over the rows.

    Parameters
    ----------
    incoming
        The rows.
    make_factors
        Return new factors, by name.
    has_label_column
        Whether the last column of the data is the label.
    missing, classes
        The treatment of rows that lack an entry, and the possible labels.
    refuse
        The function that returns the error for rows that cannot be counted.
    n_jobs, progress
        The number of threads that read and count, and the way to show progress.
    """

    def __init__(
        self,
        incoming: Incoming,
        make_factors: Callable[[], dict[str, Factor]],
        refuse: Refuse,
        *,
        has_label_column: bool,
        missing: str,
        classes: Sequence[Any] | None,
        n_jobs: int | None,
        progress: Show,
    ) -> None:
        self._incoming, self._make_factors, self._refuse = incoming, make_factors, refuse
        self._has_label_column, self._missing, self._classes = has_label_column, missing, classes
        self._threads, self._show = count_threads(n_jobs), progress
        self._lock = threading.Lock()
        self._restart()

    def _restart(self) -> None:
        self._rows = 0
        self._lost: list[tuple[int, Lost]] = []

    def find_extents(self, columns: int) -> list[Extent]:
        """Return the extents of the columns."""
        factors: dict[str, Factor] = {}
        extents: list[Extent] = []

        def start() -> list[list[Extent]]:
            factors.clear()
            factors.update(self._make_factors())
            return [[Extent() for _ in range(columns)]]

        def look(state: list[Extent], part: Part) -> None:
            rows = part.read()
            if rows is None or not self._is_complete(rows, factors):
                rows = self._read_with_care(part)
            found, _ = self._split(rows)
            for extent, column in zip(state, found, strict=False):
                if len(column):
                    extent.add(column)

        (extents,) = self._visit(start, look, "finding the range of")
        return extents

    def count(
        self, empty: Callable[[dict[str, Factor]], Counter], check: Callable[[Counter], None]
    ) -> Counter:
        """Return the counts of the rows.

        Parameters
        ----------
        empty
            Return a counter with these factors.
        check
            Raise `InputError` for classes that cannot be read; called when new ones have come.
        """

        def start() -> list[Counter]:
            return [empty(self._make_factors()) for _ in range(self._threads)]

        def add(counter: Counter, part: Part) -> None:
            before = len(counter.factors.get("classes", ()))
            rows = part.read()
            if rows is None or not self._put(counter, rows):
                rows = self._read_with_care(part)
                if rows.columns and not self._put(counter, rows):
                    columns, entries = self._split(rows)
                    raise self._refuse(rows, entries, columns)
            if 1 < len(counter.factors.get("classes", ())) > before:
                check(counter)

        return join(self._visit(start, add, "counting"))

    def _put(self, counter: Counter, rows: Rows) -> bool:
        columns, entries = self._split(rows)
        codes = [factor.code(entries[name]) for name, factor in counter.factors.items()]
        return counter.add(columns, codes)

    def _is_complete(self, rows: Rows, factors: dict[str, Factor]) -> bool:
        columns, entries = self._split(rows)
        codes: list[IntArray] = [one.code(entries[name]) for name, one in factors.items()]
        are_finite = all(np.isfinite(column).all() for column in columns)
        return are_finite and all(one.min(initial=0) >= 0 for one in codes)

    def _split(self, rows: Rows) -> tuple[list[FloatArray], dict[str, Any]]:
        """Return the columns that have cells, and the entries of factors by name."""
        columns = list(rows.columns)
        entries = {name: rows.roles[role] for name, role in ROLES.items() if role in rows.roles}
        if self._has_label_column and columns:
            entries["classes"] = columns.pop()
        return columns, entries

    def _read_with_care(self, part: Part) -> Rows:
        rows, lost = part.read_with_care(self._missing, self._classes)
        if lost.rows:
            with self._lock:
                self._lost.append((part.first, lost))
        return rows

    @property
    def dropped(self) -> int:
        """The number of rows left out in the last pass."""
        return sum(lost.rows for _, lost in self._lost)

    def check(self) -> RowsDropped | None:
        """Raise `InputError` if no rows were kept; return a warning about those left out."""
        self._incoming.check_length(self._rows)
        if not self._rows:
            raise InputError("data is empty: give at least one observation.")
        if not self._lost:
            return None
        places = min(self._lost, key=lambda one: one[0])[1].places
        more = ", and others after them" if len(self._lost) > 1 else ""
        return rows_dropped(self.dropped, self._rows, places + more)

    def _visit(
        self,
        start: Callable[[], list[_State]],
        work: Callable[[_State, Part], None],
        doing: str,
    ) -> list[_State]:
        """Do work on all rows; begin again if text was taken for numbers."""
        total, title = self._incoming.total, f"{doing} {self._incoming.title}"
        show = None if callable(self._show) and doing != "counting" else self._show
        while True:
            states = start()
            self._restart()
            try:
                with progress_bar(title, total, show) as advance:

                    def step(state: _State, part: Part, advance: Advance | None = advance) -> None:
                        work(state, part)
                        with self._lock:
                            self._rows += part.size
                            self._tell(advance, part, title)

                    visit(self._incoming.pieces(), step, states)
            except RereadNeeded:
                continue
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"Stopped {doing} {self._incoming.title} after {self._rows:,} rows: there is "
                    "no summary of a part of them."
                ) from None
            return states

    def _tell(self, advance: Advance | None, part: Part, title: str) -> None:
        if isinstance(advance, LateBar):
            advance.describe(f"{title}: {self._rows:,} rows")
            advance(part.steps)
        elif advance is not None:
            advance(part.size)
