"""Judges of a trial's models at a checkpoint: their objectives and their gradients.

A run spends more time here than in its exchanges, as every node's model meets every pair: this is
n^3 margins at every checkpoint, or n^2 log n for losses of AUC and ranking. So both have compiled
twins. They work on one model at a time, in the thread of the trial: sums do not depend on the
number of workers, nor on BLAS.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from threading import Lock
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import needed_for_speed
from pairgossip.kernels.blocks import NUMBERS_PER_BLOCK
from pairgossip.kernels.data import column_count
from pairgossip.losses import Loss
from pairgossip.losses.builtin import boundary, center, ranking_risks
from pairgossip.losses.learning import PairwiseLearning, is_ordering
from pairgossip.losses.margins import Phi
from pairgossip.losses.sums import DEGREE, RATES, tables

_COMPILED_SUMS = (Phi.LOGISTIC, Phi.HINGE, Phi.SQUARED_HINGE, Phi.SMOOTHED_HINGE)
"""The functions of the margin whose sums over pairs of scores are compiled."""
_SCORES_AT_ONCE = 2**22
"""The number of scores in one compiled call, which Ctrl-C cannot interrupt: tenths of a second."""
_DIRECT_LOGISTIC, _DIRECT_HINGES = 2**8, 2**10
"""The largest numbers of pairs of a span that are summed one by one."""
_ALL_DIRECT = 2**12
"""Up to this many pairs in all, all are summed one by one: other sums take 6 s to compile."""
_FEW_MARGINS = 2**16
"""Up to this many margins at a checkpoint, NumPy takes a millisecond, without compiling."""
_DEFAULT_MARGINS, _FEWEST_JUDGED = 2**24, 10
"""The number of margins at a checkpoint by default, in a tenth of a second or less, as there are
dozens of checkpoints; and the least number of models for a curve."""
_NUMBERS_KEPT = 2**23
"""The largest number of feature values of all pairs that are kept between checkpoints: 64 MB."""
_PAIRS_AT_ONCE = 2**9
"""The number of pairs in a block that meets all models: it fits the cache, and is below 1,000."""


class Judge(Protocol):
    """The part of a `PairwiseLearning` that judges models; its twins are faster."""

    def objectives(self, models: FloatArray) -> FloatArray:
        """Return F of every model, shape (r,)."""

    def own_gradients(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of every node's share at the node's model, shape (n, p)."""


def build_judge(engine: str, problem: PairwiseLearning) -> Judge:
    """Build the compiled judge of a loss if its form is known, else return its NumPy judge."""
    judge: Judge = problem.judged_by(partial(_build_judge_of_rows, engine))
    return judge


def _build_judge_of_rows(engine: str, problem: PairwiseLearning) -> Judge:
    if engine == "plain" or not problem.judges_data:
        return problem
    loss = problem.loss
    if not isinstance(loss, Loss) or loss.phi.code is None:
        return problem
    if loss.risk is not None and getattr(loss.risk, "func", None) is not ranking_risks:
        return problem  # a user's own closed form is the only source of its value
    if is_ordering(loss):
        return RankingJudge(problem) if loss.phi.code in _COMPILED_SUMS else problem
    summed = loss.risk is None and problem.n**3 > _FEW_MARGINS
    return PairsJudge(problem) if summed else problem


