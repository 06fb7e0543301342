"""The front door `validate`: its results for rows and for counts, and what it refuses."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.pages.page import Heading
from pairgossip.validation import Validation, validate
from pairgossip.validation.calibration import NAMES

RANDOM = np.random.default_rng(7)
N = 600
X = RANDOM.normal(-1.2, 1.1, N)
RISK = 1 / (1 + np.exp(-X))
DIED = (RANDOM.random(N) < 1 / (1 + np.exp(-(0.3 + 0.8 * X)))).astype(int)
SEX = np.where(RANDOM.random(N) < 0.55, "f", "m")
WARD = RANDOM.integers(0, 3, N)
CELLS = pg.cells.Logit(1e-3, 64).at(0.2, 0.4)


def count(**more: Any) -> pg.Summary:
    """Return the rows counted in cells."""
    given: dict[str, Any] = {"labels": DIED, "classes": [0, 1], "cells": CELLS, "kernel": "auc"}
    return pg.summarize(RISK, **given | more)


@pytest.fixture(scope="module")
def full() -> Validation:
    return validate(RISK, DIED, by=SEX, within=WARD, thresholds=[0.2, 0.4])


@pytest.fixture(scope="module")
def counted() -> Validation:
    return validate(count(by=SEX, within=WARD), thresholds=(0.2, 0.4))


def test_numbers_are_those_of_the_single_questions(full: Validation) -> None:
    assert full.roc.auc == pg.exact(RISK, "auc", labels=DIED)
    assert full.within == pg.exact(RISK, "auc", labels=DIED, within=WARD)
    curve = pg.roc(RISK, DIED)
    assert [one.to_dict() for one in full.thresholds] == [
        curve.at(threshold).to_dict() for threshold in (0.2, 0.4)
    ]
    assert full.groups is not None
    table = pg.exact(RISK, "auc", labels=DIED, by=SEX, interval=0.95)
    assert full.groups.auc.to_dict() | {"by": "group"} == table.to_dict()
    assert full.groups.worst == table.worst


@pytest.mark.parametrize("group", ["f", "m"])
def test_a_group_has_the_numbers_of_its_rows_alone(full: Validation, group: str) -> None:
    is_in = np.array([one == group for one in SEX])
    alone = validate(RISK[is_in], DIED[is_in], thresholds=[0.2, 0.4])
    assert full.groups is not None and alone.calibration is not None
    found = full.groups[group].calibration
    assert found is not None and found.to_dict() == alone.calibration.to_dict()
    assert [one.to_dict() for one in full.groups[group].thresholds] == [
        one.to_dict() for one in alone.thresholds
    ]


def test_counts_agree_with_rows_up_to_what_they_leave_open(
    full: Validation, counted: Validation
) -> None:
    assert full.calibration is not None and counted.calibration is not None
    for name in NAMES:
        low, high = getattr(counted.calibration, name).bracket
        assert low <= getattr(full.calibration, name).value <= high
    for one, other in zip(full.thresholds, counted.thresholds, strict=True):
        assert one.sensitivity.value == pytest.approx(other.sensitivity.value)
        assert one.ppv.value == pytest.approx(other.ppv.value)
    assert full.groups is not None and counted.groups is not None
    assert [*counted.groups] == [*full.groups] == ["f", "m"]
    for name in full.groups:
        low, high = counted.groups.auc[name].bracket
        assert low <= full.groups.auc[name] <= high
    assert counted.within is not None and full.within is not None
    assert counted.within.value == pytest.approx(full.within.value, abs=0.01)


def test_weights_count_rows_as_often() -> None:
    times = np.random.default_rng(3).integers(1, 4, N)
    weighted = validate(RISK, DIED, weights=times, thresholds=[0.3])
    repeated = validate(np.repeat(RISK, times), np.repeat(DIED, times), thresholds=[0.3])
    one, other = weighted.to_dict(), repeated.to_dict()
    assert _round(one["calibration"]) == _round(other["calibration"])
    assert _round(one["thresholds"]) == _round(other["thresholds"])
    assert _round(one["discrimination"]) == _round(other["discrimination"])


def _round(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _round(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_round(one) for one in value]
    return float(f"{value:.8g}") if isinstance(value, float) else value


def test_every_number_of_the_page_is_in_the_dict(full: Validation, counted: Validation) -> None:
    for found in (full, counted):
        facts = found.to_dict()
        assert json.loads(json.dumps(facts, allow_nan=False)) == facts
        assert facts == found.to_dict()
        assert facts["rows"] == N and facts["positives"] == DIED.sum()
        assert facts["discrimination"]["auc"]["value"] == float(found.roc.auc)
        assert [*facts["groups"]["groups"]] == ["f", "m"]
        assert len(facts["thresholds"]) == 2


def test_the_page_has_its_heads(full: Validation, counted: Validation, tmp_path: Path) -> None:
    for found in (full, counted):
        heads = [part.text for part in found.parts() if isinstance(part, Heading)]
        assert heads == ["Discrimination", "Calibration", "Thresholds", "Groups"]
        file = tmp_path / "report.html"
        found.to_html(file, "Risk & death")
        page = file.read_text("utf-8")
        assert "<h1>Risk &amp; death</h1>" in page and page.count("<figure>") == 4
        assert "<script" not in page and "nan" not in page
        assert found._repr_html_().startswith('<div class="pairgossip">')


def test_only_counts_speak_of_what_is_certain(full: Validation, counted: Validation) -> None:
    assert "certain" not in str(full) and "[" not in str(full)
    assert "certain" in str(counted)
    assert "In square brackets" not in "".join(one.to_html() for one in full.parts())


def test_a_frame_has_a_line_per_number(full: Validation) -> None:
    pytest.importorskip("pandas")
    frame = full.to_pandas()
    assert {*frame["rows"]} == {"all rows", "f", "m"}
    line = frame[(frame["rows"] == "f") & (frame["number"] == "sensitivity")]
    assert [*line["threshold"]] == [0.2, 0.4]


def test_a_figure_has_a_panel_per_picture(full: Validation) -> None:
    pytest.importorskip("matplotlib")
    assert len(full.plot().axes) == 4
    assert len(validate(10 * RISK, DIED).plot().axes) == 1


def test_scores_that_are_no_probabilities_have_no_calibration() -> None:
    found = validate(10 * RISK - 2, DIED, by=SEX, thresholds=[1])
    assert found.calibration is None
    assert found.no_calibration.startswith("Calibration is of probabilities, but scores run from")
    assert found.no_calibration.endswith(": give scores from 0 to 1.")
    assert "no calibration: " in str(found) and "net benefit" not in str(found)
    assert found.groups is not None and found.groups.observed_expected is None
    beyond = validate(count(cells=pg.cells.Even(-1, 1, 32), least_cell=5))
    assert beyond.no_calibration.endswith(
        "give scores from 0 to 1, or count them in cells from 0 to 1."
    )


def test_a_group_of_one_class_says_why_it_has_nothing() -> None:
    group = np.where((DIED == 1) & (WARD == 0), "a", SEX)
    for found in (
        validate(RISK, DIED, by=group, thresholds=[0.2]),
        validate(count(by=group), thresholds=(0.2,)),
    ):
        assert found.groups is not None
        alone = found.groups["a"]
        assert alone.roc is None and alone.calibration is None and alone.thresholds == ()
        assert str(alone.reason).endswith(".") and math.isnan(found.groups.auc["a"])
        facts = found.to_dict()["groups"]["groups"]["a"]
        assert facts["reason"] and facts["rows"] == (group == "a").sum()
        page = "".join(one.to_html() for one in found.parts())
        assert "Group &#x27;a&#x27;" in page


def test_few_rows_and_ties() -> None:
    found = validate([0.2, 0.2, 0.8, 0.8], [0, 1, 0, 1], thresholds=[0.1, 0.5, 0.95])
    assert found.calibration is not None
    assert found.calibration.slope.value == pytest.approx(0.0, abs=1e-9)
    assert found.calibration.observed_expected.value == pytest.approx(1.0)
    assert found.thresholds[0].specificity.value == 0 and found.thresholds[2].sensitivity.value == 0
    assert str(found)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([0.1, 0.2, 0.7, 0.8], "the scores of the two classes do not overlap"),
        ([0.0, 0.6, 0.5, 0.8], "1 score of exactly 0 or 1 has no logit"),
        ([0.0, 0.6, 0.5, 1.0], "2 scores of exactly 0 or 1 have no logit"),
        ([0.3, 0.3, 0.3, 0.3], "all scores are the same"),
    ],
)
def test_there_may_be_no_slope(scores: list[float], reason: str) -> None:
    found = validate(scores, [0, 0, 1, 1]).calibration
    assert found is not None and math.isnan(found.slope.value)
    assert found.notes == (f"There is no slope: {reason}.",)
    assert math.isfinite(found.brier.value) and math.isfinite(found.in_the_large.value)


@pytest.mark.parametrize(
    ("scores", "value"),
    [
        ([0.0, 0.5, 0.5, 1.0], 0.0),  # one of the two others is expected at logits of 0
        ([0.0, 0.25, 0.25, 1.0], np.log(3)),
        ([0.0, 0.0, 1.0, 1.0], None),  # correct for any intercept
        ([0.0, 0.0, 0.0, 0.5], None),  # the expected number is always too low
        ([0.5, 1.0, 1.0, 1.0], None),
    ],
)
def test_scores_of_exactly_0_and_1_are_not_moved(scores: list[float], value: float | None) -> None:
    found = validate(scores, [0, 0, 1, 1]).calibration
    assert found is not None
    note = "There is no calibration in the large: so many scores are exactly 0 or 1 that no change "
    assert found.notes[0].startswith(note) == (value is None)
    if value is None:
        assert math.isnan(found.in_the_large.value) and math.isnan(found.in_the_large.low)
    else:
        assert found.in_the_large.value == pytest.approx(value, abs=1e-9)


def test_counts_at_exactly_0_leave_the_intercept_open() -> None:
    """Two of three positive rows may be at 0, where no intercept moves them."""
    s = pg.summarize(
        [0.05, 0.08, 0.2, 0.6], "auc", labels=[1, 1, 0, 1], cells=pg.cells.Edges([0, 0.1, 0.5, 1])
    )
    found = validate(s).calibration
    assert found is not None
    assert math.isfinite(found.in_the_large.bracket[0])
    assert found.in_the_large.bracket[1] == math.inf and math.isnan(found.in_the_large.high)


def test_no_interval_of_the_scaled_brier_score_ends_above_1() -> None:
    found = validate([0.1, 0.2, 0.3, 0.9, 0.8], [0, 0, 1, 1, 1]).calibration
    assert found is not None
    assert found.scaled_brier.low < found.scaled_brier.value < found.scaled_brier.high < 1


def test_groups_have_as_many_rows_as_count() -> None:
    times = np.random.default_rng(3).integers(1, 4, N)
    weighted = validate(RISK, DIED, by=SEX, weights=times)
    assert weighted.groups is not None
    for name, group in weighted.groups.items():
        assert group.rows == times[name == SEX].sum()
        assert group.roc is not None and group.roc.positives + group.roc.negatives == group.rows


def test_parts_are_shown_as_tables(full: Validation) -> None:
    assert full.groups is not None and full.calibration is not None
    lines = repr(full.calibration).splitlines()
    assert len(lines) == 1 + len(NAMES) and lines[3].startswith("calibration slope")
    assert repr(full.groups).startswith("group") and "Bin(" not in repr(full.groups)
    assert repr(full.groups["f"]).startswith("<Group 'f' of ")


REFUSED: dict[str, Callable[[], object]] = {
    "A threshold is a finite number, not 'x': give such as 0.5.": lambda: validate(
        RISK,
        DIED,
        thresholds="x",  # type: ignore[arg-type]
    ),
    "Scores are from 0 to 1, and thresholds= holds 20: give numbers between these.": lambda: (
        validate(RISK, DIED, thresholds=[0.1, 20])
    ),
    "Scores are from -1 to 1, and thresholds= holds -2: give numbers between these.": lambda: (
        validate(count(cells=pg.cells.Even(-1, 1, 32)), thresholds=-2)
    ),
    "The level of an interval must be a number between 0 and 1, not 2.": lambda: validate(
        RISK, DIED, interval=2
    ),
    "A summary has its columns, classes and weights already: leave by= out.": lambda: validate(
        count(), by=SEX
    ),
    "A curve counts rows, each a whole number of times: give other weights=.": lambda: validate(
        RISK, DIED, weights=np.full(N, 0.5)
    ),
    "All rows are in one group, so there is nothing to compare: leave by= out, or give other "
    "groups.": lambda: validate(RISK, DIED, by=np.zeros(N)),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_one_sentence_says_what_is_wrong(sentence: str) -> None:
    with pytest.raises(pg.InputError) as refused:
        REFUSED[sentence]()
    assert str(refused.value) == sentence


def test_groups_of_counts_are_compared_by_as_many_rows_as_their_smaller_class() -> None:
    random = np.random.default_rng(3)
    by, died = np.repeat(["f", "m", "x"], [30, 20, 25]), np.arange(75) % 3 == 0
    score = np.rint(10 + 3 * random.normal(size=75) + 3 * died)
    cells = pg.cells.Whole(0, 30)
    counted = pg.summarize(score, "auc", labels=died.astype(int), by=by, cells=cells)
    groups = pg.validate(counted).groups
    assert groups is not None
    assert groups.auc.freedoms == {"f": 9, "m": 6, "x": 7}  # 10, 7 and 8 died
    found = groups.auc.equality
    assert found is not None and found.error_freedom < 20
