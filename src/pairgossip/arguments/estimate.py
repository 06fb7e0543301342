"""The arguments of `estimate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pairgossip.arguments.argument import argument, vary
from pairgossip.arguments.run import RunArguments
from pairgossip.checks import ORDERS, RANDOM, SCHEDULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pairgossip.arrays import FloatArray

ENGINES = ("auto", "fused", "tokens", "plain")
"""The ways to compute the same numbers, at different speeds."""


@dataclass(kw_only=True)
class EstimateArguments(RunArguments):
    """The arguments of `estimate`, which documents them."""

    kernel: Any = None
    target: str = argument(
        "v",
        choices={"v": "all pairs (V-statistic)", "u": "different rows (U-statistic)"},
        help="v (default): over all pairs, including each row with itself; u: over pairs of "
        "different rows.",
        group="statistic",
        label="pairs",
    )
    method: str = argument(
        "gosta",
        is_needed=True,
        help="gosta (default), or for fewer messages sketch (no row travels), tracking (any "
        "kernel) or collect (all rows to all); `pairgossip methods` lists all.",
    )
    schedule: str = argument(
        RANDOM,
        choices=SCHEDULES,
        help="The order of exchanges: random (default) or ordered; for sketch and averaging also "
        "continuized or tree.",
    )
    trials: int | Iterable[int] = vary(RunArguments, "trials", shown=20)
    engine: str = argument(
        "auto",
        choices=ENGINES,
        help="auto, fused, tokens or plain: the same numbers at different speeds.",
        shown="auto",
    )
    order: str | None = argument(None, choices=ORDERS)
    relaxation: float | None = argument(None, kind=float)
    sketch: Any = None
    reference: float | FloatArray | None = None
    record: str | None = argument(None, choices=("nodes", "summary"))
    interval: float | None = argument(None, kind=float)
    until: str | None = argument(
        None,
        noun="end",
        choices=("enough",),
        is_needed=True,
        help="enough: end a trial when every node's gossip error is a tenth of its sampling error, "
        "if that is before --iterations.",
    )
    within: Any = None
    between: Any = None
