"""Sampling errors against DeLong's formula, the jackknife and Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.arrays import FloatArray
from pairgossip.inference.projection import project
from pairgossip.kernels import CATALOG, Pairs
from tests.kernels.reference import random_data


def delong(scores: FloatArray, labels: FloatArray) -> tuple[float, float]:
    """Return the AUC and its error by the definition of DeLong et al. (1988)."""
    high, low = scores[labels == 1], scores[labels == 0]
    wins = (high[:, None] > low) + 0.5 * (high[:, None] == low)
    variance = wins.mean(axis=1).var(ddof=1) / len(high) + wins.mean(axis=0).var(ddof=1) / len(low)
    return float(wins.mean()), float(np.sqrt(variance))


@pytest.mark.parametrize("levels", [5, 10_000])
def test_the_error_of_the_auc_is_delongs(levels: int) -> None:
    random = np.random.default_rng(0)
    labels = (random.random(80) < 0.35).astype(float)
    scores = np.round(levels * (random.normal(size=80) + labels)) / levels
    found = project(Pairs(scores, "auc", labels=labels))
    value, error = delong(scores, labels)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.error() == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize("name", sorted(CATALOG))
@pytest.mark.parametrize("target", ["v", "u"])
def test_what_rows_add_is_what_leaving_them_out_takes(name: str, target: str) -> None:
    """The jackknife of U-statistics gives nearly the same influence."""
    data = random_data(name, 120)
    pairs = Pairs(data, name, target)
    found = project(pairs)
    assert found.value == pytest.approx(pairs.exact(), rel=1e-12)
    assert found.influence.mean() == pytest.approx(0.0, abs=1e-12)
    kept = [np.delete(data, k, axis=0) for k in range(len(data))]
    left_out = np.array([Pairs(rows, name, target).exact() for rows in kept])
    jackknife = (len(data) - 1) * (left_out.mean() - left_out)
    scale = np.abs(jackknife).max()
    np.testing.assert_allclose(found.influence, jackknife, atol=0.06 * scale)


def test_clusters_that_are_rows_give_the_error_of_rows() -> None:
    random = np.random.default_rng(1)
    single = Pairs(random.normal(size=60), "gini")
    error = project(single).error()
    assert project(single, np.arange(60)).error() == pytest.approx(error, rel=1e-12)
    doubled = Pairs(np.repeat(random.normal(size=60), 2), "gini")
    assert project(doubled, np.repeat(np.arange(60), 2)).error() > 1.3 * project(doubled).error()
