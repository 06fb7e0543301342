"""Few cases of a product of parameters that together have every pair of values.

A mistake that takes three values of three parameters at once is rare; one that takes two is found
by some of these cases, of which there are far fewer.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations


def choose_covering(cases: Sequence[Sequence[Hashable]], together: int = 2) -> list[int]:
    """Return the numbers of cases such that any values that occur together still do.

    ``together`` is how many values: 2 for pairs, 1 for every single value.
    """
    parts = [set(combinations(enumerate(case), together)) for case in cases]
    missing = set[tuple[tuple[int, Hashable], ...]]().union(*parts)
    chosen = []
    while missing:
        best = max(range(len(cases)), key=lambda number: len(parts[number] & missing))
        chosen.append(best)
        missing -= parts[best]
    return sorted(chosen)
