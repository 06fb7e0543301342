"""The engine of methods that are written as one exchange of two nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairgossip.algorithms.methods import InPlace
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.estimation.engine import Engine, Procedure
from pairgossip.engine.exchanges import written
from pairgossip.engine.exchanges.spoil import (
    NO_NUMBERS,
    Spoil,
    check_liars,
    choose_actions,
    choose_attack,
    network_of,
    rows_of,
    spare_of,
)
from pairgossip.errors import InputError, needed_for_speed
from pairgossip.kernels import Problem


class ExchangeEngine(Engine):
    """Carries out exchanges one after the other, by the method's own function.

    There is one state for each component of the kernel, or feature, and all follow the same
    exchanges and faults. Without compiling it needs numpy only.
    """

    def __init__(
        self, problem: Problem, how: Procedure, spoil: Spoil | None = None, *, compiled: bool
    ) -> None:
        method, form = how.method, how.method.in_place[how.clock]
        self._name, self._form = method.name, form
        self._shape, self._is_counted = (problem.n, problem.components), problem.is_counted
        self._code: Any = written
        self.is_compiled = compiled
        if compiled:
            with needed_for_speed():
                from pairgossip.engine.exchanges import compiled as code
            self._code = code
        self.states = start_states(problem, how)
        takes_values = not method.averages
        exchange = self._code.prepare_exchange(form.exchange, takes_values=takes_values)
        values = self._code.kernel_values(problem, len(self.states))
        self.has_undefined = form.read is not InPlace._field_defaults["read"]
        self._half_losses = None if spoil is None else spoil.half_losses
        self._may_lie_nan = False
        self._runs = [
            self._code.bind_run(exchange, *one)
            if spoil is None
            else self._bind_spoiled(spoil, exchange, number, *one)
            for number, one in enumerate(zip(self.states, values, strict=True))
        ]

    def _bind_spoiled(self, spoil: Spoil, exchange: Any, number: int, state: Any, h: Any) -> Any:
        """Return a function that carries out blocks of exchanges with faults, for one state."""
        form, faulty = self._form, spoil.faulty
        attack, prepare, is_counted = None, self._code.prepare, self._is_counted
        if faulty.network.is_liar.any():
            check_liars(self._name, form, state)
            attack = choose_attack(form, faulty, prepare, is_counted=is_counted)
            self._may_lie_nan = not isinstance(faulty.faults.attack, str)
        actions = choose_actions(form, exchange, faulty, prepare, is_counted=is_counted)
        rows = rows_of(state, self._shape[0])
        network = network_of(faulty, number, len(self.states), vectors=form.vectors)
        return self._code.bind_spoiled_run(attack, actions, state, h, rows, spare_of(rows), network)

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of exchanges."""
        # Code is compiled for one type of array.
        block = np.require(exchanges[0], np.int32, ("C", "W"))
        faults: tuple[Any, ...] = ()
        if self._half_losses is not None:
            faults = self._half_losses.take(block)
        for run in self._runs:
            run(block, *faults)

    def estimates(self) -> FloatArray:
        """Read every node's estimates, shape (n, components)."""
        with np.errstate(all="ignore"):
            columns = [np.array(self._form.read(state), dtype=np.float64) for state in self.states]
        if self._may_lie_nan and not self.has_undefined and np.isnan(columns).any():
            raise InputError(NO_NUMBERS)
        expected = self._shape if self._form.vectors else self._shape[:1]
        for column in columns:
            if column.shape != expected:
                raise InputError(
                    f"Method '{self._name}' reads estimates of shape {column.shape} from its "
                    f"state: it must read one per node, shape {expected}."
                )
        return columns[0] if self._form.vectors else np.stack(columns, axis=-1)


def start_states(problem: Problem, how: Procedure) -> list[Any]:
    """Return a method's start states, one for each component or feature, with their own arrays."""
    form, options = how.method.in_place[how.clock], {**how.options(), **problem.step_options}
    begin = written.prepare(form.init)
    if not how.method.averages:
        states = [begin(problem.n, **options) for _ in range(problem.components)]
    elif form.vectors:
        states = [begin(problem.features.copy(), **options)]
    else:
        states = [begin(column.copy(), **options) for column in problem.features.T]
    return [_own_arrays(how.method.name, form, state) for state in states]


def _own_arrays(method: str, form: InPlace, state: Any) -> Any:
    """Return the state with contiguous arrays that share no memory."""
    if not isinstance(state, tuple) or not hasattr(state, "_make"):
        raise InputError(
            f"The state of method '{method}' is of type {type(state).__name__}: let "
            f"{form.init.__name__} return a NamedTuple of arrays."
        )
    for name, array in zip(state._fields, state, strict=True):  # type: ignore[attr-defined]
        if not isinstance(array, np.ndarray) or array.ndim == 0:
            raise InputError(
                f"'{name}' in the state of method '{method}' is not an array, so an exchange "
                "cannot change it: use np.array([...]), of one entry if all nodes share it."
            )
    return state._make(np.array(array, order="C") for array in state)
