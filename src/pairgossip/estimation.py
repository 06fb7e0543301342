"""The front door to estimation: checks first, then the engine, then a `Run`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pairgossip.algorithms import Method, find_method
from pairgossip.arrays import FloatArray, IntArray, PairFunction
from pairgossip.checks import (
    CLOCKS,
    ITERATIONS_PER_NODE,
    LAWS,
    ORDERS,
    check_jobs,
    checkpoint_grid,
    choice,
    trial_numbers,
    whole,
)
from pairgossip.engine.estimation.engines import ENGINES, check_engine
from pairgossip.engine.estimation.trial import Setup
from pairgossip.engine.problems import PRIVATE, Asked, swapped
from pairgossip.engine.schedule import root_seed
from pairgossip.engine.trials import run_trials
from pairgossip.errors import InputError, InterruptedRun, UnknownTarget
from pairgossip.graphs import Graph
from pairgossip.graphs.placement import place_rows
from pairgossip.kernels import Kernel, PairProblem, Ratio
from pairgossip.kernels.pairs import Means
from pairgossip.privacy import RandomizedResponse
from pairgossip.progress import Advance, Show, progress_bar
from pairgossip.results.provenance import of_estimation
from pairgossip.results.run import Run

LARGEST_HISTORY_BYTES = 1 << 28
LARGEST_BLOCKED_TARGET = 20_000
"""Above this many rows a kernel without closed form is not summed over all pairs unasked."""


def estimate(
    data: Any,
    kernel: str | Kernel | Ratio | PairFunction | None = None,
    graph: Graph | str = "complete",
    *,
    groups: Any = None,
    construction: str = "lexicographic",
    privacy: RandomizedResponse | None = None,
    method: str = "gosta",
    clock: str = "sync",
    order: str | None = None,
    law: str = "uniform-edges",
    iterations: int | None = None,
    checkpoints: int | Sequence[int] | IntArray | None = None,
    trials: int | Iterable[int] = 1,
    target: str = "v",
    labels: Any = None,
    reference: float | FloatArray | None = None,
    seed: int | None = None,
    record: str | None = None,
    engine: str = "auto",
    n_jobs: int | None = -1,
    progress: Show = None,
) -> Run:
    """Estimate a pairwise statistic by gossip: node k of the graph holds row k of the data.

    With ``groups`` a node of the graph is a site that holds all rows of its group.

    Parameters
    ----------
    data, labels
        One observation per node: n numbers, or n rows. Labels travel with the observation, as
        its last column.
    kernel
        What is averaged over pairs: a built-in name (see ``pg.kernels.CATALOG``), a `Kernel`, a
        `Ratio`, or any NumPy function of two blocks of observations. ``method="averaging"``
        averages the data itself and takes none.
    graph
        A `Graph`, or the name of a family, built on n nodes with its default parameters.
    groups, construction
        The site of every row: the name or number of a node of the graph, or any label, one node
        per label in their order; the graph is then the network of the sites. Rows take part as
        nodes of their own and meet the rows of neighboring sites, and those of their own site for
        free (``"lexicographic"``) or not at all (``"blow-up"``). With ``"whole-sets"`` sites swap
        all the rows they hold at once.
    privacy
        A mechanism such as ``pg.privacy.RandomizedResponse(1.0, bins=16, range=(0, 5000))``:
        every trial randomizes each observation once, and nodes use the reports alone. With a
        seed, the reports repeat and so protect nobody, which is for simulations; without one
        they come from the operating system's secure source.
    method, clock, order
        ``"gosta"`` (clock ``"sync"`` or ``"async"``), ``"weighted-gosta"`` (``"async"`` only; what
        peers run), ``"u1"``, ``"u2"`` or ``"averaging"``; GoSta-sync updates before each exchange
        as printed (``"update-first"``, the default) or after it as in the proofs
        (``"exchange-first"``).
    law
        Which edge rings: ``"uniform-edges"``, or ``"node-clocks"`` (a uniform node calls a uniform
        neighbor).
    iterations, checkpoints
        How long to run (200 per node unless given), and when to write down: log-spaced unless
        given, a number of checkpoints, or the iterations themselves.
    trials, seed, n_jobs
        Independent repetitions, how many or which (``range(50, 100)``; see `join_trials`); each
        depends only on the seed and its own number, not on how many run at once. ``n_jobs=-1``
        uses all cores; ``None`` follows ``joblib.parallel_config``.
    target
        ``"v"``: average over all ordered pairs; ``"u"``: over pairs of different observations.
    reference
        The exact value if you know it (one per node for ``"u1"``); otherwise it is computed, for
        a kernel without closed form only up to 20,000 rows.
    record
        ``"nodes"`` keeps every node's estimate at every checkpoint, ``"summary"`` the curves and
        the final estimates only. Chosen by size unless given.
    engine
        ``"auto"``, ``"fused"``, ``"tokens"`` or ``"plain"``; all give the same numbers to rounding.
        A method of your own (``pairgossip.algorithms.register``) runs on ``"plain"``.
    progress
        Show a progress bar; by default when standard error is a terminal. Or a function, called
        with the number of iterations made since it was last called.

    Returns
    -------
    Run
        Ctrl-C returns what was computed until then, with ``status == "interrupted"`` and an
        `InterruptedRun` warning.

    Examples
    --------
    >>> run = estimate([1.0, 2.0, 4.0], "gini", "complete", iterations=1000, seed=0)
    >>> round(run.target, 3)
    1.333

    Two sites, one of which holds two of the rows:

    >>> run = estimate([1.0, 2.0, 4.0], "gini", groups=["a", "b", "b"], iterations=9, seed=0)
    >>> run.site_estimates.shape
    (1, 2)
    """
    clock = choice("clock", clock, CLOCKS)
    chosen = find_method(method, clock)
    law = choice("edge law", law, LAWS)
    order = _order(order, chosen, clock)
    engine = choice("engine", engine, ENGINES)
    numbers = trial_numbers(trials)
    check_jobs(n_jobs)
    root = root_seed(seed)
    entropy = int(root.entropy)  # type: ignore[arg-type]
    asked = Asked(data, kernel, chosen, target, labels)
    rows = asked.problem() if privacy is None else asked.private(privacy, seeded=seed is not None)
    place = place_rows(graph, rows.n, groups, construction, entropy)
    problem = rows if place.swapped_sets is None else swapped(rows, place.swapped_sets, chosen)
    n = problem.n
    find_method(method, clock, n)
    check_engine(engine, problem, chosen, clock)
    last = whole("The number of iterations", iterations, default=ITERATIONS_PER_NODE * n)
    grid = checkpoint_grid(last, checkpoints)
    keep_history = _keep_history(record, len(numbers) * len(grid) * n * 8)
    exact = _target(problem, chosen, reference, progress)
    setup = Setup(
        problem=problem,
        graph=place.network,
        method=chosen,
        clock=clock,
        order=order,
        law=law,
        checkpoints=grid,
        target=exact,
        keep_history=keep_history,
        engine=engine,
        privacy_error=(
            problem.predicted_error(float(exact)) if isinstance(problem, PRIVATE) else None
        ),
    )
    fingerprint = of_estimation(problem)
    with progress_bar(f"{chosen.name} on {n:,} nodes", len(numbers) * last, progress) as advance:
        outcome = run_trials(setup, root, numbers, n_jobs, advance)
    if not outcome.records:
        raise KeyboardInterrupt
    run = Run.from_records(setup, outcome, entropy, fingerprint)
    if outcome.interrupted:
        warnings.warn(
            f"Interrupted: kept {run.trials} of {len(numbers)} trials, "
            f"up to iteration {run.iterations[-1]:,} of {last:,}.",
            InterruptedRun,
            stacklevel=2,
        )
    return run


def _order(order: str | None, method: Method, clock: str) -> str:
    if order is not None and clock == "async":
        raise InputError(
            "The order of update and exchange is a choice of the synchronous clock only: "
            "leave {argument} out.",
            "order",
        )
    found = choice("order", "update-first" if order is None else order, ORDERS)
    if found != "update-first" and method.updates != "either":
        raise InputError(
            f"Method '{method.name}' knows one order of update and exchange only: leave "
            "{argument} out, or use method 'gosta'.",
            "order",
        )
    return found


def _target(
    problem: PairProblem | Means, method: Method, reference: Any, progress: Show
) -> float | FloatArray:
    by_rows = method.estimates == "row-mean"
    if reference is not None:
        return _reference(reference, (problem.n,) if by_rows else ())
    if isinstance(problem, Means):
        return problem.exact()
    parts = problem.kernel.components
    closed = all((part.row_totals if by_rows else part.total) is not None for part in parts)
    count = len(problem.data)
    if not closed and count > LARGEST_BLOCKED_TARGET:
        unknown = UnknownTarget(
            f"The exact value of kernel '{problem.kernel.name}' on {count:,} rows takes "
            f"{count**2:.0e} evaluations and was not computed, so errors are unknown: "
            "pass {argument} if you know it.",
            "reference",
        )
        warnings.warn(unknown, stacklevel=3)
        return float("nan")
    if by_rows:
        return problem.row_means()
    # A function given counts iterations, and the exact value takes none.
    shown = False if callable(progress) else progress
    with progress_bar("exact value", 1000, shown) as advance:
        return problem.exact(_in_steps(advance))


def _in_steps(advance: Advance | None) -> Callable[[float], None] | None:
    """Report a growing fraction to a bar of 1000 steps."""
    if advance is None:
        return None
    reported = 0

    def report(fraction: float) -> None:
        nonlocal reported
        steps = int(1000 * fraction) - reported
        advance(steps)
        reported += steps

    return report


def _reference(reference: Any, shape: tuple[int, ...]) -> float | FloatArray:
    try:
        given = np.asarray(reference, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.full(1, np.nan)
    if given.shape != shape or not np.isfinite(given).all():
        wanted = f"one finite number per node, {shape[0]} in all" if shape else "one finite number"
        raise InputError(f"The reference must be {wanted}.")
    return given if shape else float(given)


def _keep_history(record: str | None, history_bytes: int) -> bool:
    if record is None:
        return history_bytes <= LARGEST_HISTORY_BYTES
    return choice("record", record, ("nodes", "summary")) == "nodes"
