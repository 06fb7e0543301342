"""The arguments of `summarize`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pairgossip.arguments.argument import argument
from pairgossip.arguments.exact import RowArguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pairgossip.progress import Show


@dataclass(kw_only=True)
class SummarizeArguments(RowArguments):
    """The rows, the default reading and the cells, as `summarize` documents them."""

    columns: Sequence[Any] | str | None = None
    cells: Any = None
    least_cell: int = argument(1, noun="least number of rows in a cell", kind=int, least=1)
    by: Any = None
    groups: Sequence[Any] | None = None
    strata: Sequence[Any] | None = None
    n_jobs: int | None = -1
    progress: Show = None
