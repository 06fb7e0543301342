"""Thinned lines look like the complete ones."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.arrays import FloatArray
from pairgossip.pictures import thinning
from pairgossip.pictures.thinning import TOLERANCE, thin_line


def distances(x: FloatArray, y: FloatArray, kept: np.ndarray) -> FloatArray:
    """Return the distance of each point from the thinned line, by brute force over its pieces."""
    p = np.column_stack((x, y))[:, None, :]
    a, b = np.column_stack((x, y))[kept[:-1]], np.column_stack((x, y))[kept[1:]]
    length = np.maximum(((b - a) ** 2).sum(axis=1), 1e-300)
    share = np.clip(((p - a) * (b - a)).sum(axis=2) / length, 0, 1)[..., None]
    return np.hypot(*np.moveaxis(p - a - share * (b - a), 2, 0)).min(axis=1)


def make_line(kind: str, count: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(count)
    x = np.sort(rng.uniform(0, 400, count))
    return {
        "noise": (x, rng.uniform(0, 400, count)),
        "walk": (rng.normal(size=count).cumsum(), rng.normal(size=count).cumsum()),
        "stairs": (np.repeat(x, 2)[1:], np.repeat(np.sort(rng.uniform(0, 400, count)), 2)[:-1]),
        "wall": (np.full(count, 7.0), rng.uniform(0, 400, count)),
        "there and back": (np.append(x, x[::-1]), np.append(x / 2, x[::-1])),
    }[kind]


@pytest.mark.parametrize("kind", ["noise", "walk", "stairs", "wall", "there and back"])
@pytest.mark.parametrize("count", [1, 2, 3, 40, 450])
def test_no_point_of_a_short_line_is_farther_than_can_be_seen(kind: str, count: int) -> None:
    x, y = make_line(kind, count)
    kept = thin_line(x, y)
    assert (kept[0], kept[-1]) == (0, len(x) - 1) and (np.diff(kept) > 0).all()
    if len(kept) > 1:
        assert distances(x, y, kept).max() <= TOLERANCE


@pytest.mark.parametrize("kind", ["noise", "walk", "stairs", "wall", "there and back"])
def test_a_long_line_is_where_it_was_to_a_column(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = make_line(kind, 1_000)
    monkeypatch.setattr(thinning, "_FEW", 100)
    kept = thin_line(x, y)
    assert distances(x, y, kept).max() <= thinning._COLUMN + TOLERANCE
    assert y[kept].min() - y.min() <= TOLERANCE and y.max() - y[kept].max() <= TOLERANCE


def test_a_million_points_of_a_smooth_curve_need_few() -> None:
    x = np.linspace(0, 400, 1_000_000)
    kept = thin_line(x, 400 * (1 - np.exp(-x / 50)))
    assert len(kept) < 100


def test_a_spike_among_a_million_points_is_kept() -> None:
    y = np.zeros(1_000_000)
    y[[300_000, 700_001]] = 50.0, -80.0
    kept = thin_line(np.linspace(0, 400, len(y)), y)
    assert {300_000, 700_001} <= {*kept.tolist()} and len(kept) < 12
