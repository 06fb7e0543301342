"""A method's functions as written, which need numpy only; `compiled` has the same names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pairgossip.arrays import IntArray, PairArray
from pairgossip.engine.exchanges import spoil
from pairgossip.kernels import Problem


def prepare(function: Any) -> Any:
    """Return a function as written, also if its author has compiled it."""
    return getattr(function, "py_func", function)


def prepare_exchange(exchange: Any, *, takes_values: bool) -> Any:
    """Return an exchange as a function of the state, two nodes and the kernel."""
    return prepare(exchange) if takes_values else without_values(prepare(exchange))


def without_values(exchange: Any) -> Any:
    """Wrap an exchange that takes no kernel, so that it takes one and ignores it."""

    def meet(state, i, j, h):  # type: ignore[no-untyped-def]
        exchange(state, i, j)

    return meet


def kernel_values(problem: Problem, states: int) -> list[Any]:
    """Return the kernel ``h(k, l)`` of two nodes, for each state; None where there is none."""
    if not problem.step_arguments:
        return [None] * states
    return [_kernel_value(problem, component) for component in range(states)]


def _kernel_value(problem: Problem, component: int) -> Callable[[int, int], np.float64]:
    def value(k: int, other: int) -> np.float64:
        added: np.float64 = problem.values(np.array([k]), np.array([other]))[0, component]
        return added

    return value


def _run(
    exchange: Any, state: Any, h: Any, block: PairArray, start: int, stop: int, is_liar: Any
) -> int:
    for s, (i, j) in enumerate(block[start:stop].tolist(), start):
        if is_liar is not None and is_liar[i] != is_liar[j]:
            return s
        exchange(state, i, j, h)
    return stop


def _meet(exchange: Any, state: Any, h: Any, block: PairArray, s: int) -> None:
    exchange(state, *block[s].tolist(), h)


_TOOLS = spoil.Tools(_run, _meet, spoil.copy_row)


def bind_run(exchange: Any, state: Any, h: Any) -> Callable[[PairArray], None]:
    """Return a function that carries out blocks of exchanges."""

    def run(block: PairArray) -> None:
        with np.errstate(all="ignore"):  # as compiled code does
            _run(exchange, state, h, block, 0, len(block), None)

    return run


def bind_spoiled_run(
    attack: Any, actions: spoil.Actions, state: Any, h: Any, *others: Any
) -> Callable[[PairArray, IntArray, IntArray], None]:
    """Return a function that carries out blocks of exchanges with faults."""
    spoiled: Any = spoil.run_spoiled
    attack = prepare(attack)

    def run(block: PairArray, places: IntArray, sides: IntArray) -> None:
        with np.errstate(all="ignore"):
            spoiled(_TOOLS, actions, attack, state, h, *others, block, places, sides)

    return run
