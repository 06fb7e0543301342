"""Trials that were run apart, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from pairgossip.engine.descent.engines import Snapshot
from pairgossip.errors import InputError
from pairgossip.results.fit import Bias, Fit
from pairgossip.results.provenance import difference
from pairgossip.results.result import join_traffic
from pairgossip.results.run import Run
from pairgossip.results.storage import FIT_CURVES, RUN_CURVES, RUN_ERROR_CURVES, RUN_ERRORS

_Kind = TypeVar("_Kind", bound=Run | Fit)

_SETTINGS = ("clock", "law", "iterations", "construction", "groups", "privacy")
_SAME = {
    "run": (
        *("kernel", "method", "order", "schedule", "relaxation", "sketch", "sketch_value"),
        *("target_kind", "target", "level", *_SETTINGS),
    ),
    "fit": ("loss", "step", *_SETTINGS),
}
_LATER = ("p_law", "skewness")
"""By which law p and intervals are found: files of 0.2 do not say, and have another."""
_JOINED = {
    "run": (
        *(*RUN_CURVES, "times", "estimates", "history", "private_values"),
        *(*RUN_ERRORS, *RUN_ERROR_CURVES, "enough"),
    ),
    "fit": (*FIT_CURVES, "times", "reports"),
}


def join_trials(results: Sequence[_Kind]) -> _Kind:
    """Return one result with all trials of several, in the order of their numbers.

    Made with the same settings and seed, and different trials, they equal what one call with all
    the trials would have given: so trials can be divided among machines, or days. Functions of
    yours are the same if they give the same values at a few pairs of the data, methods of yours if
    their first steps give the same estimates.

    Examples
    --------
    >>> import pairgossip as pg
    >>> settings = dict(kernel="gini", iterations=100, seed=0)
    >>> halves = [pg.estimate([1, 2, 4], trials=part, **settings) for part in ([0, 1], [2, 3])]
    >>> pg.join_trials(halves).trials
    4
    """
    if not results:
        raise InputError("There is nothing to join: give at least one result.")
    first = results[0]
    for other in results[1:]:
        _check_alike(first, other)
    numbers = np.concatenate([result.trial_numbers for result in results])
    if len(np.unique(numbers)) < len(numbers):
        raise InputError("The results have trials in common: join results of different trials.")
    order = np.argsort(numbers)

    def join(arrays: Sequence[Any]) -> Any:
        is_known = all(array is not None for array in arrays)
        return np.concatenate(arrays)[order] if is_known else None

    changes: dict[str, Any] = {
        name: join([getattr(result, name) for result in results]) for name in _JOINED[first.kind]
    }
    changes["traffic"] = join_traffic([result.traffic for result in results], order)
    if isinstance(first, Run) and first.p_law is not None:
        laws = (str(run.p_law).split(" or ") for run in results if isinstance(run, Run))
        changes["p_law"] = " or ".join(sorted({law for several in laws for law in several}))
    if isinstance(first, Fit):
        changes |= _join_state([r for r in results if isinstance(r, Fit)], join)
    is_done = all(result.status == "done" for result in results)
    status = "done" if is_done else "interrupted"
    return replace(first, **changes, trial_numbers=numbers[order], status=status)


def _check_alike(first: Any, other: Any) -> None:
    if type(first) is not type(other):
        raise InputError("A Run and a Fit cannot be joined: give results of one kind.")
    for name in _SAME[first.kind]:
        if not _is_same(getattr(first, name), getattr(other, name)):
            raise InputError(f"The results differ in {name}: join results of the same settings.")
    if first.kind == "run" and (first.enough is None) != (other.enough is None):
        raise InputError("The results differ in until: join results of the same settings.")
    for name in _LATER if first.kind == "run" else ():
        if (getattr(first, name) is None) != (getattr(other, name) is None):
            raise InputError(
                f"Of the results only some have {name}, as those of 0.2 have not: run them again."
            )
    # First of all the graph: the steps of fingerprints are those made on it.
    if first.graph != other.graph or first.seed != other.seed:
        what = "seed" if first.graph == other.graph else "graph"
        raise InputError(f"The results have another {what}: join results of the same settings.")
    if isinstance(first, Fit) and not np.array_equal(first.judged, other.judged):
        raise InputError("The results differ in judged nodes: join results of the same settings.")
    found = difference(first.fingerprint, other.fingerprint)
    if found is not None:
        raise InputError(
            f"The results differ in {found.part}{found.how}: join results of the same settings."
        )


def _is_same(one: Any, other: Any) -> bool:
    # A target that is not known is NaN.
    unknown = isinstance(one, float) and isinstance(other, float) and one != one and other != other
    return unknown or np.array_equal(one, other)


def _join_state(fits: Sequence[Fit], join: Any) -> dict[str, Any]:
    state = Snapshot(*(join(arrays) for arrays in zip(*(f.state for f in fits), strict=True)))
    biases = [fit.bias for fit in fits if fit.bias is not None]
    if len(biases) < len(fits):
        return {"state": state, "bias": None}
    gradient = join([bias.gradient for bias in biases])
    return {"state": state, "bias": Bias(gradient, join([bias.network_model for bias in biases]))}
