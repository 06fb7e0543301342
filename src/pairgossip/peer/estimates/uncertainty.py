"""The gossip error: a peer's distance from the exact value, judged by its own masses alone.

A statistic is a sum over a weight, or a function of several such averages, which is treated as
linear around them. Its error is the residual ``S - exact * W`` of the peer's own masses, over their
weight. Three things make up the residual:

- a walk: the samples of the whole network, of which a peer gets its share over time;
- a start: the sum over its own and its neighbors' rows from before records had spread. It stays in
  the masses forever, and its share of them falls as one over the exchanges;
- a fluctuation: the present distance of this peer from the others.

The history of ``S - estimate * W`` shows all three. It is cut into about eight groups, and each is
averaged over its exchanges. The fluctuation nearly vanishes in these averages, so the squares of
the differences between neighboring ones give the variance of the walk; the difference of the first
average from the beginning is the start. The fluctuation is added once: the mean square distance of
the ends of short batches from their averages. (To compare the ends of groups, as batch means
do, would count it some sixteen times: far too much for a peer with few rows next to one with many.)

Groups shorter than the time in which records spread would look alike and make the interval too
narrow. So there is none before records of members with most of the rows have passed by, which takes
about that time on any graph; nor later, if they no longer do.

Memory is bounded: at 32 batches every two neighboring ones become one. After a restart the estimate
continues from its `MassHistory`; without it there is no interval until half of the weight has been
gathered again. It cannot see members whose rows never reach the network, and liars.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from operator import add, mul

import msgspec
import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.peer.estimates.errors import fewest_exchanges, have_met
from pairgossip.peer.protocol.rules import (
    AdaptiveAveraging,
    DualAveraging,
    PaperMixing,
    Rule,
    StatisticRule,
    WeightedMixing,
)
from pairgossip.peer.protocol.state import Node, State
from pairgossip.peer.specification.tables import Stop

_MOST_BATCHES = 32
"""Largest number of batches of the history; beyond it, every two become one."""


Masses = tuple[float, ...]
"""The sums of all components over a peer's rows, then their weight."""


class _MassMark(msgspec.Struct, frozen=True, array_like=True):
    """The masses after some exchanges, and their means since the last mark."""

    exchanges: int
    masses: Masses
    means: Masses


class _BatchSums(msgspec.Struct, frozen=True, array_like=True):
    """The masses after each exchange since the last mark, added up."""

    count: int = 0
    masses: Masses = ()


_NO_BATCH_SUMS = _BatchSums()


class MassHistory(msgspec.Struct, frozen=True, rename={"generation": "generation_name"}):
    """The growth of the masses: a few hundred numbers in the status, to go on after a restart."""

    generation: str
    """The name of the generation, under another key: other generations in a status are numbers."""
    batch: int
    """The number of exchanges between two marks."""
    marks: tuple[_MassMark, ...]
    since: _BatchSums = _NO_BATCH_SUMS
    """The sums of the batch that has not ended yet."""

    def fits(self, state: State, width: int) -> bool:
        """Return whether this belongs to a state: a crash may have undone exchanges since."""
        kept = [masses for mark in self.marks for masses in (mark.masses, mark.means)]
        return (
            self.generation == state.generation
            and 0 < len(self.marks) <= _MOST_BATCHES
            and self.marks[-1].exchanges <= state.exchanges
            and {width} == {*map(len, kept), len(self.since.masses) or width}
        )


_GROUPS = 8
"""Least number of groups of batches behind a gossip error; with fewer there is none."""
_QUANTILES = dict(enumerate((2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160), _GROUPS))
"""Quantiles of Student's law for an interval of 95 %, by the number of groups: with two degrees of
freedom fewer, as neighboring differences share an average. There are more than eleven groups only
where a crash has lost a part of a short history."""
_LEAST_GROWTH = 0.5
"""Least share of the weight whose growth is in the history; below it there is no error."""
_ENOUGH = 0.1
"""Largest gossip error at which a run may stop, relative to the sampling error: without it an
interval would be shorter by less than 1 %."""
_FORGETTING = 1 / 32
"""Weight of the newest change in the running mean of the spread."""


