"""Exchanges that do not take place: against plain simulations on the same path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.random import SeedSequence

import pairgossip as pg
from pairgossip.engine.faulty_schedule import FaultySchedule
from pairgossip.engine.schedule import Schedule, child
from pairgossip.faults.network import resolve
from pairgossip.graphs import GroupedGraph

from . import naive

GRAPH = pg.graphs.watts_strogatz(20, 4, 0.3, seed=1)
SITES = np.array([0, 0, 1, 2, 3, 3, 3, 4])
GROUPED = GroupedGraph(pg.graphs.cycle(5), SITES)
FAULTS = {
    "loss": "loss=0.2",
    "rare loss": "loss=0.001",
    "churn": "churn=3/1",
    "delay": "delay=0.2",
    "crashes": "crashed=[3, 7@10, 11@25]",
    "all": "loss=0.1, churn=5/2, delay=0.1, crashed=[2@20]",
}
WITHOUT_CRASHES = {name: text for name, text in FAULTS.items() if "crashed" not in text}


def draw(
    faults: pg.Faults, graph: pg.Graph, blocks: list[int], walks: int, compiled: bool, keeps: bool
) -> tuple[Any, list[bool]]:
    """Return the exchanges of a schedule with faults, drawn in blocks, and which are lost."""
    seed = SeedSequence(5, spawn_key=(2,))
    network = resolve(faults, graph, np.random.default_rng(0))
    schedule = FaultySchedule(
        Schedule(graph, "uniform-edges", seed, walks),
        network,
        child(seed, naive.TRIAL_FAULTS),
        keeps_iterations=keeps,
        compiled=compiled,
    )
    drawn, lost = [], []
    for block in blocks:
        exchanges = schedule.draw(block)
        drawn.append(np.stack(exchanges, axis=1) if keeps else exchanges[0])
        is_lost = np.zeros((block, walks), dtype=bool)
        for walk, places in enumerate(schedule.account(exchanges).lost):
            is_lost[places, walk] = True
        lost.append(is_lost.ravel())
    flags = np.concatenate(lost)
    assert schedule.lost == flags.sum()
    return np.concatenate(drawn), flags.tolist()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("text", FAULTS.values(), ids=list(FAULTS))
def test_the_same_exchanges_are_lost_as_in_a_plain_simulation(text: str, compiled: bool) -> None:
    faults = pg.Faults.from_text(text)
    rings = naive.ring(naive.exchanges_of(GRAPH, 5, 2, 3000), faults, GRAPH.n, 5, 2)
    for blocks in ([3000], [1, 2, 997, 0, 2000]):
        drawn, lost = draw(faults, GRAPH, blocks, 1, compiled, keeps=False)
        assert lost == [not each.takes_place for each in rings]
        assert drawn.tolist() == [[i, j] for i, j, takes_place in rings if takes_place]
        met, _ = draw(faults, GRAPH, blocks, 1, compiled, keeps=True)
        assert met[:, 0].tolist() == [[i, j if yes else i] for i, j, yes in rings]


@pytest.mark.parametrize("compiled", [False, True])
def test_two_exchanges_in_an_iteration_are_lost_apart(compiled: bool) -> None:
    faults = pg.Faults.from_text(FAULTS["all"])
    seed = SeedSequence(5, spawn_key=(2,))
    walks = np.stack(Schedule(GRAPH, "uniform-edges", seed, 2).draw(800), axis=1)
    pairs = [(int(i), int(j)) for i, j in walks.reshape(-1, 2)]
    rings = naive.ring(pairs, faults, GRAPH.n, 5, 2, walks=2)
    for blocks in ([800], [13, 700, 87]):
        _, lost = draw(faults, GRAPH, blocks, 2, compiled, keeps=True)
        assert lost == [not each.takes_place for each in rings]


@pytest.mark.parametrize("compiled", [False, True])
def test_sites_keep_what_is_theirs(compiled: bool) -> None:
    faults = pg.Faults(loss=0.3, churn=pg.Churn(2, 2), delay=0.3, crashed={4: 20})
    rings = naive.ring(
        naive.exchanges_of(GROUPED, 5, 2, 2000), faults, 8, 5, 2, SITES.tolist().__getitem__
    )
    _, lost = draw(faults, GROUPED, [500, 1500], 1, compiled, keeps=False)
    assert lost == [not each.takes_place for each in rings]
    inside = [not gone for (i, j, _), gone in zip(rings, lost, strict=True) if SITES[i] == SITES[j]]
    assert len(inside) > 100
    assert all(inside)


@pytest.mark.parametrize(("up", "down"), [(4, 1), (0.002, 0.004), (1e300, 1e300)])
def test_nodes_are_there_as_often_as_they_should(up: float, down: float) -> None:
    """This also holds if they come and go many times between two exchanges."""
    n, share = 200, up / (up + down)
    faults = pg.Faults(churn=pg.Churn(up, down))
    _, lost = draw(faults, pg.graphs.complete(n), [40_000], 1, True, keeps=False)
    found = 1 - np.mean(lost)
    # Those that stay forever were drawn once.
    pairs = 40_000 if up < 1 else 40_000 / (8 * n) if up < 100 else n / 4
    assert abs(found - share**2) < 5 * np.sqrt(share**2 / pairs)


def test_a_node_is_there_for_as_long_as_it_should() -> None:
    """The state of one edge's two nodes is forgotten at the rate 1/up + 1/down."""
    faults = pg.Faults(churn=pg.Churn(15, 5))
    _, lost = draw(faults, pg.graphs.path(2), [400_000], 1, True, keeps=False)
    there = 1 - np.array(lost, dtype=np.float64)
    share, steps = 0.75, 8
    forgotten = np.exp(-steps / 2 * (1 / 15 + 1 / 5))
    again = share + (1 - share) * forgotten
    found = (there[steps:] * there[:-steps]).mean() / there.mean()
    assert abs(there.mean() - share**2) < 0.02
    assert abs(found - again**2) < 0.02


