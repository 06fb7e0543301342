"""The front door to optimization: checks first, then the engine, then a `Fit`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pairgossip.arrays import IntArray
from pairgossip.checks import (
    CLOCKS,
    ITERATIONS_PER_NODE,
    LAWS,
    WHOLE_SETS,
    check_jobs,
    checkpoint_grid,
    choice,
    trial_numbers,
    whole,
)
from pairgossip.engine.descent.state import Descent, Snapshot, check_descent_engine
from pairgossip.engine.descent.trial import DescentSetup
from pairgossip.engine.judging.judge import judged_unasked
from pairgossip.engine.schedule import root_seed
from pairgossip.engine.trials import run_trials
from pairgossip.errors import InputError, InterruptedRun
from pairgossip.graphs import Graph
from pairgossip.graphs.placement import Placement, place_rows
from pairgossip.losses import (
    GeneralLoss,
    Loss,
    PowerStep,
    Proximal,
    ProximalCode,
    as_proximal,
    check_steps,
    inverse_sqrt,
)
from pairgossip.losses.learning import LearningProblem, PairwiseLearning, WholeSetsLearning
from pairgossip.losses.steps import AnyStep
from pairgossip.privacy import PrivateLearning, RandomizedResponse
from pairgossip.privacy.columns import Cells
from pairgossip.progress import Show, progress_bar
from pairgossip.results.fit import Fit
from pairgossip.results.loading import load
from pairgossip.results.provenance import Fingerprint, difference, of_learning, step_mark
from pairgossip.results.traffic import groups_of

LARGEST_JUDGED = 2_000
"""Up to this many nodes every node's model is judged, and the gradient bias computed."""
ENGINES = ("auto", "vectors", "plain")


def minimize(
    data: Any,
    labels: Any = None,
    loss: str | Loss | GeneralLoss = "auc-logistic",
    graph: Graph | str = "complete",
    *,
    groups: Any = None,
    construction: str = "lexicographic",
    privacy: RandomizedResponse | None = None,
    clock: str = "sync",
    law: str = "uniform-edges",
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
    engine: str = "auto",
    n_jobs: int | None = -1,
    progress: Show = None,
) -> Fit:
    """Minimize the average of a pairwise loss by gossip dual averaging.

    Node k of the graph holds row k of the data, or with ``groups`` all rows of its group. The
    objective is the mean of f(theta; x_k, x_l) over all ordered pairs, plus the penalty.

    Parameters
    ----------
    data, labels
        One observation per node; labels travel with the observation, as its last column.
    loss
        A built-in name (see ``pg.losses.CATALOG``), a `Loss` with your own pair features, or a
        `GeneralLoss` with your own value and gradient.
    graph, groups, construction, law, clock
        As for `estimate`; the asynchronous algorithm weighs gradients by 1/p_k.
    privacy
        As for `estimate`: nodes take debiased gradients at reports, which sum over all pairs of
        cells, so that bins and columns must be few. Objectives are those of the raw data.
    step
        Step size gamma(t), a function of the iteration that never increases; by default
        ``pg.steps.inverse_sqrt(R/L)`` with R the radius of the ball (1 without one) and L the
        Lipschitz constant of the loss, or with privacy the size of debiased gradients.
    constraint, penalty
        ``pg.Ball``, ``pg.Box``, ``pg.PSD``; ``pg.L1``, ``pg.SquaredL2``.
    iterations, checkpoints, trials, seed, n_jobs, progress
        As for `estimate`.
    bias
        Compute the gradient bias at the checkpoints; by default up to 2,000 nodes.
    judged
        How many nodes' models are judged at each checkpoint; by default all, up to 2,000. Of a
        loss without closed form (a `GeneralLoss`, or a `Loss` without ``risk``) each model takes
        all n^2 pairs: by default all up to 406 nodes, beyond as many as take 67 million pairs, at
        least 10. They are evenly spaced; objectives and their spread are of these nodes alone.
    start
        A `Fit`, or the file of one, to go on from, up to more ``iterations`` in all: with the
        same data, loss, privacy, clock, law, step, penalty and constraint; graph, groups, seed,
        trials and reports are the start's. Functions are the same if they give the same values at
        a few pairs. Curves are joined.
    engine
        ``"auto"``; ``"vectors"`` does without the line trick; ``"plain"`` steps the reference
        algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fit = minimize(x, [0, 0, 1, 1], "auc-logistic", iterations=1000, seed=0)
    >>> bool(fit.model[0] > 0)
    True
    """
    rows = (
        LearningProblem(data, loss, labels)
        if privacy is None
        else PrivateLearning(data, loss, privacy, labels, seeded=seed is not None)
    )
    if rows.n < 2:
        raise InputError("Learning from pairs takes at least two observations, one per node.")
    clock = choice("clock", clock, CLOCKS)
    before = _started(start, rows, clock)
    root = root_seed(before.seed if before else seed)
    entropy = int(root.entropy)  # type: ignore[arg-type]
    network, sets = (
        _place_again(before, graph, groups, construction)
        if before
        else place_rows(graph, rows.n, groups, construction, entropy)
    )
    problem = rows if sets is None else WholeSetsLearning(rows, sets)
    n = problem.n
    law = choice("edge law", law, LAWS)
    last = whole("The number of iterations", iterations, default=ITERATIONS_PER_NODE * n)
    proximal = as_proximal(constraint, penalty)
    if proximal.code is ProximalCode.PSD and getattr(problem.loss, "shape", "matrix") != "matrix":
        raise InputError(
            f"pg.PSD constrains matrices, and loss '{problem.loss.name}' learns a vector: use a "
            "metric loss, or another constraint."
        )
    steps = step if step is not None else default_step(problem, proximal)
    probabilities = network.pick_probabilities(law)
    check_steps(steps, last / float(probabilities.min()))
    if not isinstance(steps, PowerStep):
        steps = AnyStep(steps)
    descent = Descent(problem, proximal, steps, clock, probabilities)
    check_descent_engine(choice("engine", engine, ENGINES), descent)
    fingerprint = of_learning(descent)
    if before is not None:
        _check_start(before, descent, law, fingerprint)
    numbers = before.trial_numbers.tolist() if before else trial_numbers(trials)
    check_jobs(n_jobs)
    setup = DescentSetup(
        descent=descent,
        graph=network,
        law=law,
        checkpoints=_later(checkpoint_grid(last, checkpoints), before),
        judged=_judged(
            n, whole("judged nodes", judged, default=judged_unasked(rows, LARGEST_JUDGED))
        ),
        keep_bias=rows.n <= LARGEST_JUDGED if bias is None else bias,
        engine=choice("engine", engine, ENGINES),
        resumed_at=int(before.iterations[-1]) if before else 0,
        states=_states(before),
        privacy=privacy,
        reports=_reports(before),
    )
    with progress_bar(
        f"{problem.loss.name} on {n:,} nodes", len(numbers) * last, progress
    ) as advance:
        outcome = run_trials(setup, root, numbers, n_jobs, advance)
    if not outcome.records:
        raise KeyboardInterrupt
    fit = Fit.from_records(setup, outcome, entropy, fingerprint)
    if before is not None:
        fit = before.followed_by(fit)
    if outcome.interrupted:
        warnings.warn(
            f"Interrupted: kept {fit.trials} of {len(numbers)} trials, "
            f"up to iteration {fit.iterations[-1]:,} of {last:,}.",
            InterruptedRun,
            stacklevel=2,
        )
    return fit


