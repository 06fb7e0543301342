"""Schedules: ordered, continuized and tree, and the methods for them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.algorithms import tracking
from pairgossip.algorithms.methods import find_method
from pairgossip.engine import timetable
from pairgossip.engine.estimation.building import build_engine
from pairgossip.engine.estimation.engine import Procedure
from pairgossip.engine.schedule import OrderedSchedule, root_seed
from pairgossip.engine.timetable import settle_timetable
from pairgossip.errors import InputError, SlowSchedule
from pairgossip.graphs import Graph
from pairgossip.graphs.distances import effective_resistances
from pairgossip.graphs.orders import color_edges, tree_messages
from pairgossip.kernels import Pairs
from pairgossip.theory.averaging import averaging_error, sweep_error
from tests.problems import rows, skewed

GRAPHS = {
    "cycle": pg.graphs.cycle(20),
    "torus": pg.graphs.torus(4, 6),
    "small world": pg.graphs.watts_strogatz(30, 4, 0.3, seed=0),
    "complete": pg.graphs.complete(9),
}
SETTINGS = [
    {"method": "sketch"},
    {"method": "sketch", "schedule": "ordered"},
    {"method": "sketch", "schedule": "ordered", "relaxation": 0.5},
    {"method": "sketch", "schedule": "continuized"},
    {"method": "sketch", "schedule": "tree"},
    {"method": "sketch", "sketch": pg.sketches.Bins(4, range=(-9, 9)), "schedule": "tree"},
    {"method": "tracking", "clock": "async"},
    {"method": "tracking", "schedule": "ordered"},
    {"method": "tracking", "target": "u", "relaxation": 0.7},
    {"method": "collect"},
    {"method": "collect", "schedule": "ordered", "target": "u"},
    {"method": "gosta", "schedule": "ordered"},
    {"method": "gosta", "clock": "async", "schedule": "ordered"},
    {"method": "weighted-gosta", "clock": "async", "schedule": "ordered"},
    {"method": "u1", "schedule": "ordered"},
]


@pytest.mark.filterwarnings("ignore::pairgossip.SlowSchedule")
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())))
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_engines_agree_with_the_plain_algorithm(graph: Graph, settings: dict[str, Any]) -> None:
    runs = [
        pg.estimate(
            rows(graph.n), "gini", graph, iterations=300, trials=2, seed=3, engine=name, **settings
        )
        for name in ("auto", "plain")
    ]
    fast, plain = runs
    assert fast.history is not None and plain.history is not None
    np.testing.assert_allclose(fast.history, plain.history, rtol=1e-9, atol=1e-12)
    for one, other in zip(fast.traffic, plain.traffic, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("missed", [0.0, 0.3])
def test_ordered_blocks_of_any_size_give_the_same_exchanges(missed: float) -> None:
    graph = GRAPHS["torus"]
    sweep = color_edges(graph)
    whole = OrderedSchedule(graph, sweep, missed, root_seed(5)).draw(9_000)[0]
    pieces = OrderedSchedule(graph, sweep, missed, root_seed(5))
    parts = [pieces.draw(size)[0] for size in (1, 3, 700, 8_000, 296)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_ordered_exchanges_take_all_edges_in_turn() -> None:
    graph = GRAPHS["small world"]
    sweep = color_edges(graph)
    edges = len(sweep.edges)
    drawn = OrderedSchedule(graph, sweep, 0.0, root_seed(1)).draw(3 * edges)[0]
    first = int(np.flatnonzero((sweep.edges == drawn[0]).all(axis=1))[0])
    np.testing.assert_array_equal(drawn, np.tile(np.roll(sweep.edges, -first, axis=0), (3, 1)))


def test_turns_are_missed_as_often_as_they_should() -> None:
    graph = GRAPHS["cycle"]
    sweep = color_edges(graph)
    drawn = OrderedSchedule(graph, sweep, 0.25, root_seed(1)).draw(30_000)[0]
    place = {tuple(edge): number for number, edge in enumerate(sweep.edges.tolist())}
    places = np.array([place[tuple(edge)] for edge in drawn.tolist()])
    turns = ((np.diff(places) - 1) % len(sweep.edges) + 1).sum()
    assert len(drawn) / turns == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize("engine", ["plain", "tokens", "fused"])
@pytest.mark.parametrize("relaxation", [0.5, 0.8])
def test_what_is_tracked_is_never_lost(engine: str, relaxation: float) -> None:
    """The sum of the estimates is always that of the nodes' own means."""
    graph = GRAPHS["small world"]
    pairs = Pairs(rows(graph.n), "gini" if engine == "fused" else skewed)
    table = settle_timetable("ordered", graph, "uniform-edges", find_method("tracking"), relaxation)
    schedule = table.start(graph, "uniform-edges", root_seed(2), 1)
    method = find_method("tracking")
    network = build_engine(engine, pairs, Procedure(method, "sync", timetable=table))
    state = tracking.init(graph.n, 1)
    for _ in range(20):
        exchanges = schedule.draw(17)
        network.advance(exchanges)
        for exchange in exchanges[0]:
            state = tracking.step(state, exchange[None], pairs.values, relaxation)
        own = float(state.own.sum())
        assert float(state.z.sum()) == pytest.approx(own, rel=1e-12)
        assert float(network.estimates().sum()) == pytest.approx(own, rel=1e-12)


