"""Randomized response: exact epsilon, exact sampling, cells, and one sentence per mistake."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pairgossip as pg
from pairgossip.privacy import RandomizedResponse
from pairgossip.privacy import response as draws
from pairgossip.privacy.response import Response, odds_below
from tests.privacy.enumeration import exact_channel

EPSILONS = (1e-9, 1e-3, 0.1, 0.5, math.log(2), math.log(3), 1.0, 2.0, math.pi, 7.5, 20.0, 40.0)


def exponential(exponent: Fraction) -> Fraction:
    """Return e to the power of a fraction to 120 digits, by the Taylor series."""
    with localcontext() as context:
        context.prec = 150
        x = Decimal(exponent.numerator) / Decimal(exponent.denominator)
        term = total = Decimal(1)
        step = 0
        while abs(term) > Decimal(10) ** -130:
            step += 1
            term *= x / step
            total += term
        return Fraction(total)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("columns", [1, 2, 3, 7])
def test_odds_are_the_largest_fraction_below_the_exponential(epsilon: float, columns: int) -> None:
    share = Fraction(epsilon) / columns
    odds = odds_below(share)
    assert 2**40 % odds.denominator == 0
    assert odds <= exponential(share) < odds + Fraction(1, 2**40)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.log(3), 5.0])
@pytest.mark.parametrize(
    "options",
    [
        {"bins": 2, "range": (0, 1)},
        {"bins": 7, "range": (-1, 1), "rounding": "stochastic"},
        {"bins": (2, 3), "range": (0, 1)},
        {"bins": (2, 3), "range": (0, 1), "together": True},
        {"bins": 2, "range": ((0, 1),) * 3},
        {"bins": 3, "range": (0, 1), "classes": (0, 1)},
        {"bins": 3, "range": (0, 1), "classes": (0, 1), "together": False},
        {"classes": ("a", "b", "c")},
    ],
)
def test_the_largest_likelihood_ratio_is_the_odds_exactly(
    epsilon: float, options: dict[str, Any]
) -> None:
    mechanism = RandomizedResponse(epsilon, **options)
    channel = exact_channel(mechanism)
    assert all(sum(row) == 1 for row in channel)
    ratios = [max(column) / min(column) for column in zip(*channel, strict=True)]
    assert set(ratios) == {mechanism.odds}
    shares = len(mechanism.responses)
    single = odds_below(Fraction(epsilon) / shares)
    assert mechanism.odds == single**shares
    limit = exponential(Fraction(epsilon))
    assert mechanism.odds <= limit
    # No privacy is wasted: together the fractions miss e^epsilon only by their resolution.
    assert mechanism.odds > limit * (1 - Fraction(shares, 2**40))
    if shares == 1:
        assert mechanism.odds == odds_below(Fraction(epsilon)) > limit - Fraction(1, 2**40)


def test_every_number_below_a_limit_is_drawn_from_its_own_bytes() -> None:
    """Each of the 2^bits patterns occurs once; the kept ones are the numbers below the limit."""
    for limit in (1, 2, 3, 5, 16, 17, 200, 256):
        patterns = np.zeros((256, 2), dtype="<u8")
        patterns[:, 1] = np.arange(256)
        fallback = np.zeros((256, 2), dtype="<u8")  # what is drawn after the last pattern
        stream = patterns.tobytes() + fallback.tobytes()
        drawn, asked = bytearray(stream), 0

        def draw(size: int, drawn: bytearray = drawn) -> bytes:
            taken = bytes(drawn[:size])
            del drawn[:size]
            return taken

        bits = (limit - 1).bit_length()
        kept = limit * 2 ** (8 - bits)
        high, low = draws.uniform_below(limit, 256, draw)
        asked = 256 - kept
        counts = Counter(low.tolist())
        counts[0] -= asked  # the second batch
        assert set(high.tolist()) == {0}
        assert counts == Counter(dict.fromkeys(range(limit), 2 ** (8 - bits)))


def test_numbers_of_more_than_one_word_are_rejected_at_the_limit() -> None:
    limit = 5 * 2**64 + 7
    tries = [(5, 7), (5, 6), (6, 0), (7, 2**64 - 1), (13, 6), (4, 2**64 - 1), (0, 0), (5, 8)]
    stream = bytearray(np.array(tries, dtype="<u8").tobytes() * 4)

    def draw(size: int) -> bytes:
        taken = bytes(stream[:size])
        del stream[:size]
        return taken

    high, low = draws.uniform_below(limit, 4, draw)
    # Only the last three of the four bits of 13 count: they are 5.
    expected = [(5, 6), (5, 6), (4, 2**64 - 1), (0, 0)]
    assert list(zip(high.tolist(), low.tolist(), strict=True)) == expected


def test_the_number_drawn_decides_the_report() -> None:
    response = Response(4, Fraction(5, 2))  # numbers 0..5 are the three others', 6..10 the truth
    words = np.zeros((11, 2), dtype="<u8")
    words[:, 1] = np.arange(11)
    for true in range(4):
        others = [cell for cell in range(4) if cell != true]
        reports = response.report(np.full(11, true), lambda size: words.tobytes()[:size])
        assert reports.tolist() == [cell for cell in others for _ in range(2)] + [true] * 5


def test_large_odds_use_both_words() -> None:
    mechanism = RandomizedResponse(40.0, 3, (0, 1))
    total = mechanism.odds + 2
    assert (total * 2**40).numerator > 2**64
    cells = np.array([0, 1, 2])
    response = mechanism.responses[0]

    def lowest(size: int) -> bytes:
        return bytes(size)

    assert response.report(cells, lowest).tolist() == [1, 0, 0]
    one_high = np.array([[1, 0]] * 3, dtype="<u8").tobytes()
    assert response.report(cells, lambda size: one_high).tolist() == [0, 1, 2]


@pytest.mark.parametrize("source", [None, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"bins": 5, "range": (0, 1)},
        {"bins": (2, 3), "range": (0, 1)},
        {"bins": (2, 3), "range": (0, 1), "together": True},
        {"bins": 3, "range": (0, 1), "classes": (-1, 4)},
    ],
)
def test_reports_follow_the_probabilities(source: int | None, options: dict[str, Any]) -> None:
    mechanism = RandomizedResponse(1.2, **options)
    generator = None if source is None else np.random.default_rng(source)
    channel, draws_each = exact_channel(mechanism), 40_000
    cell = 1
    value = np.atleast_1d(mechanism.representatives[cell])
    reports = mechanism.randomize(np.tile(value, (draws_each, 1)), generator)
    observed = np.bincount(mechanism.flat(reports), minlength=mechanism.cells)
    expected = np.array([float(chance) for chance in channel[cell]]) * draws_each
    # A correct mechanism fails with probability 10^-6, as the secure source has no seed.
    assert stats.chisquare(observed, expected).pvalue > 1e-6


def test_stochastic_rounding_has_the_value_as_its_mean() -> None:
    mechanism = RandomizedResponse(1.0, 5, (0, 2), rounding="stochastic")
    values = np.repeat([0.0, 0.1, 0.8, 1.5, 1.999, 2.0], 50_000)
    cells = mechanism.encode(values, np.random.default_rng(0))[:, 0]
    rounded = mechanism.representatives[cells].reshape(6, -1)
    assert np.abs(rounded - values.reshape(6, -1)).max() <= 0.5
    spread = np.sqrt(
        (values.reshape(6, -1)[:, 0] % 0.5) * (0.5 - values.reshape(6, -1)[:, 0] % 0.5)
    )
    error = np.abs(rounded.mean(axis=1) - values.reshape(6, -1)[:, 0])
    assert (error <= 4 * spread / np.sqrt(50_000) + 1e-12).all()
    assert (rounded[[0, 3, 5]] == np.array([[0.0], [1.5], [2.0]])).all()


def test_reports_are_repeatable_with_a_seed_only() -> None:
    mechanism = RandomizedResponse(1.0, 16, (0, 1))
    data = np.linspace(0, 1, 500)
    once, again = (mechanism.randomize(data, np.random.default_rng(5)) for _ in range(2))
    assert (once == again).all()
    assert (once != mechanism.randomize(data, np.random.default_rng(6))).any()
    assert (mechanism.randomize(data) != mechanism.randomize(data)).any()
    assert once.shape == (500, 1)
    assert once.dtype == np.int64


def test_both_sources_go_through_the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = RandomizedResponse(1.0, (3, 4), (0, 1), rounding="stochastic")
    data = np.random.default_rng(1).random((300, 2))
    seeded = mechanism.randomize(data, np.random.default_rng(8))
    monkeypatch.setattr("os.urandom", np.random.default_rng(8).bytes)
    assert (mechanism.randomize(data) == seeded).all()


def test_cells_and_what_they_stand_for() -> None:
    mechanism = RandomizedResponse(1.0, (2, 4), ((0, 1), (-2, 2)), classes=(7, 3))
    assert mechanism.bins == (2, 4, 2)
    assert mechanism.cells == 16
    assert mechanism.report_limits == ((0, 1), (0, 3), (0, 1))
    data = np.array([[0.0, -2.0, 3.0], [0.5, 2.0, 7.0], [1.0, -0.5, 7.0]])
    cells = mechanism.encode(data)
    assert cells.tolist() == [[0, 0, 0], [1, 3, 1], [1, 1, 1]]
    assert mechanism.representatives[mechanism.flat(cells)].tolist() == [
        [0.25, -1.5, 3.0],
        [0.75, 1.5, 7.0],
        [0.75, -0.5, 7.0],
    ]
    apart = mechanism.encode(data[:, :2], labels=[3, 7, 7])
    assert (apart == cells).all()


def test_text_classes_are_numbered_in_the_order_given() -> None:
    mechanism = RandomizedResponse(1.0, 2, (0, 1), classes=("low", "high"))
    # Only one class is present, and it still has number 1.
    assert mechanism.encode([0.1, 0.9], labels=["high", "high"]).tolist() == [[0, 1], [1, 1]]


def test_equal_declarations_are_equal() -> None:
    one = RandomizedResponse(1, 4, (0, 1), classes=[0, 1])
    assert one == RandomizedResponse(1.0, 4.0, (0.0, 1.0), classes=(1, 0), together=True)
    assert one != RandomizedResponse(1, 4, (0, 1), classes=[0, 1], together=False)
    assert hash(one) == hash(RandomizedResponse(1, 4, (0, 1), classes=[0, 1]))


def test_the_guarantee_is_one_sentence() -> None:
    assert RandomizedResponse(1, 16, (0, 1)).guarantee() == (
        "Each observation is reported once, by 16-ary randomized response: epsilon = 1, so no two "
        "observations differ in the likelihood of any report by more than a factor of 2.718."
    )
    split = RandomizedResponse(1, (4, 3), (0, 1)).guarantee()
    assert "column by column (4-ary, 3-ary), with epsilon = 0.5 each: epsilon = 1, so" in split
    joint = RandomizedResponse(1, 4, (0, 1), classes=(0, 1)).guarantee()
    assert "by 8-ary randomized response on its 2 columns as one value: epsilon = 1, so" in joint


UNIT = (0.0, 1.0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"epsilon": 0}, "epsilon is 0: give a number from 1e-09 to 40, such as 1."),
        ({"epsilon": math.inf}, "epsilon is infinite, which promises"),
        ({"epsilon": math.nan}, "epsilon is NaN, which promises nothing"),
        ({"epsilon": "1"}, "epsilon must be a number, not '1'"),
        ({"epsilon": True}, "epsilon must be a number, not True"),
        ({"epsilon": 41}, "epsilon is 41, which protects nobody"),
        ({"epsilon": 1e-12}, "so small that reports would say nothing at all: give a number from"),
        (
            {"epsilon": 2.9e-9, "bins": (4, 4, 4)},
            "epsilon is 2.9e-09, shared by 3 columns, so small that reports would say nothing at "
            "all: give a number from 3e-09 to 40, such as 1.",
        ),
        ({"bins": (4, 1)}, "One bin says nothing about a value"),
        ({"bins": 2.5}, "must be a whole number >= 2, not 2.5"),
        ({"bins": "16"}, "must be a whole number >= 2, not '16'"),
        ({"bins": 2**21}, "2,097,152 bins would drown every report"),
        ({"bins": ()}, "must be a whole number >= 2, not ()"),
        ({"bins": None}, "The number of bins is missing: give bins="),
        ({"range": None}, "The range of the values is missing: declare"),
        ({"range": (2, 1)}, "The range (2, 1) is empty"),
        ({"range": (0, math.nan)}, "The range has an end that is NaN"),
        ({"range": (0, math.inf)}, "The range (0, inf) is infinite"),
        ({"range": 5}, "The range is (lowest, highest)"),
        ({"bins": (4, 4), "range": (UNIT,) * 3}, "There are bins for 2 columns but ranges for 3"),
        ({"classes": (1,)}, "Labels need at least two classes, but one class is declared"),
        ({"classes": ()}, "Labels need at least two classes, but no classes are declared"),
        ({"classes": (0, 0)}, "The classes name a label twice"),
        ({"classes": (0, "a")}, "must be all numbers or all text"),
        ({"classes": (0, math.inf)}, "The classes hold NaN or"),
        ({"classes": "ab"}, "The classes are a list of labels"),
        ({"rounding": "stochastik"}, "did you mean 'stoch"),
        ({"together": 1}, "together must be True, False"),
        ({"bins": 128, "range": (UNIT,) * 3, "together": True}, "together have 2,097,152 cells"),
    ],
)
def test_wrong_declarations(changes: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"epsilon": 1, "bins": 4, "range": UNIT} | changes
    with pytest.raises(pg.InputError) as refusal:
        RandomizedResponse(**given)
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


ONE = RandomizedResponse(1, 4, UNIT)
LABELED = RandomizedResponse(1, 4, UNIT, classes=(0, 1))
NAMED = RandomizedResponse(1, 4, UNIT, classes=("no", "yes"))


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (
            lambda: ONE.randomize([0.5, 1.5, -0.1, 0.2, 2.0]),
            "The data have 3 values of column 0 outside [0, 1] (rows 1, 2 and 4), counting "
            "from 0: correct them or declare more, as nothing is clipped.",
        ),
        (lambda: ONE.randomize([0.5, math.nan]), "data has NaN or infinite values in row 1"),
        (lambda: ONE.randomize([0.5, math.inf]), "data has NaN or infinite values in row 1"),
        (
            lambda: LABELED.encode([[0.5, 0], [2.0, 1], [0.1, 2]]),
            "The data have 1 value of column 0 outside [0, 1] (row 1) and 1 value of column 1 "
            "outside classes (0, 1) (row 2), counting from 0",
        ),
        (
            lambda: ONE.encode([[0.1, 0.2]]),
            "The data have 2 columns, but the privacy mechanism declares 1: give bins or a range",
        ),
        (
            lambda: LABELED.encode([0.1, 0.2]),
            "The data have 1 column, but the privacy mechanism declares 2, the label included: "
            "give the labels as the last column or with labels=.",
        ),
        (
            lambda: ONE.encode([0.1, 0.2], labels=[0, 1]),
            "Labels are given, but the privacy mechanism declares no classes",
        ),
        (
            lambda: LABELED.encode([0.1, 0.2], labels=["no", "yes"]),
            "Labels are text, but the declared classes are numbers",
        ),
        (
            lambda: NAMED.encode([0.1, 0.2], labels=["no", "maybe"]),
            "labels hold others in row 1 (counting from 0), but the declared classes are 'no' and "
            "'yes'",
        ),
        (lambda: ONE.randomize([0.5], source=3), "a numpy Generator, not int"),  # type: ignore[arg-type]
        (lambda: ONE.flat([[4]]), "A report is outside of its limits (0 to 3 by columns)."),
        (lambda: ONE.flat([[-1]]), "A report is outside of its limits"),
        (lambda: ONE.flat([[0.5]]), "A report holds a number that is not whole."),
        (lambda: ONE.flat([[math.nan]]), "A report holds a number that is not whole."),
        (lambda: ONE.flat([[math.inf]]), "A report is outside of its limits"),
        (lambda: LABELED.flat([[1]]), "A report is a row of 2 whole numbers, but got"),
    ],
)
def test_wrong_data(use: Callable[[], object], sentence: str) -> None:
    with pytest.raises(pg.InputError) as refusal:
        use()
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(("epsilon", "bins"), [(1e-9, 4), (3e-9, (4, 4, 4)), (7e-9, (4,) * 7)])
def test_the_smallest_epsilon_named_in_the_refusal_is_accepted(epsilon: float, bins: Any) -> None:
    assert RandomizedResponse(epsilon, bins, UNIT).odds > 1
    with pytest.raises(pg.InputError, match=f"from {epsilon:g} to 40"):
        RandomizedResponse(0.99 * epsilon, bins, UNIT)
