"""The front door to optimization: checks first, then the engine, then a `Fit`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pairgossip.arguments.minimize import METHODS, SKETCH
from pairgossip.arrays import IntArray
from pairgossip.checks import choice
from pairgossip.faults import Faults
from pairgossip.graphs import Graph
from pairgossip.graphs.laws import LawLike
from pairgossip.losses import GeneralLoss, Loss, Proximal
from pairgossip.privacy import RandomizedResponse
from pairgossip.progress import Show
from pairgossip.results.fit import Fit
from pairgossip.run_requests.learning import LearningRequest
from pairgossip.run_requests.sketched import SketchedRequest


def minimize(
    data: Any,
    labels: Any = None,
    loss: str | Loss | GeneralLoss = "auc-logistic",
    graph: Graph | str = "complete",
    *,
    columns: Sequence[Any] | str | None = None,
    method: str = "dual-averaging",
    schedule: str | None = None,
    groups: Any = None,
    construction: str = "lexicographic",
    weights: Any = None,
    missing: str = "refuse",
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    privacy: RandomizedResponse | None = None,
    clock: str = "sync",
    law: LawLike = "uniform-edges",
    faults: Faults | str | None = None,
    iterations: int | None = None,
    checkpoints: int | Sequence[int] | IntArray | None = None,
    step: Any = None,
    constraint: Proximal | None = None,
    penalty: Proximal | None = None,
    trials: int | Iterable[int] = 1,
    seed: int | None = None,
    bias: bool | None = None,
    judged: int | None = None,
    start: Fit | str | Path | None = None,
    tolerance: float | None = None,
    accuracy: float | None = None,
    engine: str = "auto",
    n_jobs: int | None = -1,
    progress: Show = None,
) -> Fit:
    """Minimize the average of a pairwise loss by gossip.

    Node k of the graph holds row k of the data, or with ``groups`` all rows of its group. The
    objective is the mean of f(theta; x_k, x_l) over all ordered pairs, plus the penalty.

    Parameters
    ----------
    data, labels
        One observation per node, of anything that `exact` takes; labels travel with the
        observation, as its last column.
    columns
        The names of the data's columns to use; by default all columns that no other argument names.
    loss
        A built-in name (see ``pg.losses.CATALOG``), a `Loss` with your own pair features, or a
        `GeneralLoss` with your own value and gradient.
    method
        ``"dual-averaging"`` swaps rows and averages gradients of the pairs that nodes hold: for any
        loss. ``"sketch"`` averages sums from which every node computes the gradient over all pairs,
        and takes steps of L-BFGS: for AUC and ranking losses of up to 32 grades. No row is passed
        on, but the sums of a node with a single row reveal it. An iteration is a round of
        averaging, and the run ends at the optimum.
    schedule
        For the averages of ``"sketch"``: ``"tree"`` (exact, the fewest messages), ``"ordered"``, or
        ``"random"`` exchanges.
    weights
        The number of times that each row counts, with ``"sketch"``: positive numbers.
    graph, groups, construction, missing, classes, positive, law, clock
        As for `estimate`; the asynchronous algorithm weights gradients by 1/p_k.
    faults
        As for `estimate`, with ``"dual-averaging"``; only models of honest nodes are judged.
    privacy
        As for `estimate`: nodes take debiased gradients at reports, which sum over all pairs of
        cells, so that bins and columns must be few. Objectives are those of the raw data.
    step
        By default ``pg.steps.adaptive()``, which needs no tuning. Or a step size gamma(t), a
        function of the iteration that never increases, such as ``pg.steps.inverse_sqrt(0.1)``;
        ``"paper"`` is R/(L sqrt(t)) with R the radius of the ball (1 without one) and L the
        Lipschitz constant of the loss. With privacy the adaptive step would mistake noise for
        slopes, so ``"paper"`` is the default, with the size of debiased gradients for L.
    constraint, penalty
        ``pg.Ball``, ``pg.Box``, ``pg.PSD``; ``pg.L1``, ``pg.SquaredL2``.
    iterations, checkpoints, trials, seed, n_jobs, progress
        As for `estimate`.
    bias
        Compute the gradient bias at the checkpoints; by default up to 2,000 nodes, and never with
        the adaptive step, to which the paper's analysis does not apply.
    judged
        The number of nodes whose models are judged at each checkpoint; by default all, up to 2,000.
        With a loss without closed form (a `GeneralLoss`, or a `Loss` without ``risk``) each model
        takes all n^2 pairs: by default all models are judged up to 256 nodes, and beyond that as
        many as take 17 million pairs, at least 10. They are evenly spaced; objectives and their
        spread are only those of these nodes. With method "sketch" 0 judges none: objectives are
        then the nodes' own estimates, from the second round on, at no cost.
    start
        A `Fit`, or its file, to continue, with more ``iterations`` in all: with the same data,
        loss, privacy, clock, law, step, penalty and constraint; graph, groups, seed, trials, judged
        nodes and reports are the start's. Functions are the same if they give the same values at a
        few pairs. Curves are joined.
    tolerance, accuracy
        For ``"sketch"``: end when a round would gain less than this share of the zero model's
        objective, by default 1e-7; and shrink differences between nodes to this share in averages
        along edges, by default 1e-6.
    engine
        ``"auto"``; ``"vectors"`` works without the line trick; ``"plain"`` steps the reference
        algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fit = minimize(x, [0, 0, 1, 1], "auc-logistic", iterations=1000, seed=0)
    >>> bool(fit.model[0] > 0)
    True
    """
    request = find_request(method)(
        data=data,
        columns=columns,
        labels=labels,
        loss=loss,
        graph=graph,
        method=method,
        schedule=schedule,
        groups=groups,
        construction=construction,
        weights=weights,
        missing=missing,
        classes=classes,
        positive=positive,
        privacy=privacy,
        clock=clock,
        law=law,
        faults=faults,
        iterations=iterations,
        checkpoints=checkpoints,
        step=step,
        constraint=constraint,
        penalty=penalty,
        trials=trials,
        seed=seed,
        bias=bias,
        judged=judged,
        start=start,
        tolerance=tolerance,
        accuracy=accuracy,
        engine=engine,
        n_jobs=n_jobs,
        progress=progress,
    )
    return request.execute()


def find_request(method: str) -> type[LearningRequest | SketchedRequest]:
    """Return the request class that checks and runs a method of `minimize`."""
    is_sketch = choice("method", method, METHODS) == SKETCH
    return SketchedRequest if is_sketch else LearningRequest
