"""How far a peer's estimate may be from the exact value, judged by what the peer sees alone.

A statistic is a quotient of two masses, a sum over a weight. Between two of its exchanges a peer's
masses grow by what it adds and by what reaches it from others, so their increments over a batch of
exchanges hold the samples of many peers. About eight batches that are long enough are nearly
independent: the squares of their residuals, ``dS - estimate * dW``, add up to the variance of the
whole (batch means for a quotient). Disagreement between peers enters each batch at both ends, so
the interval is rather too wide while it dominates. The mean square of the change at one exchange is
added: it is what the peer sees of its neighbors' spread, and it stays where batches are all equal.

Batches shorter than the time in which records spread would look alike and make the interval too
narrow. So there is none before the records of most members have passed by, which takes about that
time on any graph; nor later, if they no longer do.

Memory is bounded: at 32 batches every two neighboring ones become one. After a restart it goes on
from its `Course`, if that was kept; without it there is no interval until half of the weight has
been gathered anew. What it cannot see: members whose rows never reach the network, and liars.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from itertools import pairwise

from pairgossip.peer.course import MOST_BATCHES, Course, Mark
from pairgossip.peer.rules import PaperMixing, Rule, WeightedMixing
from pairgossip.peer.spec import Stop
from pairgossip.peer.state import Node, State

GROUPS = 8
QUANTILES = {8: 2.365, 9: 2.306, 10: 2.262, 11: 2.228}
"""Of Student's law for an interval of 95 %, by the number of groups."""
EXCHANGES_PER_ROW = 16
"""Of the member with the most rows: they mix by one local exchange at each with a neighbor."""
MET = 0.9
"""The part of the members whose records must have passed by."""
OBSERVED = 0.5
"""The part of the weight whose growth must have been seen."""
FORGETTING = 1 / 32

Pair = tuple[float, float]


