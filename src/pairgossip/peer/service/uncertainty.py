"""How far a peer's estimate may be from the exact value, judged by what the peer sees alone.

A statistic is a quotient of two masses, a sum over a weight. What is wrong with it is the residual
``S - exact * W`` of the peer's own masses, over their weight. Three things make up the residual:

- a walk: the samples of the whole network, of which a peer gets its share by and by;
- a start: what the peer has gathered of its own and its neighbors' rows before records had spread.
  It stays in the masses forever, and its part in them falls as one over the exchanges;
- a fluctuation: how far this peer is from the others at the moment.

The history of ``S - estimate * W`` shows all three. It is cut into about eight groups, and each is
averaged over its exchanges. The fluctuation nearly vanishes in these averages, so the squares of
the differences between neighboring ones give the variance of the walk; the difference of the first
average from the beginning is the start. The fluctuation is added once: the mean square of how far
the ends of short batches are from their averages. (To compare the ends of groups, as batch means
do, would count it some sixteen times: far too much for a peer with few rows beside one with many.)

Groups shorter than the time in which records spread would look alike and make the interval too
narrow. So there is none before records of members with most of the rows have passed by, which takes
about that time on any graph; nor later, if they no longer do.

Memory is bounded: at 32 batches every two neighboring ones become one. After a restart it goes on
from its `MassHistory`, if that was kept; without it there is no interval until half of the weight
has been gathered again. What it cannot see: members whose rows never reach the network, and liars.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise

import msgspec

from pairgossip.peer.protocol.rules import PaperMixing, Rule, WeightedMixing
from pairgossip.peer.protocol.state import Node, State
from pairgossip.peer.spec.spec import Stop

_MOST_BATCHES = 32


class _Mark(msgspec.Struct, frozen=True, array_like=True):
    """The masses of the quotient after some exchanges, and their means since the last mark."""

    exchanges: int
    top: float
    bottom: float
    mean_top: float
    mean_bottom: float


class _Sums(msgspec.Struct, frozen=True, array_like=True):
    """The masses after each exchange since the last mark, added up."""

    count: int = 0
    top: float = 0.0
    bottom: float = 0.0


_NO_SUMS = _Sums()


class MassHistory(msgspec.Struct, frozen=True, rename={"generation": "generation_number"}):
    """How the masses have grown: a few hundred numbers in the status, to go on after a restart."""

    generation: int
    """The full number, under another name: elsewhere in a status, generations count from 1."""
    batch: int
    """Exchanges between two marks."""
    marks: tuple[_Mark, ...]
    since: _Sums = _NO_SUMS
    """Of the batch that has not ended yet."""

    def fits(self, state: State) -> bool:
        """Return whether this belongs to a state: a crash may have undone exchanges since."""
        return (
            self.generation == state.generation
            and 0 < len(self.marks) <= _MOST_BATCHES
            and self.marks[-1].exchanges <= state.exchanges
        )


_GROUPS = 8
_QUANTILES = dict(enumerate((2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160), _GROUPS))
"""Of Student's law for an interval of 95 %, by the number of groups: with two degrees of freedom
fewer, as neighboring differences share an average. There are more than eleven groups only where a
crash has lost a part of a short history."""
_EXCHANGES_PER_ROW = 16
"""Of the member with the most rows: they mix by one local exchange at each with a neighbor."""
_MET = 0.9
"""The part of the others' rows whose owners' records must have passed by."""
_OBSERVED = 0.5
"""The part of the weight whose growth must have been seen."""
_FORGETTING = 1 / 32

_Pair = tuple[float, float]


class Uncertainty:
    """Follows one peer's masses from exchange to exchange.

    The rule says what the masses mean, and ``others`` how many rows each other member has that
    takes part. An earlier process may have kept a history, which is not used if it does not fit the
    state, and which members' records had passed by.
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
        if history is not None and history.fits(state):
            self._history = history
            self._met_before = set(met)

    @property
    def masses(self) -> MassHistory:
        """What to keep to go on after a restart."""
        return self._history

    def renew(self, rule: Rule, state: State, others: Mapping[str, int]) -> None:
        """Forget the last generation, since a new one has begun."""
        self._rule, self._others = rule, others
        self._begin(state)

    def observe(self, state: State, rows: Collection[int]) -> None:
        """Take note of a saved exchange that has changed these rows."""
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
            self._learn_spread(self._masses[row], node.mass)
            self._masses[row] = node.mass
            self._replace(row, self._quotient(node))
        self._note()

    def half_width(self) -> float | None:
        """Return half the width of the 95 % interval; None if there is none yet."""
        top, bottom = self._total
        marks = self._history.marks
        batches = len(marks) - 1
        seen = marks[-1].bottom - marks[0].bottom
        if not self._is_ripe() or bottom == 0.0 or seen / bottom < _OBSERVED:
            return None
        size = batches // _GROUPS
        groups = batches // size
        covered = marks[groups * size].bottom - marks[0].bottom
        if covered == 0.0:
            return None
        estimate = top / bottom
        begin = marks[0].top - estimate * marks[0].bottom
        ends = [mark.top - estimate * mark.bottom for mark in marks[1:]]
        means = [mark.mean_top - estimate * mark.mean_bottom for mark in marks[1:]]
        averages = [sum(means[k * size : (k + 1) * size]) / size for k in range(groups)]
        lasting = _walk_and_start(begin, averages) * abs(bottom / covered)
        fluctuation = sum((a - b) ** 2 for a, b in zip(ends, means, strict=True)) / batches
        width = _QUANTILES[groups] * math.sqrt(lasting + fluctuation) / abs(bottom)
        return width if math.isfinite(width) else None

    def interval(self) -> _Pair | None:
        """Return where the exact value lies with a confidence of about 95 %."""
        width = self.half_width()
        if width is None:
            return None
        estimate = self._total[0] / self._total[1]
        return estimate - width, estimate + width

    def spread(self) -> float | None:
        """Return how much an exchange changes a node's mass, relative to it, for models."""
        return None if self._spread is None else math.sqrt(self._spread)

    def should_stop(self, stop: Stop | None) -> bool:
        """Return whether the error or the exchanges that were asked for are reached."""
        if stop is None:
            return False
        if stop.exchanges is not None and self._exchanges >= stop.exchanges:
            return True
        width = self.half_width()
        if stop.error is None or width is None:
            return False
        return width <= stop.error * abs(self._total[0] / self._total[1])

    def _begin(self, state: State) -> None:
        self._exchanges = state.exchanges
        self._masses: list[tuple[float, ...]] = [node.mass for node in state.nodes]
        self._pairs = [self._quotient(node) for node in state.nodes]
        self._total = _total(self._pairs)
        self._met: set[str] = set()
        self._met_before = set()
        self._spread: float | None = None
        mark = _Mark(state.exchanges, *self._total, *self._total)
        self._history = MassHistory(state.generation, 1, (mark,))

    def _quotient(self, node: Node) -> _Pair:
        """The two masses whose quotient is the statistic."""
        if isinstance(self._rule, WeightedMixing):
            return node.mass[0], node.mass[1]  # numerator and denominator, or sum and weight
        if isinstance(self._rule, PaperMixing):
            picks = node.private[-1]
            bottom = node.mass[1] if self._rule.averaged > 1 else 1.0
            return picks * node.mass[0], picks * bottom
        return 0.0, 0.0  # a model is no quotient

    def _replace(self, row: int, pair: _Pair) -> None:
        self._replaced += 1
        old, self._pairs[row] = self._pairs[row], pair
        self._total = (self._total[0] + pair[0] - old[0], self._total[1] + pair[1] - old[1])

    def _note(self) -> None:
        history, (top, bottom) = self._history, self._total
        marks, batch, since = history.marks, history.batch, history.since
        since = _Sums(since.count + 1, since.top + top, since.bottom + bottom)
        if self._exchanges >= marks[-1].exchanges + batch:
            self._end_rounding_errors()
            means = since.top / since.count, since.bottom / since.count
            marks, since = (*marks, _Mark(self._exchanges, *self._total, *means)), _NO_SUMS
        if len(marks) > _MOST_BATCHES:
            marks, batch = _halved(marks), 2 * batch
            self._met_before, self._met = self._met, set()
        self._history = MassHistory(history.generation, batch, marks, since)

    def _end_rounding_errors(self) -> None:
        """Add all up anew, so rarely that its cost per exchange does not grow with the rows."""
        if self._replaced >= len(self._pairs):
            self._total, self._replaced = _total(self._pairs), 0

    def _is_ripe(self) -> bool:
        marks = self._history.marks
        fewest = _EXCHANGES_PER_ROW * max(2, len(self._pairs), *self._others.values())
        met = sum(self._others.get(who, 0) for who in self._met | self._met_before)
        return (
            len(marks) - 1 >= _GROUPS
            and marks[-1].exchanges - marks[0].exchanges >= fewest
            and met >= _MET * sum(self._others.values())
        )

    def _learn_spread(self, before: tuple[float, ...], after: tuple[float, ...]) -> None:
        size = sum(entry * entry for entry in after)
        if not 0.0 < size < math.inf:
            return
        change = sum((b - a) ** 2 for a, b in zip(before, after, strict=True)) / size
        known = self._spread
        self._spread = change if known is None else known + _FORGETTING * (change - known)


