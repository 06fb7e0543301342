"""Networks that change: one graph after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.engine.schedule import random_schedule, root_seed
from pairgossip.errors import InputError
from pairgossip.graphs import Changing, Graph, complete, cycle, edge_law, path, star, torus

PARTS = (cycle(12), star(12), complete(12))
VALUES = np.arange(12.0) ** 2


def test_the_edges_are_those_of_all_graphs() -> None:
    changing = Changing([cycle(5), star(5)], every=10)
    edges = [[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [2, 3], [3, 4]]
    assert changing.edges.tolist() == edges
    assert repr(changing) == "<Changing: 5 nodes, 2 graphs in turn every 10 iterations, 7 edges>"
    assert changing.pick_probabilities() == pytest.approx(
        [(2 / 5 + 1) / 2, *[(2 / 5 + 1 / 4) / 2] * 4]
    )


@pytest.mark.parametrize("law", ["uniform-edges", "node-clocks"])
@pytest.mark.parametrize("walks", [1, 2])
def test_every_graph_serves_in_its_turn_whatever_the_blocks(law: str, walks: int) -> None:
    changing = Changing(PARTS, every=7)
    drawn = random_schedule(changing, law, root_seed(3), walks).draw(100)
    pieces = random_schedule(changing, law, root_seed(3), walks)
    parts = [pieces.draw(count) for count in (1, 30, 0, 6, 63)]
    for walk in range(walks):
        assert np.array_equal(drawn[walk], np.concatenate([part[walk] for part in parts]))
        for at, pair in enumerate(drawn[walk].tolist()):
            serving = PARTS[at // 7 % 3]
            assert pair[1] in serving.neighbors(pair[0])


@pytest.mark.parametrize(
    ("method", "clock"),
    [("gosta", "sync"), ("u2", "sync"), ("averaging", "sync"),
     ("gosta", "async"), ("averaging", "async"), ("tracking", "async"),
     ("weighted-gosta", "async")],
)  # fmt: skip
def test_one_graph_that_takes_all_turns_is_that_graph(method: str, clock: str) -> None:
    kernel = None if method == "averaging" else "gini"
    settings: Any = {"method": method, "clock": clock, "seed": 1, "iterations": 300}
    graph = pg.graphs.watts_strogatz(12, 4, 0.3, seed=0)
    alone = pg.estimate(VALUES, kernel, graph, **settings)
    turns = pg.estimate(VALUES, kernel, Changing([graph, graph], every=13), **settings)
    assert np.array_equal(alone.estimates, turns.estimates)


@pytest.mark.parametrize("engine", ["auto", "plain"])
def test_averages_are_those_of_the_graphs_in_turn(engine: str) -> None:
    changing = Changing([path(12), torus(3, 4)], every=5)
    run = pg.estimate(VALUES, None, changing, method="averaging", clock="async", seed=2,
                      iterations=83, engine=engine)  # fmt: skip
    z = VALUES.copy()
    for i, j in random_schedule(changing, "uniform-edges", _trial_seed(2)).draw(83)[0]:
        z[i] = z[j] = (z[i] + z[j]) / 2
    assert run.estimates[0] == pytest.approx(z)


def _trial_seed(seed: int) -> Any:
    return np.random.SeedSequence(seed, spawn_key=(0,))


def test_theory_multiplies_the_expected_matrices() -> None:
    changing = Changing([path(12), star(12), complete(12)], every=4)
    run = pg.estimate(VALUES, None, changing, method="averaging", clock="async", seed=0,
                      iterations=60, checkpoints=[3, 4, 17, 60], trials=800)  # fmt: skip
    theory = run.theory()
    expected, z = {}, VALUES.copy()
    for t in range(1, 61):
        graph = changing.graphs[(t - 1) // 4 % 3]
        z = z - graph.laplacian_dense() @ z / (2 * graph.edge_count)
        expected[t] = float(np.sqrt(np.mean((z - VALUES.mean()) ** 2)))
    assert theory.expected_error == pytest.approx([expected[t] for t in (3, 4, 17, 60)])
    means = run.history.mean(axis=0) if run.history is not None else None
    assert means is not None
    bias = np.sqrt(np.mean((means - VALUES.mean()) ** 2, axis=1))
    assert bias == pytest.approx(theory.expected_error, rel=0.1, abs=0.5)


def test_learning_and_sketches_run_on_it(tmp_path: Path) -> None:
    changing = Changing([cycle(12), star(12)], every=20)
    labels = np.arange(12) % 2
    fit = pg.minimize(VALUES[:, None], labels=labels, graph=changing, seed=0, iterations=300)
    assert np.isfinite(fit.models).all()
    again = pg.minimize(VALUES[:, None], labels=labels, seed=0, iterations=400, start=fit)
    whole = pg.minimize(VALUES[:, None], labels=labels, graph=changing, seed=0, iterations=400)
    assert np.array_equal(again.models, whole.models)
    run = pg.estimate(VALUES, "variance", changing, method="sketch", schedule="random", seed=0,
                      iterations=2000)  # fmt: skip
    assert run.estimates == pytest.approx(float(run.target), rel=1e-3)
    run.save(tmp_path / "run.npz")
    loaded = pg.load(tmp_path / "run.npz")
    assert loaded.graph == changing != Changing([cycle(12), star(12)], every=21)
    assert loaded.graph != Graph(12, changing.edges)
    sites = pg.estimate(np.arange(24.0), "gini", changing, groups=[*range(12)] * 2, seed=0,
                        construction="whole-sets", iterations=500)  # fmt: skip
    assert np.isfinite(sites.estimates).all()


def test_what_needs_one_network_is_refused() -> None:
    changing = Changing(PARTS)
    wrong: Any = cycle(4)
    for graphs, sentence in (
        (wrong, "a list of two plain graphs"),
        ([cycle(4)], "a list of two plain graphs"),
        ([cycle(4), changing], "a list of two plain graphs"),
        ([cycle(4), cycle(6)], "have 4 to 6 nodes: give graphs on the same nodes"),
        ([cycle(4), Graph(4, cycle(4).edges, names="abcd")], "different names for their nodes"),
    ):
        with pytest.raises(InputError, match=sentence):
            Changing(graphs)
    with pytest.raises(InputError, match="must be a whole number >= 1"):
        Changing(PARTS, every=0)
    for schedule in ("ordered", "tree", "continuized"):
        with pytest.raises(InputError, match="needs one network, but this one changes"):
            pg.estimate(VALUES, "variance", changing, method="sketch", schedule=schedule)
    with pytest.raises(InputError, match="takes its law by name"):
        pg.estimate(VALUES, "gini", changing, law=np.full(66, 1 / 66))
    with pytest.raises(InputError, match="Rows at sites exchange on one network"):
        pg.estimate(np.arange(24.0), "gini", changing, groups=[*range(12)] * 2)
    with pytest.raises(InputError, match="A plan is made for one network"):
        pg.plan(VALUES, "gini", changing)
    run = pg.estimate(VALUES, "gini", changing, seed=0, iterations=50)
    for ask in (
        run.theory,
        changing.normalized_gap,
        changing.spectral_gap,
        lambda: changing.mixing_time(0.1),
        changing.laplacian,
        lambda: pg.networks.best_law(changing),
        lambda: pg.networks.best_links(changing),
        lambda: pg.networks.advise(changing),
        changing.diameter,
        changing.edge_probabilities,
        changing.is_bipartite,
        lambda: changing.to_graphml("turns.graphml"),
        lambda: edge_law(changing),
    ):
        with pytest.raises(InputError, match="network that changes"):
            ask()
