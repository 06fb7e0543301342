"""The local half of each algorithm: initial values, updates, plausibility and readouts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pairgossip.kernels.kernel import as_kernel
from pairgossip.losses import Ball, as_loss, as_proximal
from pairgossip.peer.protocol.rules import (
    _LARGEST,
    AdaptiveAveraging,
    DualAveraging,
    PaperMixing,
    Rule,
    WeightedMixing,
)

GINI = as_kernel("gini")
LEARNING = DualAveraging(as_loss("auc-logistic"), 2, Ball(1.0).map, lambda t: 0.5, 0.25)
ADAPTIVE = AdaptiveAveraging(as_loss("auc-logistic"), 2, Ball(1.0).map_in_metric, 4.0, 4.0)
RULES: list[Rule] = [PaperMixing(GINI), WeightedMixing(GINI, weight=0.5), LEARNING, ADAPTIVE]
PAIR = ((1.0, 2.0, 1.0), (0.0, 1.0, 0.0))
ROWS = [((1.0,), (4.0,)), ((1.0,), (4.0,)), PAIR, PAIR]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_sizes_say_how_long_mass_and_private_part_are(rule: Rule) -> None:
    mass, private = rule.begin()
    assert (len(mass), len(private)) == rule.sizes
    own, held = ROWS[RULES.index(rule)]
    mass, private = rule.update(mass, private, own, held, False)
    assert (len(mass), len(private)) == rule.sizes
    assert all(type(entry) is float for entry in (*mass, *private))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_nothing_is_known_before_the_first_pick(rule: Rule) -> None:
    assert np.isnan(rule.readout(*rule.begin())).all()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 10 * _LARGEST, -10 * _LARGEST])
def test_an_implausible_mass_is_known(rule: Rule, bad: float) -> None:
    mass, _ = rule.begin()
    assert rule.is_plausible(mass)
    assert not rule.is_plausible((bad, *mass[1:]))
    assert not rule.is_plausible((*mass, 0.0))
    assert not rule.is_plausible(mass[1:])


def test_sums_of_squares_and_counts_are_never_negative() -> None:
    mass = [-1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 4.0]
    assert ADAPTIVE.is_plausible(tuple(mass))
    for place in range(2, 7):
        for bad in (-1e-9, math.nan, math.inf, 10 * _LARGEST**2):
            assert not ADAPTIVE.is_plausible((*mass[:place], bad, *mass[place + 1 :]))


@pytest.mark.parametrize("square", [1e-320, 1e-312, 1e-160])
def test_a_liar_leaves_a_node_that_can_exchange(square: float) -> None:
    rule = replace(ADAPTIVE, prox=as_proximal().map_in_metric)
    lie = (_LARGEST, -_LARGEST, square, square, 1.0, 1.0, 4.0)
    assert rule.is_plausible(lie)
    own = (500.0, 500.0, 1.0)
    mass, private = rule.update(lie, rule.begin()[1], own, own, True)
    mass, private = rule.update(mass, private, own, (0.0, 1.0, 0.0), False)
    assert np.isfinite((*mass, *private)).all()
    assert rule.is_plausible(mass)


def test_a_weight_is_never_negative() -> None:
    assert WeightedMixing(GINI).is_plausible((1.0, 1e-9, -4.0, -1.0))
    assert not WeightedMixing(GINI).is_plausible((1.0, -1e-9, 4.0, 1.0))


@pytest.mark.parametrize("rule", RULES[:2], ids=lambda rule: type(rule).__name__)
def test_products_may_be_squares_of_the_largest_and_no_more(rule: Rule) -> None:
    *mass, _ = rule.begin()[0]
    assert rule.is_plausible((*mass, _LARGEST**2))
    for bad in (math.nan, math.inf, 10 * _LARGEST**2):
        assert not rule.is_plausible((*mass, bad))


def test_products_see_a_kernel_in_both_directions() -> None:
    rule = WeightedMixing(as_kernel("auc"))
    own, held = (0.0, 0.0), (1.0, 1.0)
    there, back = rule.values(own, held, False), rule.values(held, own, False)
    assert there.tolist() != back.tolist()
    _, private = rule.update(*rule.begin(), own, held, False)
    assert private == (*(there + back).tolist(), 0.0, 0.0, 1.0)


@pytest.mark.parametrize("mixing", [PaperMixing, WeightedMixing])
def test_a_row_paired_with_itself_counts_only_in_the_v_statistic(
    mixing: type[PaperMixing | WeightedMixing],
) -> None:
    kernel = as_kernel("auc")
    own = (0.5, 1.0)
    counting, leaving_out = mixing(kernel), mixing(kernel, scale=2.0, counts_own=False)
    assert leaving_out.values(own, own, True).tolist() == [0.0] * len(kernel.components)
    other = (0.25, 0.0)
    np.testing.assert_array_equal(
        leaving_out.values(own, other, False), 2 * counting.values(own, other, False)
    )
