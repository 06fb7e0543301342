"""Learning on sums: class moments, then the gradient at one model after the other, by L-BFGS.

The solver asks for averages only, and every average is a sum over all members' rows here. It never
learns a largest value, which would be somebody's row: features lie in the declared ranges, scaled
to -1 to 1. Scores are bounded by the sum of the model's absolute entries, and by the sums of their
powers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.losses import Loss, as_loss
from pairgossip.losses.margins import Margin
from pairgossip.peer.protocol.program import Ask, Disagreement, Words
from pairgossip.peer.sums.labels import check_labels, count_grades, label_values
from pairgossip.peer.sums.plausibility import check_moments, check_scores
from pairgossip.peer.sums.programs import Generation, SumsProgram, choose_bits, decode, encode
from pairgossip.peer.sums.results import rounded_or_none
from pairgossip.solvers.bins import LARGEST_BINS
from pairgossip.solvers.scores import SPARING_ORDER, Agreement
from pairgossip.solvers.solver import (
    Agreeing,
    At,
    Averaging,
    GradedRows,
    Round,
    Solver,
    choose_moments,
)
from pairgossip.text import join_names

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec

_STEP = 2.0**-40
"""Step of the entries of models in questions, in units of half the features' ranges."""
_TOLERANCE = 1e-8
"""Promised gain of a step, relative to the zero model's objective, below which the solver ends."""
_SLACK = 1e-9
"""Relative rounding error of the objective that the line search tolerates."""
_LARGEST_CURVATURE = 2.0
"""Bound on the second derivative of the losses; the hinge is smoothed."""
_SLOPE_TOLERANCE = 0.1
"""Largest relative error of slopes; beyond it the model counts as not finished."""
_MODEL_TOLERANCE = 1e-5
"""Largest relative difference of the models that members compute from the same sums: where a
feature is the sum of others, rounding moves them along it; beyond it members disagree."""
_EVEN_POWERS = np.array([
    [1 / 2, 0, 1 / 2, 0, 0, 0, 0],
    [3 / 8, 0, 1 / 2, 0, 1 / 8, 0, 0],
    [10 / 32, 0, 15 / 32, 0, 6 / 32, 0, 1 / 32],
])  # fmt: skip
"""The second, fourth and sixth power by Chebyshev's polynomials."""
_POWER_ERROR = 4.0
"""Rounding error of a row's powers, in units of the last digit."""
_MARGIN = 2.0
"""Factor by which the values of a sketch may exceed the bounds of its functions."""
_NOT_FINITE = "they lead to a model that is not finite"


class _Question(NamedTuple):
    """The parameters of a sum."""

    name: str
    model: tuple[float, ...] = ()
    low: float = 0.0
    high: float = 0.0
    order: int = 0


