"""What notebooks show of objects: HTML that needs nothing else, with the numbers in it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import pairgossip as pg

INCOME = pg.datasets.engel()["income"][:30]
GRAPH = pg.graphs.cycle(30)
ILL = np.arange(30) % 3 == 0


class _Tags(HTMLParser):
    """Counts tags that are open, and refuses those that end another one."""

    VOID = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _make(what: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made: dict[str, Callable[[], Any]] = {
            "summary": lambda: pg.summarize(INCOME, "gini", cells=pg.cells.Even(0, 9000, 64)),
            "run": lambda: pg.estimate(INCOME, "gini", GRAPH, interval=0.95, iterations=99, seed=0),
            "fit": lambda: pg.minimize(
                INCOME[:, None], ILL.astype(float), "auc-logistic", GRAPH, iterations=99, seed=0
            ),
            "plan": lambda: pg.plan(INCOME, "gini", GRAPH, error=0.1),
            "roc": lambda: pg.roc(INCOME, ILL),
        }
        return made[what]()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("summary", "Even(0, 9000, 64)"),
        ("run", "gosta-sync of gini"),
        ("fit", "auc-logistic"),
        ("plan", "messages"),
        ("roc", "sensitivity"),
    ],
)
def test_objects_show_themselves(what: str, words: str) -> None:
    html = _make(what)._repr_html_()
    tags = _Tags()
    tags.feed(html)
    assert not tags.open and words in html
    assert "script" not in tags.seen and "link" not in tags.seen


def test_text_of_data_is_shown_as_text() -> None:
    groups = ["<script>", "m"] * 15
    html = pg.summarize(INCOME, "gini", cells=pg.cells.Even(0, 9000, 8), by=groups)._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html