def default_judged(problem: PairwiseLearning, most: int) -> int:
    """Return the default number of judged models: fewer where each takes all n^2 pairs."""
    loss = problem.loss
    if isinstance(loss, Loss) and (is_ordering(loss) or loss.risk is not None):
        return most
    return min(most, max(_FEWEST_JUDGED, _DEFAULT_MARGINS // problem.n**2))


def _load_loops() -> Any:
    with needed_for_speed():
        from pairgossip.engine.descent import judge_loops
    return judge_loops


class RankingJudge:
    """Compiled sums over all pairs; the twin of `ranking_risks` and of `own_gradients`."""

    def __init__(self, problem: PairwiseLearning) -> None:
        assert isinstance(problem.loss, Loss)
        self._loops = _load_loops()
        self._phi = problem.loss.phi.code
        self._order = np.argsort(problem.data[:, -1], kind="stable")
        labels = problem.data[self._order, -1]
        direct = _DIRECT_LOGISTIC if self._phi is Phi.LOGISTIC else _DIRECT_HINGES
        is_direct = self._phi is Phi.LOGISTIC and problem.n**2 // 4 <= _ALL_DIRECT
        self._lower = np.searchsorted(labels, labels).astype(np.int64)
        self._plan = _spans(labels, _ALL_DIRECT if is_direct else direct)
        self._features = np.ascontiguousarray(center(problem.data[:, :-1])[self._order].T)
        self._tables: Any = None
        self._room: Any = None
        if not is_direct:
            forms, falling, rising = tables()
            # Padded, for loops over an even number of moments.
            self._tables = np.pad(forms, ((0, 0), (0, 0), (0, DEGREE % 2))), falling, rising
            n, moments = problem.n, DEGREE + DEGREE % 2
            # Room for the panels of two sides of up to n scores, and for counting them.
            self._room = (
                np.zeros(2 * n + 66, dtype=np.int64), np.empty((2, n)), np.empty((2, n)),
                np.zeros(n + 1, dtype=np.int64), np.zeros((2, n, moments)), np.zeros(len(RATES)),
            )  # fmt: skip
        self._scores, self._spare = np.empty(problem.n), np.empty(problem.n)
        self._bits = np.zeros(problem.n, dtype=np.int64)
        self._step = max(1, _SCORES_AT_ONCE // problem.n)

    def objectives(self, models: FloatArray) -> FloatArray:
        """Return F of every model, shape (r,); NaN where a model is not finite."""
        sums = np.empty(len(models))
        for start in range(0, len(models), self._step):
            chunk = slice(start, start + self._step)
            each = np.ascontiguousarray(models[chunk]), self._features, self._lower, self._plan
            room, out = self._room, (self._scores, sums[chunk])
            if self._phi is Phi.LOGISTIC:
                self._loops.write_logistic_sums(*each, self._tables, room, *out)
            else:
                self._loops.write_hinge_sums(*each, int(self._phi), *room[:2], *out)
        return sums / len(self._scores) ** 2

    def own_gradients(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of every node's share at the node's model, shape (n, p)."""
        ordered = theta[self._order]
        by_label = np.empty_like(ordered)
        for start in range(0, len(ordered), self._step):
            chunk = slice(start, start + self._step)
            self._loops.write_gradients(
                start, ordered[chunk], self._features, self._lower, int(self._phi), self._scores,
                self._spare, self._bits, self._bits.view(np.float64), by_label[chunk],
            )  # fmt: skip
        gradients = np.empty_like(by_label)
        gradients[self._order] = by_label
        return gradients


class _Block(NamedTuple):
    """The pairs of some nodes with all nodes, node by node, without pairs of weight 0."""

    nodes: slice
    starts: IntArray
    """The index at which the pairs of each node begin, and the end of the last."""
    features: FloatArray
    """One column per pair."""
    weights: FloatArray
    offsets: FloatArray


class PairsJudge:
    """Compiled sums of a loss with any features over all pairs; the twin of `risks`."""

    def __init__(self, problem: PairwiseLearning) -> None:
        assert isinstance(problem.loss, Loss)
        self._loops = _load_loops()
        self._problem = problem
        self._phi = int(problem.loss.phi.code)
        values, spare, polynomial = np.empty((3, _PAIRS_AT_ONCE))
        bits = np.zeros(_PAIRS_AT_ONCE, dtype=np.int64)
        self._room = values, spare, polynomial, bits, bits.view(np.float64)

    def objectives(self, models: FloatArray) -> FloatArray:
        """Return F of every model, shape (r,); NaN where a margin is not finite."""
        sums, ordered = np.zeros(len(models)), np.ascontiguousarray(models)
        for _, _, a, w, b in _all_pairs(self._problem):
            self._loops.write_pair_sums(ordered, a, w, b, self._phi, self._room, sums)
        return sums / self._problem.n**2

    def own_gradients(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of every node's share at the node's model, shape (n, p)."""
        gradients, ordered = np.zeros(theta.shape), np.ascontiguousarray(theta)
        for nodes, starts, a, w, b in _all_pairs(self._problem):
            self._loops.write_pair_gradients(
                ordered[nodes], starts, a, w, b, self._phi, self._room, gradients[nodes]
            )
        return gradients / self._problem.n


_stored: WeakKeyDictionary[PairwiseLearning, list[_Block]] = WeakKeyDictionary()
_keeping = Lock()


def _all_pairs(problem: PairwiseLearning) -> Iterable[_Block]:
    """Return all pairs of a problem: stored for all its trials, or computed again if too many."""
    if problem.n**2 * (problem.dimension + 2) > _NUMBERS_KEPT:
        return _blocks(problem)
    with _keeping:
        if problem not in _stored:
            _stored[problem] = list(_blocks(problem))
        return _stored[problem]


def _blocks(problem: PairwiseLearning) -> Iterator[_Block]:
    numbers = max(problem.dimension, column_count(problem.data))
    rows, everyone = max(1, NUMBERS_PER_BLOCK // (numbers * problem.n)), np.arange(problem.n)
    for start in range(0, problem.n, rows):
        nodes = slice(start, start + rows)
        first, second = np.meshgrid(everyone[nodes], everyone, indexing="ij")
        a, w, b = problem.pairs(first.ravel(), second.ravel())
        counted = w != 0
        starts = np.append(0, np.cumsum(counted.reshape(first.shape).sum(axis=1)))
        yield _Block(nodes, starts, np.ascontiguousarray(a[counted].T), w[counted], b[counted])


def _spans(labels: FloatArray, direct: int) -> IntArray:
    """Plan sums over pairs of rising labels: rows of start, middle and end, for all pairs across.

    Where start and middle are equal, all pairs of different labels in the span are summed one by
    one.
    """
    plan: list[tuple[int, int, int]] = []
    waiting = [(0, len(labels))]
    while waiting:
        start, end = waiting.pop()
        if labels[start] == labels[end - 1]:
            continue
        middle = boundary(labels, start, end)
        few = (end - start) ** 2 // 4 <= direct
        plan.append((start, start if few else middle, end))
        if not few:
            waiting += [(start, middle), (middle, end)]
    return np.array(plan, dtype=np.int64).reshape(-1, 3)
