"""Features, weights and offsets of pairs, by hand."""

from __future__ import annotations

import numpy as np

from pairgossip.losses import builtin as features

FIRST = np.array([[3.0, 1.0, 1.0], [0.0, 0.0, 0.0], [2.0, 2.0, 5.0]])
SECOND = np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 0.0], [2.0, 2.0, 5.0]])


def test_by_hand() -> None:
    np.testing.assert_array_equal(features.difference(FIRST, SECOND), [[2, -1], [-1, 0], [0, 0]])
    np.testing.assert_array_equal(features.higher_label(FIRST, SECOND), [1, 0, 0])
    np.testing.assert_array_equal(
        features.signed_outer_product(FIRST, SECOND),
        [[4, -2, -2, 1], [-1, 0, 0, 0], [0, 0, 0, 0]],
    )
    np.testing.assert_array_equal(features.signed_squares(FIRST, SECOND), [[4, 1], [-1, 0], [0, 0]])
    np.testing.assert_array_equal(features.signed_threshold(FIRST, SECOND, 0.5), [-0.5, 0.5, 0.5])
