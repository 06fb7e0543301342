"""The faults that a run is asked for: refused where they cannot be, and drawn for its network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence

from pairgossip.algorithms.methods import Method
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import ITERATIONS_PER_NODE, TREE
from pairgossip.engine.schedule import child, stream
from pairgossip.errors import InputError
from pairgossip.faults import Faults
from pairgossip.faults.network import FaultyNetwork, choose_lies, resolve
from pairgossip.graphs import Graph, GroupedGraph
from pairgossip.kernels import Problem
from pairgossip.losses.learning import PairwiseLearning

_WHO = 1 << 31
"""The number of the child of a run's seed by which it is drawn who lies and who crashes."""
_NODES, _PAIRS, _TRIAL = range(3)
_PAIRS_LOOKED_AT = 4_096
"""Pairs whose values say how large lies are; all pairs where there are no more."""


def check_method(faults: Faults, method: Method, clock: str, schedule: str, engine: str) -> None:
    """Raise `InputError` unless the method can have the faults, on this clock and schedule."""
    if schedule == TREE:
        raise _refuse("On a tree one lost message loses a whole branch: use {argument}", "ordered")
    if not method.acts_in_pairs(clock):
        _check_all_acting(faults, method)
    if not faults.spoils:
        return
    name = f"Method '{method.name}'"
    if faults.liars and method.averaged_numbers == 0 and not method.collects:
        raise _leave_out(f"{name} averages nothing, so liars have nothing to lie about", "liars")
    if method.collects:
        if faults.half_loss:
            raise _leave_out(f"{name} has nothing that half an exchange could spoil", "half_loss")
        return
    if clock not in method.in_place or schedule in method.schedules:
        what = "Half-lost exchanges and liars need a method that is written as one exchange of two"
        which = " and ".join(part for part in ("half_loss", "liars") if getattr(faults, part))
        raise _leave_out(
            f"{what} nodes, as '{method.name}' is not on this clock and schedule", which
        )
    if engine in ("fused", "tokens"):
        raise InputError(
            f"Engine '{engine}' carries out whole exchanges only, and neither half-lost ones nor "
            "those with liars: use {argument}.",
            "engine",
            "auto",
        )


def _check_all_acting(faults: Faults, method: Method) -> None:
    """Raise `InputError` for faults that make no sense where all nodes act at every iteration."""
    if not method.plain.get("sync"):
        why = f"On the synchronous clock faults need the steps of method '{method.name}', not one "
        raise _use_async(f"{why}exchange in place")
    if faults.crashed:
        raise _use_async(_NONE_CRASHES)
    if faults.spoils:
        raise _use_async(_ALL_WHOLE)


def check_descent(faults: Faults, clock: str, graph: Graph) -> None:
    """Raise `InputError` unless dual averaging can have the faults."""
    if clock == "sync" and faults.crashed:
        raise _use_async(_NONE_CRASHES)
    if not faults.spoils:
        return
    if clock == "sync":
        raise _use_async(_ALL_WHOLE)
    if isinstance(graph, GroupedGraph):
        raise _groups_of_rows()


def check_errors(faults: Faults) -> None:
    """Raise `InputError` if nodes cannot learn their errors with these faults."""
    if faults.churn is not None or faults.crashed or faults.spoils:
        raise InputError(
            "Nodes that are away, crash, lie or miss half of an exchange cannot tell how far they "
            "are off: give interval=None for the numbers alone, or leave such faults out.",
            subject="interval",
        )


def check_length(faults: Faults, iterations: int) -> None:
    """Raise `InputError` if nodes are there so rarely that no two of them ever meet."""
    if faults.churn is not None and faults.churn.share_up**2 * iterations < 1:
        raise InputError(
            f"With churn={faults.churn} both nodes of an exchange are there "
            f"{faults.churn.share_up**2:.1g} of the time, so that in {iterations:,} iterations "
            "nobody meets: use {argument} or more, or nodes that stay longer.",
            "iterations",
            int(np.ceil(100 / faults.churn.share_up**2)),
        )


