"""The advised number of bins is the best of a measured comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.privacy import RandomizedResponse, advise_bins, binning_bias, conditional_variance


def test_predictions_are_bias_and_variance() -> None:
    sample = np.random.default_rng(0).beta(2, 5, 400)
    advice = advise_bins(400, 1.5, "gini", sample=sample)
    for at, bins in enumerate(advice.candidates[:12].tolist()):
        mechanism = RandomizedResponse(1.5, bins, (0, 1))
        bias = binning_bias(mechanism, sample, "gini")
        variance = conditional_variance(mechanism, sample, "gini")
        assert advice.bias[at] == pytest.approx(bias, abs=1e-12)
        assert advice.standard_errors[at] ** 2 == pytest.approx(variance)
        assert advice.errors[at] ** 2 == pytest.approx(bias**2 + variance)
    assert advice.bins == advice.candidates[advice.errors.argmin()]
    assert advice.error == advice.errors.min()


def test_uniform_values_have_the_known_bias() -> None:
    """With k bins, Gini's mean difference 1/3 of uniform values becomes (1 - 1/k^2)/3.

    Some bins have one more than others of the rows that represent the uniform law.
    """
    advice = advise_bins(1000, 1.0)
    expected = -1 / (3 * advice.candidates[:15] ** 2.0)
    assert advice.bias[:15] == pytest.approx(expected, rel=0.05)


def test_more_people_and_less_privacy_allow_more_bins() -> None:
    by_n = [advise_bins(n, 1.0).bins for n in (100, 10_000, 1_000_000)]
    by_epsilon = [advise_bins(1000, epsilon).bins for epsilon in (0.25, 1.0, 4.0)]
    assert by_n[0] < by_n[1] < by_n[2]
    assert by_epsilon[0] < by_epsilon[1] < by_epsilon[2]
    assert advise_bins(10_000, 4.0).rule_of_thumb == 20


def test_several_columns_and_labels() -> None:
    random = np.random.default_rng(4)
    scores = random.random(300)
    both = np.column_stack((scores, scores + 4 * random.random(300)))
    assert advise_bins(1000, 4.0, "kendall", range=((0, 1), (0, 5)), sample=both).bins > 2
    sample = np.column_stack((scores, random.random(300) < scores))
    advice = advise_bins(5000, 2.0, "auc", classes=(0, 1), sample=sample)
    assert advice.candidates.max() * 2 <= 512
    assert str(advice).startswith(f"{advice.bins} bins: predicted error ")
    assert str(advice).endswith("the rule of thumb n^(1/4) sqrt(epsilon) says 12.")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n": 1}, "must be a whole number >= 2, not 1"),
        ({"n": 10.5}, "must be a whole number >= 2, not 10.5"),
        ({"epsilon": 0}, "epsilon is 0"),
        ({"kernel": "auc", "classes": (0, 1)}, "give a public sample="),
        ({"kernel": "kendall", "range": ((0, 1), (0, 1))}, "how columns go together"),
        ({"sample": [0.5]}, "The sample has one row"),
        ({"sample": [0.5, 2]}, "outside"),
        ({"kernel": lambda x, y: x == y}, "are equal"),
    ],
)
def test_refusals(options: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"n": 100, "epsilon": 1.0, **options}
    with pytest.raises(pg.InputError, match=sentence):
        advise_bins(**given)
