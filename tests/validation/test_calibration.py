"""Calibration against statsmodels and scikit-learn, from rows and from counts."""

from __future__ import annotations

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.curves.scores import Scores
from pairgossip.validation.calibration import NAMES, Calibration, read_calibration

LEVEL = 0.95


def draw(seed: int, n: int = 400, slope: float = 0.8) -> tuple[FloatArray, FloatArray]:
    """Draw probabilities, and outcomes that agree with them up to a slope."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-1.5, 1.2, n)
    outcome = rng.random(n) < 1 / (1 + np.exp(-(0.2 + slope * x)))
    return 1 / (1 + np.exp(-x)), outcome.astype(float)


def of_rows(p: FloatArray, y: FloatArray, times: FloatArray | None = None) -> Calibration:
    """Return the calibration of rows."""
    return read_calibration(
        Scores.of_rows(p, y, np.ones(len(p)) if times is None else times), LEVEL
    )


@pytest.mark.parametrize("seed", range(3))
def test_slope_intercept_and_their_errors_are_those_of_statsmodels(seed: int) -> None:
    sm = pytest.importorskip("statsmodels.api")
    p, y = draw(seed)
    x, found = np.log(p / (1 - p)), of_rows(p, y)
    line = sm.Logit(y, sm.add_constant(x)).fit(disp=0)
    assert [found.intercept.value, found.slope.value] == pytest.approx(line.params, abs=1e-8)
    assert [found.intercept.error, found.slope.error] == pytest.approx(line.bse, rel=1e-6)
    offset = sm.GLM(y, np.ones(len(y)), family=sm.families.Binomial(), offset=x).fit(cov_type="HC0")
    assert found.in_the_large.value == pytest.approx(float(offset.params[0]), abs=1e-8)
    error = float(offset.bse[0]) * np.sqrt(len(y) / (len(y) - 1))
    assert found.in_the_large.error == pytest.approx(error, rel=1e-6)


def test_the_brier_score_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    p, y = draw(3)
    found = of_rows(p, y)
    assert found.brier.value == pytest.approx(metrics.brier_score_loss(y, p))
    constant = metrics.brier_score_loss(y, np.full(len(y), y.mean()))
    assert found.scaled_brier.value == pytest.approx(1 - found.brier.value / constant)


@pytest.mark.parametrize("least_cell", [1, 3])
@pytest.mark.parametrize(
    "cells", [pg.cells.Logit(1e-3, 64), pg.cells.Even(0, 1, 50), pg.cells.Logit(0.01, 16)]
)
def test_counts_leave_the_numbers_of_the_rows_inside_their_brackets(
    cells: pg.cells.Cells, least_cell: int
) -> None:
    p, y = draw(4)
    s = pg.summarize(p, "auc", labels=y, cells=cells, classes=[0, 1], least_cell=least_cell)
    found = read_calibration(Scores.of_blocks(s.blocks_of(0)), LEVEL, least_cell)
    exact = of_rows(p, y)
    for name in NAMES:
        number = getattr(found, name)
        assert number.bracket[0] <= getattr(exact, name).value <= number.bracket[1], name
        assert number.bracket[0] <= number.value <= number.bracket[1]
        assert number.low < number.bracket[0] and number.bracket[1] < number.high
