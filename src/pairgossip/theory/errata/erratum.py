"""One row of the errata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple


class Evidence(NamedTuple):
    """Numbers in a sentence, and whether they show what the row claims."""

    text: str
    shown: bool
    hypotheses: Mapping[str, bool] = {}
    """By the paper's hypotheses, whether the example satisfies them, computed from the example."""


@dataclass(frozen=True)
class Erratum:
    """A place where the paper and the truth differ, shown within the paper's own hypotheses.

    Severity A breaks an implementation, B makes a bound or claim wrong, C is a slip of the pen,
    an inference, or a remark that does no harm.
    """

    lines: str
    severity: Literal["A", "B", "C"]
    printed: str
    correct: str
    evidence: Callable[[], Evidence]
    assumed: Mapping[str, str] = field(default_factory=dict)
    """The hypotheses of what is printed, and the lines that state them."""

    @property
    def hypotheses(self) -> str:
        """The hypotheses in words, each with its lines; empty if the statement has none."""
        return "; ".join(f"{words} ({lines})" for words, lines in self.assumed.items())