def _walk_and_start(begin: float, averages: list[float]) -> float:
    """Estimate the square of the residual that lasts, from its averages over groups.

    Of a walk of variance 1 that is led back to 0 at its end, as the estimate leads the residual,
    the squares below are worth ``first`` and ``between`` on average; what is left of the 1 is made
    up for by weighting the differences between averages, which know nothing of the start.
    """
    groups = len(averages)
    first = (1 / 3 - 1 / (4 * groups)) / groups
    between = (2 / 3 - 1 / groups) / groups
    weight = (1 - first) / ((groups - 1) * between)
    steps = sum((b - a) ** 2 for a, b in pairwise(averages))
    return (averages[0] - begin) ** 2 + weight * steps


def _halved(marks: tuple[_Mark, ...]) -> tuple[_Mark, ...]:
    """Make one batch of every two."""
    joined = [
        _Mark(
            second.exchanges,
            second.top,
            second.bottom,
            (first.mean_top + second.mean_top) / 2,
            (first.mean_bottom + second.mean_bottom) / 2,
        )
        for first, second in zip(marks[1::2], marks[2::2], strict=True)
    ]
    return (marks[0], *joined)


def _total(pairs: Iterable[_Pair]) -> _Pair:
    pairs = list(pairs)
    return math.fsum(top for top, _ in pairs), math.fsum(bottom for _, bottom in pairs)
