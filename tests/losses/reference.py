"""Every function of the margin again in extended precision, and scores to test sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray

Extended = Any
"""Arrays of the widest float the machine has."""


def _logistic(u: Extended) -> Extended:
    return np.maximum(-u, 0) + np.log1p(np.exp(-np.abs(u)))


def _smoothed(u: Extended) -> Extended:
    return np.where(u >= 1, 0, np.where(u <= 0, np.longdouble(0.5) - u, (1 - u) ** 2 / 2))


PHIS: dict[str, Callable[[Extended], Extended]] = {
    "logistic": _logistic,
    "hinge": lambda u: np.maximum(0, 1 - u),
    "squared-hinge": lambda u: np.maximum(0, 1 - u) ** 2,
    "smoothed-hinge": _smoothed,
    "squared": lambda u: (1 - u) ** 2,
}


def brute_sums(above: FloatArray, below: FloatArray, phi: str) -> Extended:
    """Sum phi(x - y) over all pairs of each row, in extended precision."""
    sums = []
    for x, y in zip(above.astype(np.longdouble), below.astype(np.longdouble), strict=True):
        sums.append(PHIS[phi](x[:, None] - y[None, :]).sum())
    return np.array(sums)


def brute_ranking(scores: FloatArray, labels: FloatArray, phi: str) -> Extended:
    """Sum phi(s_i - s_j) over the pairs with label_i > label_j."""
    s = scores.astype(np.longdouble)
    counted = labels[:, None] > labels[None, :]
    return (PHIS[phi](s[:, None] - s[None, :]) * counted).sum()


def relative_error(given: Any, exact: Extended) -> float:
    """Return the largest relative error; 0 where both are 0."""
    off = np.abs(np.asarray(given) - exact)
    return float(np.max(np.where(off == 0, 0, off / np.where(exact == 0, 1, np.abs(exact)))))


def hard_scores() -> dict[str, tuple[FloatArray, FloatArray]]:
    """Yield scores of two classes that spread, cluster, tie and separate in various ways."""
    rng = np.random.default_rng(7)

    def normal(shift: float = 0.0, scale: float = 1.0, n: int = 120) -> FloatArray:
        return shift + scale * rng.normal(size=(2, n))

    def clustered(centers: list[float], width: float) -> FloatArray:
        return rng.choice(centers, size=(2, 120)) + width * rng.normal(size=(2, 120))

    cases = {"equal": (np.full((2, 300), 0.7), np.full((2, 200), 0.7))}
    for scale in (1e-12, 1e-3, 1.0, 3.0, 10.0, 30.0, 100.0, 1e4, 1e8, 1e15):
        cases[f"spread {scale:g}"] = (normal(0, scale), normal(0, scale))
        cases[f"spread {scale:g} at 1e8"] = (normal(1e8, scale), normal(1e8, scale))
    for gap in (1.0, 5.0, 9.0, 20.0, 40.0, 100.0, 600.0):
        cases[f"separated by {gap:g}"] = (normal(gap), normal())
        cases[f"reversed by {gap:g}"] = (normal(-gap), normal())
    far = [0.0, 5.0, 1e3, 1e8, -1e8]
    cases["clusters"] = (clustered(far, 1.0), clustered(far, 1.0))
    cases["tight clusters"] = (clustered(far, 1e-6), clustered(far, 1e-6))
    cases["separated clusters"] = (clustered([8.0, 1e3, 1e8], 1.0), clustered([0, -1e8], 1.0))
    cases["ties"] = tuple(rng.integers(0, 5, (2, 2, 120)).astype(float))
    one_each = np.array([[0.0], [0.0]])
    cases["one bad pair"] = (
        np.concatenate((normal(45), one_each), axis=1),
        np.concatenate((normal(-5), one_each + 1), axis=1),
    )
    signs = rng.choice([-1.0, 1.0], (2, 2, 120))
    cases["all scales"] = (
        signs[0] * np.geomspace(1e-12, 1e8, 120),
        signs[1] * np.geomspace(1e-12, 1e8, 120),
    )
    edges = np.arange(-9.0, 9.0, 0.125)[None, :].repeat(2, axis=0)
    cases["panel edges"] = (edges, np.nextafter(edges, 100.0))
    return cases
