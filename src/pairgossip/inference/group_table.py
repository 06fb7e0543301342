"""A statistic of several groups of rows side by side: values, differences, a test of equality.

Groups hold different rows, so the squares of their errors add up to that of a difference, except
if clusters of rows reach into several groups: then errors are dependent, with a covariance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import Notice, needed_for, unknown_name
from pairgossip.inference.answer import UNKNOWN, Answer
from pairgossip.inference.group_text import format_groups, write_groups
from pairgossip.kernels.data import format_label
from pairgossip.order_statistics.comparisons import TestResult
from pairgossip.order_statistics.laws import (
    beyond_f,
    map_law,
    t_quantile,
    two_sided_by_t,
)

if TYPE_CHECKING:
    import pandas

_OPEN_SHARE = 0.25
"""Largest half-width of brackets, in standard errors, at which a joint test has a meaning."""
_LEAST_GROUPS = 3
"""Least number of groups for a joint test; two groups have a difference."""


class Difference(NamedTuple):
    """The statistic of one group minus that of another, on the plain scale."""

    first: str
    second: str
    value: float
    """The statistic of the first group minus that of the second."""
    error: float
    """Its standard error; NaN if that of either group is not known."""
    low: float
    high: float
    """The interval at the level of the answers; it includes the bracket, if there is one."""
    p: float
    """The probability that chance alone separates equal groups by as much."""
    adjusted: float
    """The p adjusted for several pairs by the rule of Holm (1979): in 5 % of tables whose groups do
    not differ, some pair is below 0.05."""
    bracket: tuple[float, float] = UNKNOWN
    """The certain bounds of the difference, for counts per cell; otherwise NaN."""


class Equality(NamedTuple):
    """A test of whether groups have the same value: Welch's (1951) for groups of separate rows,
    Hotelling's if clusters reach into several groups.

    With few rows or clusters, errors are not known well, and Wald's chi-square test would reject
    too often: for six groups of twelve incomes that do not differ, in a quarter of all cases.
    """

    statistic: float
    """The ratio F: Wald's statistic over its degrees of freedom, corrected for poorly known errors.
    """
    freedom: int
    """One less than the number of groups."""
    error_freedom: float
    """The degrees of freedom of the errors; infinite if their certainty is not known."""
    p: float
    groups: tuple[str, ...] = ()
    """The groups that are compared: those whose errors are known."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupTable(Mapping[str, Answer]):
    """The answers of groups by their names, and the differences between these.

    ``exact(..., by=)`` and ``test(..., by=)`` make one; so does
    ``GroupTable(answers, all)`` for answers from elsewhere, such as those of a `Summary` by group,
    whose rows are independent. ``table["f"]`` is the answer of group "f". Differences are by
    Student's t with Welch's degrees of freedom, or by the normal law if the certainty of the
    errors is not known.

    Attributes
    ----------
    answers, all
        The answers of the groups in their order, and that of all rows. The value is NaN if a group
        has none, and the error if nothing shows how sure the value is.
    statistic, by
        The name of the statistic, and of the column that holds the groups.
    rows
        The number of rows of each group.
    reasons
        The reasons for groups without a value, or without an error.
    covariance
        The covariance of the groups' errors; by default they are independent.
    freedoms
        The degrees of freedom of each group's error.
    tests, test
        The results of a test in every group that can be tested, and of all rows.
    """

    answers: Mapping[str, Answer]
    all: Answer
    statistic: str = "value"
    by: str = "group"
    rows: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, str | Notice] = field(default_factory=dict)
    covariance: FloatArray | None = None
    freedoms: Mapping[str, float] = field(default_factory=dict)
    tests: Mapping[str, TestResult] = field(default_factory=dict)
    test: TestResult | None = None

    def __post_init__(self) -> None:
        named = {format_label(group): one for group, one in self.answers.items()}
        object.__setattr__(self, "answers", named)

    def __getitem__(self, group: Any) -> Answer:
        name = format_label(group)
        if name not in self.answers:
            raise unknown_name("group", name, self.answers)
        return self.answers[name]

    def __contains__(self, group: object) -> bool:
        return format_label(group) in self.answers

    def __iter__(self) -> Iterator[str]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups in their order."""
        return tuple(self.answers)

    @property
    def worst(self) -> str:
        """The group of the lowest value, which is the worst where higher is better, as for an AUC.

        Its interval is too narrow, since the group was selected: its value is also low by chance.
        """
        names = self.groups
        return min((names[at] for at in self._known), key=self.answers.__getitem__, default="")

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """Every pair of groups that have values: the first minus the second."""
        found = [self._compare(*pair) for pair in combinations(self._known, 2)]
        adjusted = _adjust([one.p for one in found])
        return tuple(one._replace(adjusted=p) for one, p in zip(found, adjusted, strict=True))

    @cached_property
    def equality(self) -> Equality | None:
        """A test of whether three groups or more have one value; None if fewer errors are known.

        It is also None where clusters are too few, or counts per cell leave the values open.
        """
        answers = list(self.answers.values())
        known = [at for at, one in enumerate(answers) if one.error > 0]
        widths = (answers[at].bracket[1] - answers[at].bracket[0] for at in known)
        open_by = (w / 2 / answers[at].error for at, w in zip(known, widths, strict=True))
        if len(known) < _LEAST_GROUPS or any(part > _OPEN_SHARE for part in open_by):
            return None
        values, covariance = np.array(answers)[known], self._covariance[np.ix_(known, known)]
        names = [self.groups[at] for at in known]
        freedoms = np.array([self.freedoms.get(name, math.inf) for name in names])
        found = _compare_all(values, covariance, freedoms)
        return None if found is None else found._replace(groups=tuple(names))

    @property
    def level(self) -> float:
        """The level of intervals; NaN if there are none."""
        levels = [one.level for one in (*self.answers.values(), self.all)]
        return next((level for level in levels if not math.isnan(level)), math.nan)

    @property
    def _known(self) -> list[int]:
        """The places of the groups that have values."""
        return [at for at, one in enumerate(self.answers.values()) if not math.isnan(one)]

    @property
    def _covariance(self) -> FloatArray:
        if self.covariance is not None:
            return self.covariance
        return np.diag([one.error**2 for one in self.answers.values()])

    def _compare(self, first: int, second: int) -> Difference:
        names, covariance = self.groups, self._covariance
        one, other = (self.answers[names[at]] for at in (first, second))
        variance = covariance[first, first] + covariance[second, second]
        variance -= covariance[first, second] + covariance[second, first]
        error = math.sqrt(variance) if variance > 0 else math.nan
        value = one.value - other.value
        bracket = (one.bracket[0] - other.bracket[1], one.bracket[1] - other.bracket[0])
        if math.isnan(bracket[0]):
            bracket = UNKNOWN
        low, high = (value, value) if bracket is UNKNOWN else bracket
        freedom = self._find_freedom(first, second)
        wide = math.nan if math.isnan(error) else error * t_quantile(self.level, freedom)
        nearest = min(max(0.0, low), high)  # 0, or the end of the bracket that is closest to it
        p = float(map_law(two_sided_by_t, nearest / error, freedom))
        pair = (names[first], names[second])
        return Difference(*pair, value, error, low - wide, high + wide, p, math.nan, bracket)

    def _find_freedom(self, first: int, second: int) -> float:
        """Return Welch's degrees of freedom, or the smaller ones where errors are dependent."""
        names, covariance = self.groups, self._covariance
        freedoms = [self.freedoms.get(names[at], math.inf) for at in (first, second)]
        if covariance[first, second] != 0:
            return min(freedoms)
        parts = [float(covariance[at, at]) for at in (first, second)]
        spread = sum(part * part / one for part, one in zip(parts, freedoms, strict=True))
        return float(sum(parts) ** 2 / spread) if spread > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """Return all facts, by name."""
        return {
            "statistic": self.statistic,
            "by": self.by,
            "positive": self.all.positive,
            "groups": {name: self._describe(name) for name in self.answers},
            "all": _describe(self.all, self.test),
            "differences": [one._asdict() for one in self.differences],
            "equality": None if self.equality is None else self.equality._asdict(),
        }

    def _describe(self, name: str) -> dict[str, Any]:
        reasons = {group: str(why) for group, why in self.reasons.items()}
        known = {"rows": self.rows.get(name), "reason": reasons.get(name)}
        return _describe(self.answers[name], self.tests.get(name)) | known

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with one row per group; for the differences, use
        ``pandas.DataFrame(table.differences)``.
        """
        with needed_for("GroupTable.to_pandas"):
            import pandas
        records = {name: self._describe(name) for name in self.answers}
        frame = pandas.DataFrame.from_dict(records, orient="index")
        return frame.drop(columns="scale").rename_axis(self.by)

    def __str__(self) -> str:
        return format_groups(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return write_groups(self)


def _compare_all(
    values: FloatArray, covariance: FloatArray, freedoms: FloatArray
) -> Equality | None:
    """Test whether all values are equal; None where errors have too few degrees of freedom.

    Dependent errors all count with the fewest degrees of freedom.
    """
    count = len(values) - 1
    contrasts = np.column_stack([-np.ones(count), np.eye(count)])
    apart, spread = contrasts @ values, contrasts @ covariance @ contrasts.T
    if np.linalg.matrix_rank(spread, hermitian=True) < count:
        return None
    ratio = float(apart @ np.linalg.solve(spread, apart)) / count
    if np.count_nonzero(covariance) > len(values):
        fewest = float(freedoms.min())
        left = fewest - count + 1
        times = left / fewest if left < math.inf else 1.0
    else:
        weights = 1 / np.diag(covariance)
        open_part = float((1 - weights / weights.sum()) ** 2 @ (1 / freedoms))
        times = 1 / (1 + 2 * (count - 1) / (count * (count + 2)) * open_part)
        left = count * (count + 2) / (3 * open_part) if open_part > 0 else math.inf
    if left <= 0:
        return None
    return Equality(times * ratio, count, left, beyond_f(times * ratio, count, left))


def _adjust(ps: Sequence[float]) -> list[float]:
    """Adjust p of several tests by Holm's rule; NaN are left out."""
    adjusted, largest = [math.nan] * len(ps), 0.0
    known = sorted((p, at) for at, p in enumerate(ps) if p == p)
    for rank, (p, at) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        adjusted[at] = largest
    return adjusted


def _describe(answer: Answer, test: TestResult | None) -> dict[str, Any]:
    """Return the facts about an answer, and about its test if there is one, by name."""
    known = {name: value for name, value in answer.to_dict().items() if name != "positive"}
    return known | ({} if test is None else {"z": test.z, "p": test.p, "law": test.law})