@pytest.mark.parametrize("graph", [*GRAPHS.values(), pg.graphs.star(7)], ids=[*GRAPHS, "star"])
def test_a_tree_tells_everybody_the_mean_with_the_fewest_messages(graph: Graph) -> None:
    values = rows(graph.n)
    run = pg.estimate(values, graph=graph, method="averaging", schedule="tree", seed=0)
    assert run.messages[-1] == run.exchanges[-1] == 2 * graph.n - 2
    assert run.bytes[-1] == 8 * (2 * graph.n - 2)
    np.testing.assert_allclose(run.estimates, values.mean(), rtol=1e-12)
    heard = [{node} for node in range(graph.n)]
    for sender, receiver in tree_messages(graph):
        assert sender in graph.neighbors(int(receiver))
        heard[receiver] |= heard[sender]
    assert all(len(one) == graph.n for one in heard)


def test_a_tree_is_used_twice_where_the_range_is_not_known() -> None:
    graph, values = GRAPHS["torus"], rows(24)
    known = pg.sketches.Bins(16, range=(-10, 10))
    runs = [
        pg.estimate(values, "gini", graph, method="sketch", schedule="tree", sketch=sketch, seed=0)
        for sketch in (known, pg.sketches.Bins(6))
    ]
    assert [run.messages[-1] for run in runs] == [2 * 24 - 2, 4 * 24 - 4]
    # Before the second way up and down there is nothing to read.
    assert np.isnan(runs[1].trial_error[:, runs[1].iterations < 46]).all()
    assert runs[1].bytes[-1] == 46 * 8 * (17 + 3 * 6)
    for run in runs:
        assert run.sketch_value is not None
        np.testing.assert_allclose(run.estimates, run.sketch_value, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["gini", skewed], ids=["gini", "user's"])
@pytest.mark.parametrize("target", ["v", "u"])
def test_collecting_is_exact_and_ends_by_itself(kernel: Any, target: str) -> None:
    graph = GRAPHS["torus"]
    run = pg.estimate(
        rows(graph.n), kernel, graph, method="collect", target=target, trials=3, seed=0
    )
    np.testing.assert_allclose(run.estimates, run.target, rtol=1e-12)
    made = run.traffic.network[:, -1]
    assert len(set(made)) > 1 and made.max() < run.iterations[-1]
    # Every node learns the row of every other node once: 8 bytes and a name of 4. In every exchange
    # each side also sends one bit per row that says whether it knows the row. The rows that the
    # second side lacks come last.
    learned = graph.n * (graph.n - 1) * 12
    np.testing.assert_array_equal(run.trial_bytes[:, -1], learned + 2 * made * 3)
    np.testing.assert_array_equal(run.traffic.messages[:, -1], 3 * made)


def test_a_collecting_node_knows_the_statistic_of_the_rows_it_knows() -> None:
    values = np.array([1.0, 4.0, 9.0])
    pairs = Pairs(values, "gini")
    engine = build_engine("auto", pairs, Procedure(find_method("collect"), "sync"))
    engine.advance((np.array([[0, 1]]),))
    expected = [pg.exact([1.0, 4.0], "gini"), pg.exact([1.0, 4.0], "gini"), 0.0]
    np.testing.assert_allclose(engine.estimates()[:, 0], expected)
    assert engine.advance((np.array([[1, 2], [0, 1], [0, 1]]),)) == 2
    np.testing.assert_allclose(engine.estimates()[:, 0], pg.exact(values, "gini"))


def test_effective_resistances_are_those_of_circuits() -> None:
    # Ten resistors in a ring, each of 10: one of them in parallel with the nine others.
    np.testing.assert_allclose(effective_resistances(pg.graphs.cycle(10)), 9.0)
    # In any network conductance times resistance adds up to n - 1 (Foster 1949).
    for law in ("uniform-edges", "node-clocks"):
        graph = GRAPHS["small world"]
        total = effective_resistances(graph, law) @ graph.edge_probabilities(law)
        assert total == pytest.approx(graph.n - 1)


