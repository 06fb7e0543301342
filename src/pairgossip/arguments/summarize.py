"""The arguments of `summarize`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pairgossip.arguments.argument import argument
from pairgossip.checks import MISSING, REFUSE, STATISTICS

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(kw_only=True)
class SummarizeArguments:
    """The rows, the first reading and the cells, as `summarize` documents them."""

    data: Any
    kernel: Any
    kind: str = argument("v", noun="kind of statistic", choices=STATISTICS)
    labels: Any = None
    cells: Any = None
    least_cell: int = argument(1, noun="least number of rows in a cell", kind=int, least=1)
    missing: str = argument(REFUSE, noun="treatment of missing values", choices=MISSING)
    classes: Sequence[Any] | None = None
    positive: Any = None
    by: Any = None
    groups: Sequence[Any] | None = None
    within: Any = None
    strata: Sequence[Any] | None = None
    weights: Any = None