def gini(one: float, other: float) -> float:
    return abs(one - other)


X = np.random.default_rng(3).lognormal(size=GRAPH.n)


@pytest.mark.parametrize("engine", ["auto", "tokens", "plain"])
@pytest.mark.parametrize("text", FAULTS.values(), ids=list(FAULTS))
def test_gosta_async(text: str, engine: str) -> None:
    faults = pg.Faults.from_text(text)
    run = pg.estimate(
        X, "gini", GRAPH, clock="async", faults=text, engine=engine, iterations=2500, seed=4,
        trials=[1], checkpoints=[700],
    )  # fmt: skip
    rings = naive.ring(naive.exchanges_of(GRAPH, 4, 1, 2500), faults, GRAPH.n, 4, 1)
    np.testing.assert_allclose(run.estimates[0], naive.gosta_async(X, rings, gini), rtol=1e-10)
    check_results(run, faults, rings)


def check_results(run: pg.Run, faults: pg.Faults, rings: list[naive.Ring]) -> None:
    """Compare what a run reports about its faults with a simulation."""
    crashed = [] if isinstance(faults.crashed, int) else list(faults.crashed)
    honest = [k for k in range(GRAPH.n) if k not in crashed]
    assert run.faults == str(faults)
    assert run.honest is not None and run.trial_lost is not None and run.lost is not None
    assert run.honest.tolist() == honest
    lost = [sum(not ring.takes_place for ring in rings[:end]) for end in run.iterations]
    assert run.trial_lost.tolist() == [lost]
    assert run.lost.tolist() == lost
    made = run.iterations - np.array(lost)
    assert run.exchanges.tolist() == made.tolist()
    assert run.messages.tolist() == (2 * made + lost).tolist()
    assert run.bytes.tolist() == (16 * (2 * made + lost)).tolist()
    errors = run.estimates[0, honest] - run.target
    assert run.honest_error is not None
    np.testing.assert_allclose(run.honest_error[-1], np.sqrt(np.mean(errors**2)), rtol=1e-12)


