"""Questions that sums answer: kernels with a sketch, and statistics of order by their names."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import choice
from pairgossip.errors import InputError, canonical
from pairgossip.kernels import CATALOG, Combination, Kernel, as_kernel
from pairgossip.kernels.named_tests import NAMED_TESTS, refuse_test
from pairgossip.order_statistics.comparisons import ClassTest
from pairgossip.order_statistics.statistics import (
    HodgesLehmann,
    Quantile,
    Shift,
    Statistic,
    TrimmedMean,
    WinsorizedMean,
)
from pairgossip.text import join_names

if TYPE_CHECKING:
    from pairgossip.peer.spec.spec import Spec

SPEARMAN = "spearman"
_WITH_SHARE = re.compile(r"(quantile|trimmed-mean|winsorized-mean)-(0?\.[0-9]{1,6})")
_OF_SHARE: dict[str, Callable[[float], Statistic]] = {
    "quantile": Quantile,
    "trimmed-mean": TrimmedMean,
    "winsorized-mean": WinsorizedMean,
}
_COLUMN_MODELS = {("value",): "gini", ("value", "label"): "auc", ("x", "y"): "kendall"}
"""The kernel that stands for each set of columns: it takes the same ones."""


@dataclass(frozen=True)
class OrderQuestion:
    """A statistic that is no average over pairs."""

    name: str
    columns: tuple[str, ...]
    statistic: Statistic | None
    """None for the correlation of ranks."""

    @property
    def column_model(self) -> Kernel | Combination:
        """A kernel that takes the same columns, and checks them."""
        return as_kernel(_COLUMN_MODELS[self.columns])

    @property
    def is_test(self) -> bool:
        """Whether it is a test by ranks, which has a p."""
        return self.statistic is None or isinstance(self.statistic, ClassTest)


_NAMED = {
    "median": OrderQuestion("median", ("value",), Quantile(0.5)),
    "hodges-lehmann": OrderQuestion("hodges-lehmann", ("value",), HodgesLehmann()),
    "shift": OrderQuestion("shift", ("value", "label"), Shift()),
}


def find_order_question(name: str) -> OrderQuestion | None:
    """Return the statistic of order of this name; None if there is none."""
    plain = canonical(name)
    if plain in _NAMED:
        return _NAMED[plain]
    if (match := _WITH_SHARE.fullmatch(plain)) is not None:
        share = float(match[2])
        name = f"{match[1]}-{share:.6f}".rstrip("0")
        return OrderQuestion(name, ("value",), _OF_SHARE[match[1]](share))
    test = NAMED_TESTS.get(plain)
    if test is None or test.sketch is None:
        return None
    return OrderQuestion(plain, test.columns, None if plain == SPEARMAN else ClassTest(plain))


def check_name(name: str) -> None:
    """Raise `InputError` if neither a kernel nor a statistic of order has this name."""
    if find_order_question(name) is not None:
        return
    refuse_test(name)
    tests = (test for test, entry in NAMED_TESTS.items() if entry.sketch is not None)
    shares = ("quantile-0.5", "trimmed-mean-0.1", "winsorized-mean-0.1")
    choice("kernel", name, (*CATALOG, *_NAMED, *shares, *tests))


def check_kernel(kernel: Kernel | Combination) -> None:
    """Raise `InputError` if no sums tell a kernel."""
    if _has_sketch(kernel):
        return
    others = sorted(name for name in CATALOG if _has_sketch(as_kernel(name)))
    raise InputError(
        f"kernel '{kernel.name}' is not told by sums over rows: choose another (with "
        f'{", ".join(others)} it works), or let rows travel with algorithm.name = "exchange".'
    )


def is_told_by_sums(name: str) -> bool:
    """Return whether sums tell the kernel or statistic of this name; not if there is none."""
    if find_order_question(name) is not None:
        return True
    try:
        return _has_sketch(as_kernel(name))
    except InputError:
        return False


def _has_sketch(kernel: Kernel | Combination) -> bool:
    from pairgossip.sketches import default_sketch

    try:
        default_sketch(kernel)
    except InputError:
        return False
    return True


def count_grades(spec: Spec) -> int:
    """Return how many values the label of a run has."""
    if spec.classes is not None or spec.has_two_classes:
        return len(spec.classes or (0, 1))
    low, high = spec.ranges[str(spec.label)]
    return math.floor(high) - math.ceil(low) + 1


def label_values(spec: Spec) -> FloatArray:
    """Return the values that the label of a run has: two, or all whole numbers of its range."""
    low, high = spec.ranges[str(spec.label)]
    if spec.has_two_classes:
        return np.array([low, high])
    return np.asarray(math.ceil(low) + np.arange(float(count_grades(spec))))


def check_labels(spec: Spec, labels: FloatArray) -> None:
    """Raise `InputError` for labels that a run does not have."""
    values = label_values(spec)
    if not np.isin(labels, values).all():
        named = join_names([f"{one:g}" for one in values[:8]], "or")
        raise InputError(
            f"Column '{spec.label}' holds other values than {named}, which are those of this run: "
            "correct the rows, or agree on another range."
        )
