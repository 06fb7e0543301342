"""The arguments of `minimize`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pairgossip.arguments.argument import argument, vary
from pairgossip.arguments.run import RunArguments
from pairgossip.checks import ORDERED, RANDOM, TREE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pairgossip.arrays import IntArray
    from pairgossip.losses import Proximal
    from pairgossip.privacy import RandomizedResponse
    from pairgossip.results.fit import Fit

DUAL_AVERAGING, SKETCH = "dual-averaging", "sketch"
METHODS = (DUAL_AVERAGING, SKETCH)
SCHEDULES = (TREE, ORDERED, RANDOM)
"""The exchanges along which sketches are averaged."""
DESCENT_ENGINES = ("auto", "vectors", "plain")


@dataclass(kw_only=True)
class MinimizeArguments(RunArguments):
    """The arguments of `minimize`, which documents them."""

    loss: Any = "auc-logistic"
    method: str = argument(
        DUAL_AVERAGING,
        choices=METHODS,
        is_needed=True,
        help="dual-averaging (default): rows and gradients travel; sketch: nodes average sums, "
        "compute the gradient over all pairs from them, and reach the optimum.",
    )
    schedule: str | None = argument(
        None,
        noun="schedule of averaging",
        choices=SCHEDULES,
        belongs_to=SKETCH,
        help="With --method sketch, the exchanges along which nodes average: tree (default; exact, "
        "the fewest messages), ordered or random.",
    )
    weights: Any = argument(None, kind=object, belongs_to=SKETCH)
    privacy: RandomizedResponse | None = argument(
        None, kind=object, belongs_to=DUAL_AVERAGING, reason="averages sums of raw rows"
    )
    iterations: int | None = vary(
        RunArguments,
        "iterations",
        help="How long to run: 1000000, 1_000_000 or 1e6; by default 200 per node. With --method "
        "sketch, the largest number of rounds; by default 200.",
    )
    clock: str = vary(
        RunArguments, "clock", belongs_to=DUAL_AVERAGING, reason="has rounds and no clock"
    )
    trials: int | Iterable[int] = vary(
        RunArguments, "trials", help="Independent repetitions, whose models are averaged."
    )
    checkpoints: int | Sequence[int] | IntArray | None = vary(
        RunArguments,
        "checkpoints",
        help="The number of points on curves, log-spaced; by default 12 per decade, or every round "
        "of --method sketch.",
    )
    engine: str = argument("auto", choices=DESCENT_ENGINES)
    tolerance: float | None = argument(
        None,
        kind=float,
        least=1e-15,
        most=1.0,
        belongs_to=SKETCH,
        help="With --method sketch: end when a round would gain less than this part of the zero "
        "model's loss; by default 1e-7.",
    )
    accuracy: float | None = argument(
        None,
        kind=float,
        least=1e-12,
        most=1e-3,
        belongs_to=SKETCH,
        help="With --method sketch, the factor by which averages along ordered or random exchanges "
        "shrink differences between nodes; by default 1e-6.",
    )
    step: Any = argument(
        None,
        kind=float,
        belongs_to=DUAL_AVERAGING,
        reason="chooses its steps itself",
        help="Step size c of the paper's c/sqrt(t); by default the adaptive step, which needs no "
        "tuning, or with privacy a step that follows from the steepness of the loss.",
    )
    constraint: Proximal | None = None
    penalty: Proximal | None = None
    bias: bool | None = argument(
        None,
        kind=object,
        belongs_to=DUAL_AVERAGING,
        reason="takes gradients over all pairs, which have no bias",
    )
    judged: int | None = None
    start: Fit | str | Path | None = argument(
        None,
        kind=object,
        belongs_to=DUAL_AVERAGING,
        reason="begins from averages of the rows",
    )
