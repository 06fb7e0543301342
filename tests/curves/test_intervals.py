"""Intervals against statsmodels, pROC, and bisection; bands against their theorem."""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

import pairgossip as pg
from pairgossip.curves.shares import ratio_of_shares, read_share, simultaneous_width, wilson

SCORES = [
    *(5, 5, 6, 5, 4, 6, 8, 7, 4, 2, 4, 5, 0, 5, 3, 4, 4, 4, 6, 7, 5, 8, 4, 6, 7, 5, 4, 3, 4, 5),
    *(5, 7, 7, 8, 7, 8, 6, 7, 9, 10, 4, 10, 10, 9, 8, 6, 10, 11, 11, 10),
]
ILL = [0] * 30 + [1] * 20
PROC = {
    "auc": 0.890833333333333,
    "variance": 0.00223684462593265,
    "partial": 0.132083333333333,
    "partial, corrected": 0.811342592592593,
    "inner, corrected": 0.89591049382716,
    "by sensitivity": 0.161458333333333,
    "by sensitivity, corrected": 0.797619047619048,
}
"""The values that pROC 1.18.0 computes for them."""
SCRIPT = """
suppressMessages(library(pROC))
d <- read.csv(commandArgs(TRUE)[1])
r <- roc(d$ill, d$score, levels = c(0, 1), direction = "<")
part <- function(ends, correct, focus = "specificity") as.numeric(auc(
  r, partial.auc = ends, partial.auc.focus = focus, partial.auc.correct = correct))
cat(sprintf("%.15g\\n", c(
  auc(r), var(r, method = "delong"), part(c(1, .8), FALSE), part(c(1, .8), TRUE),
  part(c(.9, .6), TRUE), part(c(1, .75), FALSE, "sensitivity"),
  part(c(1, .75), TRUE, "sensitivity"))))
"""


def read_curve() -> dict[str, float]:
    """Return the same values from our curve."""
    r = pg.roc(SCORES, ILL)
    return {
        "auc": r.auc.value,
        "variance": r.partial_auc((0, 1)).error ** 2,
        "partial": r.partial_auc((0.8, 1)).value,
        "partial, corrected": r.partial_auc((0.8, 1), corrected=True).value,
        "inner, corrected": r.partial_auc((0.6, 0.9), corrected=True).value,
        "by sensitivity": r.partial_auc(sensitivity=(0.75, 1)).value,
        "by sensitivity, corrected": r.partial_auc(sensitivity=(0.75, 1), corrected=True).value,
    }


def test_numbers_of_proc() -> None:
    assert read_curve() == pytest.approx(PROC, rel=1e-13)
    r = pg.roc(SCORES, ILL)
    assert r.auc.error**2 == pytest.approx(PROC["variance"], rel=1e-13)
    assert r.youden().threshold == 7  # "6.5", between two scores
    point = r.at(7)
    found = (point.sensitivity, point.specificity, point.ppv, point.npv)
    assert found == pytest.approx((0.8, 0.8333333, 0.7619048, 0.862069), abs=1e-7)


