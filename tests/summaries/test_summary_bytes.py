"""Bytes of summaries: as long as the cells, and refused if no rows could give them."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairgossip as pg

from .test_summary import LABEL, X, c, draw


@pytest.mark.parametrize(
    "cells",
    [c.Even(-8, 8, 64), c.Edges([-8, 0, 0.1, 8]), c.Float(12), c.Quantiles(7), None],
)
@pytest.mark.parametrize(
    "copy", [lambda s: pg.Summary.from_bytes(s.to_bytes()), lambda s: pickle.loads(pickle.dumps(s))]
)
def test_bytes_and_pickles_are_the_same_summary(cells: Any, copy: Any) -> None:
    summary = pg.summarize(X, "auc", labels=LABEL, cells=cells)
    again = copy(summary)
    assert again == summary and hash(again) == hash(summary) and repr(again) == repr(summary)
    assert again.cells == summary.cells and again.answer() == summary.answer()
    assert pickle.loads(pickle.dumps(again.answer())).bracket == again.bracket()


def test_bytes_are_as_long_as_the_cells() -> None:
    few, many = (pg.summarize(draw(1, n)[1], "gini", cells=c.Even(-8, 8, 64)) for n in (9, 9000))
    assert len(few.to_bytes()) == len(many.to_bytes()) < 8 * 64 + 200


def test_other_bytes_are_refused() -> None:
    whole = pg.summarize(X, "gini", cells=c.Even(-8, 8, 64)).to_bytes()
    for data in (b"", b"x", whole[:-1], whole.replace(b"Even", b"Odd?")):
        with pytest.raises(pg.InputError, match="These bytes are not a summary"):
            pg.Summary.from_bytes(data)
    with pytest.raises(pg.InputError, match="of version 2, but this release reads version 1"):
        pg.Summary.from_bytes(whole.replace(b"version\x01", b"version\x02"))
    with pytest.raises(pg.InputError, match="do not fit its cells"):
        pg.Summary.from_bytes(whole[:-8] + 8 * b"\xff")


@pytest.mark.filterwarnings("ignore::pairgossip.errors.RowsDropped")
@settings(deadline=None, max_examples=30)
@given(
    places=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=2, max_size=60),
    seed=st.integers(0, 99),
    k=st.sampled_from([1, 3, 5]),
    kernel=st.sampled_from(["gini", "auc", "kendall", "median", "spearman"]),
)
def test_moves_within_cells_change_no_byte(
    places: list[tuple[int, int]], seed: int, k: int, kernel: str
) -> None:
    rng, at = np.random.default_rng(seed), np.array(places)
    takes_two = kernel in ("kendall", "spearman")
    labels = np.arange(len(at)) % 2 if kernel == "auc" else None
    more: dict[str, Any] = {"classes": [0, 1]} if kernel == "auc" else {}
    made, values = [], []
    for _ in range(2):
        rows = at + rng.random(at.shape) * 0.999
        rows = rows if takes_two else rows[:, 0]
        values.append(rows)
        made.append(
            pg.summarize(rows, kernel, labels=labels, cells=c.Even(0, 16, 16), least_cell=k, **more)
        )
    assert made[0].to_bytes() == made[1].to_bytes()
    counts = made[0].counts
    assert ((counts == 0) | (counts >= k)).all()
    if kernel in ("gini", "auc", "kendall") and made[0].rows == len(at):
        low, high = made[0].bracket()
        for rows in values:
            assert low <= pg.exact(rows, kernel, labels=labels) <= high


@pytest.mark.parametrize(
    "change",
    [
        {"least_cell": 2},
        {"least_cell": 0},
        {"kind": "x"},
        {"counts": -1},
        {"counts": 2},
        {"counts": 1 << 62},
        {"cells": [["Even", 0, 1, 4096], ["Even", 0, 1, 4096]]},
    ],
)
def test_bytes_that_no_rows_have_are_refused(change: dict[str, Any]) -> None:
    summary = pg.summarize(X, "gini", cells=c.Even(-8, 8, 16), least_cell=3)
    table = msgspec.msgpack.decode(summary.to_bytes())
    if "counts" in change:
        counts = np.frombuffer(table["counts"], "<i8").copy()
        counts[-1] = change["counts"]
        change = {"counts": counts.tobytes()}
    with pytest.raises(pg.InputError, match="do not fit its cells"):
        pg.Summary.from_bytes(msgspec.msgpack.encode(table | change))


@pytest.mark.parametrize(
    "change", [{"cells": []}, {"cells": [["Even", 0, 1, 1]] * 65}, {"reading": "a" * 65}]
)
def test_bytes_that_take_long_are_refused(change: dict[str, Any]) -> None:
    table = msgspec.msgpack.decode(pg.summarize(X, "gini", cells=c.Even(-8, 8, 16)).to_bytes())
    with pytest.raises(pg.InputError, match="These bytes are not a summary"):
        pg.Summary.from_bytes(msgspec.msgpack.encode(table | change))
