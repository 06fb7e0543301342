"""The front door to estimation: checks first, then the engine, then a `Run`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from pairgossip.algorithms import Method, find_method
from pairgossip.algorithms.methods import ORDERS
from pairgossip.arrays import FloatArray, IntArray, PairFunction
from pairgossip.engine.engines import ENGINES
from pairgossip.engine.seeds import root_seed
from pairgossip.engine.trial import Setup
from pairgossip.engine.trials import run_trials
from pairgossip.errors import InputError, InterruptedRun, UnknownTarget, canonical, unknown_name
from pairgossip.graphs import FAMILIES, Graph, build
from pairgossip.graphs.laws import law_name
from pairgossip.kernels import Kernel, Pairs, Ratio
from pairgossip.kernels.means import Means
from pairgossip.progress import progress_bar
from pairgossip.results.run import Run

CHECKPOINTS_PER_DECADE = 12
LARGEST_HISTORY_BYTES = 1 << 28
LARGEST_BLOCKED_TARGET = 20_000
"""Above this many rows a kernel without closed form is not summed over all pairs unasked."""
DEFAULT_ITERATIONS_PER_NODE = 200


def estimate(
    data: Any,
    kernel: str | Kernel | Ratio | PairFunction | None = None,
    graph: Graph | str = "complete",
    *,
    method: str = "gosta",
    clock: str = "sync",
    order: str = "update-first",
    law: str = "uniform-edges",
    iterations: int | None = None,
    checkpoints: int | Sequence[int] | IntArray | None = None,
    trials: int = 1,
    target: str = "v",
    labels: Any = None,
    reference: float | None = None,
    seed: int | None = None,
    record: str | None = None,
    engine: str = "auto",
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Run:
    """Estimate a pairwise statistic by gossip: node k of the graph holds row k of the data.

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
    method, clock, order
        ``"gosta"`` (clock ``"sync"`` or ``"async"``), ``"u1"``, ``"u2"`` or ``"averaging"``;
        GoSta-sync updates before each exchange as printed (``"update-first"``) or after it as in
        the proofs (``"exchange-first"``).
    law
        Which edge rings: ``"uniform-edges"``, or ``"node-clocks"`` (a uniform node calls a uniform
        neighbor).
    iterations, checkpoints
        How long to run (200 per node unless given), and when to write down: log-spaced unless
        given, a number of checkpoints, or the iterations themselves.
    trials, seed, n_jobs
        Independent repetitions; each depends only on the seed and its own number, not on how
        many run at once. ``n_jobs=-1`` uses all cores; ``None`` follows ``joblib.parallel_config``.
    target
        ``"v"``: average over all ordered pairs; ``"u"``: over pairs of different observations.
    reference
        The exact value if you know it; otherwise it is computed (for a kernel without closed
        form only up to 20,000 rows).
    record
        ``"nodes"`` keeps every node's estimate at every checkpoint, ``"summary"`` the curves and
        the final estimates only. Chosen by size unless given.
    engine
        ``"auto"``, ``"fused"``, ``"tokens"`` or ``"plain"``; all give the same numbers to rounding.
    progress
        Show a progress bar; by default when standard error is a terminal.

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
    """
    problem = _problem(data, kernel, method, target, labels)
    n = problem.n
    root = root_seed(seed)
    entropy = int(root.entropy)  # type: ignore[arg-type]
    network = _network(graph, n, entropy)
    chosen = find_method(method, clock, n)
    order = _choice("order", order, ORDERS)
    last = _whole("iterations", iterations, default=DEFAULT_ITERATIONS_PER_NODE * n)
    grid = checkpoint_grid(last, checkpoints)
    trials = _whole("trials", trials)
    if n_jobs == 0:
        raise InputError("n_jobs=0 runs nothing: use -1 for all cores, or a number >= 1.")
    exact = _target(problem, chosen, reference)
    setup = Setup(
        problem=problem,
        graph=network,
        method=chosen,
        clock=clock,
        order=order,
        law=law_name(law),
        checkpoints=grid,
        target=exact,
        keep_history=_keep_history(record, trials * len(grid) * n * 8),
        engine=_choice("engine", engine, ENGINES),
    )
    with progress_bar(f"{chosen.name} on {n:,} nodes", trials * last, progress) as advance:
        outcome = run_trials(setup, root, trials, n_jobs, advance)
    if not outcome.records:
        raise KeyboardInterrupt
    run = Run.from_records(setup, outcome, entropy)
    if outcome.interrupted:
        warnings.warn(
            f"Interrupted: kept {run.trials} of {trials} trials, "
            f"up to iteration {run.iterations[-1]:,} of {last:,}.",
            InterruptedRun,
            stacklevel=2,
        )
    return run


def checkpoint_grid(
    iterations: int, checkpoints: int | Sequence[int] | IntArray | None = None
) -> IntArray:
    """Return increasing iteration numbers from 1 on that end with the last iteration."""
    if checkpoints is None:
        checkpoints = max(2, round(CHECKPOINTS_PER_DECADE * np.log10(iterations)) + 1)
    if isinstance(checkpoints, int | np.integer):
        count = _whole("checkpoints", int(checkpoints))
        grid = np.geomspace(1, iterations, count) if count > 1 else np.array([iterations])
        return np.unique(np.rint(grid).astype(np.int64))
    given = np.asarray(checkpoints)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer) or not given.size:
        raise InputError("Checkpoints must be a number or a list of whole iteration numbers.")
    if given.min() < 1 or given.max() > iterations:
        raise InputError(
            f"Checkpoints must lie between 1 and the {iterations:,} iterations, "
            f"but they run from {given.min():,} to {given.max():,}."
        )
    return np.unique(np.append(given, iterations).astype(np.int64))


def _problem(data: Any, kernel: Any, method: str, target: str, labels: Any) -> Pairs | Means:
    chosen = find_method(method)
    if chosen.estimates == "mean":
        if kernel is not None:
            raise InputError(
                "Method 'averaging' averages the data itself and takes no kernel: "
                "leave the kernel out, or use method='gosta'."
            )
        return Means(data)
    if kernel is None:
        raise InputError(
            f"Method '{chosen.name}' needs a kernel, such as kernel='gini' or a function of two "
            "blocks of observations."
        )
    pairs = Pairs(data, kernel, target, labels)
    if chosen.estimates == "row-mean" and pairs.components > 1:
        raise InputError(
            f"Method '{chosen.name}' estimates the rows of a single kernel, and "
            f"'{pairs.kernel.name}' is a ratio of two: use method='gosta'."
        )
    pairs.check()
    return pairs


def _network(graph: Graph | str, n: int, seed: int) -> Graph:
    if isinstance(graph, str):
        family = FAMILIES.get(canonical(graph))
        return build(graph, n, seed=seed if family and family.is_random else None)
    if not isinstance(graph, Graph):
        raise InputError(
            f"The graph must be a pairgossip Graph or the name of a family, not "
            f"{type(graph).__name__}: convert it with pg.Graph.from_networkx or from_scipy."
        )
    if graph.n != n:
        raise InputError(
            f"The data has {n} rows but the graph has {graph.n} nodes: "
            "each node holds exactly one row."
        )
    return graph


def _target(problem: Pairs | Means, method: Method, reference: float | None) -> float | FloatArray:
    if reference is not None:
        return float(reference)
    if isinstance(problem, Means):
        return problem.exact()
    by_rows = method.estimates == "row-mean"
    parts = problem.kernel.components
    closed = all((part.row_totals if by_rows else part.total) is not None for part in parts)
    if not closed and problem.n > LARGEST_BLOCKED_TARGET:
        warnings.warn(
            f"The exact value of kernel '{problem.kernel.name}' on {problem.n:,} rows takes "
            f"{problem.n**2:.0e} evaluations and was not computed, so errors are unknown: "
            "pass reference= if you know it.",
            UnknownTarget,
            stacklevel=3,
        )
        return float("nan")
    return problem.row_means() if by_rows else problem.exact()


def _keep_history(record: str | None, history_bytes: int) -> bool:
    if record is None:
        return history_bytes <= LARGEST_HISTORY_BYTES
    return _choice("record", record, ("nodes", "summary")) == "nodes"


def _choice(what: str, value: str, choices: Sequence[str]) -> str:
    spelled = canonical(value) if isinstance(value, str) else value
    if spelled not in choices:
        raise unknown_name(what, str(value), choices)
    return spelled


def _whole(what: str, value: int | None, default: int | None = None) -> int:
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"The number of {what} must be a whole number >= 1, not {value!r}.")
    return int(value)
