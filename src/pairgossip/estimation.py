"""The front door to estimation: checks first, then the engine, then a `Run`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pairgossip.arrays import FloatArray, IntArray, PairFunction
from pairgossip.faults import Faults
from pairgossip.graphs import Graph
from pairgossip.graphs.laws import LawLike
from pairgossip.kernels import Combination, Kernel
from pairgossip.privacy import RandomizedResponse
from pairgossip.progress import Show
from pairgossip.results.run import Run
from pairgossip.run_requests.estimation import EstimationRequest


def estimate(
    data: Any,
    kernel: str | Kernel | Combination | PairFunction | None = None,
    graph: Graph | str = "complete",
    *,
    columns: Sequence[Any] | str | None = None,
    groups: Any = None,
    construction: str = "lexicographic",
    missing: str = "refuse",
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    privacy: RandomizedResponse | None = None,
    method: str = "gosta",
    clock: str = "sync",
    order: str | None = None,
    law: LawLike = "uniform-edges",
    schedule: str = "random",
    relaxation: float | None = None,
    sketch: Any = None,
    faults: Faults | str | None = None,
    iterations: int | None = None,
    checkpoints: int | Sequence[int] | IntArray | None = None,
    trials: int | Iterable[int] = 1,
    target: str = "v",
    labels: Any = None,
    reference: float | FloatArray | None = None,
    interval: float | None = None,
    until: str | None = None,
    weights: Any = None,
    within: Any = None,
    between: Any = None,
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
        One observation per node: n numbers, or n rows, of anything that `exact` takes. Labels
        travel with the observation, as its last column.
    columns
        The names of the data's columns to use; by default all columns that no other argument names.
    kernel
        The function to average over pairs: a built-in name (see ``pg.kernels.CATALOG``), a
        `Kernel`, a `Ratio`, or any NumPy function of two blocks of observations.
        ``method="averaging"`` averages the data itself and takes none.
    graph
        A `Graph`, or the name of a family, built on n nodes with its default parameters.
    groups, construction
        The site of every row: the name or number of a node of the graph, or any label, one node per
        label in their order; the graph is then the network of the sites. Each row is a node and
        meets the rows of neighboring sites; it meets rows of its own site for free
        (``"lexicographic"``) or not at all (``"blow-up"``). With ``"whole-sets"`` sites swap all
        the rows that they hold at once. ``method="sketch"`` and ``"collect"`` always have one
        sketch or set of rows per site.
    missing
        Rows that lack a value of the data, the label or the group (NaN, None): ``"refuse"`` names
        their numbers; ``"drop"`` leaves them out and warns (`RowsDropped`), and
        ``run.rows_dropped`` is their number.
    classes, positive
        The labels from the lowest to the highest, as in ``["no", "yes"]``: they count as 0, 1, ...
        in this order, and other labels are refused. With two labels, the higher one is enough:
        ``positive="yes"``. By default the higher of two numbers is positive; text has no order, and
        is refused if one is needed.
    privacy
        A mechanism such as ``pg.privacy.RandomizedResponse(1.0, bins=16, range=(0, 5000))``: every
        trial randomizes each observation once, and nodes use only the reports. With a seed, for
        simulations, the reports repeat and so protect nobody; without one they come from the
        operating system's secure source.
    method, clock, order
        ``"gosta"`` (clock ``"sync"`` or ``"async"``), ``"weighted-gosta"`` (``"async"`` only; peers
        run it), ``"u1"``, ``"u2"`` or ``"averaging"``; GoSta-sync updates before each exchange as
        printed (``"update-first"``, the default) or after it as in the proofs
        (``"exchange-first"``). ``"sketch"`` averages features of the rows that give the statistic,
        ``"tracking"`` the changes of every node's own mean, and ``"collect"`` passes all rows on;
        `plan` compares them. If nodes may lie: ``"clipped-gosta"``, which also doubts rows far from
        all others, ``"clipped-sketch"`` and ``"clipped-averaging"`` (``"async"`` only). `pairgossip
        methods` lists what each method tolerates.
    law
        The law that draws the next edge: ``"uniform-edges"``, ``"node-clocks"`` (a uniform node
        calls a uniform neighbor), ``"best"``, which `pairgossip.networks.best_law` finds, or the
        probability of every edge, in the order of ``graph.edges``.
    schedule, relaxation
        The order of exchanges: ``"random"`` by the law; ``"ordered"`` sweeps over all edges, in
        which averaged numbers move ``relaxation`` of the way to each other (by default the graph
        chooses it; 1/2 is the mean); and for methods that only average, ``"continuized"`` (random
        edges and a second register) or ``"tree"`` (up and down a tree, 2n - 2 messages).
    faults
        Faults, such as ``pg.Faults(loss=0.01, liars=7)`` or "loss=0.01, liars=7": lost, half-lost
        and slow exchanges, nodes that come and go, crash or lie. ``run.honest`` are the nodes that
        neither lie nor crash, and ``run.honest_error`` is their error.
    sketch
        For ``method="sketch"`` one of ``pg.sketches``, or your own object with ``features(rows)``
        and ``readout(mean)``; by default the kernel chooses it.
    iterations, checkpoints
        The length of the run, by default 200 iterations per node; and when to record: a number of
        checkpoints, log-spaced, or the iterations themselves.
    trials, seed, n_jobs
        Independent repetitions: their number, or a list of their numbers (``range(50, 100)``; see
        `join_trials`). Each depends only on the seed and its own number, not on the others.
        ``n_jobs=-1`` uses all cores; ``None`` follows ``joblib.parallel_config``.
    target
        ``"v"``: average over all ordered pairs; ``"u"``: over pairs of different observations.
    reference
        The exact value if you know it (one per node for ``"u1"``); otherwise it is computed, for
        a kernel without closed form only up to 20,000 rows.
    interval
        The level of intervals, such as 0.95. On the same exchanges nodes then also learn the likely
        distance between the statistic of these rows and that of the population
        (``run.sampling_error``, ``run.interval``), and that of their own from the statistic of
        these rows
        (``run.gossip_error``).
    until
        ``"enough"`` ends a trial when every node's gossip error is a tenth of its sampling error,
        if that is before ``iterations``: the rest of the gossip error then hardly counts.
    weights, within, between
        The number of times that each row counts; the stratum of every row, if only pairs within one
        stratum count, or only those between two.
    record
        ``"nodes"`` keeps every node's estimate at every checkpoint, ``"summary"`` the curves and
        the final estimates only. The default depends on the size of the run.
    engine
        ``"auto"``, ``"fused"``, ``"tokens"`` or ``"plain"``; all give the same numbers to rounding.
        Your own method (``pairgossip.algorithms.methods.register``) runs on ``"plain"``.
    progress
        Show a progress bar; by default when standard error is a terminal. Or a function, called
        with the number of iterations made since it was last called.

    Returns
    -------
    Run
        Ctrl-C returns what was computed so far, with ``status == "interrupted"`` and an
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
    request = EstimationRequest(
        data=data,
        columns=columns,
        kernel=kernel,
        graph=graph,
        groups=groups,
        construction=construction,
        missing=missing,
        classes=classes,
        positive=positive,
        privacy=privacy,
        method=method,
        clock=clock,
        order=order,
        law=law,
        schedule=schedule,
        relaxation=relaxation,
        sketch=sketch,
        faults=faults,
        iterations=iterations,
        checkpoints=checkpoints,
        trials=trials,
        target=target,
        labels=labels,
        reference=reference,
        interval=interval,
        until=until,
        weights=weights,
        within=within,
        between=between,
        seed=seed,
        record=record,
        engine=engine,
        n_jobs=n_jobs,
        progress=progress,
    )
    return request.execute()
