"""The rows of a file that are counted; for a release they are read once more, into memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.errors import InputError
from pairgossip.kernels.data import format_label
from pairgossip.peer.bookkeeping.local_secret import keep_secret
from pairgossip.peer.bookkeeping.snapshots import Snapshot, check_same, read_beside
from pairgossip.rows.columns import Coded, as_array
from pairgossip.summaries.row_digest import RowDigest
from pairgossip.summaries.summary_request import SummaryRequest

if TYPE_CHECKING:
    from pairgossip.arrays import BoolArray, FloatArray
    from pairgossip.cli.peer.init import RowsOptions
    from pairgossip.summaries.summary import Summary


@dataclass(frozen=True)
class CountedRows:
    """The rows of a file, complete or not, in the columns that are counted."""

    file: Path
    names: tuple[str, ...]
    """Names of the columns of numbers."""
    factors: Mapping[str, str]
    """The columns of labels, groups, strata and weights, by the arguments of `summarize`."""
    words: Sequence[Any] | None = None
    """Declared labels: an entry of this text, such as "none", is then a label and not missing."""

    @cached_property
    def columns(self) -> Mapping[str, Any]:
        """All columns by name, as the file has them, in memory."""
        from pairgossip.rows.rows import choose_columns

        given = {"data": self.file, **self.factors}
        read = choose_columns("data", given, self.names, self.words).columns
        data = read["data"].reshape(len(read["data"]), -1)
        numbers = dict(zip(self.names, data.T, strict=True))
        return numbers | {name: _code_text(read[key]) for key, name in self.factors.items()}

    @cached_property
    def is_complete(self) -> BoolArray:
        """Whether each row has all entries, and so is counted."""
        from pairgossip.kernels.rows import find_gaps

        return ~np.logical_or.reduce([find_gaps(one) for one in self.columns.values()])

    def count(self, arguments: Mapping[str, Any]) -> tuple[Summary, bytes, list[Any]]:
        """Count the rows; return the summary, the rows' digest, and the labels.

        This machine recognizes rows by the digest. Other ``arguments`` are those of `summarize`.
        """
        given = {**arguments, **self.factors, "data": self.file, "columns": self.names}
        request = SummaryRequest(**given)
        counter = request.count_rows(RowDigest(keep_secret()))
        assert counter.digest is not None
        labels = counter.entries("classes") if "labels" in self.factors else []
        return request.finish(counter), counter.digest.finish(), labels

    def name_classes(
        self, labels: Sequence[Any], declared: Sequence[Any] | None, positive: Any
    ) -> list[str] | None:
        """Return the names of the classes in order; None if they are numbers, which have one.

        Raise `InputError` for labels that are text, without an order.
        """
        from pairgossip.kernels.rows import order_classes

        if positive is not None:
            declared = order_classes(positive, labels)
        if declared is not None:
            return list(map(format_label, declared))
        if any(isinstance(label, str) for label in labels):
            raise InputError(
                f"Column '{self.factors['labels']}' holds text, and other files may hold other "
                "classes: give {argument}, all possible ones.",
                "classes",
            )
        return None

    def _take(self, name: str) -> Any:
        column = self.columns[name]
        if isinstance(column, Coded):
            return column.take(np.flatnonzero(self.is_complete))
        return as_array(column, name, objects=True)[self.is_complete]

    def freeze(self, counted: int, options: RowsOptions, least_cell: int) -> Snapshot:
        """Return the snapshot for the register; its first ``counted`` columns have the cells."""
        same = tuple(tuple(map(str.strip, one.split(","))) for one in options.same)
        check_same(same, (*self.names, *self.factors.values()))
        cells, others = self.names[:counted], (*self.names[counted:], *self.factors.values())
        known = Snapshot(
            self.file,
            {name: self._take(name) for name in cells},
            {name: self._code(name) for name in others},
            same=same,
            least_cell=least_cell,
        )
        return read_beside(known, options.id_, np.flatnonzero(~self.is_complete).tolist())

    def _code(self, name: str) -> FloatArray:
        """Return a column of classes as numbers."""
        column = self._take(name)
        if isinstance(column, Coded):
            entries, places = column.list_entries()
            order = np.unique(entries.astype(str), return_inverse=True)[1].astype(np.float64)
            return np.append(order, np.nan)[places][column.codes]
        if column.dtype.kind in "fiub":
            return column.astype(np.float64)
        return np.unique(column.astype(str), return_inverse=True)[1].astype(np.float64)


def _code_text(column: Any) -> Any:
    """Return text as numbers of its different entries, and other columns as they are."""
    if not (isinstance(column, np.ndarray) and column.dtype.kind == "O"):
        return column
    entries: list[Any] = column.tolist()
    codes = {entry: code for code, entry in enumerate(dict.fromkeys(entries))}
    return Coded(np.fromiter(map(codes.__getitem__, entries), np.int32, len(entries)), list(codes))