@pytest.mark.parametrize("engine", ["auto", "tokens", "plain"])
@pytest.mark.parametrize("text", WITHOUT_CRASHES.values(), ids=list(WITHOUT_CRASHES))
def test_gosta_sync(text: str, engine: str) -> None:
    run = pg.estimate(X, "gini", GRAPH, faults=text, engine=engine, iterations=1500, seed=4)
    faults = pg.Faults.from_text(text)
    rings = naive.ring(naive.exchanges_of(GRAPH, 4, 0, 1500), faults, GRAPH.n, 4)
    np.testing.assert_allclose(run.estimates[0], naive.gosta_sync(X, rings, gini), rtol=1e-10)
    check_results(run, faults, rings)


@pytest.mark.parametrize("engine", ["auto", "tokens", "plain"])
@pytest.mark.parametrize(
    ("method", "clock", "simulate"),
    [
        ("u1", "sync", naive.u1_sync),
        ("tracking", "sync", naive.tracking),
        ("tracking", "async", naive.tracking),
        ("averaging", "sync", naive.averaging),
        ("averaging", "async", naive.averaging),
    ],
)
def test_other_methods(method: str, clock: str, simulate: Any, engine: str) -> None:
    text = "loss=0.1, churn=5/2, delay=0.1"
    run = pg.estimate(
        X, None if method == "averaging" else "gini", GRAPH, method=method, clock=clock,
        faults=text, engine=engine, iterations=1200, seed=4,
    )  # fmt: skip
    pairs = naive.exchanges_of(GRAPH, 4, 0, 1200)
    rings = naive.ring(pairs, pg.Faults.from_text(text), GRAPH.n, 4)
    np.testing.assert_allclose(run.estimates[0], simulate(X, rings, gini), rtol=1e-9)


@pytest.mark.parametrize("engine", ["auto", "tokens", "plain"])
def test_u2(engine: str) -> None:
    text = "loss=0.1, churn=5/2, delay=0.1"
    seed = SeedSequence(4, spawn_key=(0,))
    walks = np.stack(Schedule(GRAPH, "uniform-edges", seed, 2).draw(600), axis=1)
    pairs = [(int(i), int(j)) for i, j in walks.reshape(-1, 2)]
    rings = naive.ring(pairs, pg.Faults.from_text(text), GRAPH.n, 4, walks=2)
    run = pg.estimate(
        X, "gini", GRAPH, method="u2", faults=text, engine=engine, iterations=600, seed=4
    )
    np.testing.assert_allclose(run.estimates[0], naive.u2(X, rings, gini), rtol=1e-10)


@pytest.mark.parametrize("method", ["weighted-gosta", "sketch", "collect"])
def test_lost_exchanges_are_as_if_they_had_not_rung(method: str) -> None:
    """If only two nodes act, the remaining exchanges are those of a run without faults."""
    settings: Any = {"method": method, "clock": "async", "seed": 4, "iterations": 150}
    runs = [
        pg.estimate(X, "variance", GRAPH, faults="loss=0.3", engine=engine, **settings)
        for engine in ("auto", "plain")
    ]
    np.testing.assert_allclose(runs[0].estimates, runs[1].estimates, rtol=1e-10)
    assert runs[0].trial_lost is not None
    assert 20 < runs[0].trial_lost[0, -1] < 80
    assert runs[0].exchanges[-1] + runs[0].trial_lost[0, -1] <= 150


@pytest.mark.parametrize("schedule", ["ordered", "continuized"])
@pytest.mark.parametrize("method", ["averaging", "sketch"])
def test_other_schedules(method: str, schedule: str) -> None:
    kernel = None if method == "averaging" else "variance"
    found = [
        pg.estimate(
            X,
            kernel,
            GRAPH,
            method=method,
            schedule=schedule,
            faults="loss=0.2, churn=9/3",
            engine=engine,
            iterations=900,
            seed=2,
        )
        for engine in ("auto", "plain")
    ]
    np.testing.assert_allclose(found[0].estimates, found[1].estimates, rtol=1e-8)
    assert found[0].error[-1] < 0.2 * found[0].error[0]


