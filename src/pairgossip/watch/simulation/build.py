"""Runs to watch, built from settings after every check."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pairgossip.algorithms.methods import find_method
from pairgossip.arguments.minimize import DUAL_AVERAGING
from pairgossip.errors import InputError
from pairgossip.graphs import FAMILIES, Graph, build
from pairgossip.graphs.grouped.grouping import group_labels
from pairgossip.inference.answer import Answer
from pairgossip.inference.questions import exact
from pairgossip.kernels import as_kernel
from pairgossip.losses import Ball, as_loss, inverse_sqrt
from pairgossip.run_requests.estimation import EstimationRequest
from pairgossip.run_requests.learning import LearningRequest
from pairgossip.run_requests.request import Request
from pairgossip.run_requests.sketched import SketchedRequest
from pairgossip.watch.simulation.again import reproduce_code
from pairgossip.watch.simulation.observations import Observations, Uploads, select_rows
from pairgossip.watch.simulation.runs import WatchedEstimation, WatchedLearning, WatchedRun
from pairgossip.watch.simulation.settings import MOST_NODES, RunChoice, Settings
from pairgossip.watch.simulation.solver_run import WatchedSolving

_LARGEST_COLLECTION = 1_000
"""Largest number of nodes whose known rows are compared several times a second."""
_LARGEST_BLOCKED = 2_000
"""Largest number of rows whose contributions are computed without a closed form."""
_SLOWER = "Ordered exchanges would be slower than random ones on this graph, so they are random."
_MOST_JUDGED = 64
"""Number of nodes whose models are judged: enough for a curve, few enough for a film."""
_MOST_EDGES = 5_000_000
"""Largest number of edges of a network; several are kept in memory at once."""


def build_runs(settings: Settings, uploads: Uploads) -> list[WatchedRun]:
    """Build the one or two runs, after every check."""
    rows = select_rows(settings, uploads)
    _check_labels(rows, settings)
    n = len(rows.values)
    if not 2 <= n <= MOST_NODES:
        raise InputError(f"The data has {n:,} rows: watch 2 to {MOST_NODES:,} nodes, one per row.")
    if settings.follow is not None and settings.follow >= n:
        kind = "node" if rows.groups is None else "row"
        raise InputError(
            f"There is no {kind} {settings.follow} to follow: {kind}s are 0 to {n - 1}."
        )
    if rows.groups is not None and len(names := group_labels(rows.groups, n)[0]) < 2:
        raise InputError(
            f"Column '{settings.group_by}' is '{names[0][:40]}' in every row, so there is one site "
            "only and nobody to talk to: choose another column."
        )
    make = _learning if settings.loss else _estimation
    runs = [make(settings, choice, rows) for choice in settings.runs]
    for run, choice in zip(runs, settings.runs, strict=True):
        run.follow(settings.follow)
        run.again = reproduce_code(settings, choice, rows, run.places.network.n, run.iterations)
    return runs


def _check_labels(rows: Observations, settings: Settings) -> None:
    if settings.kernel and settings.label is None and _lacks_label(settings.kernel, rows):
        raise InputError(f"Kernel '{settings.kernel}' compares labels: choose the label's column.")
    if not isinstance(rows.labels, list) or not (settings.loss or settings.kernel):
        return
    measure = as_loss(settings.loss) if settings.loss else as_kernel(settings.kernel)
    if measure.label_sizes and len(set(rows.labels)) != 2:
        raise InputError(
            f"'{measure.name}' compares labels by size, but column '{settings.label}' holds "
            f"text such as '{rows.labels[0][:40]}': choose a column of numbers."
        )


def _lacks_label(kernel: str, rows: Observations) -> bool:
    """Return whether the label's column is the only missing column of those that a kernel takes."""
    takes = [name for name in as_kernel(kernel).columns or () if not name.endswith("?")]
    return takes[-1:] in (["label"], ["cluster"]) and len(rows.columns) == len(takes) - 1


