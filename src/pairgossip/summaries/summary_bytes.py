"""Summaries as bytes, and the conditions on counts that rows can have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from pairgossip.counts.bounds import Blocks
from pairgossip.counts.cells import KINDS, MOST_CELLS, Cells
from pairgossip.errors import InputError
from pairgossip.summaries.heads import LEAST_BLOCK, MOST_WEIGHT

if TYPE_CHECKING:
    from pairgossip.summaries.summary import Summary

MOST_ROWS = 1 << 40
"""Largest number of rows in a cell; sums of more could exceed whole numbers of 64 bits."""
_LONGEST_NAME, _MOST_COLUMNS = 64, 64
"""Largest number of letters of a reading, and of columns; bytes with more are refused at once."""
_VERSION = 1
"""Version of the bytes of a summary."""


_OF_COUNTS = ("version", "shape", "counts")
_LATER = ("groups", "strata", "weights", "follows_rows")
"""Attributes that bytes hold only if they are not empty."""


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    """The bytes of a summary."""

    version: int
    reading: Annotated[str, msgspec.Meta(max_length=_LONGEST_NAME)]
    kind: str
    cells: Annotated[list[tuple[Any, ...]], msgspec.Meta(min_length=1, max_length=_MOST_COLUMNS)]
    classes: tuple[float, ...] | None
    has_events: bool
    positive: str | None
    least_cell: int
    shape: tuple[int, ...]
    counts: bytes
    groups: tuple[str, ...] | None = None
    strata: tuple[str, ...] | None = None
    weights: tuple[int, ...] | None = None
    follows_rows: bool = False


HEAD = tuple(name for name in _Stored.__struct_fields__ if name not in _OF_COUNTS)
"""The attributes of a summary besides its counts."""
FACTORS = ("classes", "groups", "strata", "weights")
"""Attributes that list the values of a factor, in the order of their axes."""


def write_bytes(summary: Summary) -> bytes:
    """Return a summary as bytes."""
    head = {name: getattr(summary, name) for name in HEAD}
    head = {name: one for name, one in head.items() if one or name not in _LATER}
    head["cells"] = [[type(one).__name__, *one.numbers] for one in summary.cells]
    counts = summary.counts.astype("<i8")
    whole = {"version": _VERSION, **head, "shape": counts.shape, "counts": counts.tobytes()}
    return msgspec.msgpack.encode(whole)


def read_bytes(data: bytes) -> dict[str, Any]:
    """Return the attributes of a summary as they were written; `is_head` checks them."""
    try:
        whole = msgspec.msgpack.decode(data, type=_Stored)
        counts = np.frombuffer(whole.counts, dtype="<i8").reshape(whole.shape)
        cells = tuple(_restore_cells(*one) for one in whole.cells)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, TypeError, KeyError) as why:
        raise InputError(
            "These bytes are not a summary: give the bytes that Summary.to_bytes returned."
        ) from why
    if whole.version != _VERSION:
        raise InputError(
            f"These bytes are a summary of version {whole.version}, but this release reads "
            f"version {_VERSION}: install the release that wrote them."
        )
    head = {name: getattr(whole, name) for name in HEAD}
    return head | {"cells": cells, "counts": counts.astype(np.int64)}


def is_head(summary: Summary) -> bool:
    """Return whether a summary may have these attributes besides its counts."""
    least = summary.least_cell
    names = (*(summary.groups or ()), *(summary.strata or ()), summary.positive or "")
    return (
        (least == 1 or least >= LEAST_BLOCK)
        and all(_are_different(getattr(summary, name)) for name in FACTORS)
        and all(map(str.isprintable, names))
        and all(one < other for one, other in pairwise(summary.classes or ()))
        and all(one < other for one, other in pairwise((0, *(summary.weights or ()))))
        and max(summary.weights or (1,)) <= MOST_WEIGHT
        and summary.kind in ("u", "v")
        and math.prod(one.lay().bins for one in summary.cells) <= MOST_CELLS
    )


def has_counts(summary: Summary, tables: Sequence[Blocks]) -> bool:
    """Return whether rows may have these counts, the same rows in all tables."""
    numbers = summary.counts[summary.counts != 0]
    return bool(
        ((numbers >= summary.least_cell) & (numbers < MOST_ROWS)).all()
        and len({one.by_class.sum(axis=1).tobytes() for one in tables}) == 1
    )


def _are_different(values: Sequence[Any] | None) -> bool:
    """Return whether a list, if there is one, is not empty and has no value twice."""
    return values is None or 0 < len(values) == len(set(values))


def _restore_cells(kind: str, *numbers: float) -> Cells:
    make: Callable[..., Cells] = KINDS[kind]
    return make(numbers) if kind == "Edges" else make(*numbers)