class LearningProgram(SumsProgram):
    """A linear model of a loss of differences of scores.

    Parameters
    ----------
    spec
        The specification.
    rows
        This member's rows, in the order of the specification's columns, the label last.
    generation
        All members, and their numbers of rows.
    """

    def __init__(self, spec: Spec, rows: FloatArray, generation: Generation) -> None:
        question = (
            f"the linear score of {join_names(spec.columns)} that orders rows by {spec.label}, by "
            f"the loss {spec.loss}, over the rows of all members"
        )
        super().__init__(spec, generation, question)
        self._bits = choose_bits(generation.rows)
        check_labels(spec, rows[:, -1])
        assert spec.learning is not None
        self._phi, self._grades, self._count = margin_of(spec), count_grades(spec), len(rows)
        features = rows[:, :-1].copy()  # the solver scales them in place
        grades = np.searchsorted(label_values(spec), rows[:, -1])
        own = GradedRows(features, grades, np.ones(len(rows)), None, 1)
        proximal = spec.learning.proximal
        self._asking = Solver(
            own, self._grades, self._phi, proximal, _TOLERANCE, _SLACK, _STEP, is_sparing=True
        ).run()
        self._name, self._at = "moments", At(np.zeros((1, 0)), Agreement(0.0, 0.0, 0))
        self._counts: IntArray = np.zeros(0, dtype=np.int64)
        """The number of rows of each grade, once the moments are known."""
        self._round: Round | None = None
        self._averaging: Averaging | None = None
        self._advance(None)

    @property
    def most_sums(self) -> int:
        """The largest number of sums that become known."""
        assert self._spec.algorithm.rounds is not None
        return self._spec.algorithm.rounds

    def _question(self) -> tuple[bytes, int]:
        assert self._averaging is not None
        (low, high, order), model = self._at.agreed, self._at.models.ravel().tolist()
        request = _Question(self._name, tuple(model), float(low), float(high), order)
        return msgspec.msgpack.encode(request), self._averaging.sums.shape[1]

    def contribute(self, ask: Ask) -> Words:
        """Return this member's contribution."""
        assert self._averaging is not None
        return encode(self._averaging.sums, self._bounds(), self._bits, self._count)

    def _follow(self, public: bytes) -> None:
        try:
            mine, theirs = (
                msgspec.msgpack.decode(one, type=_Question) for one in (self._question()[0], public)
            )
        except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError):
            raise Disagreement("a question that cannot be read") from None
        numbers = [np.array([one.low, one.high, *one.model]) for one in (mine, theirs)]
        is_same = (mine.name, mine.order) == (theirs.name, theirs.order)
        # The model of a gradient is that of the scores before it, which all have agreed on.
        if not is_same or mine.name != "scores" or len(numbers[0]) != len(numbers[1]):
            raise Disagreement(f"{theirs.name[:20]!r} is asked for there, and {mine.name!r} here")
        apart = np.abs(numbers[0] - numbers[1]).max()
        if not (apart <= _MODEL_TOLERANCE * np.abs(numbers[0]).max() and theirs.low <= theirs.high):
            raise Disagreement("another model is asked about there than here")
        self._advance(
            At(np.array([theirs.model]), Agreement(theirs.low, theirs.high, theirs.order))
        )
        if self._rounds >= self.most_sums:
            self._conclude(is_finished=False)

    def _take(self, total: Words) -> None:
        self._check(total)
        sums = decode(total, self._bounds(), self._bits)[None, :]
        if self._name == "moments" and (self._counts > 0).sum() < 2:  # no rows of two grades
            self.result = self._state(finished=False)
            return
        reach = self._farthest(sums) if self._name == "scores" else math.inf
        self._advance((sums, np.full((1, 2), reach)))
        if self._averaging is not None and not np.isfinite(self._averaging.sums).all():
            raise Disagreement(_NOT_FINITE)
        # An evaluation takes two sums.
        left = self.most_sums - self._rounds
        if self.result is None and left < (2 if self._name == "scores" else 1):
            self._conclude(is_finished=False)

    def _check(self, total: Words) -> None:
        """Refuse a sum that no rows have."""
        if self._name == "moments":
            layout = choose_moments(self._grades, len(self._spec.columns), 1)
            self._counts = check_moments(total, layout, self._bits, self._generation.rows)
        elif self._name == "scores":
            check_scores(total, self._counts, self._bits, is_smooth=self._phi.is_smooth)
        elif (np.abs(total.view(np.int64) / 2.0**self._bits) > self._generation.rows).any():
            raise Disagreement("a gradient that is steeper than the loss is anywhere")

    def _farthest(self, sums: FloatArray) -> float:
        """Bound the absolute values of scores: no row's power exceeds the sum over all rows.

        With many features, ranges are far less tight: few rows are extreme in all of them.
        """
        high, size = self._at.agreed.high, self._at.agreed.order
        if not self._phi.is_smooth or size < _EVEN_POWERS.shape[1]:
            return high  # they are counted in cells
        totals = sums.reshape(self._grades, size).sum(axis=0)
        powers = _EVEN_POWERS @ totals[: _EVEN_POWERS.shape[1]]
        most = np.maximum(powers + totals[0] * _POWER_ERROR * 2.0**-self._bits, 0.0)
        ends = most ** (0.5 / np.arange(1, len(most) + 1))
        return high * min(1.0, float(ends.min()))

    def _bounds(self) -> FloatArray:
        """Bound the absolute value of a row's part in each sum."""
        assert self._averaging is not None
        size, d = self._averaging.sums.shape[1], len(self._spec.columns)
        if self._name != "gradient":
            return np.ones(size)
        apart = 2.0 * self._at.agreed.high
        margins = np.array([-apart, apart])
        value = float(np.abs(self._phi.value(margins)).max())
        slope = float(np.abs(self._phi.derivative(margins)).max())
        bounds = np.full(size, _MARGIN * _LARGEST_CURVATURE)
        bounds[:d], bounds[d : d + 3] = slope, (value, slope, 2.0 * slope + 1.0)
        bounds[: d + 3] *= _MARGIN
        return bounds

    def _advance(self, answer: Any) -> None:
        """Run the solver until it needs a sum, or is done."""
        request: Averaging | Agreeing | Round
        try:
            while not isinstance(request := self._asking.send(answer), Averaging) or (
                request.sums.shape[1] == 0
            ):
                answer = self._answer(request)
        except StopIteration:
            self._conclude(is_finished=True)
            return
        self._averaging = request
        if request.at is not None:
            self._name, self._at = "scores", request.at
        elif self._name == "scores":
            self._name = "gradient"

    def _answer(self, request: Averaging | Agreeing | Round) -> Any:
        """Answer a question of the solver that needs no sum."""
        if isinstance(request, Agreeing):
            return request.proposals[0]
        if isinstance(request, Round):
            self._round = request
            return None
        ends = request.largest.shape[1]
        if ends == 2 * len(self._spec.columns):
            low, high = np.array([self._spec.ranges[name] for name in self._spec.columns]).T
            return None, np.concatenate([-low, high])[None, :]
        return None, np.full((1, ends), math.inf)

    def _conclude(self, *, is_finished: bool) -> None:
        assert self._round is not None
        model, objective = self._round.models[0], float(self._round.objective[0])
        if not np.isfinite(model).all():
            raise Disagreement(_NOT_FINITE)
        if self._round.gradient_error > _SLOPE_TOLERANCE or not math.isfinite(objective):
            objective, is_finished = math.nan, False
        self.result = self._state(
            model=tuple(float(f"{one:.12g}") for one in model.tolist()),
            objective=rounded_or_none(objective),
            finished=is_finished,
        )