def test_continuized_averaging_is_faster_on_a_ring() -> None:
    graph = pg.graphs.cycle(60)
    values = np.cos(2 * np.pi * np.arange(60) / 60)  # the slowest to decay
    errors = [
        pg.estimate(
            values, graph=graph, method="averaging", schedule=schedule, iterations=20_000, seed=0
        ).error[-1]
        for schedule in ("continuized", "random")
    ]
    assert errors[0] < 1e-3 * errors[1]


def test_ordered_exchanges_give_way_where_they_are_slow() -> None:
    values = rows(40)
    with pytest.warns(SlowSchedule, match="random") as caught:
        slow = pg.estimate(
            values, graph="star", method="averaging", schedule="ordered", seed=0, iterations=50
        )
    plain = pg.estimate(values, graph="star", method="averaging", seed=0, iterations=50)
    assert caught[0].filename == __file__
    assert slow.schedule == "random"
    np.testing.assert_array_equal(slow.history, plain.history)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pg.estimate(values, graph="cycle", method="averaging", schedule="ordered", iterations=5)


@pytest.mark.parametrize(("n", "radius", "seed"), [(60, 0.3, 0), (100, 0.25, 1)])
def test_sweeps_are_taken_where_an_exchange_does_more(n: int, radius: float, seed: int) -> None:
    graph, method = pg.graphs.random_geometric(n, radius, seed=seed), find_method("gosta")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowSchedule)
        taken = settle_timetable("ordered", graph, "uniform-edges", method).name == "ordered"
    at = (np.array([6, 12]) / graph.normalized_gap()).astype(np.int64)
    random = np.divide(*averaging_error(rows(n), graph, at))
    by_sweeps = np.divide(*sweep_error(rows(n), color_edges(graph), at))
    assert taken == (by_sweeps > random) == (n == 60)


def test_a_large_star_is_known_to_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring its sweeps, which make one exchange at a time, would take minutes."""

    def measured(*arguments: Any) -> float:
        raise AssertionError(arguments)

    monkeypatch.setattr(timetable, "best_relaxation", measured)
    monkeypatch.setattr(timetable, "spectral_radius", measured)
    star, method = pg.graphs.star(5_000), find_method("averaging")
    with pytest.warns(SlowSchedule, match="4999 turns"):
        assert settle_timetable("ordered", star, "uniform-edges", method).name == "random"


def test_a_lone_node_needs_no_schedule_and_sends_nothing() -> None:
    for schedule in ("random", "ordered", "tree", "continuized"):
        run = pg.estimate([3.0], graph="complete", method="averaging", schedule=schedule, seed=0)
        assert run.estimates[0, 0] == 3.0
        assert run.exchanges[-1] == run.messages[-1] == run.bytes[-1] == 0


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"method": "u2", "schedule": "ordered"}, "cannot follow schedule 'ordered'"),
    ({"method": "gosta", "schedule": "tree"}, "cannot follow schedule 'tree'"),
    ({"method": "tracking", "schedule": "continuized"}, "cannot follow"),
    ({"method": "gosta", "schedule": "sometimes"}, "schedule"),
    ({"method": "gosta", "relaxation": 0.7}, "takes no relaxation"),
    ({"method": "sketch", "schedule": "tree", "relaxation": 0.7}, "takes no relaxation"),
    ({"method": "tracking", "relaxation": 1.5}, "between 0 and 1"),
    ({"method": "tracking", "relaxation": "much"}, "between 0 and 1"),
    ({"method": "sketch", "schedule": "ordered", "law": "node-clocks"}, "no law of edges"),
    ({"method": "gosta", "sketch": pg.sketches.Bins(4)}, "takes no sketch"),
    ({"method": "sketch", "sketch": pg.sketches.Bins}, "features"),
    ({"method": "sketch", "sketch": pg.sketches.Moments()}, "is for"),
    ({"method": "sketch", "sketch": pg.sketches.Bins(4, range=(0, 1))}, "leaves out"),
]


@pytest.mark.parametrize(("settings", "sentence"), REFUSALS, ids=[str(r[0]) for r in REFUSALS])
def test_refusals(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        pg.estimate(rows(12), "gini", "cycle", **settings)


def test_collecting_too_many_rows_is_refused() -> None:
    with pytest.raises(InputError, match="for at most 4,000 rows"):
        pg.estimate(np.arange(5_000.0), "gini", "cycle", method="collect")


def test_a_sweep_that_is_longer_than_gossip_gives_way_at_once() -> None:
    """Edges are not even listed: random ones reduce errors to rounding before a sweep ends."""
    graph = pg.graphs.complete(3_000)
    with pytest.warns(SlowSchedule, match="a sweep takes 4,498,500 exchanges"):
        table = settle_timetable("ordered", graph, "uniform-edges", find_method("averaging"))
    assert table.name == "random"