class Uncertainty:
    """Follows one peer's masses from exchange to exchange.

    Parameters
    ----------
    rule
        The local update, which says what the masses mean.
    state
        The peer's state now.
    others
        How many rows each other member has that takes part.
    course
        What an earlier process has kept; left out if it does not fit the state.
    met
        Members whose records have passed by before.
    """

    def __init__(
        self,
        rule: Rule,
        state: State,
        others: Collection[int],
        course: Course | None = None,
        met: Iterable[str] = (),
    ) -> None:
        self._rule = rule
        self._others = others
        self._exchanges = 0
        self._masses: list[tuple[float, ...]] = []
        self._pairs: list[Pair] = []
        self._total: Pair = (0.0, 0.0)
        self._replaced = 0
        self._met: set[str] = set()
        self._met_before: set[str] = set()
        self._spread: float | None = None
        self._begin(state)
        if course is not None and course.fits(state):
            self._course = course
            self._met_before = set(met)

    @property
    def course(self) -> Course:
        """What to keep for `Uncertainty` to go on after a restart."""
        return self._course

    def renew(self, rule: Rule, state: State, others: Collection[int]) -> None:
        """A new generation has begun: forget the last one."""
        self._rule, self._others = rule, others
        self._begin(state)

    def observe(self, state: State, rows: Collection[int]) -> None:
        """An exchange has been written down that has changed these rows."""
        if state.generation != self._course.generation:
            self._begin(state)
            return
        if state.exchanges <= self._exchanges:
            return
        before, self._exchanges = self._total, state.exchanges
        for row in rows:
            node = state.nodes[row]
            if row == 0:  # many rows together see everybody long before records have spread
                self._met.add(node.record.origin)
            self._learn_spread(self._masses[row], node.mass)
            self._masses[row] = node.mass
            self._replace(row, self._quotient(node))
        self._note(self._total[0] - before[0], self._total[1] - before[1])

    def half_width(self) -> float | None:
        """Half of the width of the interval of 95 %, None where nothing can be said yet."""
        top, bottom = self._total
        marks = self._course.marks
        batches = len(marks) - 1
        seen = marks[-1].bottom - marks[0].bottom
        if not self._is_ripe() or bottom == 0.0 or seen / bottom < OBSERVED:
            return None
        chosen = marks[:: batches // GROUPS]
        groups = len(chosen) - 1
        estimate = top / bottom
        residuals = [b.top - a.top - estimate * (b.bottom - a.bottom) for a, b in pairwise(chosen)]
        covered = chosen[-1].bottom - chosen[0].bottom
        if covered == 0.0:
            return None
        whole = abs(bottom / covered)
        batch_means = groups / (groups - 1) * sum(one * one for one in residuals) * whole
        deviation = math.sqrt(batch_means + self._mean_square(estimate)) / abs(bottom)
        width = QUANTILES[groups] * deviation
        return width if math.isfinite(width) else None

    def interval(self) -> Pair | None:
        """Where the exact value lies with a confidence of about 95 %."""
        width = self.half_width()
        if width is None:
            return None
        estimate = self._total[0] / self._total[1]
        return estimate - width, estimate + width

    def spread(self) -> float | None:
        """How much an exchange changes a node's mass, in parts of it: what models have for it."""
        return None if self._spread is None else math.sqrt(self._spread)

    def should_stop(self, stop: Stop | None) -> bool:
        """Whether the peer has what was asked for: the error or the exchanges."""
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
        self._masses = [node.mass for node in state.nodes]
        self._pairs = [self._quotient(node) for node in state.nodes]
        self._total = _total(self._pairs)
        self._met, self._met_before = set(), set()
        self._spread = None
        self._course = Course(state.generation, 1, (Mark(state.exchanges, *self._total),))

    def _quotient(self, node: Node) -> Pair:
        """The two masses whose quotient is the statistic."""
        if isinstance(self._rule, WeightedMixing):
            return node.mass[0], node.mass[1]  # numerator and denominator, or sum and weight
        if isinstance(self._rule, PaperMixing):
            picks = node.private[0]
            bottom = node.mass[1] if len(node.mass) > 1 else 1.0
            return picks * node.mass[0], picks * bottom
        return 0.0, 0.0  # a model is no quotient

    def _replace(self, row: int, pair: Pair) -> None:
        self._replaced += 1
        old, self._pairs[row] = self._pairs[row], pair
        self._total = (self._total[0] + pair[0] - old[0], self._total[1] + pair[1] - old[1])

    def _note(self, top: float, bottom: float) -> None:
        course = self._course
        squares = tuple(
            total + new
            for total, new in zip(
                course.squares, (top * top, top * bottom, bottom * bottom), strict=True
            )
        )
        marks, batch = course.marks, course.batch
        if self._exchanges >= marks[-1].exchanges + batch:
            self._end_rounding_errors()
            marks = (*marks, Mark(self._exchanges, *self._total))
        if len(marks) > MOST_BATCHES:
            marks, batch = marks[::2], 2 * batch
            self._met_before, self._met = self._met, set()
        self._course = Course(
            course.generation,
            batch,
            marks,
            (squares[0], squares[1], squares[2]),
            course.changes + 1,
        )

    def _end_rounding_errors(self) -> None:
        """Add all up anew, so rarely that its cost per exchange does not grow with the rows."""
        if self._replaced >= len(self._pairs):
            self._total, self._replaced = _total(self._pairs), 0

    def _is_ripe(self) -> bool:
        marks = self._course.marks
        fewest = EXCHANGES_PER_ROW * max(2, len(self._pairs), *self._others)
        met = len(self._met | self._met_before)
        return (
            len(marks) - 1 >= GROUPS
            and marks[-1].exchanges - marks[0].exchanges >= fewest
            and met >= MET * (len(self._others) + 1)
        )

    def _mean_square(self, estimate: float) -> float:
        """Of the residual's change at one exchange."""
        tops, products, bottoms = self._course.squares
        total = tops - 2.0 * estimate * products + estimate * estimate * bottoms
        return max(total, 0.0) / max(self._course.changes, 1)

    def _learn_spread(self, before: tuple[float, ...], after: tuple[float, ...]) -> None:
        size = sum(entry * entry for entry in after)
        if not 0.0 < size < math.inf:
            return
        change = sum((b - a) ** 2 for a, b in zip(before, after, strict=True)) / size
        known = self._spread
        self._spread = change if known is None else known + FORGETTING * (change - known)


def _total(pairs: Iterable[Pair]) -> Pair:
    pairs = list(pairs)
    return math.fsum(top for top, _ in pairs), math.fsum(bottom for _, bottom in pairs)