def most_words(spec: Spec) -> int:
    """Return the largest number of words of a member's contribution."""
    grades, d = count_grades(spec), len(spec.columns)
    moments = choose_moments(grades, d, 1).size
    return max(moments, d + 3, grades * largest_sketch(margin_of(spec)))


def count_told(spec: Spec) -> int:
    """Return the largest number of totals of a class that become known, over all sums."""
    phi, grades, d = margin_of(spec), count_grades(spec), len(spec.columns)
    assert spec.algorithm.rounds is not None
    moments = choose_moments(grades, d, 1)
    own = moments.size // grades
    if phi.is_quadratic and moments.full:
        return own  # which determine the minimum
    sums, sketch = spec.algorithm.rounds - 1, largest_sketch(phi)
    # Scores may be summed twice at each model, if members' machines round differently.
    return own + max(sums // 2 * (sketch + d + 3), sums // 3 * (2 * sketch + d + 3))


def margin_of(spec: Spec) -> Margin:
    """Return a specification's loss as a function of margins."""
    loss = as_loss(spec.loss)
    assert isinstance(loss, Loss)
    return loss.phi


def largest_sketch(phi: Margin) -> int:
    """Return the largest number of sums that describe the scores of a grade."""
    return SPARING_ORDER if phi.is_smooth else LARGEST_BINS