def _graph(run: RunChoice, rows: Observations, seed: int) -> Graph:
    """Build the network of the rows, or of their sites."""
    n = len(rows.values)
    if rows.groups is not None:
        n = len(group_labels(rows.groups, n)[0])
    parameters: dict[str, Any] = dict(run.parameters)
    family = FAMILIES[run.graph]
    expected = family.expected_edges(n, **(family.defaults(n) | parameters))
    if expected > _MOST_EDGES:
        raise InputError(
            f"The graph would have about {expected:,.0f} edges, and at most {_MOST_EDGES:,} can be "
            "watched: choose fewer nodes or fewer neighbors."
        )
    if family.is_random:
        parameters["seed"] = seed
    return build(run.graph, n, **parameters)


def _estimation(settings: Settings, run: RunChoice, rows: Observations) -> WatchedRun:
    method = find_method(run.method, run.clock)
    is_averaging = method.estimates == "mean"
    graph = _graph(run, rows, settings.seed)
    if method.collects and graph.n > _LARGEST_COLLECTION:
        raise InputError(
            f"Method '{method.name}' is watched up to {_LARGEST_COLLECTION:,} nodes, as all that "
            "each node knows is compared several times a second: choose fewer nodes, or another "
            "method."
        )
    request = EstimationRequest(
        data=rows.values,
        kernel=None if is_averaging else settings.kernel,
        labels=None if is_averaging else rows.labels,
        positive=None if is_averaging else _positive(settings, rows),
        graph=graph,
        groups=rows.groups,
        method=run.method,
        clock=run.clock,
        schedule=run.schedule,
        **settings.arguments_for(run),
        seed=settings.seed,
        record="summary",
        progress=False,
    )
    watched = WatchedEstimation(request.setup(), request.root, rows.groups)
    watched.answer = _answer(settings, rows)
    _remark_positive(watched, request)
    if watched.schedule != request.schedule:
        watched.remark = f"{_SLOWER} {watched.remark}".strip()
    return watched


def _answer(settings: Settings, rows: Observations) -> Answer | None:
    """Return the exact value with its sampling error; None if the rows do not give it."""
    if settings.kernel is None or settings.interval is None:
        return None
    parts = as_kernel(settings.kernel).components
    if len(rows.values) > _LARGEST_BLOCKED and any(part.row_totals is None for part in parts):
        return None
    with suppress(InputError):
        how = {"labels": rows.labels, "positive": _positive(settings, rows)}
        level, kind = settings.interval, settings.arguments.get("target", "v")
        return exact(rows.values, settings.kernel, kind, **how, interval=level)
    return None


def _learning(settings: Settings, run: RunChoice, rows: Observations) -> WatchedRun:
    if settings.label is None:
        raise InputError(f"Loss '{settings.loss}' learns from labels: choose the label's column.")
    shared: dict[str, Any] = {
        "data": rows.values,
        "labels": rows.labels,
        "positive": _positive(settings, rows),
        "loss": settings.loss,
        "graph": _graph(run, rows, settings.seed),
        "groups": rows.groups,
        **settings.arguments_for(run),
        "constraint": None if settings.ball is None else Ball(settings.ball),
        "seed": settings.seed,
        "judged": _MOST_JUDGED,
        "progress": False,
    }
    if run.method != DUAL_AVERAGING:
        rounds = SketchedRequest(**shared, schedule=run.schedule)
        solving = WatchedSolving(rounds.setup(), rounds.root, rows.columns[0], rows.groups)
        return _remark_positive(solving, rounds)
    request = LearningRequest(
        **shared,
        clock=run.clock,
        step=None if settings.step is None else inverse_sqrt(settings.step),
        bias=False,
    )
    learning = WatchedLearning(request.setup(), request.root, rows.columns[0], rows.groups)
    return _remark_positive(learning, request)


def _positive(settings: Settings, rows: Observations) -> Any:
    """Return the positive class as it stands among the labels: text, or a number."""
    if settings.positive is None or isinstance(rows.labels, list):
        return settings.positive
    try:
        return float(settings.positive)
    except ValueError:
        return settings.positive  # refused, as the labels are numbers


def _remark_positive(watched: WatchedRun, request: Request) -> WatchedRun:
    """Add the name of the positive class to the remark, if there is one."""
    if request.positive_class is not None:
        watched.remark = f"{watched.remark} Positive class: {request.positive_class}.".strip()
    return watched
