"""What an experiment declares: the cases it runs, and the section of the report they become."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from pairgossip.arrays import IntArray
from pairgossip.errors import NotEnough
from pairgossip.results import Fit, Run
from pairgossip_paper.framework.claims import (
    Claim,
    Rule,
    Verdict,
    at_least,
    at_most,
    check,
    grade,
    less_than,
    list_values,
    more_than,
    within,
)
from pairgossip_paper.framework.figures import Sheet
from pairgossip_paper.framework.typesetting import mark_fields

__all__ = [
    "Case",
    "Cell",
    "Claim",
    "Computation",
    "Experiment",
    "Line",
    "Picture",
    "Plan",
    "Results",
    "Rule",
    "Section",
    "Simulation",
    "Table",
    "Verdict",
    "at_least",
    "at_most",
    "check",
    "fit_line",
    "fit_power_law",
    "geometric_grid",
    "grade",
    "less_than",
    "list_values",
    "more_than",
    "within",
]

Cell = str | int | float | None
Results = Mapping[str, Any]
"""By the names of its cases, an experiment's saved results: a `Run`, a `Fit`, or a mapping."""


@dataclass(frozen=True)
class Picture:
    """A figure with the name of its files and the sentence below it."""

    name: str
    caption: str
    sheet: Sheet

    def __post_init__(self) -> None:
        mark_fields(self, "caption")


@dataclass(frozen=True)
class Table:
    """Rows under columns; numbers are written with four significant digits."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def __post_init__(self) -> None:
        mark_fields(self, "title", "columns", "rows", "note")

    @classmethod
    def from_records(
        cls, title: str, records: Iterable[Mapping[str, Any]], note: str = ""
    ) -> Table:
        """Make a table of rows that name their columns, all in the same order."""
        rows = list(records)
        return cls(title, tuple(rows[0]), [tuple(record.values()) for record in rows], note)


@dataclass(frozen=True)
class Section:
    """What one experiment found; no number in it is typed in."""

    headline: str
    """The answer in a sentence or two, for readers of the summary alone."""
    notes: Sequence[str]
    """What else was found, and how."""
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    claims: Sequence[Claim] = ()

    def __post_init__(self) -> None:
        mark_fields(self, "headline", "notes")

    @property
    def findings(self) -> list[str]:
        """All that is said in words, the headline first."""
        return [self.headline, *self.notes]


class _RunTrials(Protocol):
    """Runs the trials with these numbers, as `estimate` and `minimize` do."""

    def __call__(self, *, trials: Sequence[int], n_jobs: int | None, progress: Any) -> Run | Fit:
        """Return a result whose trials depend on their numbers and the plan's seed alone."""


@dataclass(frozen=True)
class Simulation:
    """A case that is repeated in independent trials and saved as one `Run` or `Fit`."""

    name: str
    iterations: int
    trials: int
    run: _RunTrials


@dataclass(frozen=True)
class Computation:
    """A case that is computed once and saved as JSON: numbers, texts, lists and mappings."""

    name: str
    compute: Callable[[], Mapping[str, Any]]


Case = Simulation | Computation


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

    def simulate(
        self,
        name: str,
        function: Callable[..., Run | Fit],
        problem: Callable[[], Mapping[str, Any]],
        iterations: int,
        trials: int | None = None,
        **settings: Any,
    ) -> Simulation:
        """Declare a case of `estimate` or `minimize`.

        Its data, its graph and what else takes time to make are the problem's, which is called
        when the case runs.
        """

        def run(**how: Any) -> Run | Fit:
            shared = {"iterations": iterations, "seed": self.seed}
            with warnings.catch_warnings():
                # The paper's settings are run as they are.
                warnings.simplefilter("ignore", NotEnough)
                return function(**problem(), **shared, **settings, **how)

        return Simulation(name, iterations, self.trials if trials is None else trials, run)


@dataclass(frozen=True)
class Experiment:
    """One question, the cases that answer it, and the section of the report they become."""

    name: str
    title: str
    question: str
    cases: Callable[[Plan], Sequence[Case]]
    report: Callable[[Results], Section]
    place: float = math.inf
    """Its place in the report: experiments are in increasing order, those of one place by name."""
    opens: bool = False
    """Whether its first figure is among those with which the report opens."""

    def __post_init__(self) -> None:
        mark_fields(self, "question")


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
