"""Cells: edges that are the same on all machines, their text, and what is refused."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.counts.cells import Cells, default_cells

c: Any = pg.cells


@pytest.mark.parametrize(
    ("cells", "text", "count"),
    [
        (c.Even(0, 1, 1000), "Even(0, 1, 1000)", 1000),
        (c.Even(-0.1, 7 / 3, 7), "Even(-0.1, 2.3333333333333335, 7)", 7),
        (c.Log(1e3, 1e6, 256), "Log(1000, 1e+06, 256)", 256),
        (c.Logit(1e-4, 64), "Logit(0.0001, 64)", 64),
        (c.Whole(-3, 4), "Whole(-3, 4)", 8),
        (c.Edges([0, 0.5, 2]), "Edges(0, 0.5, 2)", 2),
        (c.Float(12), "Float(12)", 2 * 2040),
        (c.Quantiles(10), "Quantiles(10)", 10),
    ],
)
def test_cells_have_a_text_and_edges_in_order(cells: Cells, text: str, count: int) -> None:
    axis = cells.fit(np.arange(101.0)).lay()
    assert str(cells) == repr(cells) == text
    assert axis.bins == count
    assert (np.diff(axis.places) > 0).all()


def test_computed_edges_are_near_and_have_few_digits() -> None:
    even, log, logit = (
        one.lay().places for one in (c.Even(0.1, 0.9, 7), c.Log(0.1, 90, 7), c.Logit(1e-3, 8))
    )
    np.testing.assert_allclose(even, [0.1 + 0.8 * k / 7 for k in range(8)], atol=1e-7)
    np.testing.assert_allclose(log, [0.1 * 900 ** (k / 7) for k in range(8)], rtol=1e-7)
    middle = [math.log(p / (1 - p)) for p in logit[1:-1]]
    np.testing.assert_allclose(np.diff(middle), (middle[-1] - middle[0]) / 6, rtol=1e-5)
    for edges in (even, log, logit[:5]):
        for edge in edges[1:-1]:  # a machine with other last digits rounds to the same edges
            mantissa = math.frexp(edge)[0] * 2**27
            assert mantissa == round(mantissa)


def test_float_cells_share_leading_bits() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=200) * 10.0 ** rng.integers(-20, 20, 200)
    axis = c.Float(13).lay()
    bits = [struct.unpack(">I", struct.pack(">f", one))[0] >> 19 for one in values]
    placed = axis.find_bins(values.astype(np.float32).astype(np.float64))
    negative = values < 0
    for side in (negative, ~negative):
        pairs = {(int(at), bit) for at, bit, own in zip(placed, bits, side, strict=True) if own}
        assert len({at for at, _ in pairs}) == len({bit for _, bit in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: c.Even(1, 0), "Even runs from 1 to 0: give the smaller end first."),
        (lambda: c.Even("x", 0), "An end of Even must be a number between"),
        (lambda: c.Even(0, 1, 0), "The number of cells must be a whole number >= 1, not 0."),
        (lambda: c.Even(0, 1, 1e7), "A column has at most 1,048,576 cells, not 10,000,000"),
        (lambda: c.Log(0, 1), "Log(0, 1, 256) begins at 0: give a number above 0, or Even."),
        (lambda: c.Logit(0.7), "Logit(0.7, 256) is no scale of probabilities"),
        (lambda: c.Whole(0.5, 3), "Whole counts whole numbers, but its low is 0.5."),
        (lambda: c.Edges([1, 1]), "Edges are two or more finite numbers"),
        (lambda: c.Edges(3), "Edges are two or more finite numbers"),
        (lambda: c.Float(30), "Float takes at most 20 bits, not 30: give fewer."),
        (lambda: c.Quantiles(4).lay(), "Quantiles(4) has no edges before rows are seen"),
        (lambda: c.Quantiles(4).fit(np.ones(3)), "All values are 1, so Quantiles(4) has no edges"),
    ],
)
def test_other_cells_are_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(pg.InputError) as caught:
        make()
    assert str(caught.value).startswith(sentence)


def test_default_cells_follow_from_ranges_alone() -> None:
    assert default_cells([(0.0, 1.0)]) == (c.Even(0, 1, 256),)
    assert default_cells([(1.0, 101.0)]) == (c.Log(1, 101, 256),)
    assert default_cells([(1.0, 100.0)]) == (c.Even(1, 100, 256),)
    assert default_cells([(0.0, 9.0)], [True], is_own=True) == (c.Whole(0, 9),)
    assert default_cells([(0.0, 999.0)], [True]) == (c.Even(0, 999, 256),)
    assert default_cells([(0.0, 1.0)] * 2) == (c.Even(0, 1, 32),) * 2
    assert default_cells([(0.0, 1.0)], is_own=True) == (c.Even(0, 1, 4096),)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("even(0, 1, 1024)", c.Even(0, 1, 1024)),
        (" Even( -1,1 ) ", c.Even(-1, 1)),
        ("pg.cells.Even(0, 1)", c.Even(0, 1)),
        ("log(1, 1e6)", c.Log(1, 1e6)),
        ("logit", c.Logit()),
        ("logit(1e-3, 64)", c.Logit(1e-3, 64)),
        ("whole(0,100)", c.Whole(0, 100)),
        ("edges(0, 1, 10)", c.Edges([0, 1, 10])),
        ("float", c.Float()),
        ("FLOAT(10)", c.Float(10)),
        ("quantiles(64)", c.Quantiles(64)),
        ("quantiles()", c.Quantiles()),
    ],
)
def test_cells_are_read_as_they_are_written(text: str, cells: c.Cells) -> None:
    assert c.parse_cells(text) == cells
    assert c.parse_cells(str(cells)) == cells


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("even(0, 1, 8).at(0.1)", c.Even(0, 1, 8).at(0.1)),
        (" pg.cells.Logit(1e-3, 64) . at( .2,.1 ) ", c.Logit(1e-3, 64).at(0.1, 0.2)),
        ("logit.at(0.1)", c.Logit().at(0.1)),
        ("whole(0, 100).at(50)", c.Whole(0, 100)),
    ],
)
def test_thresholds_follow_cells(text: str, cells: c.Cells) -> None:
    assert c.parse_cells(text) == cells


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("even(0, 1).at()", "'even(0, 1).at()' holds more than numbers: write .at(0.1, 0.2)."),
        ("even(0, 1).at(x)", "'even(0, 1).at(x)' holds more than numbers: write .at(0.1, 0.2)."),
        ("evn(0, 1).at(0.1)", "Unknown cells 'evn': did you mean 'even'?"),
        ("even(0, 1).at(2)", "Threshold"),
        ("", "'' does not spell cells: write a name and numbers, such as even(0, 1, 256)."),
        ("0,1", "'0,1' does not spell cells: write a name and numbers, such as even(0, 1, 256)."),
        ("even(0, 1", "'even(0, 1' does not spell cells: write a name and numbers, such as "),
        ("evn(0, 1)", "Unknown cells 'evn': did you mean 'even'?"),
        ("even(0)", "'even(0)' has 1 number: write even(low, high) or even(low, high, count)."),
        ("whole(1, 2, 3)", "'whole(1, 2, 3)' has 3 numbers: write whole(low, high)."),
        ("even(0, x)", "'even(0, x)' holds more than numbers: write even(low, high) or "),
        ("even(0, 1,)", "'even(0, 1,)' holds more than numbers: write even(low, high) or "),
        ("edges(0, x)", "'edges(0, x)' holds more than numbers: write edges(0, 1, 10), all edges"),
        ("edges(1, 0)", "Edges are two or more finite numbers, each larger than the one before"),
        ("even(1, 0)", "Even runs from 1 to 0: give the smaller end first."),
        ("even(0, inf)", "An end of Even must be"),
        ("even(0, 1, 2.5)", "The number of cells must be a whole number >= 1, not 2.5."),
        ("float(40)", "Float takes at most 20 bits, not 40: give fewer."),
    ],
)
def test_what_is_wrong_with_cells_is_said(text: str, sentence: str) -> None:
    with pytest.raises(pg.InputError) as refused:
        c.parse_cells(text)
    assert str(refused.value).startswith(sentence)
