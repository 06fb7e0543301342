"""The arguments that `estimate` and `minimize` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pairgossip.arguments.argument import argument
from pairgossip.checks import (
    BEST_LAW,
    CLOCKS,
    CONSTRUCTIONS,
    LEXICOGRAPHIC,
    MISSING,
    NODE_CLOCKS,
    REFUSE,
    UNIFORM_EDGES,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pairgossip.arrays import IntArray
    from pairgossip.faults import Faults
    from pairgossip.graphs import Graph
    from pairgossip.graphs.laws import LawLike
    from pairgossip.privacy import RandomizedResponse
    from pairgossip.progress import Show

LARGEST_SEED = 2**128 - 1
"""Largest seed; Python draws seeds of 128 bits where none is given, and larger ones are refused."""


@dataclass(kw_only=True)
class RunArguments:
    """The arguments of a run; options of the command line are in the order of ``--help``."""

    data: Any = None
    """None while only the other arguments are checked."""
    columns: Sequence[Any] | str | None = None
    labels: Any = None
    graph: Graph | str = "complete"
    groups: Any = None
    construction: str = argument(LEXICOGRAPHIC, choices=CONSTRUCTIONS)
    weights: Any = None
    missing: str = argument(REFUSE, noun="treatment of missing values", choices=MISSING)
    classes: Sequence[Any] | None = None
    positive: Any = None
    privacy: RandomizedResponse | None = None
    method: str | None = None
    iterations: int | None = argument(
        None,
        kind=int,
        noun="number of iterations",
        least=1,
        is_needed=True,
        help="How long to run: 1000000, 1_000_000 or 1e6; by default 200 per node.",
        label="iterations",
        placeholder="200 per node",
    )
    schedule: str | None = None
    clock: str = argument(
        "sync",
        choices=CLOCKS,
        help="sync (default): all nodes update at every exchange; async: only the two that meet.",
    )
    trials: int | Iterable[int] = argument(1, help="Independent repetitions.", shown=1)
    seed: int | None = argument(
        None,
        kind=int,
        most=LARGEST_SEED,
        help="Seed of all randomness: the same seed gives the same numbers.",
        shown=0,
    )
    law: LawLike = argument(
        UNIFORM_EDGES,
        noun="edge law",
        choices={
            UNIFORM_EDGES: "every edge equally often",
            NODE_CLOCKS: "a node calls a neighbor",
            BEST_LAW: "so that averages settle fastest",
        },
        takes_others=True,
        help="The law that draws the next edge: uniform-edges, node-clocks (a node calls a "
        "neighbor), or best (the fastest for averages).",
        shown=UNIFORM_EDGES,
        label="which exchange comes next",
    )
    faults: Faults | str | None = argument(
        None,
        kind=str,
        help='What goes wrong, such as "loss=0.01, churn=100/10, liars=7": loss, half_loss, delay, '
        "churn=up/down, crashed, liars, attack and lie; by default none.",
        label="faults",
        placeholder="none, or loss=0.01",
    )
    checkpoints: int | Sequence[int] | IntArray | None = argument(
        None,
        kind=int,
        help="The number of points on curves, log-spaced; by default 12 per decade.",
    )
    n_jobs: int | None = argument(
        -1,
        help="The number of trials to run at once; -1 for one per core.",
        option="--jobs",
        shown=-1,
    )
    engine: str = "auto"
    progress: Show = None
