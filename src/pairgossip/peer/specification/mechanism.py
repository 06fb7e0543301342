"""The randomized response of a specification, and functions of its reports."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pairgossip.peer.bookkeeping.ledger import Declared, Report, Row
from pairgossip.privacy import DebiasedKernel, DebiasedLoss, RandomizedResponse
from pairgossip.tables import parse_number

if TYPE_CHECKING:
    from pairgossip.peer.specification.agreement import Spec
    from pairgossip.peer.specification.kinds import ReportsSpec
    from pairgossip.peer.specification.tables import Privacy


def mechanism_of(spec: ReportsSpec) -> RandomizedResponse:
    """Return the randomized response that a specification declares."""
    return _mechanism(spec.privacy, tuple(spec.ranges[name] for name in spec.columns))


def debias_measure(spec: ReportsSpec) -> DebiasedKernel | DebiasedLoss:
    """Return a specification's kernel or loss as a function of reports."""
    return _debias(mechanism_of(spec), spec.kernel, spec.loss)


def declared(spec: ReportsSpec) -> Declared:
    """Return a specification's mechanism for a ledger; it does not depend on the kernel or loss."""
    mechanism = mechanism_of(spec)
    code_of = {mark: float(code) for code, mark in enumerate(_class_marks(spec))}

    def draw(rows: Sequence[Row]) -> list[Report]:
        if code_of:
            rows = [(*row[:-1], code_of[row[-1]]) for row in rows]
        reports = mechanism.randomize(np.array(rows))
        return [tuple(report) for report in reports.tolist()]

    ranges = [spec.ranges[name] for name in spec.observed]
    table = {"ranges": ranges, "privacy": msgspec.to_builtins(spec.privacy)}
    if spec.classes is not None:
        table["classes"] = spec.classes
    text = json.dumps(table, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return Declared(spec.observed, text, mechanism.epsilon, mechanism.bins, draw)


def ledger_rows(rows: Sequence[Row], spec: Spec) -> Sequence[Row]:
    """Return rows for a ledger, with a number for each class that depends on its word alone.

    With the place of its word instead, a row would be another observation once classes are declared
    in another order, and would be reported again beyond its budget.
    """
    marks = _class_marks(spec)
    return [(*row[:-1], marks[int(row[-1])]) for row in rows] if marks else rows


def _class_marks(spec: Spec) -> list[float]:
    """Return a number for every class that depends on its word alone; no numbers without classes.

    If all words are numbers, these are used, as in a specification without classes.
    """
    words = spec.classes or ()
    numbers = [number for number in map(parse_number, words) if number is not None]
    if len(words) == len(set(numbers)) and all(map(math.isfinite, numbers)):
        return [number + 0.0 for number in numbers]
    return [float(int.from_bytes(hashlib.sha256(word.encode()).digest()[:6])) for word in words]


# These take long to make, and are needed often.


@lru_cache(maxsize=8)
def _mechanism(privacy: Privacy, ranges: tuple[tuple[float, float], ...]) -> RandomizedResponse:
    return RandomizedResponse(
        privacy.epsilon,
        privacy.bins,
        ranges,
        classes=privacy.classes,
        rounding=privacy.rounding,
        together=privacy.together,
    )


@lru_cache(maxsize=2)
def _debias(
    mechanism: RandomizedResponse, kernel: str | None, loss: str | None
) -> DebiasedKernel | DebiasedLoss:
    return DebiasedLoss(mechanism, str(loss)) if kernel is None else mechanism.debiased(kernel)
