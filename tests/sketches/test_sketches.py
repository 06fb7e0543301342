"""Sketches against exact statistics, on distributions and sizes that were fixed beforehand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import Pairs
from pairgossip.sketches import (
    Bins,
    BracketingSketch,
    Chebyshev,
    Directions,
    Moments,
    Recipe,
    Sketch,
    TwoWayBins,
    default_sketch,
)

ROWS = 676
SEEDS = range(5)


def draw(name: str, seed: int) -> FloatArray:
    generator = np.random.default_rng(seed)
    draws: dict[str, Callable[[], FloatArray]] = {
        "normal": lambda: generator.normal(size=ROWS),
        "exponential": lambda: generator.exponential(size=ROWS),
        "lognormal": lambda: generator.lognormal(size=ROWS),
        "student-3": lambda: generator.standard_t(3, size=ROWS),
        "few values": lambda: generator.integers(0, 12, ROWS).astype(float),
    }
    return np.asarray(draws[name]())


NAMES = ("normal", "exponential", "lognormal", "student-3", "few values")


def fitted(pairs: Pairs, recipe: Recipe | None = None) -> tuple[Sketch, FloatArray]:
    sketch = (recipe or default_sketch(pairs.kernel)).fit(pairs)
    return sketch, sketch.features(pairs.data).mean(axis=0)


def relative_error(pairs: Pairs, recipe: Recipe | None = None) -> float:
    sketch, mean = fitted(pairs, recipe)
    return abs(float(sketch.readout(mean)) / pairs.exact() - 1)


@pytest.mark.pairs
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", ["v", "u"])
def test_gini_with_16_bins(name: str, seed: int, target: str) -> None:
    assert relative_error(Pairs(draw(name, seed), "gini", target), Bins(16)) < 1e-3


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_auc_with_16_bins(name: str, seed: int) -> None:
    labels = np.random.default_rng(seed + 100).random(ROWS) < 0.35
    scores = draw(name, seed) + 1.2 * labels
    assert relative_error(Pairs(scores, "auc", labels=labels), Bins(16)) < 2e-3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", ["v", "u"])
def test_moments_are_exact(name: str, target: str) -> None:
    values = draw(name, 0)
    assert relative_error(Pairs(values, "variance", target)) < 1e-12
    table = np.column_stack([values, draw("normal", 1)])
    clusters = np.arange(ROWS) % 3
    assert relative_error(Pairs(table, "within-cluster-scatter", target, clusters)) < 1e-12


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", ["v", "u"])
def test_two_way_bins(name: str, target: str) -> None:
    first = draw(name, 0)
    second = first + 2 * np.std(first) * draw("normal", 1)
    table = np.column_stack([second, first])
    assert relative_error(Pairs(table, "kendall", target), TwoWayBins(16)) < 0.01
    assert relative_error(Pairs(table, "ranking-risk", target), TwoWayBins(16)) < 0.01
    assert relative_error(Pairs(table, "concordance"), TwoWayBins(16)) < 0.01
    events = np.random.default_rng(2).random(ROWS) < 0.6
    censored = np.column_stack([table, events])
    assert relative_error(Pairs(censored, "concordance"), TwoWayBins(16)) < 0.01


ASSOCIATIONS = ("kendall-b", "somers-d", "goodman-kruskal-gamma")


@pytest.mark.parametrize("kernel", ASSOCIATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_associations_with_16_bins(name: str, kernel: str) -> None:
    first = draw(name, 0)
    second = first + 2 * np.std(first) * draw("normal", 1)
    for table in ([first, second], [second, first], [second, np.round(first)]):
        assert relative_error(Pairs(np.column_stack(table), kernel, "u"), TwoWayBins(16)) < 0.015


@given(
    hnp.arrays(np.int64, st.tuples(st.integers(4, 30), st.just(2)), elements=st.integers(-3, 3)),
    st.sampled_from(["v", "u"]),
)
@settings(max_examples=100, deadline=None)
def test_functions_of_averages_of_few_values_are_exact(table: FloatArray, target: str) -> None:
    rows = table.astype(float)
    classes = np.arange(len(rows)) % 2
    many: list[Pairs] = [Pairs(rows, kernel, target) for kernel in ASSOCIATIONS]
    many.append(Pairs(rows, "auc-difference", target, classes))
    many.append(Pairs(rows[:, 0] + 4, "gini-coefficient", target))
    for pairs in many:
        sketch, mean = fitted(pairs)
        np.testing.assert_allclose(float(sketch.readout(mean)), pairs.exact(), atol=1e-12)


def test_functions_of_ones_own() -> None:
    """A sketch gives averages; the kernel combines them."""
    values, labels = draw("exponential", 0), np.arange(ROWS) % 2
    table = np.column_stack([values, values + draw("normal", 1)])
    deviation = pg.Combination(("variance",), lambda averages: np.sqrt(averages[..., 0]))
    squared = pg.Combination(("gini",), lambda averages: averages[..., 0] ** 2)
    gamma = pg.Combination(
        ("kendall", "ranking-risk"), lambda averages: averages[..., 0] - averages[..., 1]
    )
    odds = pg.Combination(
        pg.kernels.auc().components, lambda averages: averages[..., 0] - averages[..., 1]
    )
    agreeing, compared = pg.kernels.concordance().components
    survival = pg.Ratio(compared, agreeing)
    apart = pg.Combination(("distance",), lambda averages: 1 + averages[..., 0])
    assert relative_error(Pairs(values, deviation, "u")) < 1e-12
    assert relative_error(Pairs(values, squared)) < 1e-3
    assert relative_error(Pairs(table, gamma, "u"), TwoWayBins(16)) < 0.02
    assert relative_error(Pairs(values, odds, labels=labels)) < 0.01
    assert relative_error(Pairs(table, survival), TwoWayBins(16)) < 0.01
    assert relative_error(Pairs(table, apart)) < 0.01


def logistic(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.log1p(np.exp(-(a - b)))


@pytest.mark.parametrize("target", ["v", "u"])
def test_polynomials_of_a_smooth_kernel(target: str) -> None:
    pairs = Pairs(draw("normal", 0), logistic, target)
    assert relative_error(pairs, Chebyshev(12)) < 1e-5


@pytest.mark.parametrize(("columns", "error"), [(1, 1e-4), (2, 1e-3), (5, 2e-3), (400, 0.02)])
def test_directions(columns: int, error: float) -> None:
    table = np.random.default_rng(0).normal(size=(ROWS, columns))
    assert relative_error(Pairs(table, "distance"), Directions(32)) < error


ANY = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(hnp.arrays(np.float64, st.integers(2, 40), elements=ANY), st.integers(1, 20))
@settings(max_examples=100, deadline=None)
def test_the_bracket_of_gini_holds_the_truth(values: FloatArray, bins: int) -> None:
    for declared in (None, (-2e6, 2e6)):
        check_bracket(Pairs(values, "gini"), Bins(bins, range=declared))
    for unit in (1e-180, 1e180):  # whose square overflows
        check_bracket(Pairs(unit * values, "gini"), Bins(bins, range=(-2e6 * unit, 2e6 * unit)))


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(4, 40), st.just(2)), elements=ANY),
    st.integers(1, 9),
)
@settings(max_examples=100, deadline=None)
def test_the_brackets_of_orders_hold_the_truth(table: FloatArray, bins: int) -> None:
    ranges = ((-2e6, 2e6), (-2e6, 2e6))
    for declared in (None, ranges):
        check_bracket(Pairs(table, "kendall"), TwoWayBins(bins, declared))
        check_bracket(Pairs(table, "ranking-risk", "u"), TwoWayBins(bins, declared))
        few = np.column_stack([table[:, 0], np.sign(table[:, 1])])  # has few values
        check_bracket(Pairs(few, "kendall", "u"), TwoWayBins(bins, declared))
        check_bracket(Pairs(few[:, ::-1], "ranking-risk"), TwoWayBins(bins, declared))
    labels = np.arange(len(table)) % 2
    check_bracket(Pairs(table[:, 0], "auc", labels=labels), Bins(bins))
    check_bracket(Pairs(table[:, 0], "auc", labels=labels), Bins(bins, range=ranges[0]))


def check_bracket(pairs: Pairs, recipe: Recipe) -> None:
    sketch, mean = fitted(pairs, recipe)
    truth = pairs.exact()
    assert isinstance(sketch, BracketingSketch)
    if (ends := sketch.bracket(mean)) is None:  # few numbers: exact
        assert float(sketch.readout(mean)) == pytest.approx(truth, rel=1e-9, abs=1e-9)
        return
    low, high = ends
    assert low <= truth <= high
    assert low - 1e-12 <= float(sketch.readout(mean)) <= high + 1e-12


def test_the_bracket_allows_for_sums_of_many_rows() -> None:
    values = np.repeat([0.025, 0.55], 20_000)  # no variance in any bin
    check_bracket(Pairs(values, "gini"), Bins(2, range=(0, 1)))


def test_bins_far_from_zero() -> None:
    values = 1e15 + np.arange(100) // 3 + 0.125 * (np.arange(100) % 3)
    for recipe in (Bins(16), Bins(1000, range=(1e15, 1e15 + 40))):
        assert relative_error(Pairs(values, "gini"), recipe) < 1e-3
    labels = np.arange(100) % 2
    recipe = Bins(1000, range=(1e15, 1e15 + 40))  # narrower than the distance of floats
    assert relative_error(Pairs(values, "auc", labels=labels), recipe) < 1e-3


def test_readouts_of_many_nodes_at_once() -> None:
    pairs = Pairs(draw("normal", 0), "gini")
    sketch, mean = fitted(pairs)
    nodes = mean + 1e-3 * np.random.default_rng(0).normal(size=(7, len(mean)))
    assert sketch.readout(nodes).shape == (7,)
    one_by_one = [float(sketch.readout(node)) for node in nodes]
    assert np.allclose(sketch.readout(nodes), one_by_one, rtol=1e-12)


@pytest.mark.parametrize(
    ("data", "kernel", "recipe", "sentence"),
    [
        ([1.0, 2.0, 9.0], "gini", Bins(4, range=(0, 5)), "leaves out row 2"),
        ([[1, 2], [3, 9]], "kendall", TwoWayBins(4, ((0, 5), (0, 5))), "widen ranges=, or leave"),
        ([1.0, 2.0, 9.0], "gini", Moments(), "Sketch 'Moments' is for 'variance' and"),
        ([1.0, 2.0, 9.0], "variance", TwoWayBins(), "Sketch 'TwoWayBins' is for 'kendall',"),
        ([1.0, 2.0, 9.0], "gini", Chebyshev(8), "is not smooth enough"),
        ([1.0, 2.0, 9.0], "gini", Directions(), "Sketch 'Directions' is for 'distance'"),
    ],
)
def test_what_does_not_fit_is_refused(
    data: Any, kernel: str, recipe: Recipe, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        recipe.fit(Pairs(data, kernel))


def test_a_kernel_without_a_sketch() -> None:
    with pytest.raises(InputError, match="'metric-learning-risk' has no sketch: use method 'track"):
        default_sketch(pg.kernels.metric_learning_risk())
    strict = Pairs(np.column_stack([[1.0, 2.0, 3.0], [0, 1, 1]]), pg.kernels.auc(ties=0.0))
    with pytest.raises(InputError, match=r"counts ties as 0\.5, not 0"):
        Bins().fit(strict)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Bins(0), "The number of bins"),
        (lambda: Bins(4, range=(2.0, 1.0)), "the smaller first"),
        (lambda: Bins(4, range=(0.0, np.inf)), "two finite numbers"),
        (lambda: Bins(4, range=(-1e308, 1e308)), "two finite numbers"),
        (lambda: Bins(4, range=5), "but got 5: correct range="),  # type: ignore[arg-type]
        (lambda: Chebyshev(4, range=("a", "b")), "two finite numbers"),  # type: ignore[arg-type]
        (lambda: TwoWayBins(4, ranges=((0.0, 1.0), (1.0, 1.0))), "first, but .* correct ranges="),
        (lambda: TwoWayBins(4, ranges=((0.0, 1.0),)), "the range of each"),  # type: ignore[arg-type]
    ],
)
def test_bad_parameters(make: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make()


def test_constant_numbers() -> None:
    for recipe in (Bins(4), Bins(4, range=(0.0, 9.0))):
        sketch, mean = fitted(Pairs([3.0, 3.0, 3.0], "gini"), recipe)
        assert float(sketch.readout(mean)) == pytest.approx(0.0, abs=1e-12)


def test_squares_that_lose_their_digits_are_refused() -> None:
    far = 1e8 + np.random.default_rng(0).normal(size=50)
    with pytest.raises(InputError, match="lose the digits that count"):
        Moments().fit(Pairs(far, "variance"))
    pairs = Pairs(far, "variance")
    sketch, mean = fitted(pairs, Moments(center=1e8))
    assert float(sketch.readout(mean)) == pytest.approx(pairs.exact(), rel=1e-9)
    with pytest.raises(InputError, match="about 3 and spread so little"):
        Moments().fit(Pairs(np.full(9, 3.0), "variance"))