def test_proc_says_so_here(tmp_path: Path) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed: its numbers are those that were recorded")
    has_proc = "quit(status = !requireNamespace('pROC', quietly = TRUE))"
    if subprocess.run(["Rscript", "-e", has_proc], check=False).returncode:
        pytest.skip("R has no pROC: its numbers are those that were recorded")
    rows = "\n".join(f"{score},{ill}" for score, ill in zip(SCORES, ILL, strict=True))
    (tmp_path / "rows.csv").write_text(f"score,ill\n{rows}\n")
    (tmp_path / "proc.R").write_text(SCRIPT)
    done = subprocess.run(
        ["Rscript", str(tmp_path / "proc.R"), str(tmp_path / "rows.csv")],
        check=True,
        capture_output=True,
        text=True,
    )
    assert list(map(float, done.stdout.split())) == pytest.approx(list(PROC.values()), rel=1e-13)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_shares_of_statsmodels(level: float) -> None:
    for of in (1, 2, 7, 40, 10_000):
        for rows in {0, 1, of // 3, of}:
            expected = proportion_confint(rows, of, 1 - level, "wilson")
            assert wilson(rows, of, level) == pytest.approx(expected, abs=1e-12)
    assert wilson(0, 0, level).tolist() == [0.0, 1.0]
    assert wilson(0, 9, level)[0] == 0.0
    assert wilson(9, 9, level)[1] == 1.0


def test_ratios_solve_the_equation_of_their_difference() -> None:
    """An end t of a ratio is where the interval of share - t * other ends at 0."""
    random = np.random.default_rng(0)
    for _ in range(200):
        share, other = random.uniform(0.05, 0.95, 2)
        ends = share * random.uniform(0.3, 0.95), share + (1 - share) * random.uniform(0.05, 0.6)
        others = other * random.uniform(0.3, 0.95), other + (1 - other) * random.uniform(0.05, 0.6)
        low, high = ratio_of_shares(share, ends, other, others)

        errors = (share - ends[0], others[1] - other), (ends[1] - share, other - others[0])
        for end, toward in zip((low, high), errors, strict=True):
            lengths = np.array(toward) * (1, end)
            assert math.hypot(*lengths) == pytest.approx(abs(share - end * other), rel=1e-6)
        assert low < share / other < high
    assert ratio_of_shares(0.0, (0.0, 0.2), 0.5, (0.3, 0.7))[0] == 0.0
    assert ratio_of_shares(0.5, (0.3, 0.7), 0.0, (0.0, 0.2))[1] == math.inf
    assert ratio_of_shares(0.0, (0.0, 0.2), 0.0, (0.0, 0.2)) == (0.0, math.inf)


def test_net_benefit_for_one_and_the_same() -> None:
    """At a threshold that no negative row reaches, it is a share, with the interval of a share."""
    point = pg.roc([0.1, 0.2, 0.3, 0.8, 0.9], [0, 0, 0, 1, 1]).at(0.5)
    found = point.net_benefit
    low, high = wilson(2, 5, 0.95).tolist()
    most = wilson(0, 5, 0.95)[1]
    assert found.value == pytest.approx(0.4)
    assert found.high == pytest.approx(high)
    assert found.low == pytest.approx(0.4 - math.hypot(0.4 - low, most))


def test_ends_of_shares_that_are_none_of_none() -> None:
    one = read_share((0.0, 0.0), (0.0, 3.0), 0.0, 0.95, 3)
    assert one.bracket == (0.0, 0.0)
    other = read_share((0.0, 3.0), (0.0, 0.0), 1.0, 0.95, 3)
    assert other.bracket == (1.0, 1.0)
    assert (one.low, one.high) == (0.0, 1.0)


def test_simultaneous_width_holds_distributions() -> None:
    """The rows are uniform, for which the theorem is sharpest; the classes share the level."""
    random, n, draws = np.random.default_rng(0), 100, 4000
    for classes in (1, 2):
        width = simultaneous_width(n, 0.9, classes)
        rows = np.sort(random.random((draws, n)), axis=1)
        steps = np.arange(n) / n
        gaps = np.maximum(rows - steps, steps + 1 / n - rows).max(axis=1)
        share = float((gaps <= width).mean()) ** classes
        assert 0.89 < share < 0.93


def test_band_is_the_widths_about_the_curve() -> None:
    r = pg.roc(SCORES, ILL, interval=0.9)
    negative, positive = (simultaneous_width(size, 0.9, 2) for size in (30, 20))
    frame = r.to_pandas()
    assert frame.threshold.tolist() == r.cuts.tolist()
    np.testing.assert_allclose(frame.band_fpr_high, np.minimum(r.fpr + negative, 1))
    np.testing.assert_allclose(frame.band_tpr_low, np.maximum(r.tpr - positive, 0))
    np.testing.assert_allclose(frame.fpr_low, r.fpr)
    x, y = r.band.upper
    assert (x[0], y[-1], r.band.level) == (0.0, 1.0, 0.9)
    assert (np.diff(x) >= 0).all() and (np.diff(y) >= 0).all()


def test_perfect_scores_have_areas_without_an_interval() -> None:
    r = pg.roc([1, 2, 3, 4], [0, 0, 1, 1])
    for found in (r.auc, r.partial_auc((0.8, 1), corrected=True), r.average_precision):
        assert found.value == 1.0
        assert math.isnan(found.low)
        assert str(found) == "1.000"


def test_net_benefit_of_many_rows_is_a_mean() -> None:
    """Its interval is that of the mean of what rows add: 1, less the odds, or nothing."""
    scores, labels = np.repeat([0.9, 0.9, 0.1, 0.1], 20_000), np.repeat([1, 0, 1, 0], 20_000)
    found = pg.roc(scores, labels).at(0.5).net_benefit
    added = np.repeat([1.0, -1.0, 0.0, 0.0], 20_000)
    error = float(added.std()) / math.sqrt(len(added))
    assert found.error == pytest.approx(error)
    assert (found.high - found.value, found.value - found.low) == pytest.approx(
        (1.96 * error,) * 2, rel=1e-3
    )
