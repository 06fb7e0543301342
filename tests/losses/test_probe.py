"""What a few pairs can tell about a loss."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.losses.checks import check_finite, check_gradient, sample_pairs


def test_a_few_observations_are_paired_with_each_other() -> None:
    nodes, held = sample_pairs(np.zeros((1000, 2)))
    assert len(nodes) == len(held) == 64
    assert {0, 999} <= set(nodes.tolist())
    assert set(zip(nodes.tolist(), held.tolist(), strict=True)) >= {(0, 999), (999, 0), (0, 0)}
    assert [len(part) for part in sample_pairs(np.zeros(2))] == [4, 4]


def test_the_first_bad_pair_is_named() -> None:
    parts = np.zeros((3, 2))
    parts[1, 1] = np.nan
    with pytest.raises(InputError, match="for observations 5 and 8 "):
        check_finite("mine", parts, np.array([4, 5, 6]), np.array([7, 8, 9]))


def test_gradients_are_compared_with_differences() -> None:
    target = np.array([1.0, -2.0, 0.5])

    def value(theta: FloatArray) -> FloatArray:
        return np.array([np.sum((theta - target) ** 4), np.abs(theta).sum(), 3.0])

    def gradient(theta: FloatArray) -> FloatArray:
        return np.array([4 * (theta - target) ** 3, np.sign(theta), np.zeros(3)])

    check_gradient("mine", value, gradient, 3)
    for wrong in (0.8, 1.2, -1.0, np.nan):
        with pytest.raises(InputError, match="The gradient of loss 'mine' disagrees"):
            check_gradient("mine", value, lambda theta, by=wrong: by * gradient(theta), 3)  # type: ignore[misc]
