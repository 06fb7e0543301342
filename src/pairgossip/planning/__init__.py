"""The front door to planning: the messages with which each method reaches an error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pairgossip.arrays import PairFunction, few_threads
from pairgossip.checks import is_number
from pairgossip.errors import InputError
from pairgossip.graphs import Changing, Graph, GroupedGraph
from pairgossip.graphs.laws import LawLike
from pairgossip.kernels import Combination, Kernel, Pairs
from pairgossip.kernels.rows import prepare_rows
from pairgossip.planning.predictions import Case, list_ways, predict
from pairgossip.planning.table import Bounds, Plan, PlannedMethod
from pairgossip.progress import Show, progress_bar
from pairgossip.run_requests.estimation import EstimationRequest
from pairgossip.theory import fewest_calls, fewest_messages, fewest_pairs

__all__ = ["Bounds", "Plan", "PlannedMethod", "plan"]

_LARGEST_PLAN = 20_000
"""The largest number of nodes for a plan, as errors are relative to the exact value."""
_SINGLE_THREAD_NODES = 1_000
"""Up to this many nodes, n x n matrices gain nothing from several threads."""
_LARGEST_TABLE = 4_000
"""The largest number of rows for a table of all pairs, which gives the number of random pairs."""


def plan(
    data: Any,
    kernel: str | Kernel | Combination | PairFunction,
    graph: Graph | str = "complete",
    *,
    labels: Any = None,
    groups: Any = None,
    columns: Sequence[Any] | str | None = None,
    missing: str = "refuse",
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    target: str = "v",
    law: LawLike = "uniform-edges",
    error: float = 0.01,
    sketch: Any = None,
    seed: int | None = 0,
    progress: Show = None,
) -> Plan:
    """Predict the messages that each method needs to reach an error, and what it shows to whom.

    Averaging of sketches is predicted from the spectrum of the network, to first order in the
    error. Figures without a theory are simulated, or fitted to a pilot run and marked as such.

    Parameters
    ----------
    data, kernel, graph, labels, groups, columns, missing, classes, positive, target, law
        As for `estimate`; the law is that of random edges. Node k holds row k, or with groups a
        site holds all its rows. A site sends its sketch, or its set of rows, as a whole; token
        methods exchange single rows, within a site for free.
    error
        The root mean square error over nodes to reach, relative to the exact value: 0.01 for 1 %.
    sketch
        As for `estimate`. With declared ranges, as in ``pg.sketches.Bins(16, range=(0, 5000))``,
        nodes need not first learn the range of the rows, which halves the messages along a tree.
    seed
        Seed of the simulations.
    progress
        Show a progress bar; by default when standard error is a terminal. Or a function, called
        with 1 after every method.

    Returns
    -------
    Plan
        ``plan.best`` is the method with the fewest messages. Methods that pass on rows until all
        nodes know all (``"collect"``) are counted to their end, where they are exact.

    Examples
    --------
    >>> made = plan([1.0, 2.0, 4.0, 7.0], "variance", "cycle", error=0.05)
    >>> made.best.name, made.best.messages
    ('sketch (tree)', 6)
    """
    _check_error(error)
    given = {"data": data, "labels": labels, "groups": groups}
    prepared = prepare_rows(missing, classes, given, positive, columns, kernel).columns
    request = EstimationRequest(
        **prepared, kernel=kernel, graph=graph, target=target, law=law, seed=seed
    )
    pairs = Pairs(request.data, kernel, request.target, request.labels)
    _check_size(pairs.n)
    pairs.check()
    network, _ = request.place(pairs.n)
    if isinstance(network, GroupedGraph):
        if groups is None:
            raise InputError(
                "A plan is made for the graph of the sites: give this graph, and {argument}, the "
                "site of every row.",
                "groups",
            )
        network = network.sites
        _check_size(network.n)
    if isinstance(network, Changing):
        raise InputError("A plan is made for one network, and this one changes: plan for each.")
    exact = pairs.exact()
    _check_exact(exact, pairs)
    shared = {**prepared, "kernel": kernel, "target": request.target}
    law = request.settle_law(network)
    case = Case(shared, network, law, request.root, sketch, exact, float(error))
    ways = list_ways()
    with (
        progress_bar("plan", len(ways), progress) as advance,
        few_threads(network.n <= _SINGLE_THREAD_NODES),
    ):
        rows = []
        for way in ways:
            rows.append(predict(case, way))
            if advance is not None:
                advance(1)
    rows.sort(key=lambda row: (row.messages is None, row.messages, row.bytes))
    bounds = Bounds(fewest_calls(network), fewest_messages(network.n), _fewest_pairs(pairs, case))
    return Plan(tuple(rows), float(error), exact, bounds, _title(pairs, network, error))


def _check_error(error: Any) -> None:
    if not is_number(error) or not 0 < error < 1:
        raise InputError(
            f"The error to reach is relative to the exact value, between 0 and 1, not {error!r}: "
            "give {argument} for 1 %.",
            "error",
            0.01,
        )


def _check_size(n: int) -> None:
    if n == 1:
        raise InputError("A network of one node sends no messages: there is nothing to plan.")
    if n > _LARGEST_PLAN:
        raise InputError(
            f"A plan is made for up to {_LARGEST_PLAN:,} nodes, whose exact value and pilot runs "
            f"take seconds, not for {n:,}: plan for a sample of the rows on a smaller network of "
            "the same kind."
        )


def _check_exact(exact: float, pairs: Pairs) -> None:
    if exact == 0 or not math.isfinite(exact):
        value = "0" if exact == 0 else "not a finite number"
        raise InputError(
            f"The exact value of '{pairs.kernel.name}' is {value} on these rows, so no error can "
            "be relative to it: plan for other rows."
        )


def _fewest_pairs(pairs: Pairs, case: Case) -> int | None:
    """Return the number of random pairs with this error; for several averages to first order."""
    if pairs.n > _LARGEST_TABLE:
        return None
    averages = np.array([pairs.matrix(part).mean() for part in range(pairs.components)])
    values = np.zeros((pairs.n, pairs.n))
    for part, slope in enumerate(pairs.kernel.slopes(averages)):
        values += slope * pairs.matrix(part)
    return fewest_pairs(values, case.goal)


def _title(pairs: Pairs, graph: Graph, error: float) -> str:
    name, family = pairs.kernel.name, graph.family or "graph"
    where = f"{graph.n:,} nodes" if pairs.n == graph.n else f"{graph.n:,} sites, {pairs.n:,} rows"
    return f"{name} to {100 * error:.3g} % RMS error over nodes, {family} of {where}"
