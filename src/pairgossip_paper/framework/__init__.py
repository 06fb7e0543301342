"""An experiment declares the cases it runs, and the section of the report they become.

A section has claims: a statement, what was measured about it, the rule that judges it, and the
evidence.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import NotEnough
from pairgossip.results import Fit, Run
from pairgossip_paper.framework.figures import Sheet
from pairgossip_paper.framework.typesetting import mark_fields

Cell = str | int | float | None
Arguments = Mapping[str, Any]
"""Arguments of `estimate` or `minimize`, by name."""
Facts = Mapping[str, Any]
"""The results of a computation: numbers, texts, lists and mappings, as JSON can hold them."""
Results = Mapping[str, Any]
"""An experiment's saved results by the names of its cases: a `Run`, a `Fit`, or facts."""
DECAY_WINDOW = (1e-10, 1e-2)
"""Range of errors, relative to the first one, in which a geometric rate is fitted."""


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


Verdict = Literal["holds", "holds in part", "does not hold", "undecided"]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, or of theory, and what was measured about it."""

    name: str
    statement: str
    source: str
    """The origin: a place in the paper (`paper.cite`), another paper, or "theory"."""
    verdict: Verdict
    evidence: str

    def __post_init__(self) -> None:
        mark_fields(self, "statement", "source", "evidence")


def grade(passed: Iterable[bool]) -> Verdict:
    """Judge a claim: it holds if all of its parts hold, and in part if some do."""
    parts = [bool(part) for part in passed]
    if all(parts):
        return "holds"
    return "holds in part" if any(parts) else "does not hold"


class Rule(NamedTuple):
    """A condition that a number must meet."""

    is_met: Callable[[float], bool]
    limits: Mapping[str, float]
    """The limits, by the names under which evidence cites them."""


def at_least(least: float) -> Rule:
    """Require a number that is not below a limit, `{least}` in the evidence."""
    return Rule(lambda value: value >= least, {"least": least})


def at_most(most: float) -> Rule:
    """Require a number that is not above a limit, `{most}` in the evidence."""
    return Rule(lambda value: value <= most, {"most": most})


def more_than(limit: float) -> Rule:
    """Require a number above a limit, `{limit}` in the evidence."""
    return Rule(lambda value: value > limit, {"limit": limit})


def less_than(limit: float) -> Rule:
    """Require a number below a limit, `{limit}` in the evidence."""
    return Rule(lambda value: value < limit, {"limit": limit})


def within(tolerance: float, of: float) -> Rule:
    """Require a number within a tolerance of another: `{tolerance}`, `{of}` in the evidence."""
    return Rule(lambda value: abs(value - of) <= tolerance, {"tolerance": tolerance, "of": of})


def check(
    name: str,
    statement: str,
    source: str,
    values: Mapping[str, float],
    rule: Rule | Mapping[str, Rule],
    evidence: str,
    **cited: Any,
) -> Claim:
    """Judge a claim by numbers that must meet a rule; numbers without a rule are only shown.

    The evidence may cite ``{values}`` (also with a format, as in ``{values:.1%}``), their ``{low}``
    and ``{high}`` end, the number ``{passed}`` of all ``{judged}``, the limits of a single rule,
    and everything that is given by its name in ``cited``.
    """
    rules = dict.fromkeys(values, rule) if isinstance(rule, Rule) else rule
    met = [one.is_met(values[key]) for key, one in rules.items()]
    limits = rule.limits if isinstance(rule, Rule) else {}
    low, high = (pick(values.values(), default=math.nan) for pick in (min, max))
    cited |= {"low": low, "high": high, "passed": sum(met), "judged": len(met), **limits}
    text = evidence.format(values=_Listed(values), **cited)
    return Claim(name, statement, source, grade(met), text)


class _Listed(dict[str, float]):
    """Values for a sentence, in the format that the sentence names."""

    def __format__(self, style: str) -> str:
        return list_values(self, style or ".3g")


def list_values(values: Mapping[str, float], style: str = ".3g") -> str:
    """Write values out, each with its name in parentheses."""
    return ", ".join(f"{value:{style}} ({name})" for name, value in values.items())


def span(values: Mapping[str, float], style: str = ".3g") -> str:
    """Write out the smallest and the largest of values."""
    return " to ".join(f"{end:{style}}" for end in (min(values.values()), max(values.values())))


@dataclass(frozen=True)
class Section:
    """The report on one experiment; no number in it is typed in."""

    headline: str
    """The answer in a sentence or two, for readers of the summary alone."""
    notes: Sequence[str]
    """The other findings, and how they were made."""
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    claims: Sequence[Claim] = ()

    def __post_init__(self) -> None:
        mark_fields(self, "headline", "notes")

    @property
    def findings(self) -> list[str]:
        """All findings in words, the headline first."""
        return [self.headline, *self.notes]


class _RunTrials(Protocol):
    """A function that runs the trials with these numbers, as `estimate` and `minimize` do."""

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
    compute: Callable[[], Facts]


Case = Simulation | Computation


class Plan(NamedTuple):
    """The amount of work, the same for all experiments of one reproduction."""

    quick: bool
    """Whether runs are short, for a first look; the claims are checked either way."""
    trials: int
    seed: int

    def choose(self, full: int, quick: int) -> int:
        """Return the full or the quick length."""
        return quick if self.quick else full

    def repeat(self, times: int, least: int = 0) -> int:
        """Return a multiple of the plan's trials, but no fewer than ``least``."""
        return max(least, times * self.trials)

    def simulate(
        self,
        name: str,
        function: Callable[..., Run | Fit],
        problem: Callable[[], Arguments],
        iterations: int,
        trials: int | None = None,
        **settings: Any,
    ) -> Simulation:
        """Declare a case of `estimate` or `minimize`.

        ``problem`` makes its data, its graph and other slow arguments; it is called when the case
        runs.
        """

        def run(**how: Any) -> Run | Fit:
            shared = {"iterations": iterations, "seed": self.seed}
            with warnings.catch_warnings():
                # The paper's settings are kept, so advice to change them is of no use.
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
    """Sort key in the report; experiments with the same place are sorted by name."""
    opens: bool = False
    """Whether its first figure is among those at the top of the report."""

    def __post_init__(self) -> None:
        mark_fields(self, "question")


def pick_ways(results: Results, name: str, ways: Iterable[str]) -> dict[str, Any]:
    """Return the results of the cases "name-way" that were run, by way."""
    return {way: results[f"{name}-{way}"] for way in ways if f"{name}-{way}" in results}


def geometric_grid(first: int, last: int, count: int) -> IntArray:
    """Return increasing whole numbers at about equal ratios; duplicates are dropped."""
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


def fit_decay(t: ArrayLike, errors: FloatArray, start: float = 1.0) -> Line:
    """Fit errors = constant e^(slope t) well below their start and well above rounding."""
    inside = (errors > DECAY_WINDOW[0] * start) & (errors < DECAY_WINDOW[1] * start)
    return fit_line(np.asarray(t)[inside], np.log(errors[inside]))
