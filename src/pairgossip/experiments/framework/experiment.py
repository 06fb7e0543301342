"""What an experiment declares: what it runs, and what it makes of the saved results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from pairgossip.experiments.framework.section import Section
from pairgossip.results import Fit, Run


class Plan(NamedTuple):
    """How much is run: the same for all experiments of one reproduction."""

    quick: bool
    """Shorter runs, for a first look; the claims are checked all the same."""
    trials: int
    seed: int

    def choose(self, full: int, quick: int) -> int:
        """Return the full or the quick length of something."""
        return quick if self.quick else full


class RunTrials(Protocol):
    """Runs the trials with these numbers, as `estimate` and `minimize` do."""

    def __call__(self, *, trials: Sequence[int], n_jobs: int | None, progress: Any) -> Run | Fit:
        """Return a result whose trials depend on their numbers and the plan's seed alone."""


@dataclass(frozen=True)
class Simulation:
    """A case that is repeated in independent trials and saved as one `Run` or `Fit`."""

    name: str
    iterations: int
    trials: int
    run: RunTrials


@dataclass(frozen=True)
class Computation:
    """A case that is computed once and saved as JSON: numbers, texts, lists and mappings."""

    name: str
    compute: Callable[[], Mapping[str, Any]]


Case = Simulation | Computation
Results = Mapping[str, Any]
"""By the names of its cases, an experiment's saved results: a `Run`, a `Fit`, or a mapping."""


@dataclass(frozen=True)
class Experiment:
    """One question, the cases that answer it, and the section of the report they become."""

    name: str
    title: str
    question: str
    cases: Callable[[Plan], Sequence[Case]]
    report: Callable[[Results], Section]
