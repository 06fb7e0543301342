"""One row of the errata."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple


class Evidence(NamedTuple):
    """Numbers in a sentence, and whether they show what the row claims."""

    text: str
    shown: bool


@dataclass(frozen=True)
class Erratum:
    """A place where the paper and the truth differ.

    Severity A breaks an implementation, B makes a bound or claim wrong, C is a slip of the pen
    or a convention worth knowing.
    """

    lines: str
    severity: Literal["A", "B", "C"]
    printed: str
    correct: str
    evidence: Callable[[], Evidence]
