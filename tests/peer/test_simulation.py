"""Seeded schedules of real peers on a virtual clock: no invariant breaks, and all recover."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.kernels.kernel import as_kernel
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.rules import PaperMixing
from pairgossip.peer.service.runtime import ExchangeRuntime
from tests.peer.audit import check_settled
from tests.peer.books import QuickMixing
from tests.peer.contexts import name_of
from tests.peer.schedules import make_world, run_schedule
from tests.peer.world import Faults, World

BLOCKS, PER_BLOCK = 20, 23
"""Five hundred schedules with the forty of the next test, which must break nothing either;
`benchmarks.peer_simulation` runs any number."""


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_schedule_breaks_an_invariant(block: int) -> None:
    for seed in range(block * PER_BLOCK, (block + 1) * PER_BLOCK):
        report = run_schedule(seed)
        assert report.events > 0


def test_the_schedules_are_as_bad_as_they_claim() -> None:
    """Every kind of fault, and every branch that faults lead to, occurs."""
    reports = [run_schedule(seed) for seed in range(1000, 1040)]
    happened = {name for report in reports for name, count in report.counts.items() if count}
    assert happened >= {
        "power failures",
        "kills",
        "partitions",
        "freezes",
        "evictions",
        "generations begun",
        "offers repeated",
        "answers repeated",
        "answers received again",
        "offers older than the last",
        "offers kept waiting",
        "offers rejected: busy",
        "messages of another generation",
        "evicted by the others",
    }
    worlds = [make_world(seed) for seed in range(1000, 1040)]
    assert {world.graph.n for world in worlds} == set(range(2, 9))
    assert {rows for world in worlds for rows in world.rows.values()} == {1, 2, 3, 4}
    assert max(world.faults.loss for world in worlds) == 0.5


def test_a_seed_gives_the_same_history_in_another_process() -> None:
    """This also holds if strings hash differently."""
    told = [
        subprocess.run(
            [
                sys.executable,
                "-c",
                "from tests.peer.schedules import run_schedule\n"
                "assert [run_schedule(s).trace for s in (6, 12)] == "
                f"{[run_schedule(s).trace for s in (6, 12)]}",
            ],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=False,
        ).returncode
        for hash_seed in ("1", "2")
    ]
    assert told == [0, 0]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("mixing", ["weighted", "paper"])
def test_estimates_approach_the_exact_value_after_bad_times(mixing: str, seed: int) -> None:
    values = random.Random(seed).choices(range(1, 30), k=6)
    kernel = as_kernel("gini")
    world = World(
        pg.graphs.cycle(6),
        [float(value) for value in values],
        seed,
        Faults(0.3, 0.2, 0.05, 0.1, 0.005, 0.1, 0.1, until=20.0),
        make_rule=(lambda _: PaperMixing(kernel)) if mixing == "paper" else None,
        rate=2.0,
    )
    truth = np.abs(np.subtract.outer(values, values)).mean()
    world.run(100.0)
    world.settle()
    check_settled(world)
    estimates = world.estimates()
    np.testing.assert_allclose(estimates, truth, rtol=0.25)
    assert abs(estimates.mean() / truth - 1) < 0.1


def leave_in_doubt(world: World, lost: str) -> None:
    """Let every neighbor of a peer that is gone have an offer to it in doubt."""
    for neighbor in world.neighbors[lost]:
        while not world.state(neighbor).pending.get(lost):
            world.run(world.now + 0.1)
            runtime = world.peers[neighbor]
            assert runtime is not None
            runtime.protocol.away.discard(lost)
            world.ring(neighbor, lost)


def rate_among_others(world: World, lost: str, seconds: float) -> float:
    """Return the use of the links among the others, as a fraction of what they allow."""
    others = [name for name in world.names if name != lost]
    before = sum(world.state(name).exchanges for name in others)
    world.run(world.now + seconds)
    done = (sum(world.state(name).exchanges for name in others) - before) / 2
    links = sum(lost not in (name, other) for name in others for other in world.neighbors[name]) / 2
    return done / (links * world.rate * seconds)


WITH_ONE_LOST = {
    "complete": (pg.graphs.complete(3), 0),
    "complete, another": (pg.graphs.complete(3), 2),
    "ring with a chord": (pg.Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 3)]), 3),
    "star without a leaf": (pg.graphs.star(5), 4),
    "path without its end": (pg.graphs.path(4), 0),
}


# Eight rows also exchange within a peer, which does not depend on the graph.
@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("complete", 2),
        ("complete", 8),
        ("complete, another", 8),
        ("ring with a chord", 2),
        ("star without a leaf", 8),
        ("path without its end", 2),
    ],
)
def test_with_one_peer_gone_the_others_exchange_as_often_as_before(kind: str, rows: int) -> None:
    """This holds although each of its neighbors has an offer to it in doubt."""
    graph, number = WITH_ONE_LOST[kind]
    values = [[float(10 * k + row) for row in range(rows)] for k in range(graph.n)]
    world = World(graph, values, seed=3, make_rule=lambda _: QuickMixing())
    world.run(5.0)
    world.lose_for_ever(name_of(number))
    leave_in_doubt(world, name_of(number))
    assert rate_among_others(world, name_of(number), 400.0) == pytest.approx(1.0, abs=0.2)
    frozen = [len(world.state(name).pending) for name in world.neighbors[name_of(number)]]
    assert min(frozen) == 1


def four_peers(seed: int, rate: float) -> World:
    """Make four peers with one row each, all of them neighbors."""
    values = [1.0, 2.0, 3.0, 4.0]
    graph = pg.graphs.complete(4)
    return World(graph, values, seed, rate=rate, make_rule=lambda _: QuickMixing())


def test_a_peer_with_a_single_row_seldom_waits_for_one_that_is_gone() -> None:
    """It waits only if the other dies within a round trip after its last message."""
    asked = stuck = 0
    for seed in range(40):
        world = four_peers(seed, rate=2.0)
        lost, *others = world.names
        world.run(5.0)
        world.lose_for_ever(lost)
        world.run(11.0)
        asked += len(others)
        stuck += sum(lost in world.state(name).pending for name in others)
    assert 0 < stuck < 0.15 * asked  # a round trip takes up to 0.2 s, and it is asked once a second


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_peers_with_a_single_row_that_do_not_wait_go_on_as_before(seed: int) -> None:
    world = four_peers(seed, rate=0.5)
    lost, *others = world.names
    world.run(5.0)
    world.lose_for_ever(lost)
    world.run(20.0)
    assert not any(lost in world.state(name).pending for name in others)
    assert rate_among_others(world, lost, 600.0) == pytest.approx(1.0, abs=0.2)


def test_one_lost_peer_does_not_stop_its_neighbors_neighbors() -> None:
    """On a path, only the neighbor of the lost end asks it; no other peer may have to wait."""
    world = World(pg.graphs.path(5), [1.0, 2.0, 3.0, 4.0, 5.0], seed=3, rate=3.0)
    world.run(5.0)
    world.lose_for_ever(name_of(4))
    leave_in_doubt(world, name_of(4))
    world.run(30.0)
    assert world.state(name_of(3)).pending
    before = {name: world.state(name).exchanges for name in world.names}
    world.run(60.0)
    gained = {name: world.state(name).exchanges - before[name] for name in world.names}
    assert gained[name_of(3)] == gained[name_of(4)] == 0
    assert all(gained[name_of(k)] > 10 for k in range(3)), gained


def test_the_world_runs_the_real_classes() -> None:
    world = make_world(0)
    assert all(type(peer.protocol) is Exchange for peer in world.peers.values() if peer)
    assert all(type(peer) is ExchangeRuntime for peer in world.peers.values() if peer)
