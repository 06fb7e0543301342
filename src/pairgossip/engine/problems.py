"""What an estimation is about: data, kernel and target, raw or private, of rows or of sites."""

from __future__ import annotations

from typing import Any, NamedTuple

from pairgossip.algorithms import Method
from pairgossip.arrays import IntArray
from pairgossip.checks import choice
from pairgossip.errors import InputError
from pairgossip.kernels import Pairs, WholeSets
from pairgossip.kernels.pairs import Means
from pairgossip.privacy import PrivateMeans, PrivatePairs, PrivateSets, RandomizedResponse
from pairgossip.privacy.estimation import check_mechanism

PRIVATE = (PrivatePairs, PrivateMeans, PrivateSets)
"""The problems whose nodes see reports only."""


class Asked(NamedTuple):
    """What a user asks to be estimated."""

    data: Any
    kernel: Any
    method: Method
    target: str
    labels: Any

    def problem(self) -> Pairs | Means:
        """Return the problem of raw observations, or raise `InputError`."""
        self._check()
        if self.method.estimates == "mean":
            return Means(self.data)
        pairs = Pairs(self.data, self.kernel, self.target, self.labels)
        if self.method.estimates == "row-mean" and pairs.components > 1:
            raise InputError(
                f"Method '{self.method.name}' estimates the rows of a single kernel, and "
                f"'{pairs.kernel.name}' is a ratio of two: use {{argument}}.",
                "method",
                "gosta",
            )
        pairs.check()
        return pairs

    def private(
        self, mechanism: RandomizedResponse, *, seeded: bool
    ) -> PrivatePairs | PrivateMeans:
        """Return the problem of which nodes see reports only, or raise `InputError`."""
        self._check()
        check_mechanism(mechanism)
        if self.method.estimates == "mean":
            return PrivateMeans(self.data, mechanism, seeded=seeded)
        if self.method.estimates == "row-mean":
            raise InputError(
                f"Method '{self.method.name}' estimates the mean of every single row of pairs, "
                "which hangs on one private report however many others there are: use "
                "{argument}.",
                "method",
                "gosta",
            )
        pairs = PrivatePairs(
            self.data, self.kernel, mechanism, self.target, self.labels, seeded=seeded
        )
        pairs.check()
        return pairs

    def _check(self) -> None:
        """Raise `InputError` unless the method is given what it estimates."""
        choice("target", self.target, ("v", "u"))
        if self.method.estimates == "mean":
            if self.kernel is not None or self.labels is not None:
                raise InputError(
                    f"Method '{self.method.name}' averages the data itself and takes no kernel and "
                    "no labels: leave them out, or use {argument}.",
                    "method",
                    "gosta",
                )
        elif self.kernel is None:
            raise InputError(
                f"Method '{self.method.name}' needs a kernel, such as {{argument}} or a function "
                "of two blocks of observations.",
                "kernel",
                "gini",
            )


def swapped(rows: Pairs | Means | PrivatePairs, site_of: IntArray, method: Method) -> WholeSets:
    """Pair whole sets of rows, if the method has a use for them."""
    if isinstance(rows, Means) or not method.swaps:
        raise InputError(
            f"Method '{method.name}' swaps no observations, so there are no whole sets to swap: "
            "use {argument}.",
            "construction",
            "lexicographic",
        )
    if method.estimates == "row-mean":
        raise InputError(
            f"Method '{method.name}' estimates the mean of every single row of pairs, but whole "
            "sets have one estimate per site: use {argument}.",
            "construction",
            "lexicographic",
        )
    if isinstance(rows, PrivatePairs):
        return PrivateSets(rows, site_of)
    return WholeSets(rows, site_of)
