"""Pieces of a table that are read in batches, one after another or several in parallel."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

_One = TypeVar("_One")
_State = TypeVar("_State")

LARGEST_BATCH = 1 << 20
"""Largest number of rows processed at once; larger batches are cut."""


class Piece(NamedTuple):
    """Consecutive rows, read as batches of columns."""

    first: int
    """The number of its first row."""
    read: Callable[[], Iterable[Sequence[Any]]]
    """Return an iterator over batches of columns."""


class RereadNeeded(Exception):
    """Columns read as numbers turned out to hold text: read the data again."""


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``, as joblib counts: -1 for all cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else max(1, (cores or 1) + 1 + n_jobs)


def visit(
    pieces: Sequence[Callable[[], Iterator[_One]]],
    work: Callable[[_State, _One], None],
    states: Sequence[_State],
) -> None:
    """Apply ``work`` to every batch of all pieces, in one thread per state.

    Only one thread uses a state at a time. The first error, in the order of the pieces, is raised
    after the other threads have stopped.
    """
    if len(states) == 1 or len(pieces) == 1:
        for piece in pieces:
            for batch in piece():
                work(states[0], batch)
        return
    free: queue.SimpleQueue[_State] = queue.SimpleQueue()
    for state in states:
        free.put(state)
    is_stopped = False

    def finish(piece: Callable[[], Iterator[_One]]) -> None:
        state = free.get()
        try:
            for batch in piece():
                if is_stopped:
                    return
                work(state, batch)
        finally:
            free.put(state)

    pool = ThreadPoolExecutor(len(states))
    try:
        for _ in pool.map(finish, pieces):
            pass
    finally:
        is_stopped = True
        pool.shutdown(cancel_futures=True)
