"""Rows on the workers of a Dask cluster; each partition is processed where it is.

A task takes one partition and returns the results for its rows; further tasks add these up, some
at a time. So the data that travels, and that arrives here, is as long as the cells, for any number
of rows. Tasks run with the scheduler that Dask uses at the moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pairgossip.errors import InputError, RowsDropped, needed_for
from pairgossip.kernels.rows import rows_dropped
from pairgossip.rows.rows import AskedColumns

_AT_ONCE = 8
"""The number of partial results that one task adds up."""

Work = Callable[[Any, dict[str, Any]], tuple[Any, int]]
"""Return the result for the rows of one partition, given arguments, and how many it leaves out."""
Join = Callable[[Sequence[Any]], Any]
"""Return the sum of the results of several partitions."""


class Part(NamedTuple):
    """The result of some partitions."""

    found: Any = None
    """The sum of their results; None if there are no rows."""
    rows: int = 0
    dropped: int = 0
    problem: tuple[int, InputError] | None = None
    """An error, and the partition where it occurred; -1 for several."""

    def warn(self) -> RowsDropped:
        """Build the warning for rows that were left out; refuse if no rows remain."""
        return rows_dropped(self.dropped, self.rows, "in all partitions together")


def is_partitioned(data: Any) -> bool:
    """Return whether data is a Dask collection, whose rows are elsewhere."""
    return hasattr(data, "to_delayed") and hasattr(data, "__dask_graph__")


class Partitions:
    """The rows of a Dask collection.

    Parameters
    ----------
    data
        The collection.
    roles
        The values of other arguments: names of its columns.
    """

    def __init__(self, data: Any, roles: Mapping[str, Any]) -> None:
        for name, column in roles.items():
            if column is not None and not isinstance(column, str):
                raise InputError(
                    "Rows on workers have all their columns in one table: give the name of one of "
                    "them "
                    "as {argument}.",
                    name,
                )
        if any(blocks > 1 for blocks in getattr(data, "numblocks", ())[1:]):
            raise InputError(
                "The columns of the data are in different blocks: rechunk them together."
            )
        self._data = data

    @property
    def example(self) -> Any:
        """The same columns without any rows."""
        if hasattr(self._data, "columns"):
            return self._data._meta
        return np.empty((0, *getattr(self._data, "shape", (0,))[1:]))

    def choose(self, asked: AskedColumns | None) -> None:
        """Leave out columns that no argument needs, so that they are not read."""
        if asked is not None:
            places = dict.fromkeys([*asked.places, *asked.roles.values()])
            self._data = self._data[[self._data.columns[place] for place in places]]

    def run(self, work: Work, join: Join, given: dict[str, Any]) -> Part:
        """Return the sum of the results of work on all partitions."""
        with needed_for("Counting rows on workers", "pairgossip[cluster]"):
            from dask.delayed import delayed
        blocks = self._data.to_delayed()
        blocks = blocks.ravel().tolist() if isinstance(blocks, np.ndarray) else list(blocks)
        parts = [delayed(_work)(one, at, work, given) for at, one in enumerate(blocks)]
        while len(parts) > 1:
            groups = (parts[at : at + _AT_ONCE] for at in range(0, len(parts), _AT_ONCE))
            parts = [delayed(_merge)(one, join) for one in groups]
        part: Part = parts[0].compute() if parts else Part()
        if part.problem is not None:
            at, problem = part.problem
            raise problem if at < 0 else problem.at(f"partition {at} (counting from 0)")
        if part.rows and part.dropped == part.rows:
            part.warn()
        if not part.rows:
            raise InputError("The data has no rows in any partition: give some.")
        return part


def _work(rows: Any, at: int, work: Work, given: dict[str, Any]) -> Part:
    """Return the result of work on one partition; this runs on a worker."""
    count = len(rows)
    if not count:
        return Part()
    try:
        found, dropped = work(rows, given)
    except InputError as problem:
        return Part(problem=(at, InputError(problem.message, problem.argument, problem.value)))
    return Part(found, count, dropped)


def _merge(parts: Sequence[Part], join: Join) -> Part:
    """Return the result of several parts together; this runs on a worker."""
    problems = [one.problem for one in parts if one.problem is not None]
    found = [one.found for one in parts if one.found is not None]
    try:
        total = join(found) if found and not problems else None
    except InputError as problem:
        problems = [(-1, problem)]
    rows, dropped = sum(one.rows for one in parts), sum(one.dropped for one in parts)
    return Part(total, rows, dropped, min(problems, key=lambda one: one[0], default=None))
