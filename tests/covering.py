"""A few cases of a product of parameters that together cover every pair of values.

A defect that needs three particular values of three parameters is rare. One that needs two is found
by some of these cases, and there are far fewer of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations


def choose_covering(cases: Sequence[Sequence[Hashable]], together: int = 2) -> list[int]:
    """Return the numbers of cases such that all combinations of values still occur.

    ``together`` is the size of combinations: 2 for pairs, 1 for single values.
    """
    parts = [set(combinations(enumerate(case), together)) for case in cases]
    missing = set[tuple[tuple[int, Hashable], ...]]().union(*parts)
    chosen = []
    while missing:
        best = max(range(len(cases)), key=lambda number: len(parts[number] & missing))
        chosen.append(best)
        missing -= parts[best]
    return sorted(chosen)
