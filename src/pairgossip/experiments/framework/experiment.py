"""What an experiment declares: what it runs, and what it makes of the saved results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from pairgossip.arrays import IntArray
from pairgossip.experiments.framework.section import Section, Verdict
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

    def repeat(self, times: int, least: int = 0) -> int:
        """Return the trials of an experiment that runs a multiple of the plan's."""
        return max(least, times * self.trials)


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


def grade(passed: Iterable[bool]) -> Verdict:
    """Judge a claim: it holds if all of its parts do, and in part if some do."""
    parts = [bool(part) for part in passed]
    if all(parts):
        return "holds"
    return "holds in part" if any(parts) else "does not hold"


def geometric_grid(first: int, last: int, count: int) -> IntArray:
    """Return whole numbers at about equal ratios, each once."""
    return np.unique(np.rint(np.geomspace(first, last, count)).astype(int))


class Line(NamedTuple):
    """The least-squares line through points."""

    slope: float
    error: float
    """Standard error of the slope, from the scatter about the line."""
    explained: float
    """Share of the variance that the line explains (R squared)."""


def fit_line(x: ArrayLike, y: ArrayLike) -> Line:
    """Fit y = slope x + constant."""
    from scipy.stats import linregress

    fit = linregress(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
    return Line(float(fit.slope), float(fit.stderr), float(fit.rvalue**2))


def fit_power_law(x: ArrayLike, y: ArrayLike) -> Line:
    """Fit y = constant x^slope to the points whose y is above 0."""
    across, up = (np.asarray(values, dtype=np.float64) for values in (x, y))
    positive = up > 0
    return fit_line(np.log(across[positive]), np.log(up[positive]))
