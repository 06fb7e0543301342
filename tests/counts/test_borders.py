"""Thresholds as edges: few blocks lie across them, and counts at them are exact."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pairgossip as pg
from pairgossip.counts.borders import lay_through
from pairgossip.counts.tree import lay_tree

c: Any = pg.cells


@given(
    st.lists(st.floats(-50, 50), min_size=9, max_size=40, unique=True),
    st.lists(st.floats(0.01, 0.99), min_size=1, max_size=7, unique=True),
)
def test_edges_are_as_many_and_thresholds_are_among_them(
    edges: list[float], shares: list[float]
) -> None:
    given_edges = np.sort(edges)
    thresholds = sorted({float(given_edges[0] + one * np.ptp(given_edges)) for one in shares})
    try:
        laid = lay_through(given_edges, thresholds)
    except pg.InputError as refused:
        assert "may be as close to the next as" in str(refused)
        return
    assert len(laid) == len(given_edges) and (np.diff(laid) > 0).all()
    assert set(thresholds) <= set(laid.tolist())
    tree = lay_tree((len(laid) - 1,))
    (first,), (last,) = (box.T for box in tree.boxes)
    for place in np.searchsorted(laid, thresholds):
        across = (first < place) & (place <= last)
        assert across.sum() <= len(thresholds).bit_length()


def test_edges_are_the_same_everywhere() -> None:
    laid = [
        c.Even(0, 1, 256).at(0.1, 0.2),
        c.Logit().at(0.03, 0.1, 0.2),
        c.Log(1, 1e6).at(30),
        c.Even(-0.1, 7 / 3, 100).at(0, 1),
        c.Float(10).at(0.1),
    ]
    digests = [hashlib.sha256(one.lay().places.tobytes()).hexdigest()[:16] for one in laid]
    assert digests == DIGESTS


DIGESTS = [
    "d8feb52d2bff30e2",
    "40ae059bf5f2ac9a",
    "bc6891135088696a",
    "1a1ddf846097ced5",
    "a8fcbba88150c476",
]
"""Recorded digests of edges: peers that compute other edges cannot add up their counts."""


def test_cells_stay_spaced_as_they_were() -> None:
    even = c.Even(0, 1, 256).at(0.5).lay().places
    np.testing.assert_allclose(even, np.arange(257) / 256, atol=1e-12)
    widths = np.diff(c.Even(0, 1, 256).at(0.1, 0.2).lay().places)
    np.testing.assert_allclose(widths[:64], 0.1 / 64)
    np.testing.assert_allclose(widths[128:], 0.8 / 128)
    log = np.log(c.Log(1, 1e6, 256).at(1e3).lay().places)
    np.testing.assert_allclose(np.diff(log), np.log(1e6) / 256, rtol=1e-3)
    assert c.Even(0, 1, 16).at() == c.Even(0, 1, 16)
    assert c.Even(0, 1, 16).at(0.3, 0.2, 0.3) == c.Even(0, 1, 16).at(0.2, 0.3)


@pytest.mark.parametrize("cells", [c.Even(0, 1, 64), c.Logit(1e-3, 64), c.Even(0, 1, 50)])
@pytest.mark.parametrize("thresholds", [(0.1, 0.2), (0.5,), (0.05, 0.1, 0.3, 0.7, 0.9)])
@pytest.mark.parametrize("least", [1, 3, 10])
def test_what_happens_at_thresholds_is_exact_or_within_its_bracket(
    cells: c.Cells, thresholds: tuple[float, ...], least: int
) -> None:
    rng = np.random.default_rng(len(thresholds))
    cells = cells.at(*thresholds)
    for size in (30, 300, 3000):
        died = rng.random(size) < 0.4
        score = np.where(rng.random(size) < 0.2, rng.choice(thresholds, size), rng.random(size))
        counted = pg.summarize(
            score, "auc", labels=died, classes=[False, True], cells=cells, least_cell=least
        )
        if min(died.sum(), (~died).sum()) < least:
            continue
        roc = pg.roc(counted)
        for one in thresholds:
            point = roc.at(one)
            exact = [(score[died] >= one).mean(), (score[~died] < one).mean()]
            for found, value in zip((point.sensitivity, point.specificity), exact, strict=True):
                low, high = found.bracket
                assert low - 1e-12 <= value <= high + 1e-12
                if least == 1:
                    assert low == high == pytest.approx(value)


def test_whole_numbers_stay_as_they_are() -> None:
    whole = c.Whole(0, 10)
    assert whole.at(3, 3.5, 10) is whole
    rng = np.random.default_rng(1)
    grade, died = rng.integers(0, 11, 200), rng.random(200) < 0.5
    counted = pg.summarize(grade, "auc", labels=died, classes=[False, True], cells=whole)
    for one in (3, 3.5):
        point = pg.roc(counted).at(one)
        assert point.sensitivity.value == pytest.approx((grade[died] >= one).mean())
        assert point.sensitivity.bracket[0] == point.sensitivity.bracket[1]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: c.Even(0, 1).at(2),
            "Threshold 2 is not between the ends of all cells, 0 and 1: give one that is.",
        ),
        (lambda: c.Even(0, 1).at(0), "Threshold 0 is not between the ends of all cells, 0 and 1"),
        (lambda: c.Even(0, 1).at("x"), "A threshold must be a number between"),
        (lambda: c.Even(0, 1).at(float("nan")), "A threshold must be a number between"),
        (
            lambda: c.Even(0, 1).at(0.1, 0.10001),
            "No threshold, or end of the range, may be as close to the next as 0.1 to 0.10001: "
            "give others, or cells that are finer there.",
        ),
        (
            lambda: c.Even(0, 1).at(*(np.arange(1, 17) / 17)),
            "There are at most 15 thresholds, not 16: give fewer.",
        ),
        (lambda: c.Even(0, 1, 3).at(0.1, 0.2), "2 thresholds take 4 cells, and here are 3: give"),
        (
            lambda: c.Whole(0, 9).at(3.3),
            "Threshold 3.3 does not fit Whole(0, 9): give a whole number from 0 to 9, or the",
        ),
        (
            lambda: c.Whole(0, 9).at(10),
            "Threshold 10 does not fit Whole(0, 9): give a whole number",
        ),
        (lambda: c.Quantiles(4).at(1), "Quantiles(4) has no edges before rows are seen"),
    ],
)
def test_other_thresholds_are_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(pg.InputError) as caught:
        make()
    assert str(caught.value).startswith(sentence)
