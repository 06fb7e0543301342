"""The best law asked for by its name, in runs of every kind."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.graphs import Graph, GroupedGraph, path
from pairgossip.graphs.laws import name_law

GRAPH = Graph.from_networkx(nx.convert_node_labels_to_integers(nx.barbell_graph(6, 0)))
VALUES = np.arange(12.0)


def test_runs_find_the_best_law_of_their_graph() -> None:
    law = pg.networks.best_law(GRAPH)
    settings: Any = {"seed": 0, "iterations": 200}
    named = pg.estimate(VALUES, "gini", GRAPH, law="Best", **settings)
    given = pg.estimate(VALUES, "gini", GRAPH, law=law, **settings)
    assert named.law == given.law == law
    assert np.array_equal(named.estimates, given.estimates)
    plan = pg.plan(VALUES, "variance", GRAPH, law="best")
    uniform = pg.plan(VALUES, "variance", GRAPH)
    exchanges = [
        next(
            row.exchanges for row in one.rows if (row.method, row.schedule) == ("sketch", "random")
        )
        for one in (plan, uniform)
    ]
    assert exchanges[0] is not None and exchanges[1] is not None
    assert exchanges[0] < exchanges[1]


def test_learning_goes_on_with_the_law_that_was_found() -> None:
    settings: Any = {"labels": np.arange(12) % 2, "law": "best", "seed": 0}
    rows = VALUES[:, None] % 5
    first = pg.minimize(rows, graph=GRAPH, iterations=100, **settings)
    assert name_law(first.law) == "best"
    later = pg.minimize(rows, start=first, iterations=150, **settings)
    assert later.law is first.law
    assert len(later.iterations) > len(first.iterations)


def test_a_law_is_not_looked_for_where_none_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from pairgossip.run_requests import request

    monkeypatch.setattr(request, "best_law", None)
    for schedule in ("ordered", "tree"):
        with pytest.raises(InputError, match="has no random edges"):
            pg.estimate(VALUES, "gini", GRAPH, method="sketch", schedule=schedule, law="best")
    alone = pg.estimate([1.0], "gini", Graph(1, []), law="best", iterations=5)
    assert alone.law == "uniform-edges"


def test_rows_at_sites_have_no_best_law() -> None:
    with pytest.raises(InputError, match="use construction='whole-sets', so that"):
        pg.estimate(np.arange(3.0), "gini", GroupedGraph(path(2), [0, 1, 1]), law="best")
