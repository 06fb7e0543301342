"""Which nodes lie or crash, which exchanges rare events hit, and what liars send."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.faults.attacks import ATTACKS, Network, usual_distance
from pairgossip.faults.gaps import Gaps, HalfLosses
from pairgossip.faults.network import FaultyNetwork, resolve
from pairgossip.graphs import GroupedGraph
from pairgossip.run_requests.faults import choose_lies

CYCLE = pg.graphs.cycle(8)


def _resolve(faults: pg.Faults, graph: pg.Graph = CYCLE, seed: int = 0) -> FaultyNetwork:
    return resolve(faults, graph, np.random.default_rng(seed), 2)


def test_named_nodes_lie_and_crash() -> None:
    network = _resolve(pg.Faults(crashed={2: 3.0, 3: 0.0}, liars=[6], lie=4))
    assert network.honest.tolist() == [0, 1, 4, 5, 7]
    assert np.flatnonzero(network.network.is_liar).tolist() == [6]
    assert network.crash_times[[2, 3]].tolist() == [3.0, 0.0]
    assert network.network.lie.tolist() == [4, 4]
    assert network.with_lies(np.array([1.0, 2.0])) is network


def test_drawn_nodes_leave_the_rest_connected() -> None:
    for seed in range(20):
        network = _resolve(pg.Faults(crashed=2, liars=2), seed=seed)
        crashed = np.flatnonzero(np.isfinite(network.crash_times))
        assert len(network.honest) == 4
        assert (np.diff(crashed) % 8).tolist()[0] in (1, 7)  # neighbors on the cycle
        assert not network.network.is_liar[crashed].any()


def test_liars_are_drawn_evenly() -> None:
    counts = np.zeros(8)
    for seed in range(400):
        counts += _resolve(pg.Faults(liars=3), seed=seed).network.is_liar
    assert counts.sum() == 1200
    assert abs(counts - 150).max() < 5 * np.sqrt(400 * 3 / 8 * 5 / 8)


def test_lies_are_large_beside_what_nodes_average() -> None:
    means, sizes = np.array([3.0, 1e-17, 0.0, np.nan, -2.0]), np.array([4.0, 2.0, 0.0, np.nan, 2.0])
    assert choose_lies(means, sizes).tolist() == [30, 20, 10, 10, -20]


def test_sites_crash_with_all_their_rows() -> None:
    graph = GroupedGraph(pg.graphs.cycle(4), [0, 1, 2, 3, 3, 2])
    network = _resolve(pg.Faults(crashed=[3], liars=[2]), graph)
    assert network.honest.tolist() == [0, 1]
    assert np.isfinite(network.crash_times).tolist() == [False, False, False, True, True, False]


@pytest.mark.parametrize(
    ("faults", "graph", "sentence"),
    [
        (pg.Faults(liars=8), CYCLE, "Every node lies or crashes"),
        (pg.Faults(liars=range(8)), CYCLE, "Every node lies or crashes"),
        (pg.Faults(liars=7, crashed=[0]), CYCLE, "Every node lies or crashes"),
        (pg.Faults(liars=8, crashed=[0]), CYCLE, "8 liars of 7 nodes are too many"),
        (pg.Faults(liars=[8]), CYCLE, "Node 8 among liars is outside the nodes 0 to 7"),
        (pg.Faults(crashed=[1, 9]), CYCLE, "Node 9 among crashed is outside"),
        (pg.Faults(crashed=[1, 3]), CYCLE, "or they are not connected"),
        (pg.Faults(crashed={1: 5, 3: 9}), CYCLE, "or they are not connected"),
        (pg.Faults(crashed=range(7)), CYCLE, "or they are not connected"),
        (pg.Faults(crashed=7), CYCLE, "fewer than two stay"),
        (pg.Faults(crashed=7), pg.graphs.complete(8), "fewer than two stay"),
        (pg.Faults(loss=0.1), pg.graphs.complete(1), "One node alone"),
        (
            pg.Faults(liars=1, attack="dissensus"),
            pg.graphs.complete(7000),
            "use attack 'constant' or 'sign'",
        ),
    ],
)
def test_refusals(faults: pg.Faults, graph: pg.Graph, sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        _resolve(faults, graph)


def test_gaps_do_not_depend_on_blocks() -> None:
    for probability in (1e-9, 0.003, 0.2, 0.9):
        whole = Gaps(probability, np.random.default_rng(5)).take(20_000)
        parts = Gaps(probability, np.random.default_rng(5))
        starts = np.cumsum([0, 1, 7, 500, 0, 12_000, 7_492])
        found = [start + parts.take(int(stop - start)) for start, stop in pairwise(starts)]
        assert np.array_equal(np.concatenate(found), whole)
        assert abs(len(whole) - 20_000 * probability) <= 5 * np.sqrt(20_000 * probability) + 1
    assert not Gaps(0.0, np.random.default_rng(5)).take(100).size
    assert not Gaps(1e-300, np.random.default_rng(5)).take(10**6).size


def test_gaps_hit_independently() -> None:
    hits = np.zeros(60_000)
    hits[Gaps(0.3, np.random.default_rng(1)).take(60_000)] = 1
    neighbors = np.mean(hits[1:] * hits[:-1])
    assert abs(hits.mean() - 0.3) < 0.01
    assert abs(neighbors - 0.09) < 0.01


def test_half_losses_hit_either_side() -> None:
    one, other = np.random.default_rng(1), np.random.default_rng(2)
    places, sides = HalfLosses(0.5, one, other).take(np.zeros((500, 2), dtype=np.int32))
    assert 200 < len(places) == len(sides) < 300
    assert 80 < sides.sum() < 170


def _network() -> Network:
    indptr, indices = pg.graphs.path(4).adjacency
    return Network(np.array([True, False, False, False]), indptr, indices, 12.5)


@pytest.mark.parametrize("as_rows", [False, True])
def test_attacks(as_rows: bool) -> None:
    z: Any = np.array([1.0, 2.0, 5.0, 4.0])
    if as_rows:
        z = np.stack([z, 10 * z], axis=1)
    network = _network()
    clip = usual_distance(z, 1, network)
    np.testing.assert_allclose(clip, 1.5 * np.abs(z[2] - z[1]))  # node 0 is the liar
    sent = {name: attack(z, 0, 1, clip, network) for name, attack in ATTACKS.items()}
    expected = {
        "constant": np.full_like(z[0], 12.5),
        "sign": -z[0],
        "inside-the-clip": z[1] + 1.5 * (z[2] - z[1]),
        "dissensus": z[1] - 10 * (z[2] - z[1]),
    }
    assert sent.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(sent[name], value)
        assert np.shape(sent[name]) == np.shape(z[0])


def test_partner_among_liars_alone() -> None:
    indptr, indices = pg.graphs.path(2).adjacency
    network = Network(np.array([True, False]), indptr, indices, 1.0)
    z = np.array([3.0, 2.0])
    assert usual_distance(z, 1, network) == 0
    assert ATTACKS["dissensus"](z, 0, 1, 0.0, network) == 2
