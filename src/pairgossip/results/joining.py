"""Trials that ran separately, joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from pairgossip.errors import InputError
from pairgossip.results.fields import PER_TRIAL, join_fields, saved_fields
from pairgossip.results.fit import Fit
from pairgossip.results.provenance import difference
from pairgossip.results.result import Result
from pairgossip.results.run import Run

_Kind = TypeVar("_Kind", bound=Run | Fit)

_LAWS = ("p_law", "skewness")
"""Fields about the law of p and intervals; files of 0.2 lack them and followed another law."""


def join_trials(results: Sequence[_Kind]) -> _Kind:
    """Return one result with all trials of several, in the order of their numbers.

    If they were made with the same settings and seed, and different trials, they equal the result
    of one call with all trials: so trials can be divided among machines, or days. Your own
    functions count as the same if they give the same values at a few pairs of the data, and your
    own methods if their first steps give the same estimates.

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
        return np.concatenate(arrays)[order]

    changes = join_fields(results, join, PER_TRIAL)
    if isinstance(first, Run) and first.p_law is not None:
        laws = (str(run.p_law).split(" or ") for run in results if isinstance(run, Run))
        changes["p_law"] = " or ".join(sorted({law for several in laws for law in several}))
    is_done = all(result.status == "done" for result in results)
    return replace(first, **changes, status="done" if is_done else "interrupted")


def _check_alike(first: Any, other: Any) -> None:
    if type(first) is not type(other):
        raise InputError("A Run and a Fit cannot be joined: give results of one kind.")
    # A different kernel or method says more than the iterations that follow from it.
    alike = [name for name, about in saved_fields(first).items() if about.alike]
    for name in sorted(alike, key=lambda name: name in Result.__dataclass_fields__):
        if not _is_same(getattr(first, name), getattr(other, name)):
            raise InputError(f"The results differ in {name}: join results of the same settings.")
    if first.kind == "run" and (first.enough is None) != (other.enough is None):
        raise InputError("The results differ in until: join results of the same settings.")
    for name in _LAWS if first.kind == "run" else ():
        if (getattr(first, name) is None) != (getattr(other, name) is None):
            raise InputError(
                f"Only some of the results have {name}, which those of 0.2 lack: run them again."
            )
    # The graph comes first: the steps of fingerprints are those made on it.
    if first.graph != other.graph or first.seed != other.seed:
        what = "seed" if first.graph == other.graph else "graph"
        raise InputError(f"The results have another {what}: join results of the same settings.")
    if isinstance(first, Fit) and not np.array_equal(first.judged, other.judged):
        raise InputError("The results differ in judged nodes: join results of the same settings.")
    first_difference = difference(first.fingerprint, other.fingerprint)
    if first_difference is not None:
        raise InputError(
            f"The results differ in {first_difference.part}{first_difference.how}: join results of "
            "the same settings."
        )


def _is_same(one: Any, other: Any) -> bool:
    # A target that is not known is NaN.
    unknown = isinstance(one, float) and isinstance(other, float) and one != one and other != other
    return unknown or np.array_equal(one, other)
