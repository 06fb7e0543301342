"""What a user's functions of pairs may return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels.kernel import row_per_pair, value_per_pair

BLOCK = np.arange(6.0).reshape(3, 2)


def _writing(first: FloatArray, second: FloatArray) -> FloatArray:
    first *= 2
    return first


@pytest.mark.parametrize(
    ("call", "function", "sentence"),
    [
        (
            value_per_pair,
            lambda x, y: x - y,
            "It returned shape (3, 2) for 3 pairs: it must return one value per pair, shape (3,).",
        ),
        (
            row_per_pair,
            lambda x, y: x.sum(),
            "It returned shape () for 3 pairs: it must return one row per pair, shape (3, p).",
        ),
        (
            row_per_pair,
            lambda x, y: x + 1j,
            "It returned complex128 values: it must return real numbers.",
        ),
        (
            row_per_pair,
            lambda x, y: x @ y,
            "It failed on blocks of shape (3, 2): matmul",
        ),
        (
            row_per_pair,
            _writing,
            "It failed on blocks of shape (3, 2): output array is read-only.",
        ),
    ],
)
def test_wrong_answers_get_a_sentence(call: Any, function: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        call("It", function, BLOCK, BLOCK)
    assert str(caught.value).startswith(sentence)


def test_integers_and_single_features_are_fine() -> None:
    whole = value_per_pair("It", lambda x, y: np.ones(3, dtype=int), BLOCK, BLOCK)
    assert whole.dtype == np.float64
    assert row_per_pair("It", lambda x, y: x[:, 0] - y[:, 1], BLOCK, BLOCK).shape == (3, 1)
