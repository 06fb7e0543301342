"""Panels of scores and their moments."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.losses import sums
from pairgossip.losses.sums import FAR, WIDTH, join, lay_out


@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0, 1e9])
@pytest.mark.parametrize("block", [7, 2**14])
def test_moments_are_sums_of_chebyshev_polynomials(
    scale: float, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "BLOCK", block)
    scores = scale * np.random.default_rng(0).normal(size=(3, 40))
    side = lay_out(scores, 6)
    assert side.moments[:, 0].sum() == scores.size
    for panel, row, moments in zip(side.panel, side.row, side.moments, strict=True):
        places = scores[row] - WIDTH * panel
        inside = np.clip(places[np.rint(scores[row] / WIDTH) == panel], -1, 1)
        expected = [np.cos(k * np.arccos(inside)).sum() for k in range(6)]
        np.testing.assert_allclose(moments, expected, rtol=1e-12, atol=1e-12)


def test_two_sides_share_their_panels() -> None:
    first, second = (
        lay_out(np.array([[0.0, 4.0], [1e9, 0.0]]), 2),
        lay_out(np.array([[4.0, 10.0], [2.0, 2.0]]), 2),
    )
    joined, x, y = join(first, second)
    np.testing.assert_array_equal(joined.row, [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(joined.gap, [0, 2, 3, 0, 1, 5e8 - 1])
    np.testing.assert_array_equal(np.diff(joined.position), [2, 3, FAR, 1, FAR])
    np.testing.assert_array_equal(x, [0, 1, 3, 5])
    np.testing.assert_array_equal(y, [1, 2, 4])
    np.testing.assert_array_equal(joined.up_to(np.arange(1.0, 7.0)), [1, 3, 6, 4, 9, 15])
    np.testing.assert_array_equal(joined.spread(y, np.ones(3)), [0, 1, 1, 0, 1, 0])
