"""How verdicts are given where a claim has several parts."""

from __future__ import annotations

from collections.abc import Iterable

from pairgossip.experiments.framework.section import Verdict


def graded(passed: Iterable[bool]) -> Verdict:
    """A claim holds if all of its parts do, and in part if some do."""
    found = [bool(part) for part in passed]
    if all(found):
        return "holds"
    return "holds in part" if any(found) else "does not hold"
