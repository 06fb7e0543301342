# mypy: disable-error-code="no-untyped-call"
"""A method's functions, compiled once for each, in any module, script or notebook.

Functions of scripts and notebooks are not stored on disk. numba takes the global variables that a
function reads for constants, so a function is compiled again when these change.
"""

from __future__ import annotations

import dis
import re
import threading
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import njit, typeof, types
from numba.core.dispatcher import Dispatcher

from pairgossip.arrays import IntArray, PairArray
from pairgossip.engine.exchanges import spoil, values, written
from pairgossip.kernels import Problem

__all__ = ["bind_run", "bind_spoiled_run", "kernel_values", "prepare", "prepare_exchange"]

# Functions that Python never calls need no wrapper for it.
_INNER: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_called = njit(nogil=True, error_model="numpy")
_inlined = njit(nogil=True, error_model="numpy", forceinline=True, **_INNER)
_prepared: dict[Any, Dispatcher] = {}
_bound: dict[Any, Any] = {}
_preparing = threading.RLock()


def prepare(function: Any) -> Dispatcher:
    """Return the dispatcher of a function, the same one for the same function.

    Functions that it calls are compiled with it.
    """
    with _preparing:
        return _prepare(written.prepare(function), ())


class Pointer(NamedTuple):
    """A compiled function that loops call by its address.

    The loops are then compiled once for all such functions, and not for each of them.
    """

    function: Dispatcher
    kind: types.FunctionType


def prepare_pointer(function: Any, *kinds: Any) -> Pointer:
    """Return a function compiled for these kinds of arguments."""
    with _preparing:
        function = written.prepare(function)
        key = _key(function, ()), kinds
        if key not in _prepared:
            _prepared[key] = _called(_with_compiled_helpers(function, ()))
        returned = _find_kind(_prepared[key], *kinds)
        return Pointer(_prepared[key], types.FunctionType(returned(*kinds)))


def _find_kind(function: Dispatcher, *kinds: Any) -> Any:
    """Return the kind of a function's result for these kinds of arguments."""
    function.compile(kinds)
    compiled: Any = function.overloads[kinds]
    return compiled.signature.return_type


def _prepare(function: FunctionType, callers: tuple[CodeType, ...]) -> Dispatcher:
    key = _key(function, ())
    if key not in _prepared:
        _prepared[key] = _inlined(_with_compiled_helpers(function, callers))
    return _prepared[key]


def prepare_exchange(exchange: Any, *, takes_values: bool) -> Dispatcher:
    """Return an exchange as a function of the state, two nodes and the kernel."""
    exchange = prepare(exchange)
    return exchange if takes_values else prepare(written.without_values(exchange))


def kernel_values(problem: Problem, states: int) -> list[values.Values | None]:
    """Return the kernel ``h(k, l)`` of two nodes, for each state; None where there is none."""
    if not problem.step_arguments or values.has_compiled_values(problem):
        return values.kernel_values(problem, states)
    return [values.own_values(problem, prepare(part.function)) for part in problem.parts]


def explain_refusal(function: Any, *arguments: Any) -> str | None:
    """Say which line of a function numba does not accept, and why; None if it accepts all."""
    code = getattr(written.prepare(function), "__code__", None)
    if code is None:
        return f"a {type(function).__name__}, only functions"
    try:
        prepare(function).compile(tuple(map(typeof, arguments)))
    except Exception as refused:  # numba has many, and others happen inside it
        return explain(refused, code)
    return None


def explain(refused: Exception, code: CodeType) -> str:
    """Say which line of a function's code numba did not accept, and why."""
    place, name, text = getattr(refused, "loc", None), Path(code.co_filename).name, str(refused)
    places = re.findall(r"Raised from (.+) \((\d+)\)", text)
    places += [] if place is None else [(place.filename, place.line)]
    # numba may also fail inside: one of the lines that it lists is the function's.
    places += re.findall(r" at (.+) \((\d+)\)$", text, re.MULTILINE)
    lines = [int(line) for file, line in places if Path(file).name == name]
    line = lines[0] if lines else code.co_firstlineno
    said = (part.partition("Raised from")[0].strip() for part in text.splitlines())
    noise = re.compile("Failed in nopython mode|.* object at 0x")
    reasons = [part for part in said if part and not noise.match(part)]
    why = reasons[0].rstrip(".:") if reasons else type(refused).__name__
    return f"line {line} of {name} ({why[:120]})"


