"""Compiling the functions of a method, once for each, whoever wrote them and wherever.

Functions of scripts and notebooks are not kept on disk. numba takes what a function reads from
its module for constants, so a function is compiled anew when these change.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numba import njit
from numba.core.dispatcher import Dispatcher

from pairgossip.arrays import PairArray
from pairgossip.engine.exchanges.engine import as_written, without_values

_compile = njit(nogil=True, error_model="numpy", forceinline=True)
_compiled: dict[Any, Any] = {}
_compiling = threading.RLock()


def compile_function(function: Callable[..., Any]) -> Any:
    """Return the compiled form of a function, the same one for the same function.

    Functions of the same module that it calls are compiled with it.
    """
    written: FunctionType = as_written(function)
    with _compiling:
        key = _key(written, ())
        if key not in _compiled:
            _compiled[key] = _compile(_with_compiled_helpers(written))
        return _compiled[key]


def compile_exchange(exchange: Callable[..., None], *, takes_values: bool) -> Any:
    """Return the compiled form of an exchange, as a function of state, two nodes and kernel."""
    compiled = compile_function(exchange)
    if takes_values:
        return compiled
    with _compiling:
        if (key := ("without", compiled)) not in _compiled:
            _compiled[key] = _compile(without_values(compiled))
        return _compiled[key]


def _read_names(code: CodeType) -> set[str]:
    """Return the names that a function, or one inside it, may read from its module."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*map(_read_names, inner))


def _constants(function: FunctionType) -> dict[str, Any]:
    """Return what a function reads from around it, by name."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    around = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    module = function.__globals__
    return {name: module[name] for name in _read_names(function.__code__) & module.keys()} | around


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _key(function: Any, callers: tuple[Any, ...]) -> Any:
    """Return what tells a function from others: its code, and the constants that it reads."""
    code = function.__code__
    if code in callers:  # it calls itself
        return code
    entries = [
        (name, _constant_key(value, (*callers, code)))
        for name, value in sorted(_constants(function).items())
    ]
    return code, function.__defaults__, tuple(entries)


def _constant_key(value: Any, callers: tuple[Any, ...]) -> Any:
    if isinstance(value, FunctionType):
        return _key(value, callers)
    if isinstance(value, np.ndarray):
        return value.shape, str(value.dtype), value.tobytes()
    if isinstance(value, bool | int | float | complex | str | tuple | None):
        return type(value), repr(value)
    return id(value)


def _with_compiled_helpers(function: FunctionType) -> FunctionType:
    """Return the function with the functions that it calls compiled.

    numba calls compiled functions only.
    """
    names = dict(function.__globals__)
    for name, value in _constants(function).items():
        if isinstance(value, FunctionType) and value is not function and _is_users(value):
            names[name] = compile_function(value)
    copy = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__, copy.__module__ = function.__kwdefaults__, function.__module__
    return copy


def _is_users(function: FunctionType) -> bool:
    """Whether a function is no part of numpy, whose functions numba knows by themselves."""
    return (function.__module__ or "").partition(".")[0] not in ("numpy", "math", "numba")


@njit(nogil=True, error_model="numpy")
def _run(exchange, state, h, block):  # type: ignore[no-untyped-def]
    """Carry out a block of exchanges."""
    for s in range(block.shape[0]):
        # Numbers of nodes need no test for negative ones, and users may calculate with them.
        i = np.intp(np.uint32(block[s, 0]))
        j = np.intp(np.uint32(block[s, 1]))
        exchange(state, i, j, h)


def run(exchange: Dispatcher, state: Any, h: Any, block: PairArray) -> None:
    """Carry out a block of exchanges, compiled."""
    _run(exchange, state, h, block)
