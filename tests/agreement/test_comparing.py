"""`pg.heterogeneity` of summaries, of groups and of rows."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest

import pairgossip as pg
from pairgossip.agreement.pooling import pool_by_errors, pool_equally
from pairgossip.agreement.scales import center
from pairgossip.errors import InputError
from pairgossip.summaries.summary_file import SummaryFile
from tests.test_device import on_a_device

mpl.use("Agg")

CELLS = pg.cells.Whole(0, 40)


class Sites:
    """Rows of several sites with whole numbers as scores, for which cells are exact."""

    def __init__(self, seed: int, sizes: list[int]) -> None:
        random = np.random.default_rng(seed)
        self.by = np.repeat([f"ward {k}" for k in range(len(sizes))], sizes)
        shift = np.repeat(random.normal(6, 3, len(sizes)), sizes)
        self.died = (random.random(len(self.by)) < 0.4).astype(int)
        score = random.normal(15, 7, len(self.by)) + shift * self.died
        self.score = np.clip(np.rint(score), 0, 40)
        self.names = sorted(set(self.by))

    def summarize(self, name: str, kernel: str = "auc", **more: Any) -> pg.Summary:
        rows = self.by == name
        more = {"classes": [0, 1], "labels": self.died[rows]} | more
        return pg.summarize(self.score[rows], kernel, cells=CELLS, **more)


@pytest.mark.parametrize("method", ["random", "equal"])
def test_the_same_of_rows_of_groups_and_of_summaries(method: str) -> None:
    for seed in range(3):
        sites = Sites(seed, [30, 60, 45, 200, 80, 33, 61])
        rows = pg.heterogeneity(sites.score, labels=sites.died, by=sites.by, method=method)
        grouped = pg.summarize(sites.score, "auc", labels=sites.died, cells=CELLS, by=sites.by)
        named = {name: sites.summarize(name) for name in sites.names}
        table = {"s": sites.score, "d": sites.died, "w": sites.by}
        by_names = pg.heterogeneity(table, "auc", labels="d", by="w", method=method)
        for other in (grouped, named, list(named.values())):
            found = pg.heterogeneity(other, method=method)
            assert found.mean == pytest.approx(rows.mean, rel=1e-12)
            assert found.tau == pytest.approx(rows.tau, rel=1e-9)
            assert found.interval == pytest.approx(rows.interval, rel=1e-9)
            assert [one.rows for one in found.sites] == [30, 60, 45, 200, 80, 33, 61]
        assert by_names == rows
        assert [one.name for one in rows.sites] == sites.names
        assert found.sites[0].name == "site 1"


def test_files_of_summaries_are_taken_as_they_were_loaded(tmp_path: Path) -> None:
    sites = Sites(1, [40, 50, 60])
    parts, files = [sites.summarize(name) for name in sites.names], []
    for at, part in enumerate(parts):
        path = tmp_path / f"{at}.summary"
        path.write_bytes(SummaryFile.of(part, f"clinic {at}").to_bytes())
        files.append(pg.load(path))
    assert pg.heterogeneity(files) == pg.heterogeneity(parts)


def test_numbers_are_those_of_answers_by_formulas() -> None:
    sites = Sites(4, [40, 70, 55, 90, 38, 120])
    answers = [
        pg.exact(sites.score[rows], "auc", labels=sites.died[rows], interval=0.9)
        for rows in (sites.by == name for name in sites.names)
    ]
    a, e = np.array([(one.value, one.error) for one in answers]).T
    v = (e / (a * (1 - a))) ** 2
    given: dict[str, Any] = {"labels": sites.died, "by": sites.by, "interval": 0.9}
    usual = pg.heterogeneity(sites.score, **given)
    pooled = pool_by_errors(np.log(a / (1 - a)), v)
    ends = 1 / (1 + np.exp(-np.array([pooled.mean, *pooled.interval(0.9), *pooled.predict(0.9)])))
    shown = (usual.mean, *usual.interval, *usual.prediction_interval)
    assert shown == pytest.approx(ends, rel=1e-9)
    assert (usual.tau, usual.q, usual.q_p, usual.i_squared) == pytest.approx(
        (pooled.tau, pooled.q, pooled.q_p, pooled.i_squared), rel=1e-9
    )
    assert [one.weight for one in usual.sites] == pytest.approx(pooled.weights, rel=1e-9)
    for one, known in zip(usual.sites, answers, strict=True):
        assert (one.value, one.low, one.high) == (known.value, known.low, known.high)
    equal = pg.heterogeneity(sites.score, method="equal", **given)
    centered, v = np.array([center(one.value, one.error) for one in answers]).T
    pooled = pool_equally(centered, v)
    assert math.log(equal.mean / (1 - equal.mean)) == pytest.approx(centered.mean(), rel=1e-9)
    assert equal.tau == pytest.approx(pooled.tau, rel=1e-9)


@pytest.mark.parametrize(
    ("kernel", "scale"),
    [("gini", "log"), ("gini-coefficient", "logit"), ("kendall-b", "fisher"), ("auc", "logit")],
)
def test_other_statistics_have_other_scales(kernel: str, scale: str) -> None:
    sites = Sites(5, [40, 60, 50])
    found = pg.heterogeneity(
        [sites.summarize(name) for name in sites.names], None if kernel == "auc" else kernel
    )
    assert (found.reading, found.scale) == (kernel, scale)
    assert found.interval[0] < found.mean < found.interval[1]
    if kernel == "gini":
        logs = [math.log(one.value) for one in found.sites]
        assert min(logs) < math.log(found.mean) < max(logs)


def separate(sizes: tuple[int, int]) -> pg.Summary:
    """Make the summary of a site whose classes do not overlap: its AUC is 1."""
    scores, died = np.repeat([5, 30], sizes), np.repeat([0, 1], sizes)
    return pg.summarize(scores, "auc", labels=died, cells=CELLS, classes=[0, 1])


@pytest.mark.parametrize("method", ["random", "equal"])
@pytest.mark.parametrize("sizes", [(20, 6), (20, 1)])
def test_a_site_without_an_error_has_half_a_row_more(sizes: tuple[int, int], method: str) -> None:
    sites = Sites(6, [50, 60])
    parts = {name: sites.summarize(name) for name in sites.names} | {"clear": separate(sizes)}
    found = pg.heterogeneity(parts, method=method)
    lone = found.sites[2]
    assert float(lone.value) == 1 and math.isnan(lone.value.error) and math.isnan(lone.low)
    assert found.left_out == () and 0 < found.mean < 1
    assert "without an error of its own" in found.notes[1] and "clear" in found.notes[1]
    ys = [center(one.value, one.value.error)[0] for one in found.sites[:2]]
    y, v = math.log(2 * sizes[1] + 1), 1 / (sizes[1] + 0.5) + 2
    if method == "equal":
        mean = math.log(found.mean / (1 - found.mean))
        assert mean == pytest.approx((sum(ys) + y) / 3, rel=1e-9)
    else:
        others = [one.value.error / (one.value * (1 - one.value)) for one in found.sites[:2]]
        weights = 1 / (np.array([*np.square(others), v]) + found.tau**2)
        assert lone.weight == pytest.approx(weights[2] / weights.sum(), rel=1e-9)


def test_sites_without_a_value_are_left_out_with_a_word() -> None:
    sites = Sites(7, [50, 60, 40, 30])
    sites.died[sites.by == "ward 2"] = 0
    for found in (
        pg.heterogeneity({name: sites.summarize(name) for name in sites.names}),
        pg.heterogeneity(sites.score, labels=sites.died, by=sites.by),
    ):
        assert found.left_out == ("ward 2",) and len(found.sites) == 3
        assert "left out, as they have no value or no error: ward 2" in str(found)


def test_coarse_cells_are_named() -> None:
    sites = Sites(8, [60] * 3)
    fine = {name: sites.summarize(name) for name in sites.names}
    coarse = {name: one.hide(5) if name == "ward 1" else one for name, one in fine.items()}
    assert not any("open" in note for note in pg.heterogeneity(fine).notes)
    notes = pg.heterogeneity(coarse).notes
    assert any("open at ward 1:" in note for note in notes)


def test_few_sites() -> None:
    sites = Sites(9, [40] * 7)
    parts = [sites.summarize(name) for name in sites.names]
    assert "fewer than 6 sites" in str(pg.heterogeneity(parts[:5]))
    assert "fewer than 6 sites" not in str(pg.heterogeneity(parts[:6]))
    two = pg.heterogeneity(parts[:2])
    assert all(map(math.isnan, two.prediction_interval))
    assert "new site" not in str(two) and "new site" not in two.picture().to_svg()


def test_it_shows_itself() -> None:
    sites = Sites(10, [40, 60, 50, 70, 80, 90])
    sites.names[0] = "<b>"
    parts = {name: sites.summarize(f"ward {at}") for at, name in enumerate(sites.names)}
    found = pg.heterogeneity(parts)
    lines = str(found).split("\n")
    assert lines[0].split() == ["site", "rows", "auc", "weight"]
    assert re.match(r"<b> +40  0\.\d+ \(0\.\d+ to \d\.\d+\) +\d+ %", lines[1])
    assert lines[7].startswith("mean of 6 sites: 0.") and "; random effects)" in lines[7]
    assert "tau = " in lines[8] and " on the logit, I2 = " in lines[8]
    assert "measured to hold" in lines[9]
    page = found._repr_html_()
    assert "<b>" not in page and "&lt;b&gt;" in page
    svg = ElementTree.fromstring(found.picture().to_svg())
    words = "".join(svg.itertext())
    assert all(word in words for word in ("<b>", "ward 5", "mean", "a new site", "auc (95 %)"))
    ax = found.plot()
    assert [text.get_text() for text in ax.get_yticklabels()][-2:] == ["mean", "a new site"]
    frame = found.to_pandas()
    assert list(frame.columns) == ["name", "rows", "value", "low", "high", "weight", "error"]
    assert frame["weight"].sum() == pytest.approx(1) and frame["value"].dtype == float
    assert "measured" not in str(pg.heterogeneity(parts, interval=0.9))


PARTS = [Sites(11, [40, 50, 60]).summarize(f"ward {k}") for k in range(3)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"data": PARTS[:1]}, "2 sites or more are compared, but there is 1: give more"),
        ({"data": PARTS[0]}, "A summary without groups is one site: give one summary of each, or"),
        ({"data": [PARTS[0], 3]}, "Sites cannot mix summaries with a int"),
        ({"data": PARTS, "reading": "median"}, "'median' has no scale on which sites are"),
        ({"data": PARTS, "labels": [1]}, "Summaries have their columns, classes and sites already"),
        ({"data": PARTS, "by": "x"}, "leave by= out"),
        ({"data": PARTS, "method": "fixed"}, "Unknown method 'fixed'"),
        ({"data": PARTS, "interval": 1}, "The level of an interval is 1"),
        ({"data": PARTS, "reading": "kendal"}, "did you mean"),
        ({"data": PARTS, "reading": "distance"}, "'distance' cannot be read from counts"),
        ({"data": [1.0, 2.0], "labels": [0, 1]}, "give the site of each, by="),
        ({"data": [1.0, 2.0], "reading": "gini", "by": ["a"]}, "by="),
        ({"data": [1.0, 2.0], "reading": "gini", "by": ["a", "a"]}, "there are 0, without a"),
        ({"data": [1.0, 2.0, 3.0], "labels": [0, 1, 1], "by": list("aab")}, "there is 1"),
    ],
)
def test_what_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        pg.heterogeneity(**given)


def test_summaries_for_different_readings_need_a_word() -> None:
    sites = Sites(12, [40, 50])
    parts = [
        sites.summarize("ward 0"),
        sites.summarize("ward 1", "gini", labels=None, classes=None),
    ]
    with pytest.raises(InputError, match="for 'auc' and 'gini': say what to read of all"):
        pg.heterogeneity(parts)
    assert pg.heterogeneity(parts, "gini").reading == "gini"


def test_it_runs_on_a_device() -> None:
    out = on_a_device("""
import pairgossip as pg
rows = [0.1, 0.6, 0.4, 0.9, 0.2, 0.5, 0.3, 0.8, 0.4, 0.7, 0.6, 0.5] * 2
found = pg.heterogeneity(rows, labels=[0, 0, 1, 1] * 6, by=[1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4] * 2)
print(len(found._repr_html_()) > 500, len(found.sites))
""")
    assert out == "True 4"


@pytest.mark.parametrize("nothing", [[], {}, ()])
def test_no_sites(nothing: Any) -> None:
    with pytest.raises(InputError, match="No sites are given"):
        pg.heterogeneity(nothing)
