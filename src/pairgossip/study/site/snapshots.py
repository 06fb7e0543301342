"""The rows of a site, frozen: batches, each with a keyed digest by which it is known again."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import NamedTuple

from pairgossip.study.site.folder import StudyHome


class Batch(NamedTuple):
    """Rows that were frozen at once."""

    number: int
    source: str
    rows: int
    digest: bytes
    """Of the rows in all columns, keyed, whatever their order."""


def add_rows(
    home: StudyHome,
    source: str | PathLike[str],
    confirm: Callable[[list[str]], None] = lambda _: None,
) -> Batch:
    """Freeze the rows of a source as the next batch, whether or not the peer runs."""
    raise NotImplementedError
