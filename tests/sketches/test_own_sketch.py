"""A user's own sketch on nodes, its name, and the convergence of its estimates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import Pairs
from pairgossip.sketches.problem import SketchedPairs

VALUES = np.random.default_rng(0).normal(size=30)


class Own:
    def features(self, rows: FloatArray) -> FloatArray:
        return np.column_stack([rows, rows**2])

    def readout(self, mean: FloatArray) -> Any:
        return mean[..., 1] - mean[..., 0] ** 2


class ReadsOneNode(Own):
    def readout(self, mean: FloatArray) -> Any:
        return mean[1] - mean[0] ** 2


class ReadsNothing(Own):
    def readout(self, mean: FloatArray) -> Any:
        return mean[..., 0] * np.nan


def test_its_name_is_the_same_in_every_process() -> None:
    assert SketchedPairs(Pairs(VALUES, "variance"), Own(), None).sketch_name == "Own"
    assert (
        SketchedPairs(Pairs(VALUES, "gini"), None, None).sketch_name == "Bins(bins=16, range=None)"
    )


@pytest.mark.parametrize(
    ("sketch", "sentence"),
    [
        (ReadsOneNode(), r"index features as in mean\[\.\.\., 0\]"),
        (ReadsNothing(), "one finite number"),
    ],
)
def test_a_wrong_readout_is_refused_before_the_run(sketch: Own, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        SketchedPairs(Pairs(VALUES, "variance"), sketch, None)


@pytest.mark.parametrize("values", [VALUES, 1e6 + VALUES, 1e-9 * VALUES])
@pytest.mark.parametrize("site_of", [None, np.arange(30) // 2])
def test_estimates_settle_as_their_slopes_say(values: FloatArray, site_of: Any) -> None:
    numbers, _ = SketchedPairs(Pairs(values, "variance"), Own(), site_of).linearized()
    squares = (values - values.mean()) ** 2
    expected = squares if site_of is None else squares.reshape(-1, 2).mean(axis=1)
    assert np.allclose(numbers - numbers.mean(), expected - expected.mean(), 0.01, 0.0)


def test_sites_of_many_rows() -> None:
    """Sites that swap nothing may hold more rows than sites that swap whole sets."""
    values, sites = np.tile(VALUES, 4_000), np.arange(120_000) % 2
    run = pg.estimate(values, "variance", groups=sites, method="sketch", iterations=1, seed=0)
    assert run.estimates == pytest.approx(run.target)
    with pytest.raises(InputError, match="Swapping whole sets of up to 60,000 rows"):
        pg.estimate(values, "variance", groups=sites, construction="whole-sets")
