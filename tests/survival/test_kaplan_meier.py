"""Survival curves of rows, against published ones, other software and counting."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from statsmodels.duration.survfunc import SurvfuncRight

import pairgossip as pg
from pairgossip.survival import Survival
from pairgossip.survival.life_table import find_band_value
from tests.survival.rows import ARM, RELAPSE, TREATED, WEEKS, draw_rows, follow_formula
from tests.test_device import on_a_device


def survive(time: np.ndarray, event: np.ndarray, at: float, *, before: bool = False) -> float:
    """Return the survival at a time, or just before it, as a product over times."""
    found = 1.0
    for one in np.unique(time[event == 1]):
        if one < at or (one == at and not before):
            found *= 1 - ((time == one) & (event == 1)).sum() / (time >= one).sum()
    return found


def test_the_remissions_of_freireich() -> None:
    """The values are those in Kalbfleisch and Prentice, and in Klein and Moeschberger."""
    k = pg.survival.kaplan_meier(WEEKS, RELAPSE, by=ARM)
    at_10, treated, placebo = k.at(10), *k.curves
    assert isinstance(at_10, dict) and list(at_10) == ["6-MP", "placebo"]
    assert at_10["6-MP"].survival == treated.at(10).survival
    assert k.median == {"6-MP": treated.median, "placebo": placebo.median}
    printed = {6: (0.857, 0.076, 21), 10: (0.753, 0.096, 15), 23: (0.448, 0.135, 6)}
    for week, (share, error, at_risk) in printed.items():
        found = treated.at(week)
        assert (round(found.survival, 3), round(found.error, 3)) == (share, error)
        assert found.at_risk == at_risk
    assert k.groups == ("6-MP", "placebo")
    assert treated.median[:2] == (23, (13, math.inf))
    assert placebo.median[:2] == (8, (4, 11))
    assert str(k).split("\n")[1].split() == ["6-MP", "21", "9", "23", "13", "or", "later"]


def test_numbers_of_lifelines() -> None:
    """Version 0.30.3, KaplanMeierFitter and median_survival_times."""
    time, event, _, _ = follow_formula()
    (curve,) = pg.survival.kaplan_meier(time, event).curves
    expected = {
        3: (0.9460688758934376, 0.8419869280093456, 0.9822881067038548),
        8: (0.8325044149420971, 0.702348451252848, 0.9092723126533707),
        15: (0.5708042547271789, 0.4116412948448706, 0.7017302193938695),
        20: (0.35582602892083876, 0.2029470781750111, 0.5119609124398924),
    }
    for at, numbers in expected.items():
        found = curve.at(at)
        assert (found.survival, *found.interval) == pytest.approx(numbers, rel=1e-12)
    assert curve.median[:2] == (16, (14, 21))


@pytest.mark.parametrize("seed", range(30))
def test_curves_are_products_over_rows(seed: int) -> None:
    time, event, _, _ = draw_rows(np.random.default_rng(seed))
    k = pg.survival.kaplan_meier(time, event)
    other = SurvfuncRight(time, event)
    for before in (False, True):
        for at in (0.0, *time[:5], *(time[:5] / 2)):
            found = k.at(at, before=before)
            assert isinstance(found, Survival)
            assert found.survival == pytest.approx(survive(time, event, at, before=before))
            assert found.at_risk == (time >= at).sum()
    frame = k.to_pandas().set_index("time").loc[other.surv_times]
    inside = np.asarray(other.surv_prob) > 1e-12
    assert frame.survival.to_numpy() == pytest.approx(other.surv_prob, abs=1e-12)
    assert frame.error.to_numpy()[inside] == pytest.approx(other.surv_prob_se[inside])
    assert frame.at_risk.to_numpy() == pytest.approx(other.n_risk)


def test_before_the_first_event_the_interval_is_that_of_clopper_and_pearson() -> None:
    found = pg.survival.kaplan_meier([4.0, 5.0, 6.0, 7.0], [0, 1, 1, 0]).at(3)
    assert isinstance(found, Survival) and found[:2] == (1.0, 0.0)
    assert found.interval == pytest.approx((0.025**0.25, 1.0))


def test_the_curve_is_unknown_after_the_last_time_unless_it_is_0() -> None:
    (censored_last,) = pg.survival.kaplan_meier([1, 2, 3], [1, 1, 0]).curves
    (failed_last,) = pg.survival.kaplan_meier([1, 2, 3], [1, 0, 1]).curves
    assert math.isnan(censored_last.at(4).survival)
    assert failed_last.at(4).survival == 0
    assert censored_last.at(3).survival == pytest.approx(1 / 3)


def test_rows_without_events_survive() -> None:
    k = pg.survival.kaplan_meier([3, 4, 9], [0, 0, 0])
    assert k.curves[0].at(8).survival == 1 and math.isnan(k.curves[0].median.value)
    assert k.curves[0].median.interval == (math.inf, math.inf)
    assert k.to_pandas().band_low.isna().all()
    assert k.picture().to_svg().startswith("<svg")


def test_the_median_is_reached_at_one_half() -> None:
    """Three shares multiply to 1/2 exactly, but not in floating point."""
    time, event = [1, 2, 2, 3, 3, 4, 5, 7], [1, 0, 1, 0, 0, 1, 0, 1]
    (curve,) = pg.survival.kaplan_meier(time, event).curves
    assert curve.at(4).survival == pytest.approx(0.5)
    assert curve.median.value == 4


@pytest.mark.parametrize("ratio", [2.0, 20.0, 200.0])
def test_bands_reach_as_far_as_bridges_go(ratio: float) -> None:
    """The quantile of a standardized Brownian motion between two times is simulated."""
    random = np.random.default_rng(0)
    times = np.geomspace(1.0, ratio, 600)
    steps = np.sqrt(np.diff(times, prepend=0.0))
    paths = np.cumsum(random.normal(size=(10_000, len(times))) * steps, axis=1)
    farthest = np.abs(paths / np.sqrt(times)).max(axis=1)
    value = find_band_value(ratio, 0.95)
    assert 0.935 <= (farthest <= value).mean() <= 0.975
    assert find_band_value(2 * ratio, 0.95) > value


def test_shares_of_groups_are_shown_as_they_are_printed() -> None:
    k = pg.survival.kaplan_meier([1, 2, 3, 4], [1, 1, 1, 1], by=["a", "a", "b", "b"])
    shown = str(k.at(1))
    assert shown.startswith("{'a': 0.50 (0.01 to 0.91); 2 at risk, 'b': 1.000 (")


def test_any_door_for_data(tmp_path: Path) -> None:
    frame = pd.DataFrame({"weeks": WEEKS, "relapse": RELAPSE, "arm": ARM})
    path = tmp_path / "trial.csv"
    frame.to_csv(path, index=False)
    expected = str(pg.survival.kaplan_meier(WEEKS, np.array(RELAPSE, bool), by=ARM))
    for data in (frame, pl.from_pandas(frame), frame.to_dict("list"), path, str(path)):
        found = pg.survival.kaplan_meier(data, "relapse", columns="weeks", by="arm")
        assert str(found) == expected
        assert str(pg.survival.kaplan_meier(data, "relapse", by="arm")) == expected


def test_categories_keep_their_order() -> None:
    arm = pd.Categorical(ARM, ["placebo", "6-MP"], ordered=True)
    assert pg.survival.kaplan_meier(WEEKS, RELAPSE, by=arm).groups == ("placebo", "6-MP")
    numbers = np.where(np.array(ARM) == "6-MP", 10, 9)
    assert pg.survival.kaplan_meier(WEEKS, RELAPSE, by=numbers).groups == ("9", "10")


def test_rows_that_lack_a_value_are_left_out_if_asked() -> None:
    time = [3.0, math.nan, 5.0, 8.0]
    with pytest.warns(pg.RowsDropped, match="Left out 1 of 4 rows"):
        k = pg.survival.kaplan_meier(time, [1, 1, 0, 1], missing="drop")
    assert k.curves[0].rows == 3


@pytest.mark.parametrize("band", ["pointwise", "simultaneous", "none"])
def test_pictures(band: str) -> None:
    k = pg.survival.kaplan_meier(WEEKS, RELAPSE, by=ARM)
    svg = k.picture(band=band, time_label="weeks").to_svg()
    assert all(text in svg for text in ("Number at risk", "placebo", "weeks", "21"))
    assert ("95 %" in svg) == (band != "none")
    ax = k.plot(name="trial", band=band)
    legend = ax.get_legend()
    assert legend is not None
    assert "trial 6-MP" in [text.get_text() for text in legend.get_texts()]
    assert ax.get_ylim() == (0, 1)


def test_a_device_needs_numpy_alone() -> None:
    out = on_a_device("""
import pairgossip as pg
weeks, relapse, arm = [6, 7, 10, 13, 1, 2, 2, 3], [1, 0, 1, 1, 1, 1, 1, 0], list("aaaabbbb")
k = pg.survival.kaplan_meier(weeks, relapse, by=arm)
print("<svg" in k._repr_html_(), pg.survival.log_rank(weeks, relapse, by=arm).freedom)
print(pg.survival.concordance(weeks, relapse, [-w % 5 for w in weeks], weights="uno") > 0)
""")
    assert out.split() == ["True", "1", "True"]


def test_html_has_the_picture_and_the_table() -> None:
    page = pg.survival.kaplan_meier(TREATED, RELAPSE[:21], by=["<b>"] * 21)._repr_html_()
    assert "<svg" in page and "<table>" in page
    assert "&lt;b&gt;" in page and "<b>" not in page
