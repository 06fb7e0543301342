"""Warnings about runs that were too short for exact answers, and about costly settings."""

from __future__ import annotations

import math

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.engine.descent.engines import Descent
from pairgossip.engine.descent.trial import DescentSetup
from pairgossip.engine.estimation.trial import Setup
from pairgossip.errors import CoarseSketch, NotEnough, SlowRun, notify
from pairgossip.kernels.exact import scattered_pairs
from pairgossip.losses import GeneralLoss, Loss
from pairgossip.losses.steps import AdaptiveStep
from pairgossip.results.run import Run

_WARN_SPREAD = 0.25
"""A warning is given if nodes' sampling errors differ by more: they know only nearby rows."""
_WARN_WIDENING = 0.1
"""A warning is given if sampling errors were widened by a larger share: rows have not come by."""
_LONG_RUN = 50
"""Iterations per node from which on a run is expected to reach the optimum."""
_PAIRS = 2**13
"""Number of pairs whose features show how large margins should become."""
_MOST_FEATURES = 512
"""Largest number of features for which margins are checked; more would take seconds."""
_WARN_FACTOR = 1.5
"""A warning is given if a sketch is off in the sampling error by a larger factor."""
_WARN_FACTOR_OF_TESTS = 1.05
"""The same factor for tests, whose p changes far more than the error."""
_ROUNDING = 1e-12
"""Largest rounding error of a sketch that loses nothing, as a share of the value."""
_WARN_COUNT = 10**6
"""A warning is given for this number of calls of a function, or of eigendecompositions of matrices
with this side: they take about a minute."""
_WARN_SIDE = 16


def warn_if_not_enough(run: Run) -> None:
    """Warn the caller of `estimate` that some trials ended before all nodes had enough."""
    if run.enough is None or run.enough.all() or run.status == "interrupted":
        return
    short = int((run.enough == 0).sum())
    which = "The run" if run.trials == 1 else f"{short} of {run.trials} trials"
    notice = NotEnough(
        f"{which} ended before every node's gossip error was a tenth of its sampling error: use "
        "{argument} or more.",
        "iterations",
        4 * int(run.iterations[-1]),
    )
    notify(notice)


def warn_if_unsettled(run: Run) -> None:
    """Warn the caller of `estimate` or `test` that nodes still differ in the sampling error."""
    errors = run.sampling_error
    has_warned = run.enough is not None and not run.enough.all()  # by `warn_if_not_enough`
    if errors is None or has_warned or run.status == "interrupted":
        return
    numbers = errors[~np.isnan(errors)]
    wide = 0.0 if run.widening is None else float(run.widening.mean()) - 1
    how = _describe_knowledge(numbers, errors.size, wide)
    if how is None:
        return
    also = f", and widen it by {100 * wide:.0f} % for those they have not seen"
    other = ", or method 'sketch'" if run.sketch is None else ""
    why = (
        f"since rows have not come around yet{also if wide > 0.005 else ''}: use {{argument}} or "
        f"more{other}."
    )
    if not len(numbers) and run.p_value is None:  # tests by ranks had all rows before
        why = (
            "since rows have not come around yet, or give none, as where all are tied or classes "
            "are separated or of one row: use {argument} or more, or see what `exact` says."
        )
    notice = NotEnough(
        f"{how} the sampling error, {why}",
        "iterations",
        4 * int(run.iterations[-1]),
    )
    notify(notice)


def _describe_knowledge(errors: FloatArray, nodes: int, wide: float) -> str | None:
    """Describe what nodes lack in the errors that some know; None if they know enough."""
    if not len(errors):
        return "No node knows"
    if len(errors) < nodes:
        return "Not all nodes know"
    apart = float(errors.std() / errors.mean())
    if apart > _WARN_SPREAD:
        return f"Nodes differ by {100 * apart:.0f} % in"
    return "Nodes do not know all of" if wide > _WARN_WIDENING else None


def warn_if_short(descent: Descent, iterations: int) -> None:
    """Warn the caller of `minimize` that models cannot have arrived, as the step is too short.

    At time t a model is gamma(t) times the sum of t gradients. They are longest at the zero model,
    where their mean is phi'(0) E[w a], so the mean margin of pairs grows to about gamma(T) T times
    |phi'(0)| E[w] |d|^2, where d is the mean of the features a of pairs, weighted by w.
    """
    steps, problem = descent.steps, descent.problem
    is_sought = iterations >= _LONG_RUN * problem.n and descent.proximal.strength == 0
    has_box = np.isfinite([descent.proximal.low, descent.proximal.high]).any()
    if isinstance(steps, AdaptiveStep) or not is_sought or has_box:
        return
    pull, needed = _margins(descent)
    reach = float(descent.sizes(np.array([float(iterations)]))[0]) * iterations * pull
    if reach < needed:
        notice = NotEnough(
            f"The step is too short to arrive: in {iterations:,} iterations the mean margin of "
            f"pairs grows to {reach:.2g} at most, and these rows ask for about {needed:.2g}: leave "
            f"{{argument}} out, or give one that is {np.ceil(needed / reach):.0f} times as long.",
            "step",
        )
        notify(notice)