def test_continuized_time_goes_on_while_exchanges_are_lost() -> None:
    """They mix by elapsed time: values and momentum follow a transcription of two registers."""
    run = pg.estimate(
        X, None, GRAPH, method="averaging", schedule="continuized", faults="loss=0.4",
        iterations=400, seed=2,
    )  # fmt: skip
    setup = run._setup
    assert setup is not None
    rate, gain = setup.timetable.rate, setup.timetable.gain
    rings = naive.ring(naive.exchanges_of(GRAPH, 2, 0, 400), pg.Faults(loss=0.4), GRAPH.n, 2)
    a, b = X.copy(), X.copy()
    for time, (i, j, takes_place) in enumerate(rings):
        if takes_place:
            gap = a[i] - a[j]
            a[i], a[j] = a[i] - gap / 2, a[j] + gap / 2
            b[i], b[j] = b[i] - gain * gap, b[j] + gain * gap
        if time < len(rings) - 1:  # every node mixes between two rings
            flow = (1 - np.exp(-2 * rate)) / 2 * (b - a)
            a, b = a + flow, b - flow
    i, j, takes_place = rings[-1]  # a node is updated when it is called
    for k in (i, j) if takes_place else (i,):
        np.testing.assert_allclose(run.estimates[0, k], a[k], rtol=1e-9)


def test_collecting_counts_what_was_lost_before_it_ended() -> None:
    run = pg.estimate(X, "gini", GRAPH, method="collect", clock="async", faults="loss=0.5", seed=1)
    rings = naive.ring(naive.exchanges_of(GRAPH, 1, 0, 4000), pg.Faults(loss=0.5), GRAPH.n, 1)
    known = [{k} for k in range(GRAPH.n)]
    count = 0
    while not all(len(rows) == GRAPH.n for rows in known):
        i, j, takes_place = rings[count]
        count += 1
        if takes_place:
            known[i] = known[j] = known[i] | known[j]
    assert run.trial_lost is not None
    assert run.trial_lost[0, -1] == sum(not ring.takes_place for ring in rings[:count])
    assert run.exchanges[-1] == sum(ring.takes_place for ring in rings[:count])
    assert run.error[-1] < 1e-12


def test_whole_sets_send_what_the_first_node_holds() -> None:
    sizes = [3, 1, 2, 5, 4]
    groups = np.repeat(np.arange(5), sizes)
    rows = np.random.default_rng(0).normal(size=15)
    sites, faults = pg.graphs.cycle(5), pg.Faults(loss=0.4)
    runs = [
        pg.estimate(
            rows,
            "gini",
            sites,
            groups=groups,
            construction="whole-sets",
            clock="async",
            faults=faults,
            seed=3,
            iterations=300,
            engine=engine,
        )
        for engine in ("auto", "plain")
    ]
    held, sent = list(range(5)), 0
    rings = naive.ring(naive.exchanges_of(sites, 3, 0, 300), faults, 5, 3)
    for i, j, takes_place in rings:
        sent += sizes[held[i]] + 1
        if takes_place:
            sent += sizes[held[j]] + 1
            held[i], held[j] = held[j], held[i]
    assert [run.bytes[-1] for run in runs] == [8 * sent] * 2


@pytest.mark.parametrize("clock", ["sync", "async"])
def test_no_fault_changes_nothing(clock: str) -> None:
    one, other = (
        pg.estimate(X, "gini", GRAPH, clock=clock, faults=faults, iterations=500, seed=0, trials=2)
        for faults in (None, pg.Faults())
    )
    assert np.array_equal(one.trial_error, other.trial_error)
    told = (other.faults, other.honest, other.lost, other.half_lost, other.honest_error)
    assert told == (None,) * 5


def test_intervals_with_loss() -> None:
    """Nodes' sampling errors do not count exchanges that did not happen."""
    settings: Any = {"interval": 0.95, "iterations": 3000, "seed": 0, "faults": "loss=0.3"}
    sync, plain, alone = (
        pg.estimate(X, "gini", GRAPH, clock=clock, engine=engine, **settings)
        for clock, engine in (("sync", "auto"), ("sync", "plain"), ("async", "auto"))
    )
    assert sync.sampling_error is not None and plain.sampling_error is not None
    assert alone.sampling_error is not None
    np.testing.assert_allclose(sync.sampling_error, plain.sampling_error, rtol=1e-8)
    np.testing.assert_allclose(sync.sampling_error, alone.sampling_error, rtol=1e-8)
