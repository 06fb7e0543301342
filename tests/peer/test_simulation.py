"""Seeded schedules of real peers on a virtual clock: nothing breaks, and all heal."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.kernels.kernel import as_kernel
from pairgossip.peer.exchange import Exchange
from pairgossip.peer.rules import PaperMixing
from pairgossip.peer.runtime import Runtime
from tests.peer.audit import check_settled
from tests.peer.schedules import make_world, run_schedule
from tests.peer.settings import name_of
from tests.peer.world import Faults, World

BLOCKS, PER_BLOCK = 20, 25
"""Five hundred schedules; `benchmarks.peer_simulation` runs any number."""


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_schedule_breaks_an_invariant(block: int) -> None:
    for seed in range(block * PER_BLOCK, (block + 1) * PER_BLOCK):
        report = run_schedule(seed)
        assert report.events > 0


def test_the_schedules_are_as_bad_as_they_claim() -> None:
    """Every kind of fault and every branch that faults lead to is met."""
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
        "answers told again",
        "offers older than the last",
        "offers let wait",
        "offers rejected: busy",
        "messages of another generation",
        "evicted by the others",
    }
    worlds = [make_world(seed) for seed in range(1000, 1040)]
    assert {world.graph.n for world in worlds} == set(range(2, 9))
    assert {rows for world in worlds for rows in world.rows.values()} == {1, 2, 3, 4}
    assert max(world.faults.loss for world in worlds) == 0.5


@pytest.mark.parametrize("seed", range(0, 30, 3))
def test_a_seed_gives_the_same_history_twice(seed: int) -> None:
    assert run_schedule(seed) == run_schedule(seed)


def test_a_seed_gives_the_same_history_in_another_process() -> None:
    """Also where strings hash differently."""
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


def test_different_seeds_give_different_histories() -> None:
    assert len({run_schedule(seed).trace for seed in range(20)}) == 20


@pytest.mark.parametrize("seed", range(3))
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
    world.run(200.0)
    world.settle()
    check_settled(world)
    estimates = world.estimates()
    np.testing.assert_allclose(estimates, truth, rtol=0.25)
    assert abs(estimates.mean() / truth - 1) < 0.1


def test_one_lost_peer_does_not_stop_its_neighbors_neighbors() -> None:
    """On a path, only the neighbor of the lost end asks it; nobody may wait behind that one."""
    world = World(pg.graphs.path(5), [1.0, 2.0, 3.0, 4.0, 5.0], seed=3, rate=3.0)
    world.run(5.0)
    world.lose_for_ever(name_of(4))
    world.run(30.0)
    assert world.state(name_of(3)).pending
    before = {name: world.state(name).exchanges for name in world.names}
    world.run(60.0)
    gained = {name: world.state(name).exchanges - before[name] for name in world.names}
    assert gained[name_of(3)] == gained[name_of(4)] == 0
    assert all(gained[name_of(k)] > 10 for k in range(3)), gained


def test_a_frozen_peer_goes_on_where_it_stopped() -> None:
    world = World(pg.graphs.complete(4), [1.0, 2.0, 3.0, 4.0], seed=1, rate=3.0)
    world.run(2.0)
    frozen = name_of(0)
    world._frozen_until[frozen] = 20.0
    before = world.state(frozen)
    world.run(19.9)
    assert world.state(frozen) is before
    world.run(40.0)
    world.settle()
    check_settled(world)
    assert world.state(frozen).exchanges > before.exchanges


def test_the_world_runs_the_real_classes() -> None:
    world = make_world(0)
    assert all(type(peer.exchange) is Exchange for peer in world.peers.values() if peer)
    assert all(type(peer) is Runtime for peer in world.peers.values() if peer)
