"""The front door `log_rank`: a test of whether groups of rows fail alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import REFUSE, choice
from pairgossip.counts.bounds import UNKNOWN
from pairgossip.errors import InputError
from pairgossip.order_statistics.laws import beyond_chi_square
from pairgossip.pages.page import show
from pairgossip.summaries.summary import Summary
from pairgossip.survival.log_rank_bounds import bound_scores, bound_statistic
from pairgossip.survival.rows import read_rows, refuse_with_summary
from pairgossip.survival.tables import GroupCounts, place_times, read_groups
from pairgossip.survival.writing import lay_test, name_test, show_scores
from pairgossip.text import format_count, json_value

if TYPE_CHECKING:
    from pairgossip.pages.parts import Part

LOG_RANK, GEHAN = "log-rank", "gehan"
_USUAL_P = 0.05
"""The p below which groups are often said to differ: counts that leave p anywhere between less and
1 neither say that groups differ nor that they may not."""
_ROUNDING = 1e-10
"""Share of the largest variance below which one is rounding: such groups are never at risk
together."""


@dataclass(frozen=True, repr=False)
class LogRank:
    """The result of a test of survival curves.

    Attributes
    ----------
    statistic, freedom, p
        The statistic, which has the chi-square law with this freedom if all groups fail alike, and
        the probability of a statistic as large in that case.
    weights
        ``"log-rank"`` or ``"gehan"``.
    groups, observed, expected
        The names of the groups, the number of their events, and the number expected if all groups
        failed alike; weighted events for Gehan's test.
    bracket, p_bracket
        Certain bounds of the statistic and the p of all rows, wherever they are in their cells; NaN
        without cells.
    """

    statistic: float
    freedom: int
    p: float
    weights: str
    groups: tuple[str, ...]
    observed: tuple[float, ...]
    expected: tuple[float, ...]
    bracket: tuple[float, float] = UNKNOWN
    p_bracket: tuple[float, float] = UNKNOWN

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers by name, as JSON can hold them: None where not known."""
        numbers = zip(self.observed, self.expected, strict=True)
        events = ({"observed": one, "expected": other} for one, other in numbers)
        names = ("weights", "statistic", "freedom", "p", "bracket", "p_bracket")
        known = {name: getattr(self, name) for name in names}
        known["groups"] = dict(zip(self.groups, events, strict=True))
        found: dict[str, Any] = json_value(known)
        return found

    def parts(self) -> tuple[Part, ...]:
        """Return the statistic and the events of the groups as parts of a page."""
        return tuple(lay_test(self))

    def __str__(self) -> str:
        freedom = format_count(self.freedom, "degree")
        certain = ""
        if not math.isnan(self.bracket[0]):
            (low, high), (least, most) = self.bracket, self.p_bracket
            certain = f"\ncertain: {low:.4g} to {high:.4g}, p {least:.3g} to {most:.3g}"
        said = f"{self.statistic:.4g} with {freedom} of freedom, p = {self.p:.3g}{certain}"
        return f"{name_test(self)}: {said}\n{show_scores(self).to_text()}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return show(self.parts())


class Scores(NamedTuple):
    """The sums over events, by group."""

    observed: FloatArray
    expected: FloatArray
    variance: FloatArray
    """The covariances of observed minus expected, shape (groups, groups)."""


def log_rank(
    time: Any,
    event: Any = None,
    *,
    by: Any = None,
    weights: str = LOG_RANK,
    within: Any = None,
    columns: Sequence[Any] | str | None = None,
    missing: str = REFUSE,
) -> LogRank:
    """Test whether groups of rows fail alike, though some rows are censored.

    Parameters
    ----------
    time, event, columns, missing
        As in `kaplan_meier`. A `Summary` has its own groups, and strata if any; its result has
        certain bounds of the statistic.
    by
        The group of every row, or the name of a column: two groups or more.
    weights
        ``"log-rank"`` counts all events alike; ``"gehan"`` weights each by the number of rows at
        risk (Gehan and Breslow), so that early ones matter most.
    within
        The stratum of every row: events are compared with rows of the same stratum.

    Examples
    --------
    >>> import pairgossip as pg
    >>> time, event = [3, 5, 7, 2, 18, 16, 2, 9, 16, 16], [1, 1, 1, 1, 1, 1, 1, 0, 0, 1]
    >>> print(pg.survival.log_rank(time, event, by=["a"] * 5 + ["b"] * 5))
    Log-rank test: 1.086 with 1 degree of freedom, p = 0.297
    group  observed  expected
    a          5.00      3.76
    b          3.00      4.24
    """
    kind = choice("weights", weights, (LOG_RANK, GEHAN))
    if isinstance(time, Summary):
        refuse_with_summary({"event": event, "by": by, "within": within, "columns": columns})
        return _test_groups(read_groups(time, within=True), kind)
    if by is None:
        raise InputError("Curves of groups are compared: give {argument}.", "by")
    rows = read_rows(time, event, by=by, within=within, columns=columns, missing=missing)
    assert rows.groups is not None
    _check_groups(rows.names, rows.event.sum())
    groups, counts, size = rows.groups, np.ones(len(rows.time)), len(rows.names)
    strata = np.zeros(len(counts), dtype=np.intp) if rows.strata is None else rows.strata
    order = np.argsort(strata, kind="stable")
    found = [
        add_scores(rows.time[at], rows.event[at], groups[at], counts[at], kind, size)
        for at in np.split(order, np.flatnonzero(np.diff(strata[order])) + 1)
    ]
    return _judge(rows.names, found, kind)


