"""From checked settings to runs that are ready to start."""

from __future__ import annotations

import math
from typing import Any

from pairgossip.algorithms import find_method
from pairgossip.checks import ITERATIONS_PER_NODE, checkpoint_grid
from pairgossip.engine.descent.state import Descent
from pairgossip.engine.schedule import root_seed
from pairgossip.errors import InputError
from pairgossip.graphs import FAMILIES, Graph, build
from pairgossip.kernels import Pairs, as_kernel
from pairgossip.kernels.pairs import Means
from pairgossip.losses import Ball, as_loss, as_proximal, check_steps, inverse_sqrt
from pairgossip.losses.learning import LearningProblem
from pairgossip.minimization import default_step
from pairgossip.watch.simulation.courses import Course, DescentCourse, EstimationCourse
from pairgossip.watch.simulation.observations import Observations, Uploads, observations
from pairgossip.watch.simulation.settings import MOST_NODES, RunChoice, Settings

"""As for `pairgossip.estimate`."""
MOST_EDGES = 5_000_000
"""Of one network; several are kept in memory at once."""


def build_courses(settings: Settings, uploads: Uploads) -> list[Course]:
    """Build the one or two runs, after every check."""
    found = observations(settings, uploads)
    _check_labels(found, settings)
    n = len(found.values)
    if not 2 <= n <= MOST_NODES:
        raise InputError(f"The data has {n:,} rows: watch 2 to {MOST_NODES:,} nodes, one per row.")
    if settings.follow is not None and settings.follow >= n:
        raise InputError(f"There is no node {settings.follow} to follow: nodes are 0 to {n - 1}.")
    make = _learning if settings.loss else _estimation
    courses = [make(settings, run, found) for run in settings.runs]
    for course in courses:
        if course.follower is not None:
            course.follower.follow(settings.follow)
    return courses


def _check_labels(found: Observations, settings: Settings) -> None:
    if settings.kernel and settings.label is None and _lacks_label(settings.kernel, found):
        raise InputError(f"Kernel '{settings.kernel}' compares labels: choose the label's column.")
    if not isinstance(found.labels, list) or not (settings.loss or settings.kernel):
        return
    measure = as_loss(settings.loss) if settings.loss else as_kernel(settings.kernel)
    if measure.label_sizes:
        raise InputError(
            f"'{measure.name}' compares labels by size, but column '{settings.label}' holds "
            f"text such as '{found.labels[0][:40]}': choose a column of numbers."
        )


def _lacks_label(kernel: str, found: Observations) -> bool:
    """Whether all columns are there that a kernel takes, except the one of labels."""
    takes = [name for name in as_kernel(kernel).columns or () if not name.endswith("?")]
    return takes[-1:] in (["label"], ["cluster"]) and len(found.columns) == len(takes) - 1


def _graph(run: RunChoice, n: int, seed: int) -> Graph:
    given: dict[str, Any] = dict(run.parameters)
    expected = _expected_edges(run, n)
    if expected > MOST_EDGES:
        raise InputError(
            f"The graph would have about {expected:,.0f} edges, and at most {MOST_EDGES:,} can be "
            "watched: choose fewer nodes or fewer neighbors."
        )
    if FAMILIES[run.graph].is_random:
        given["seed"] = seed
    return build(run.graph, n, **given)


def _expected_edges(run: RunChoice, n: int) -> float:
    """How many edges the given parameters come to; where none is given there are few."""
    given, pairs = run.parameters, n * (n - 1) / 2
    if run.graph == "erdos-renyi":
        return min(given.get("p", 0.0), 1.0) * pairs
    reach = given.get("radius", 0.0)
    neighbors = max(given.get("k", 0.0), given.get("degree", 0.0), 2 * given.get("m", 0.0))
    return max(min(math.pi * reach**2, 1.0) * pairs, neighbors * n / 2)


def _grid(settings: Settings, n: int) -> Any:
    return checkpoint_grid(settings.iterations or ITERATIONS_PER_NODE * n)


def _estimation(settings: Settings, run: RunChoice, found: Observations) -> Course:
    n = len(found.values)
    method = find_method(run.method, run.clock, n)
    problem: Pairs | Means
    if method.estimates == "mean":
        problem = Means(found.values)
    else:
        assert settings.kernel is not None
        problem = Pairs(found.values, settings.kernel, settings.target, found.labels)
        problem.check()
        if method.estimates == "row-mean" and problem.components > 1:
            raise InputError(
                f"Method '{method.name}' estimates the rows of a single kernel, and "
                f"'{settings.kernel}' is a ratio of two: choose gosta."
            )
    return EstimationCourse(
        problem,
        _graph(run, n, settings.seed),
        method,
        run.clock,
        settings.law,
        root_seed(settings.seed),
        _grid(settings, n),
    )


def _learning(settings: Settings, run: RunChoice, found: Observations) -> Course:
    assert settings.loss is not None
    if settings.label is None:
        raise InputError(f"Loss '{settings.loss}' learns from labels: choose the label's column.")
    problem = LearningProblem(found.values, settings.loss, found.labels)
    proximal = as_proximal(None if settings.ball is None else Ball(settings.ball), None)
    steps = (
        default_step(problem, proximal) if settings.step is None else inverse_sqrt(settings.step)
    )
    graph = _graph(run, problem.n, settings.seed)
    probabilities = graph.pick_probabilities(settings.law)
    grid = _grid(settings, problem.n)
    check_steps(steps, int(grid[-1]) / float(probabilities.min()))
    return DescentCourse(
        Descent(problem, proximal, steps, run.clock, probabilities),
        graph,
        settings.law,
        root_seed(settings.seed),
        grid,
        found.columns[0],
    )
