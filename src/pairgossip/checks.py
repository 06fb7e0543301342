"""The checks of arguments, and the names and limits that several modules check against.

The command line imports this before any library, so numpy is imported where it is needed.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping
from numbers import Integral, Rational, Real
from typing import TYPE_CHECKING, Any

from pairgossip.errors import InputError, canonical, unknown_name

if TYPE_CHECKING:
    from pairgossip.arrays import IntArray

LEXICOGRAPHIC, BLOW_UP, WHOLE_SETS = "lexicographic", "blow-up", "whole-sets"
ROW_CONSTRUCTIONS = (LEXICOGRAPHIC, BLOW_UP)
"""The constructions that make a graph of the rows."""
CONSTRUCTIONS = (*ROW_CONSTRUCTIONS, WHOLE_SETS)
"""The ways of sites that hold several rows to exchange."""
CLOCKS = ("sync", "async")
ORDERS = ("update-first", "exchange-first")
UNIFORM_EDGES, NODE_CLOCKS = "uniform-edges", "node-clocks"
LAWS = (UNIFORM_EDGES, NODE_CLOCKS)
BEST_LAW = "best"
"""The law under which values mix fastest on a run's graph."""
RANDOM, ORDERED, CONTINUIZED, TREE = "random", "ordered", "continuized", "tree"
SCHEDULES = (RANDOM, ORDERED, CONTINUIZED, TREE)
"""The orders of exchanges."""
STATISTICS = ("v", "u")
"""The averages over pairs: with an observation's pair with itself, or without."""
REFUSE, DROP = "refuse", "drop"
MISSING = (REFUSE, DROP)
"""The treatments of rows that lack an entry."""
ROUNDINGS = ("bins", "stochastic")
"""The ways to put private values into cells."""

ITERATIONS_PER_NODE = 200
"""Default length of a run, in iterations per node."""
_CHECKPOINTS_PER_DECADE = 12
LARGEST_NUMBER = 10**15


def is_number(value: object) -> bool:
    """Return whether something is one real number of Python's or NumPy's types.

    A fraction is not, nor a whole number too large for a float: NumPy would make arrays of objects
    of them.
    """
    if isinstance(value, Rational) and not isinstance(value, Integral):
        return False
    if not isinstance(value, Real):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def choice(what: str, value: object, choices: Collection[str]) -> str:
    """Return the canonical spelling of one of the choices."""
    name = canonical(value) if isinstance(value, str) else ""
    if name not in choices:
        raise unknown_name(what, str(value), choices)
    return name


def whole(
    what: str,
    value: Any,
    least: int = 1,
    most: int = LARGEST_NUMBER,
    default: int | None = None,
) -> int:
    """Return a whole number within limits, or the default for None; 1e6 is a million."""
    if value is None and default is not None:
        return default
    number = None
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
        except TypeError:
            if is_number(value) and float(value).is_integer():
                number = int(value)
    if number is None or number < least:
        raise InputError(f"{what} must be a whole number >= {least}, not {value!r}.")
    if number > most:
        raise InputError(f"{what} must be at most {most:,}, not {number:,}.")
    return number


def real(what: str, value: Any, low: float, high: float) -> float:
    """Return a number in [low, high]."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not low <= number <= high:
        limits = f">= {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
        raise InputError(f"{what} must be a number {limits}, not {value!r}.")
    return number


def checkpoint_grid(iterations: int, checkpoints: Any = None) -> IntArray:
    """Return increasing iteration numbers from 1 on that end with the last iteration."""
    import numpy as np

    if checkpoints is None:
        checkpoints = max(2, round(_CHECKPOINTS_PER_DECADE * np.log10(iterations)) + 1)
    if is_number(checkpoints):
        count = whole("The number of checkpoints", checkpoints)
        grid = np.geomspace(1, iterations, count) if count > 1 else np.array([iterations])
        return np.unique(np.rint(grid).astype(np.int64))
    given = np.asarray(checkpoints)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer) or not given.size:
        raise InputError("Checkpoints must be a number or a list of whole iteration numbers.")
    if given.min() < 1 or given.max() > iterations:
        raise InputError(
            f"Checkpoints must lie between 1 and the {iterations:,} iterations, "
            f"but they run from {given.min():,} to {given.max():,}."
        )
    return np.unique(np.append(given, iterations).astype(np.int64))


def trial_numbers(trials: Any) -> list[int]:
    """Return the numbers of the trials to run: 0 .. trials-1, or those given."""
    if not isinstance(trials, Iterable) or isinstance(trials, str):
        return list(range(whole("The number of trials", trials)))
    message = "Trials must be how many to run, or their numbers: different whole numbers >= 0."
    try:
        numbers = [whole("A trial's number", number, least=0) for number in trials]
    except InputError:
        raise InputError(message) from None
    if not numbers or len(set(numbers)) < len(numbers):
        raise InputError(message)
    return sorted(numbers)


def refuse_given(given: Mapping[str, Any], why: str) -> None:
    """Raise `InputError` for the first given argument that should be left out, with the reason."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{why}: leave {{argument}} out.", name)


def check_jobs(n_jobs: int | None) -> None:
    """Raise `InputError` if joblib does not accept the number of workers."""
    if n_jobs is None:
        return
    try:
        known = not isinstance(n_jobs, bool) and operator.index(n_jobs) != 0
    except TypeError:
        known = False
    if not known:
        raise InputError(
            "Invalid {argument}: give a number of workers, or -1 for all cores.", "n_jobs", n_jobs
        )