class Uncertainty:
    """Follows one peer's masses from exchange to exchange.

    The rule defines the masses; ``others`` are the numbers of rows of the other members that take
    part. ``history`` and ``met`` are those of an earlier process: its masses, and the members whose
    records had passed by. They are not used unless the history fits the state.
    """

    def __init__(
        self,
        rule: Rule,
        state: State,
        others: Mapping[str, int],
        history: MassHistory | None = None,
        met: Iterable[str] = (),
    ) -> None:
        self._rule = rule
        self._others = others
        self._exchanges = self._replaced = 0
        self._begin(state)
        if history is not None and history.fits(state, len(self._total)):
            self._history = history
            self._met_before = set(met)

    @property
    def masses(self) -> MassHistory:
        """The history to keep for a restart."""
        return self._history

    def renew(self, rule: Rule, state: State, others: Mapping[str, int]) -> None:
        """Forget the last generation, since a new one has begun."""
        self._rule, self._others = rule, others
        self._begin(state)

    def observe(self, state: State, rows: Collection[int]) -> None:
        """Follow a saved exchange that has changed these rows."""
        if state.generation != self._history.generation:
            self._begin(state)
            return
        if state.exchanges <= self._exchanges:
            return
        self._exchanges = state.exchanges
        for row in rows:
            node = state.nodes[row]
            if row == 0:  # many rows together see everybody long before records have spread
                self._met.add(node.record.origin)
            if self._gradients:
                after = node.mass[: len(self._gradients[row])]
                self._learn_spread(self._gradients[row], after)
                self._gradients[row] = after
            self._replace(row, self._read(node))
        self._note()

    def error(self) -> float | None:
        """Return the standard error of the estimate of the exact value; None if unknown yet."""
        direction, weight = self._direction(), self._total[-1]
        if direction is None:
            return None
        marks = self._history.marks
        batches = len(marks) - 1
        size = batches // _GROUPS
        groups = batches // size
        covered = marks[groups * size].masses[-1] - marks[0].masses[-1]
        if covered == 0.0:
            return None
        begin = _along(direction, marks[0].masses)
        ends = [_along(direction, mark.masses) for mark in marks[1:]]
        means = [_along(direction, mark.means) for mark in marks[1:]]
        averages = [sum(means[k * size : (k + 1) * size]) / size for k in range(groups)]
        lasting = _walk_and_start(begin, averages) * abs(weight / covered)
        fluctuation = sum(_square(a - b) for a, b in zip(ends, means, strict=True)) / batches
        error = math.sqrt(lasting + fluctuation) / abs(weight)
        return error if math.isfinite(error) else None

    def half_width(self) -> float | None:
        """Return half the width of the 95 % interval; None if there is none yet."""
        error = self.error()
        if error is None:
            return None
        batches = len(self._history.marks) - 1
        return _QUANTILES[batches // (batches // _GROUPS)] * error

    def interval(self) -> tuple[float, float] | None:
        """Return the interval for the exact value at about 95 %; None if there is none yet."""
        width = self.half_width()
        if width is None:
            return None
        estimate = self._estimate()
        return estimate - width, estimate + width

    def spread(self) -> float | None:
        """Return the relative change of accumulated gradients in an exchange, or None at first."""
        return None if self._spread is None else math.sqrt(self._spread)

    def should_stop(self, stop: Stop | None, population: float | None = None) -> bool:
        """Return whether any of the specification's goals is reached.

        ``population`` is the standard error of the value over all rows as the population's.
        """
        if stop is None:
            return False
        if stop.exchanges is not None and self._exchanges >= stop.exchanges:
            return True
        error, width = self.error(), self.half_width()
        if error is None or width is None:
            return False
        if stop.enough and population is not None and error <= _ENOUGH * population:
            return True
        return stop.error is not None and width <= stop.error * abs(self._estimate())

    def _begin(self, state: State) -> None:
        self._exchanges = state.exchanges
        rule = self._rule
        parameters = rule.dimension if isinstance(rule, DualAveraging | AdaptiveAveraging) else 0
        self._gradients = [node.mass[:parameters] for node in state.nodes] if parameters else []
        self._parts = [self._read(node) for node in state.nodes]
        self._total = _total(self._parts)
        self._met: set[str] = set()
        self._met_before = set()
        self._spread: float | None = None
        mark = _MassMark(state.exchanges, self._total, self._total)
        self._history = MassHistory(state.generation, 1, (mark,))

    def _read(self, node: Node) -> Masses:
        """Return the sums and the weight of a node; zero for one that learns a model."""
        if isinstance(self._rule, WeightedMixing):
            return node.mass[: self._rule.averaged]
        if isinstance(self._rule, PaperMixing):
            picks = node.private[-1]
            return (*(picks * entry for entry in node.mass[: self._rule.averaged]), picks)
        return (0.0,)

    def _averages(self) -> FloatArray:
        return np.array(self._total[:-1]) / self._total[-1]

    def _estimate(self) -> float:
        assert isinstance(self._rule, StatisticRule)
        return float(self._rule.kernel.combine(self._averages()))

    def _direction(self) -> Masses | None:
        """Return the derivatives of the estimate by the masses, times the weight.

        The estimate is treated as linear around the averages: for a quotient this is exact, up to
        its scale. None before the history is long enough.
        """
        weight, marks = self._total[-1], self._history.marks
        if not isinstance(self._rule, StatisticRule) or not self._is_ripe() or weight == 0.0:
            return None
        if (marks[-1].masses[-1] - marks[0].masses[-1]) / weight < _LEAST_GROWTH:
            return None
        averages = self._averages()
        with np.errstate(all="ignore"):
            slopes = self._rule.kernel.slopes(averages)
        if not np.isfinite(slopes).all():
            return None
        return (*slopes.tolist(), -float(slopes @ averages))

    def _replace(self, row: int, masses: Masses) -> None:
        self._replaced += 1
        old, self._parts[row] = self._parts[row], masses
        self._total = tuple(
            all_ + new - before for all_, new, before in zip(self._total, masses, old, strict=True)
        )

    def _note(self) -> None:
        history, now = self._history, self._total
        marks, batch, since = history.marks, history.batch, history.since
        before = since.masses or (0.0,) * len(now)
        since = _BatchSums(since.count + 1, tuple(map(add, before, now)))
        if self._exchanges >= marks[-1].exchanges + batch:
            self._end_rounding_errors()
            means = tuple(entry / since.count for entry in since.masses)
            marks, since = (*marks, _MassMark(self._exchanges, self._total, means)), _NO_BATCH_SUMS
        if len(marks) > _MOST_BATCHES:
            marks, batch = _halved(marks), 2 * batch
            self._met_before, self._met = self._met, set()
        self._history = MassHistory(history.generation, batch, marks, since)

    def _end_rounding_errors(self) -> None:
        """Add all up again, so rarely that the cost per exchange does not grow with the rows."""
        if self._replaced >= len(self._parts):
            self._total, self._replaced = _total(self._parts), 0

    def _is_ripe(self) -> bool:
        marks = self._history.marks
        fewest = fewest_exchanges([len(self._parts), *self._others.values()])
        return (
            len(marks) - 1 >= _GROUPS
            and marks[-1].exchanges - marks[0].exchanges >= fewest
            and have_met(self._others, self._met | self._met_before)
        )

    def _learn_spread(self, before: tuple[float, ...], after: tuple[float, ...]) -> None:
        size = sum(entry * entry for entry in after)
        if not 0.0 < size < math.inf:
            return
        change = sum(_square(b - a) for a, b in zip(before, after, strict=True)) / size
        spread = self._spread
        self._spread = change if spread is None else spread + _FORGETTING * (change - spread)


def _walk_and_start(begin: float, averages: list[float]) -> float:
    """Estimate the square of the residual that lasts, from its averages over groups.

    For a walk of variance 1 that returns to 0 at its end, as the estimate makes the residual, the
    squares below are ``first`` and ``between`` on average. A weight on the differences between
    averages, which do not depend on the start, accounts for the rest of the 1.
    """
    groups = len(averages)
    first = (1 / 3 - 1 / (4 * groups)) / groups
    between = (2 / 3 - 1 / groups) / groups
    weight = (1 - first) / ((groups - 1) * between)
    steps = sum(_square(b - a) for a, b in pairwise(averages))
    return _square(averages[0] - begin) + weight * steps


def _square(number: float) -> float:
    """Return a square; unlike ``**`` this raises no error on overflow, which a liar may cause."""
    return number * number


def _along(direction: Masses, masses: Masses) -> float:
    return sum(map(mul, direction, masses))


def _halved(marks: tuple[_MassMark, ...]) -> tuple[_MassMark, ...]:
    """Return marks with one batch for every two."""
    joined = [
        _MassMark(
            second.exchanges,
            second.masses,
            tuple((a + b) / 2 for a, b in zip(first.means, second.means, strict=True)),
        )
        for first, second in zip(marks[1::2], marks[2::2], strict=True)
    ]
    return (marks[0], *joined)


def _total(parts: Iterable[Masses]) -> Masses:
    return tuple(map(math.fsum, zip(*parts, strict=True)))