def check_problem(faults: Faults, method: Method, problem: Problem, graph: Graph) -> None:
    """Raise `InputError` unless nodes can have the faults with what they hold."""
    if faults.crashed and len(problem.holders):
        raise _leave_out(
            "Before nodes average this sketch, all must learn a few numbers of the rows, which "
            "crashed nodes never do",
            "crashed",
        )
    if faults.spoils and isinstance(graph, GroupedGraph) and not method.collects:
        raise _groups_of_rows()


def find_faulty(
    faults: Faults, graph: Graph, root: SeedSequence, lies: FloatArray
) -> FaultyNetwork:
    """Return the faults on a network, with those drawn by the seed who crash and lie."""
    return resolve(faults, graph, stream(root, _WHO, _NODES), lies)


def lies_about(problem: Problem, exact: float | FloatArray, root: SeedSequence) -> FloatArray:
    """Return what a constant attack sends unless it is given, for each component."""
    values = _look_at(problem.for_trial(child(root, _WHO, _TRIAL)), stream(root, _WHO, _PAIRS))
    means = values.mean(axis=0)
    if problem.components == 1 and not problem.sketch_name and np.isfinite(exact).all():
        means = np.array([np.mean(exact)])
    return choose_lies(means, np.sqrt((values**2).mean(axis=0)))


def lies_about_slopes(problem: PairwiseLearning, root: SeedSequence) -> FloatArray:
    """Return what a constant attack on learning sends unless it is given.

    It is minus ten times what gradients at the zero model add up to in a run of usual length, so
    that a run that goes on meets the same lies.
    """
    trial = problem.for_trial(child(root, _WHO, _TRIAL))
    nodes, held = _choose_pairs(trial.n, stream(root, _WHO, _PAIRS))
    slopes = trial.gradient(np.zeros((len(nodes), trial.dimension)), nodes, held)
    iterations = ITERATIONS_PER_NODE * trial.n
    return -iterations * choose_lies(slopes.mean(axis=0), np.sqrt((slopes**2).mean(axis=0)))


def _look_at(problem: Problem, draws: Generator) -> FloatArray:
    """Return numbers that nodes average, one column per component: features, or of some pairs."""
    if not problem.step_arguments:
        return problem.features
    return problem.values(*_choose_pairs(problem.n, draws))


def _choose_pairs(n: int, draws: Generator) -> tuple[IntArray, IntArray]:
    """Return pairs of nodes: all, or some where there are many."""
    if n**2 <= _PAIRS_LOOKED_AT:
        return np.divmod(np.arange(n**2), n)
    nodes, held = draws.integers(0, n, (2, _PAIRS_LOOKED_AT))
    return nodes, held


def with_false_rows(
    data: Any, liars: IntArray, faults: Faults, columns: tuple[str, ...] | None
) -> FloatArray:
    """Return rows of which liars give false ones: where rows are signed, they can give no others.

    Under the attack "sign" it is minus their own row, else as many times their own as ``lie`` says.
    If the last column is one of classes, as the kernel names columns, it stays as it is.
    """
    rows = np.array(data, dtype=np.float64)
    times = -1.0 if faults.attack == "sign" else 10.0 if faults.lie is None else faults.lie
    has_classes = rows.ndim > 1 and columns is not None and columns[-1] in ("label", "cluster")
    (rows[:, :-1] if has_classes else rows)[liars] *= times
    return rows


def _refuse(why: str, schedule: str) -> InputError:
    return InputError(f"{why}, or leave the faults out.", "schedule", schedule)


def _leave_out(why: str, fault: str) -> InputError:
    return InputError(f"{why}: leave {fault} out of {{argument}}.", "faults")


_NONE_CRASHES = "On the synchronous clock all nodes act at every iteration, also crashed ones"
_ALL_WHOLE = "On the synchronous clock exchanges are whole, and without liars"


def _groups_of_rows() -> InputError:
    return InputError(
        "Rows of one site exchange among themselves, where nothing is half lost and nobody lies: "
        "use {argument}, or leave such faults out.",
        "construction",
        "whole-sets",
    )


def _use_async(why: str) -> InputError:
    return InputError(f"{why}: use {{argument}}, or leave such faults out.", "clock", "async")
