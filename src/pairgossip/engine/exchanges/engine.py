"""The engine of methods that are written as one exchange of two nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pairgossip.algorithms.methods import InPlace
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.estimation.engine import Engine, Procedure
from pairgossip.errors import InputError, needed_for_speed
from pairgossip.kernels import Problem

Value = Callable[[int, int], float]
"""``h(k, l)``: the kernel of node k's own observation and that of node l."""


class ExchangeEngine(Engine):
    """Lets two nodes after the other meet, by the method's own function.

    There is one state for each component of the kernel, or feature, and all follow the same
    exchanges. Uncompiled it needs numpy only.
    """

    def __init__(self, problem: Problem, how: Procedure, *, compiled: bool) -> None:
        self._method, self._form = how.method.name, how.method.in_place[how.clock]
        self._shape = (problem.n, problem.components)
        self.states = start_states(problem, how)
        self._values: list[Any] = plain_values(problem, len(self.states))
        self._run: Callable[..., None] = run_plain
        takes_values = not how.method.averages
        self._exchange = as_written(self._form.exchange)
        if not takes_values:
            self._exchange = without_values(self._exchange)
        if compiled:
            with needed_for_speed():
                from pairgossip.engine.exchanges import compiling, values
            self._values = values.compiled_values(problem, len(self.states))
            self._run = compiling.run
            self._exchange = compiling.compile_exchange(
                self._form.exchange, takes_values=takes_values
            )

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of exchanges."""
        # Compiled code is made for one kind of array.
        block = np.require(exchanges[0], np.int32, ("C", "W"))
        for state, value in zip(self.states, self._values, strict=True):
            self._run(self._exchange, state, value, block)

    def estimates(self) -> FloatArray:
        """Read every node's estimates, shape (n, components)."""
        columns = [np.array(self._form.read(state), dtype=np.float64) for state in self.states]
        estimates = columns[0] if self._form.vectors else _beside_each_other(columns)
        if estimates.shape != self._shape:
            one = self._shape if self._form.vectors else self._shape[:1]
            raise InputError(
                f"Method '{self._method}' reads estimates of shape {columns[0].shape} from its "
                f"state: it must read one per node, shape {one}."
            )
        return estimates


def _beside_each_other(columns: list[FloatArray]) -> FloatArray:
    return np.stack(columns, axis=-1)


def as_written(function: Any) -> Any:
    """Return a function that runs uncompiled, though its author may have compiled it."""
    return getattr(function, "py_func", function)


def without_values(exchange: Any) -> Any:
    """Return an exchange that takes no kernel as one that does, and leaves it aside."""

    def meet(state, i, j, h):  # type: ignore[no-untyped-def]
        exchange(state, i, j)

    return meet


def start_states(problem: Problem, how: Procedure) -> list[Any]:
    """Let a method begin, once for each component or feature, on arrays of its own."""
    form, options = how.method.in_place[how.clock], {**how.options(), **problem.step_options}
    begin = as_written(form.init)
    if not how.method.averages:
        states = [begin(problem.n, **options) for _ in range(problem.components)]
    elif form.vectors:
        states = [begin(problem.features.copy(), **options)]
    else:
        states = [begin(column.copy(), **options) for column in problem.features.T]
    return [_own_arrays(how.method.name, form, state) for state in states]


def _own_arrays(method: str, form: InPlace, state: Any) -> Any:
    """Return the state on contiguous arrays, none of which is another's."""
    if not isinstance(state, tuple) or not hasattr(state, "_make"):
        raise InputError(
            f"The state of method '{method}' is of type {type(state).__name__}: let "
            f"{form.init.__name__} return a NamedTuple of arrays."
        )
    for name, array in zip(state._fields, state, strict=True):  # type: ignore[attr-defined]
        if not isinstance(array, np.ndarray) or array.ndim == 0:
            raise InputError(
                f"'{name}' in the state of method '{method}' is no array, which an exchange could "
                "change: use np.array([...]), of one entry if all nodes share it."
            )
    return state._make(np.array(array, order="C") for array in state)


def plain_values(problem: Problem, states: int) -> list[Value | None]:
    """Return the kernel as a function of two nodes, for each state; None where there is none."""
    if problem.kernel is None or not problem.step_arguments:
        return [None] * states
    return [_plain_value(problem, component) for component in range(states)]


def _plain_value(problem: Problem, component: int) -> Value:
    def value(k: int, other: int) -> float:
        return float(problem.values(np.array([k]), np.array([other]))[0, component])

    return value


def run_plain(exchange: Callable[..., None], state: Any, h: Value | None, block: PairArray) -> None:
    """Carry out a block of exchanges, as they are written."""
    for i, j in block.tolist():
        exchange(state, i, j, h)