def _started(start: Any, problem: LearningProblem, clock: str) -> Fit | None:
    if start is None:
        return None
    fit = start if isinstance(start, Fit) else load(start)
    if not isinstance(fit, Fit):
        raise InputError("The start must be a Fit or the file of one, not a Run.")
    same = {
        "loss": (fit.loss, problem.loss.name),
        "clock": (fit.clock, clock),
        "number of rows": (fit.rows, problem.n),
        "number of parameters": (fit.models.shape[2], problem.dimension),
    }
    for what, (theirs, ours) in same.items():
        if theirs != ours:
            raise InputError(f"The start has another {what} ({theirs}) than this run ({ours}).")
    return fit


def _place_again(before: Fit, graph: Graph | str, groups: Any, construction: str) -> Placement:
    """Return where a start had its rows; what is given besides must say the same."""
    if isinstance(graph, Graph) and graph not in (before.graph, before.sites):
        raise InputError("The start ran on another graph than this run: give the same.")
    if groups is not None:
        given = place_rows(before.sites, before.rows, groups, construction, before.seed)
        site_of, constructed = groups_of(*given)
        same = before.groups is not None and before.construction == constructed
        if not same or not np.array_equal(before.groups, site_of):  # type: ignore[arg-type]
            raise InputError("The start had other groups, or another construction: give the same.")
    return Placement(before.graph, before.groups if before.construction == WHOLE_SETS else None)


def _check_start(before: Fit, descent: Descent, law: str, fingerprint: Fingerprint) -> None:
    if before.law != law:
        raise InputError(f"The start has another law ({before.law}) than this run ({law}).")
    step = step_mark(descent, int(before.iterations[-1]))
    found = difference(before.fingerprint, {**fingerprint, "step": step})
    if found is not None:
        other = "other" if found.part in ("data", "groups", "privacy") else "another"
        raise InputError(
            f"The start has {other} {found.part} than this run{found.how}: "
            "give the same to go on from it."
        )


def _states(before: Fit | None) -> dict[int, Snapshot]:
    if before is None:
        return {}
    each = (Snapshot(*state) for state in zip(*before.state, strict=True))
    return dict(zip(before.trial_numbers.tolist(), each, strict=True))


def _reports(before: Fit | None) -> dict[int, Cells]:
    if before is None or before.reports is None:
        return {}
    return dict(zip(before.trial_numbers.tolist(), before.reports, strict=True))


def _later(grid: IntArray, before: Fit | None) -> IntArray:
    if before is None:
        return grid
    done = int(before.iterations[-1])
    if grid[-1] <= done:
        raise InputError(
            f"The start has made {done:,} iterations already: ask for more than that in all."
        )
    return grid[grid > done]


def default_step(problem: PairwiseLearning, proximal: Proximal) -> Any:
    """R/(L sqrt(t)), with R the radius of the ball (1 without one) and L the Lipschitz constant.

    Of debiased gradients L is the size at the zero model times sqrt(n/2): their noise is much
    larger than the gradients, and a node takes that of one pair of reports for n/2 iterations.
    """
    radius = proximal.radius if math.isfinite(proximal.radius) else 1.0
    rows = problem.rows if isinstance(problem, WholeSetsLearning) else problem
    if isinstance(rows, PrivateLearning):
        steepest = rows.debiased.size() * math.sqrt(problem.n / 2)
    elif isinstance(problem.loss, Loss):
        steepest = problem.loss.lipschitz(problem.data, radius)
    else:
        steepest = math.inf
    if steepest == 0:
        raise InputError("The features do not differ within any pair: there is nothing to learn.")
    if not math.isfinite(steepest):
        raise InputError(
            f"Loss '{problem.loss.name}' has no finite Lipschitz constant to choose a step size "
            "by: give {argument}.",
            "step",
        )
    return inverse_sqrt(radius / steepest)


def _judged(n: int, most: int) -> IntArray:
    """All nodes, or evenly spaced ones of a large network."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