@cache
def _read_names(code: CodeType) -> set[str]:
    """Return the names that a function, or one inside it, reads from its module."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    own = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    return own.union(*map(_read_names, inner))


def _constants(function: FunctionType) -> dict[str, Any]:
    """Return the global and enclosing variables that a function reads, by name."""
    module, names = function.__globals__, _read_names(function.__code__)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: module[name] for name in names & module.keys()} | {
        name: cell.cell_contents for name, cell in cells
    }


def _key(function: FunctionType, callers: tuple[CodeType, ...]) -> Any:
    """Return the identity of a function: its code, and the constants that it reads."""
    code = function.__code__
    if code in callers:  # it calls itself
        return code
    entries = [
        (name, _constant_key(value, (*callers, code)))
        for name, value in sorted(_constants(function).items())
    ]
    defaults = function.__defaults__, tuple((function.__kwdefaults__ or {}).items())
    return code, code.co_filename, _constant_key(defaults, callers), tuple(entries)


def _constant_key(value: Any, callers: tuple[CodeType, ...]) -> Any:
    if isinstance(value, Dispatcher):
        value = value.py_func
    if isinstance(value, FunctionType):
        return _key(value, callers)
    if isinstance(value, np.ndarray):
        return value.shape, str(value.dtype), value.tobytes()
    if isinstance(value, tuple):
        return type(value), tuple(_constant_key(entry, callers) for entry in value)
    if isinstance(value, bool | int | float | complex | str | None):
        return type(value), repr(value)
    return id(value)


def _with_compiled_helpers(function: FunctionType, callers: tuple[CodeType, ...]) -> FunctionType:
    """Return the function with compiled helpers, as numba calls compiled functions only."""
    callers = (*callers, function.__code__)
    helpers = {
        name: _prepare(value, callers)
        for name, value in _constants(function).items()
        if isinstance(value, FunctionType) and value.__code__ not in callers and _is_users(value)
    }
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closure = tuple(CellType(helpers[name]) if name in helpers else cell for name, cell in cells)
    module = function.__globals__ | helpers
    copy = FunctionType(
        function.__code__, module, function.__name__, function.__defaults__, closure
    )
    copy.__kwdefaults__, copy.__module__ = function.__kwdefaults__, function.__module__
    return copy


def _is_users(function: FunctionType) -> bool:
    """Return whether a function is the user's, and not one of numpy or numba."""
    return (function.__module__ or "").partition(".")[0] not in ("numpy", "numba")


@_inlined
def _meet(exchange, state, h, block, s):  # type: ignore[no-untyped-def]
    """Carry out one exchange."""
    # Unsigned numbers save tests for negative ones; users may calculate with signed ones.
    i = np.intp(np.uint32(block[np.uint64(s), 0]))
    j = np.intp(np.uint32(block[np.uint64(s), 1]))
    exchange(state, i, j, h)


@_called
def _run(exchange, state, h, block, start, stop, is_liar):  # type: ignore[no-untyped-def]
    """Carry out a part of a block of exchanges, up to the first in which one of two lies."""
    for s in range(start, stop):
        if is_liar is not None:
            at = np.uint64(s)
            if is_liar[np.uint32(block[at, 0])] != is_liar[np.uint32(block[at, 1])]:
                return s
        _meet(exchange, state, h, block, s)
    return stop


_TOOLS = spoil.Tools(_inlined(_run.py_func), _meet, _inlined(spoil.copy_row))
_run_spoiled = _called(spoil.run_spoiled)
_BLOCK, _PLACES = np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int64)


def bind(function: Dispatcher, arguments: tuple[Any, ...], *others: Any) -> Any:
    """Compile a function for its first arguments and others like these; return it with the first.

    Calls then skip numba's check of the types of arguments, which takes longer than a block of
    exchanges.
    """
    everything = (*arguments, *others)
    key = function, _kind_key(everything)
    if key not in _bound:
        kinds = tuple(one.kind if isinstance(one, Pointer) else typeof(one) for one in everything)
        function.compile(kinds)
        compiled: Any = function.overloads[kinds]
        _bound[key] = compiled.entry_point
    first = (one.function if isinstance(one, Pointer) else one for one in arguments)
    return partial(_bound[key], *first)


def _kind_key(value: Any) -> Any:
    """Return a key that differs between kinds of values, faster than numba finds the kind."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    if isinstance(value, tuple):
        return type(value), tuple(map(_kind_key, value))
    return value if isinstance(value, Dispatcher | types.Type) else typeof(value)


def bind_run(exchange: Dispatcher, state: Any, h: Any) -> Callable[[PairArray], None]:
    """Return a function that carries out blocks of exchanges."""
    run = bind(_run, (exchange, state, h), _BLOCK, 0, 0, None)
    return lambda block: run(block, 0, len(block), None)


def bind_spoiled_run(
    attack: Any, actions: spoil.Actions, state: Any, h: Any, rows: Any, spare: Any, network: Any
) -> Callable[[PairArray, IntArray, IntArray], None]:
    """Return a function that carries out blocks of exchanges with faults."""
    if attack is not None:
        attack = prepare(attack)
    first = _TOOLS, actions, attack, state, h, rows, spare, network
    run: Callable[[PairArray, IntArray, IntArray], None]
    run = bind(_run_spoiled, first, _BLOCK, _PLACES, _PLACES)
    return run
