"""How notebooks show objects: self-contained HTML with the numbers in it."""

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
SITES = np.array(["<i>Cork", "Derry", "Kerry"])[np.arange(30) // 10]
CELLS = pg.cells.Even(0, 9000, 64)


class _Tags(HTMLParser):
    """Counts open tags, and refuses end tags of another one."""

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
            "summary": lambda: pg.summarize(INCOME, "gini", cells=CELLS),
            "run": lambda: pg.estimate(INCOME, "gini", GRAPH, interval=0.95, iterations=99, seed=0),
            "fit": lambda: pg.minimize(
                INCOME[:, None], ILL.astype(float), "auc-logistic", GRAPH, iterations=99, seed=0
            ),
            "plan": lambda: pg.plan(INCOME, "gini", GRAPH, error=0.1),
            "graph": lambda: GRAPH,
            "pair": lambda: pg.graphs.path(2),
            "lone node": lambda: pg.Graph(1, np.empty((0, 2))),
            "large graph": lambda: pg.graphs.complete(5000),
            "test": lambda: pg.test(INCOME, "auc", labels=ILL),
            "strange class": lambda: pg.test(
                INCOME, "auc", labels=np.where(ILL, "z = 1\n", "no"), positive="z = 1\n"
            ),
            "roc": lambda: pg.roc(INCOME, ILL),
            "point": lambda: pg.roc(INCOME, ILL).at(500),
            "youden": lambda: pg.roc(INCOME, ILL).youden(),
            "answer": lambda: pg.exact(INCOME, "gini", interval=0.95),
            "reading": lambda: pg.summarize(INCOME, "gini", cells=CELLS).answer(0.95),
            "groups": lambda: pg.exact(INCOME, "gini", by=SITES, interval=0.95),
            "sites": lambda: pg.heterogeneity(INCOME, "gini", by=SITES),
            "log rank": lambda: pg.survival.log_rank(INCOME, ILL, by=SITES),
            "validation": lambda: pg.validate(INCOME / 9000, ILL, by=SITES, thresholds=[0.1]),
            "survival": lambda: pg.survival.kaplan_meier(INCOME, ILL, by=SITES),
        }
        return made[what]()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("summary", "Even(0, 9000, 64)"),
        ("run", "gosta-sync of gini"),
        ("fit", "auc-logistic"),
        ("plan", "messages"),
        ("run", "gossip error"),
        ("run", "mean over nodes and trials"),
        ("fit", "objective of the nodes"),
        ("graph", "30 edges, 2 neighbors each"),
        ("pair", "1 edge, 1 neighbor each"),
        ("lone node", 'aria-label="A network of 1 node"'),
        ("large graph", "12,497,500 edges, 4,999 neighbors each"),
        ("test", "<p>z = "),
        ("strange class", "positive: z = 1\\n)</p>"),
        ("point", "negative predictive value"),
        ("youden", "the best threshold"),
        ("roc", "sensitivity"),
        ("answer", "95 % interval"),
        ("reading", "certain: "),
        ("groups", "&lt;i&gt;Cork - Derry"),
        ("sites", "&lt;i&gt;Cork"),
        ("survival", "&lt;i&gt;Cork"),
        ("log rank", "&lt;i&gt;Cork"),
        ("validation", "&lt;i&gt;Cork"),
    ],
)
def test_objects_show_themselves(what: str, words: str) -> None:
    html = _make(what)._repr_html_()
    tags = _Tags()
    tags.feed(html)
    assert not tags.open and words in html
    assert not tags.seen & {"script", "link", "i"}


@pytest.mark.parametrize(
    "what", ["answer", "summary", "run", "groups", "sites", "survival", "validation"]
)
def test_they_bring_their_colors(what: str) -> None:
    """Without their own background, text would be invisible on a dark page."""
    html = _make(what)._repr_html_()
    assert html.startswith('<div class="pairgossip">') and "background: #fff" in html


@pytest.mark.parametrize("what", ["graph", "run", "fit", "roc"])
def test_they_draw_themselves(what: str) -> None:
    assert "<svg " in _make(what)._repr_html_()


def test_a_large_network_is_not_drawn() -> None:
    assert "<svg" not in _make("large graph")._repr_html_()


@pytest.mark.parametrize(
    "run",
    [
        lambda: pg.estimate(INCOME, "gini", GRAPH, iterations=1, seed=0),
        lambda: pg.estimate(INCOME, "gini", GRAPH, method="sketch", schedule="tree", seed=0),
        lambda: pg.estimate(np.ones(9), "gini", "complete", iterations=9, seed=0),
        lambda: pg.ranks(INCOME, GRAPH, iterations=9, seed=0),
    ],
    ids=["one iteration", "along a tree", "constant rows", "a number per node"],
)
def test_runs_of_all_kinds_show_themselves(run: Callable[[], pg.Run]) -> None:
    shown = run()._repr_html_()
    assert "<svg " in shown and len(shown) > 1000


def test_a_number_without_an_error_shows_no_error() -> None:
    table = pg.exact(INCOME, "gini", by=SITES)
    html = table["Derry"]._repr_html_()
    assert f"{table['Derry'].value:.0f}"[:2] in html and "nan" not in html.split("</style>")[1]
    assert "interval" not in html


def test_text_of_data_is_shown_as_text() -> None:
    groups = ["<script>", "m"] * 15
    html = pg.summarize(INCOME, "gini", cells=pg.cells.Even(0, 9000, 8), by=groups)._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html
