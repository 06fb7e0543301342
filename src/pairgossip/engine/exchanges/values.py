# mypy: disable-error-code="no-untyped-call, untyped-decorator"
"""The kernel of two nodes as compiled exchanges call it: ``h(k, l)``.

numba has no functions with their own data that can be arguments. `Values` is one: its type has the
compiled function, its value is the data, and a call ``h(k, l)`` is ``function(data, k, l)``, which
LLVM inlines.
"""

from __future__ import annotations

import math
import threading
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numba import njit, typeof, types
from numba.core import cgutils
from numba.core.typing.templates import signature
from numba.extending import (
    NativeValue,
    lower_builtin,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from pairgossip.arrays import FloatArray
from pairgossip.engine.estimation.loops import COMPILED, VARIANCE, labeled_value, number_value
from pairgossip.kernels import Problem

LARGEST_TABLE = 4_000
"""The largest number of nodes for a table of a kernel without compiled code: 128 MB of values."""


class Values:
    """A compiled function of some data and two nodes, with the data."""

    def __init__(self, function: Any, *data: Any) -> None:
        self.function, self.data = function, data


class _ValuesType(types.Callable):
    """The numba type of `Values`."""

    def __init__(self, function: Any, data: Any) -> None:
        self.function, self.data = function, data
        super().__init__(f"Values({function}, {data})")

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Return the type of a call with two nodes; None, an error, for other calls."""
        if len(args) != 2 or kws or not all(isinstance(arg, types.Integer) for arg in args):
            return None
        return signature(types.float64, types.intp, types.intp, recvr=self)

    def get_call_signatures(self) -> Any:
        """Return the signatures that messages list."""
        return [signature(types.float64, types.intp, types.intp)], False

    def get_impl_key(self, sig: Any) -> Any:
        """Return the key of `_call_values`."""
        return (_ValuesType,)


@typeof_impl.register(Values)
def _typeof_values(values: Values, context: Any) -> _ValuesType:
    return _ValuesType(typeof_impl(values.function, context), typeof(values.data))


@register_model(_ValuesType)
class _ValuesModel(models.StructModel):
    """The data of `Values` in compiled code."""

    def __init__(self, manager: Any, values: _ValuesType) -> None:
        super().__init__(manager, values, [("data", values.data)])


@unbox(_ValuesType)
def _unbox_values(values: _ValuesType, boxed: Any, c: Any) -> NativeValue:
    held = c.pyapi.object_getattr_string(boxed, "data")
    native = c.unbox(values.data, held)
    c.pyapi.decref(held)
    made = cgutils.create_struct_proxy(values)(c.context, c.builder)
    made.data = native.value
    return NativeValue(made._getvalue(), is_error=native.is_error)


@lower_builtin((_ValuesType,), _ValuesType, types.Integer, types.Integer)
def _call_values(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    values = sig.recvr or sig.args[0]
    held = cgutils.create_struct_proxy(values)(context, builder, value=args[0])
    takes = (values.data, types.intp, types.intp)
    chosen = context.typing_context.resolve_function_type(values.function, takes, {})
    call = context.get_function(values.function, chosen)
    return call(builder, (held.data, args[1], args[2]))


# The functions. Those of built-in kernels are compiled for each formula, without its checks.

_compile = njit(nogil=True, error_model="numpy", forceinline=True)


@cache
def _of_numbers(formula: int) -> Any:
    """Return a built-in kernel on one column."""

    @_compile
    def value(data, k, other):  # type: ignore[no-untyped-def]
        return number_value(formula, data[0][k], data[0][other])

    return value


@cache
def _of_rows(formula: int, d: int) -> Any:
    """Return a built-in kernel on several columns; it takes both observations in one row."""

    @_compile
    def value(data, k, other):  # type: ignore[no-untyped-def]
        rows, pair, parameter, scale = data
        for c in range(d):
            pair[0, c] = rows[k, c]
            pair[0, d + c] = rows[other, c]
        return scale * labeled_value(formula, parameter, pair, 0, d)

    return value


@_compile
def _look_up(data, k, other):  # type: ignore[no-untyped-def]
    """Return the value of any kernel from a table of all pairs."""
    return data[0][k, other]


@cache
def _of_own(function: Any) -> Any:
    """Return a user's own kernel, on blocks of one row."""

    @_compile
    def value(data, k, other):  # type: ignore[no-untyped-def]
        rows, scale, own_share = data
        added = scale * function(rows[k : k + 1], rows[other : other + 1])[0]
        return own_share[k] * added if k == other else added

    return value


def own_values(problem: Problem, function: Any) -> Values:
    """Return the kernel of two nodes that a compiled function of two blocks of rows computes."""
    rows = np.require(problem.data, np.float64, ("C", "W"))
    own_share = np.broadcast_to(problem.own_share, problem.n).astype(np.float64)
    return Values(_of_own(function), rows, float(problem.scale), own_share)


def kernel_values(problem: Problem, states: int) -> list[Values | None]:
    """Return the kernel ``h(k, l)`` of two nodes, for each state; None where there is none."""
    if not problem.step_arguments:
        return [None] * states
    if problem.fusible and all(part.formula.number in COMPILED for part in problem.parts):
        return [_built_in(problem, component) for component in range(states)]
    return [Values(_look_up, _table(problem, component)) for component in range(states)]


def has_compiled_values(problem: Problem) -> bool:
    """Return whether compiled code can use the kernel: it is fusible, or there are few pairs."""
    return problem.fusible or problem.n <= LARGEST_TABLE


def _built_in(problem: Problem, component: int) -> Values:
    part, data, d = problem.parts[component], problem.data, problem.dimension
    number = part.formula.number
    if data.ndim == 1:
        # Scaled numbers give scaled values, which saves a product for each pair.
        unit = math.sqrt(problem.scale) if number == VARIANCE else problem.scale
        return Values(_of_numbers(number), unit * data)
    rows = np.require(data, np.float64, ("C", "W"))
    # Every trial writes to its own pair.
    pair = np.zeros((1, 2 * d))
    return Values(_of_rows(number, d), rows, pair, float(part.parameter), problem.scale)


_tables: WeakKeyDictionary[Problem, dict[int, FloatArray]] = WeakKeyDictionary()
_filling = threading.Lock()


def _table(problem: Problem, component: int) -> FloatArray:
    """Return the values of all pairs, computed once for all trials of a problem."""
    with _filling:
        known = _tables.setdefault(problem, {})
        if component not in known:
            known[component] = np.ascontiguousarray(problem.matrix(component))
        return known[component]