def _test_groups(groups: Sequence[GroupCounts], kind: str) -> LogRank:
    """Test the groups of a summary, stratum by stratum."""
    names = tuple(one.name for one in groups if one.name is not None)
    failed = sum(blocks.counts[1].sum() for one in groups for blocks in one.strata)
    _check_groups(names, failed)
    found, ends = [], []
    for parts in zip(*(one.strata for one in groups), strict=True):
        placed = [place_times(one) for one in parts]
        numbers = [np.full(len(one[0]), at) for at, one in enumerate(placed)]
        time, event, counts = map(np.concatenate, zip(*placed, strict=True))
        found.append(add_scores(time, event, np.concatenate(numbers), counts, kind, len(names)))
        ends.append(bound_scores(parts, is_gehan=kind == GEHAN))
    result = _judge(names, found, kind)
    known = all(one.is_known and one.axes[0].ties_known for group in groups for one in group.strata)
    low, high = (result.statistic,) * 2 if known else bound_statistic(ends)
    if low == 0 and not known and _find_p(high, result.freedom) < _USUAL_P:
        most = "any number" if high == math.inf else f"anything from 0 to {high:.4g}"
        raise InputError(
            f"These counts leave the order of rows so open that the statistic may be {most}, which "
            "does not tell whether groups differ: take finer cells, a smaller least_cell, or more "
            "rows."
        )
    low, high = min(low, result.statistic), max(high, result.statistic)
    p = tuple(_find_p(end, result.freedom) for end in (high, low))
    return LogRank(**(vars(result) | {"bracket": (low, high), "p_bracket": p}))


def _check_groups(names: Sequence[str], events: float) -> None:
    """Raise `InputError` if there are fewer than two groups, or no events to compare them by."""
    if len(names) < 2:
        what = f"all rows are of group '{names[0]}'" if names else "there are no groups"
        raise InputError(
            f"Curves of two groups or more are compared, but {what}: give {{argument}} of more.",
            "by",
        )
    if not events:
        raise InputError("No row has an event, so nothing shows how the groups fail.")


def add_scores(
    time: FloatArray, event: FloatArray, groups: IntArray, counts: FloatArray, kind: str, size: int
) -> Scores:
    """Return the events of every group, and those expected if all failed alike.

    Parameters
    ----------
    time, event, groups, counts
        The columns of the rows, and the number of times that each counts.
    kind
        The weights of events.
    size
        The number of groups.
    """
    times, places = np.unique(time[event > 0], return_inverse=True)
    failed, at_risk = np.zeros((size, len(times))), np.zeros((size, len(times)))
    np.add.at(failed, (groups[event > 0], places), counts[event > 0])
    reached = np.searchsorted(times, time, side="right")  # the number of times a row is at risk
    stops = np.zeros((size, len(times) + 1))
    np.add.at(stops, (groups, reached), counts)
    at_risk = np.cumsum(stops[:, ::-1], axis=1)[:, ::-1][:, 1:]
    total, every = at_risk.sum(axis=0), failed.sum(axis=0)
    weights = total if kind == GEHAN else np.ones(len(times))
    share = at_risk / total
    left = np.where(total > 1, (total - every) / np.maximum(total - 1, 1.0), 0.0)
    scale = weights**2 * every * left
    variance = np.diag(share @ scale) - (share * scale) @ share.T
    return Scores(failed @ weights, share @ (weights * every), variance)


def _judge(names: Sequence[str], parts: Sequence[Scores], kind: str) -> LogRank:
    """Return the test from the scores of all strata."""
    observed, expected, variance = (sum(part) for part in zip(*parts, strict=True))
    sizes, directions = np.linalg.eigh(np.asarray(variance))
    known = sizes > _ROUNDING * max(float(sizes.max()), 0.0)
    if not known.any():
        raise InputError(
            "No two groups have rows at risk at the time of an event: there is nothing to compare."
        )
    scores = directions.T[known] @ (np.asarray(observed) - np.asarray(expected))
    statistic, freedom = float((scores**2 / sizes[known]).sum()), int(known.sum())
    return LogRank(
        statistic,
        freedom,
        _find_p(statistic, freedom),
        kind,
        tuple(names),
        tuple(np.asarray(observed).tolist()),
        tuple(np.asarray(expected).tolist()),
    )


def _find_p(statistic: float, freedom: int) -> float:
    return beyond_chi_square(statistic, freedom) if math.isfinite(statistic) else 0.0
