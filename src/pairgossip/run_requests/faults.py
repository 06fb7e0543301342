"""The faults of a run: refused where they are impossible, and drawn for its network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms.methods import Method
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import ITERATIONS_PER_NODE, ORDERED, TREE, WHOLE_SETS
from pairgossip.engine.schedule import child
from pairgossip.errors import InputError
from pairgossip.faults import Faults
from pairgossip.graphs import Graph, GroupedGraph
from pairgossip.kernels import Problem
from pairgossip.kernels.exact import scattered_pairs
from pairgossip.losses.learning import PairwiseLearning

WHO = 1 << 31
"""The number of the child of a run's seed that draws the nodes that lie and crash."""
_TRIAL = 2
"""The number of that child's child for the reports from which lies are made, if rows are
private."""
_PAIRS = 4_096
"""Number of pairs whose values set the size of lies."""
_LIE_FACTOR = 10.0
"""Size of a lie, relative to the numbers that nodes average."""
_ZERO = 1e-6
"""Size of a mean, relative to its terms, below which it counts as 0."""


def check_method(faults: Faults, method: Method, clock: str, schedule: str, engine: str) -> None:
    """Raise `InputError` if the method cannot have the faults, on this clock and schedule."""
    name = f"Method '{method.name}'"
    if schedule == TREE:
        raise _use("On a tree one lost message loses a whole branch", "schedule", ORDERED)
    if not method.acts_in_pairs(clock):
        if not method.plain.get("sync"):
            raise _use(f"On this clock faults need {name} written in steps", "clock", "async")
        _check_all_acting(faults)
    if method.collects:
        if faults.half_loss:
            raise _leave_out(f"{name} has no value that half an exchange could spoil", "half_loss")
    elif faults.liars and method.averaged_numbers == 0:
        raise _leave_out(f"{name} averages nothing, so liars have nothing to lie about", "liars")
    elif faults.spoils and (clock not in method.in_place or schedule in method.schedules):
        raise _leave_out(
            "Half-lost exchanges and liars need a method that is written as one exchange of two "
            f"nodes, as '{method.name}' is not on this clock and schedule",
            " and ".join(part for part in ("half_loss", "liars") if getattr(faults, part)),
        )
    elif faults.spoils and engine in ("fused", "tokens"):
        raise _use(f"Engine '{engine}' carries out whole, honest exchanges", "engine", "auto")


def check_descent(faults: Faults, clock: str, graph: Graph) -> None:
    """Raise `InputError` if dual averaging cannot have the faults."""
    if clock == "sync":
        _check_all_acting(faults)
    _check_sites(faults, graph)


def _check_all_acting(faults: Faults) -> None:
    """Raise `InputError` for faults that are impossible if all nodes act at every iteration."""
    where = "On the synchronous clock"
    if faults.crashed:
        why = f"{where} all nodes act at every iteration, also crashed ones"
        raise _use(why, "clock", "async")
    if faults.spoils:
        raise _use(f"{where} exchanges are whole, and without liars", "clock", "async")


def _check_sites(faults: Faults, graph: Graph) -> None:
    """Raise `InputError` if exchanges within sites would have to fail on one side."""
    if faults.spoils and isinstance(graph, GroupedGraph):
        why = "Rows of one site exchange among themselves, where nothing is half lost, nobody lies"
        raise _use(why, "construction", WHOLE_SETS)


def check_errors(faults: Faults) -> None:
    """Raise `InputError` if nodes cannot learn their errors with these faults."""
    if faults.churn is not None or faults.crashed or faults.spoils:
        raise InputError(
            "Nodes that are away, crash, lie or miss half of an exchange cannot know their "
            "error: give interval=None for the numbers alone, or leave such faults out.",
            subject="interval",
        )


def check_length(faults: Faults, iterations: int) -> None:
    """Raise `InputError` if nodes are present so rarely that no two of them ever meet."""
    if faults.churn is not None and faults.churn.share_up**2 * iterations < 1:
        raise InputError(
            f"With churn={faults.churn} both nodes of an exchange are present "
            f"{faults.churn.share_up**2:.1g} of the time, so in {iterations:,} iterations "
            "no two meet: use {argument} or more, or nodes that stay longer.",
            "iterations",
            int(np.ceil(100 / faults.churn.share_up**2)),
        )


def check_problem(faults: Faults, method: Method, problem: Problem, graph: Graph) -> None:
    """Raise `InputError` if nodes cannot have the faults with these rows."""
    if faults.crashed and len(problem.holders):
        raise _leave_out(
            "Before nodes average this sketch, all must learn a few numbers of the rows, which "
            "crashed nodes never do",
            "crashed",
        )
    if not method.collects:
        _check_sites(faults, graph)


def _use(why: str, argument: str, value: str) -> InputError:
    return InputError(f"{why}: use {{argument}}, or leave such faults out.", argument, value)


def _leave_out(why: str, fault: str) -> InputError:
    return InputError(f"{why}: leave {fault} out of {{argument}}.", "faults")


def lies_about(problem: Problem, exact: float | FloatArray, root: SeedSequence) -> FloatArray:
    """Return the default lie of a constant attack, for each component."""
    problem = problem.for_trial(child(root, WHO, _TRIAL))
    takes_pairs = bool(problem.step_arguments)
    values = (
        problem.values(*scattered_pairs(problem.n, _PAIRS)) if takes_pairs else problem.features
    )
    means = values.mean(axis=0)
    if problem.components == 1 and not problem.sketch_name and np.isfinite(exact).all():
        means = np.array([np.mean(exact)])
    return choose_lies(means, np.sqrt((values**2).mean(axis=0)))


def lies_about_slopes(problem: PairwiseLearning, root: SeedSequence) -> FloatArray:
    """Return the default lie of a constant attack on learning.

    It is minus ten times the sum of gradients at the zero model in a run of usual length, so that
    a run that goes on meets the same lies.
    """
    trial = problem.for_trial(child(root, WHO, _TRIAL))
    nodes, held = scattered_pairs(trial.n, _PAIRS)
    slopes = trial.gradient(np.zeros((len(nodes), trial.dimension)), nodes, held)
    iterations = ITERATIONS_PER_NODE * trial.n
    return -iterations * choose_lies(slopes.mean(axis=0), np.sqrt((slopes**2).mean(axis=0)))


def choose_lies(means: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return ten times the mean of each component, or ten times its size where that is about 0.

    The sizes are root mean squares of the averaged numbers; 10 where they are all 0, or not known.
    """
    lies = _LIE_FACTOR * np.where(np.abs(means) < _ZERO * sizes, sizes, means)
    return np.where(np.isfinite(lies) & (lies != 0), lies, _LIE_FACTOR)


def with_false_rows(
    data: Any, liars: IntArray, faults: Faults, columns: tuple[str, ...] | None
) -> FloatArray:
    """Return rows in which those of liars are false: where rows are signed, nothing else can be.

    Under the attack "sign" a false row is minus the true one, otherwise ``lie`` times the true one.
    If the last column is one of classes, as the kernel names columns, it stays as it is.
    """
    rows = np.array(data, dtype=np.float64)
    times = -1.0 if faults.attack == "sign" else _LIE_FACTOR if faults.lie is None else faults.lie
    has_classes = rows.ndim > 1 and columns is not None and columns[-1] in ("label", "cluster")
    (rows[:, :-1] if has_classes else rows)[liars] *= times
    return rows
