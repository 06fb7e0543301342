"""Curves and tests as parts of a page, and as figures by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pairgossip as pg
from pairgossip.pages.page import Figure, Page, Table
from tests.survival.rows import ARM, RELAPSE, TREATED, WEEKS

CELLS = pg.cells.Even(0, 40, 20)


def test_figures_of_curves() -> None:
    k = pg.survival.kaplan_meier(WEEKS, RELAPSE, by=ARM)
    found = k.to_dict([10, 30])
    assert list(found["curves"]) == ["6-MP", "placebo"] and found["level"] == 0.95
    treated = found["curves"]["6-MP"]
    assert (treated["rows"], treated["events"], treated["end"]) == (21, 9, 35)
    assert treated["median"]["value"] == 23 and treated["median"]["interval"] == [13, None]
    at_10, at_30 = treated["at"]
    assert at_10["time"] == 10 and at_10["survival"] == k.curves[0].at(10).survival
    assert at_30["interval"] == list(k.curves[0].at(30).interval)
    assert at_30["bracket"] == [None, None]
    assert [one["time"] for one in k.to_dict()["curves"]["placebo"]["at"]] == [10, 20, 30]
    (alone,) = pg.survival.kaplan_meier(WEEKS, RELAPSE).to_dict()["curves"]
    assert alone == "all rows"


def test_figures_of_a_test() -> None:
    found = pg.survival.log_rank(WEEKS, RELAPSE, by=ARM)
    told = found.to_dict()
    assert told["statistic"] == found.statistic and told["p"] == found.p
    assert told["groups"]["6-MP"] == {"observed": 9, "expected": found.expected[0]}


def test_of_cells_shares_are_those_that_reach_a_time() -> None:
    s = pg.summarize(WEEKS, "auc", labels=RELAPSE, cells=CELLS)
    k = pg.survival.kaplan_meier(s)
    (at_22,) = k.to_dict([22])["curves"]["all rows"]["at"]
    own = pg.survival.kaplan_meier(WEEKS, RELAPSE).curves[0].at(22, before=True).survival
    low, high = at_22["bracket"]
    assert at_22["survival"] == k.curves[0].at(22, before=True).survival
    assert low <= own <= high
    page = Page("", k.parts([22])).to_html()
    assert "Share that reaches a time" in page and "certain" in page
    assert f"{low:.3f} to {high:.3f}" in page
    whole = pg.summarize(WEEKS, "auc", labels=RELAPSE, cells=pg.cells.Whole(0, 40))
    assert (
        "Share that survives a time" in Page("", pg.survival.kaplan_meier(whole).parts()).to_html()
    )


def test_every_number_of_a_page_is_a_figure() -> None:
    k = pg.survival.kaplan_meier(WEEKS, RELAPSE, by=ARM)
    picture, medians, shares = k.parts([10, 30], time_label="weeks")
    assert isinstance(picture, Figure) and "Short upright lines" in picture.caption
    assert isinstance(medians, Table) and isinstance(shares, Table)
    assert medians.rows == (
        ("6-MP", "21", "9", "23", "13 or later"),
        ("placebo", "21", "21", "8", "4 to 11"),
    )
    assert shares.header == ("weeks", "group", "at risk", "share", "95 %")
    curves = k.to_dict([10, 30])["curves"]
    for row in shares.rows:
        (told,) = (one for one in curves[row[1]]["at"] if f"{one['time']:g}" == row[0])
        assert row[2:4] == (str(told["at_risk"]), f"{told['survival']:.3f}")
        low, high = told["interval"]
        assert row[4] == ("" if low is None else f"{low:.3f} to {high:.3f}")
    assert shares.rows[-1] == ("30", "placebo", "0", "0.000", "")  # all have had the event


def test_medians_that_are_not_reached() -> None:
    text = str(pg.survival.kaplan_meier([3, 4, 9], [0, 0, 0]))
    assert text.split("\n")[1].split() == ["3", "0", "not", "reached", "not", "reached"]


def test_a_test_on_a_page() -> None:
    found = pg.survival.log_rank(WEEKS, RELAPSE, by=ARM)
    page = Page("", found.parts()).to_html()
    assert "16.79 with 1 degree of freedom, p &lt; 0.0001" in page and "19.25" in page
    assert "16.79" in found._repr_html_()
    n = 400
    random = np.random.default_rng(0)
    group = random.integers(0, 2, n)
    time = random.exponential(10.0 + 10 * group).clip(0, 40)
    s = pg.summarize(
        time, "auc", labels=time < 30, by=group, cells=pg.cells.Even(0, 40, 512), classes=[0, 1]
    )
    found = pg.survival.log_rank(s)
    low, high = found.bracket
    page = Page("", found.parts()).to_html()
    assert f"between {low:.4g} and {high:.4g} for certain, p at most" in page


def test_names_of_groups_are_escaped_and_times_checked() -> None:
    k = pg.survival.kaplan_meier(TREATED, RELAPSE[:21], by=["<b>"] * 21)
    assert "<b>" not in k._repr_html_() and "&lt;b&gt;" in k._repr_html_()
    with pytest.raises(pg.InputError, match="A time must be a number >= 0, not -1"):
        k.parts([-1])


def test_lines_of_a_frame_have_numbers_of_their_own() -> None:
    frame = pg.survival.kaplan_meier(WEEKS, RELAPSE, by=ARM).to_pandas()
    assert isinstance(frame, pd.DataFrame) and frame.index.is_unique
