"""The arguments of `exact` and `test`, and those that `summarize` shares with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pairgossip.arguments.argument import argument
from pairgossip.checks import MISSING, REFUSE, STATISTICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pairgossip.kernels.blocks import Progress

ALTERNATIVES = ("two-sided", "greater", "less")


@dataclass(kw_only=True)
class RowArguments:
    """The rows and the kind of statistic, as `exact` and `summarize` document them."""

    data: Any
    kernel: Any
    kind: str = argument("v", noun="kind of statistic", choices=STATISTICS)
    labels: Any = None
    weights: Any = None
    within: Any = None
    missing: str = argument(REFUSE, noun="treatment of missing values", choices=MISSING)
    classes: Sequence[Any] | None = None
    positive: Any = None


@dataclass(kw_only=True)
class StatisticArguments(RowArguments):
    """The rows and the statistic, as `exact` documents them."""

    columns: Sequence[Any] | str | None = None
    groups: Any = None
    between: Any = None
    by: Any = None
    interval: float | None = None


@dataclass(kw_only=True)
class ExactArguments(StatisticArguments):
    """The arguments of `exact`, which documents them."""

    progress: Progress | None = None


@dataclass(kw_only=True)
class SignificanceArguments(StatisticArguments):
    """The arguments of `test` on all rows, which documents them."""

    null: float | None = None
    alternative: str = argument("two-sided", choices=ALTERNATIVES)
    seed: int | None = 0