def _margins(descent: Descent) -> tuple[float, float]:
    """Return the first growth rate of mean margins, and their size at the optimum.

    If features were normal, with mean d and covariance S, the best model of the logistic loss would
    be 2 S^-1 d, whose mean margin is 2 d' S^-1 d; hinges are flat from a margin of 1 on. A ball
    allows R |d|. Zeros mean unknown: for other losses, pairs with offsets, and reports.
    """
    problem, loss = descent.problem, descent.problem.loss
    is_known = isinstance(loss, Loss) and loss.offsets is None and "privacy" not in problem.marks
    if not is_known or problem.dimension > _MOST_FEATURES:
        return 0.0, 0.0
    assert isinstance(loss, Loss)
    nodes, held = scattered_pairs(len(problem.data), _PAIRS)
    a, w, _ = loss.pairs(problem.data[nodes], problem.data[held])
    if not w.any():
        return 0.0, 0.0
    d = w @ a / w.sum()
    apart = a - d
    covariance = (w * apart.T) @ apart / w.sum()
    needed = 2 * float(d @ np.linalg.pinv(covariance, hermitian=True) @ d)
    needed = min(needed, loss.phi.flat_from)
    slope, length = abs(float(loss.phi.derivative(np.zeros(1))[0])), float(np.linalg.norm(d))
    return slope * float(w.mean()) * length**2, min(needed, descent.proximal.radius * length)


def warn_if_coarse(run: Run, setup: Setup) -> None:
    """Warn the caller that bins cost more accuracy than the sample does."""
    problem, exact, level = setup.problem, setup.exact_error, setup.level
    limit_error = None if level is None or not np.isfinite(exact) else problem.limit_error(level)
    if limit_error is None:
        return
    off = run.sketch_error or 0.0
    factor = _WARN_FACTOR_OF_TESTS if setup.tests else _WARN_FACTOR
    if off > max(exact, _ROUNDING * abs(float(run.target))):
        how = f"is off by {off:.2g}, more than the sampling error of {exact:.2g}"
    elif not limit_error / factor <= exact <= limit_error * factor:
        what = (
            "no sampling error"
            if np.isnan(limit_error)
            else f"a sampling error of {limit_error:.2g}"
        )
        how = f"gives {what}, but all rows give {exact:.2g}"
    else:
        return
    sentence = f"The sketch {how}, as where many rows in one bin are tied: "
    if setup.tests:
        notice = CoarseSketch(f"{sentence}test all rows at once, leave {{argument}} out.", "graph")
    elif problem.kernel is None:
        notice = CoarseSketch(f"{sentence}use more bins.")
    else:
        remedy = "use more bins, or {argument}."
        notice = CoarseSketch(f"{sentence}{remedy}", "method", "tracking")
    notify(notice)


def warn_if_ties_unseen(run: Run, exact: float, without_ties: float) -> None:
    """Warn the caller of `test` that p depends on ties that nodes do not see.

    Nodes that see no ties, or only those within cells, take the standard error without an effect
    for larger than it is: without ties it would be larger by this factor.
    """
    if without_ties <= _WARN_FACTOR_OF_TESTS:
        return
    errors = run.null_error if run.null_error is not None else np.array([np.nan])
    if np.isnan(errors).all() or run.status == "interrupted":
        return
    median = float(np.nanmedian(errors))
    if exact / _WARN_FACTOR_OF_TESTS <= median <= exact * _WARN_FACTOR_OF_TESTS:
        return
    notice = CoarseSketch(
        f"Nodes estimate the standard error without an effect as {median:.2g}, but all rows give "
        f"{exact:.2g}, as nodes do not see which rows are tied: test all rows at once, leave "
        "{argument} out, or use method 'sketch' with more bins.",
        "graph",
    )
    notify(notice)


def warn_if_slow(setup: DescentSetup) -> None:
    """Warn the caller of `minimize` that every step takes an eigendecomposition or a call."""
    descent, iterations = setup.descent, setup.iterations
    is_compiled = setup.engine != "plain" and descent.problem.own_slope is not None
    is_async, loss = descent.clock == "async", descent.problem.loss
    count = iterations * (2 if is_async else descent.problem.n)
    side = math.isqrt(descent.problem.dimension)
    remedies = [] if is_async else ["use {argument}, where only two nodes move at a time"]
    is_called = isinstance(loss, GeneralLoss) and not loss.batched and not is_compiled
    if count >= _WARN_COUNT and is_called:
        what = (
            f"Loss '{loss.name}' is called for every node that moves, {count:,} in all, far slower "
            "than compiled steps"
        )
        remedies.append("let it take one model per pair, batched=True")
    elif descent.proximal.is_cone and count * (side / _WARN_SIDE) ** 3 >= _WARN_COUNT:
        what = (
            f"Keeping matrices positive semidefinite takes an eigendecomposition of a {side} x "
            f"{side} matrix for every node that moves, {count:,} in all"
        )
        remedies.append("learn a diagonal metric")
    else:
        return
    sentence = f"{what}: {', or '.join(remedies)}."
    notify(SlowRun(sentence, None if is_async else "clock", "async"))
