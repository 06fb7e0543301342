"""GoRank and GoTrim: compiled and plain, and their limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.algorithms import gotrim
from pairgossip.algorithms.methods import GOTRIM
from pairgossip.arrays import FloatArray
from pairgossip.engine.estimation.building import build_engine
from pairgossip.engine.estimation.engine import Procedure
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.order_statistics.ranking import TrimmedPairs
from pairgossip.order_statistics.statistics import TrimmedMean
from tests.problems import SMALL_GRAPHS

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(2.0, 1.0, 30)
TIED = RNG.integers(0, 5, 30).astype(float)

clocks = pytest.mark.parametrize("clock", ["sync", "async"])


@clocks
@pytest.mark.parametrize("law", ["uniform-edges", "node-clocks"])
@pytest.mark.parametrize("x", [NUMBERS, TIED], ids=["numbers", "tied"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.4])
def test_compiled_trimming_equals_the_plain_algorithm(
    clock: str, law: str, x: FloatArray, share: float
) -> None:
    for name in ("star", "watts-strogatz", "complete"):
        graph = SMALL_GRAPHS[name]
        pairs, found = TrimmedPairs(x[: graph.n], TrimmedMean(share)), []
        for engine in ("plain", "auto"):
            schedule = Schedule(graph, law, root_seed(7), 1)
            network = build_engine(engine, pairs, Procedure(GOTRIM, clock))
            for block in (1, 2, 40, 57, 80):
                network.advance(schedule.draw(block))
                found.append(network.estimates())
        for plain, fast in zip(found[:5], found[5:], strict=True):
            np.testing.assert_allclose(fast, plain, rtol=1e-12, atol=1e-12)


@clocks
def test_estimates_add_up_to_what_is_counted(clock: str) -> None:
    """Averaging and updates always conserve the sum."""
    graph = SMALL_GRAPHS["watts-strogatz"]
    pairs = TrimmedPairs(NUMBERS[: graph.n], TrimmedMean(0.2))
    schedule, state = Schedule(graph, "uniform-edges", root_seed(1), 1), gotrim.init(graph.n, 1)
    step = gotrim.step if clock == "sync" else gotrim.step_async
    for exchange in schedule.draw(500)[0]:
        state = step(state, exchange[None], pairs.values, pairs.window)
        assert state.z.sum() == pytest.approx(state.counted.sum(), abs=1e-9)


@clocks
def test_trimmed_means_are_reached_whatever_the_outliers(clock: str) -> None:
    x = np.arange(1.0, 41.0)
    x[::10] *= 1000
    run = pg.trimmed_mean(
        x, 0.2, "complete", method="gotrim", clock=clock, iterations=100_000, seed=0
    )
    assert run.method == "gotrim"
    assert run.kernel == "trimmed mean 0.2"
    assert run.target == pytest.approx(pg.trimmed_mean(x, 0.2).value, rel=1e-12)
    assert run.estimates == pytest.approx(run.target, rel=0.1)
    assert run.error[-1] < 0.1 * run.error[len(run.error) // 2]


@clocks
def test_ties_that_are_not_cut_apart_are_counted(clock: str) -> None:
    x = np.r_[np.zeros(4), np.repeat(np.arange(1.0, 9.0), 4), np.full(4, 90.0)]
    how: dict[str, Any] = {"method": "gotrim", "clock": clock, "iterations": 100_000, "seed": 0}
    run = pg.trimmed_mean(x, 0.1, "complete", **how)
    assert run.estimates == pytest.approx(run.target, rel=0.05)
    for share in (0.15, 0.45):
        with pytest.raises(pg.InputError, match="all rows of one rank or none: use method='sketch"):
            pg.trimmed_mean(x, share, "complete", **how)


@clocks
@pytest.mark.parametrize("x", [NUMBERS, TIED], ids=["numbers", "tied"])
def test_every_node_finds_its_rank(clock: str, x: FloatArray) -> None:
    run = pg.ranks(x, "complete", method="gorank", clock=clock, iterations=100_000, seed=0)
    assert run.target == pytest.approx(pg.ranks(x), rel=1e-12)
    assert run.estimates[0] == pytest.approx(run.target, abs=1.0)
    plain = pg.ranks(
        x, "complete", method="gorank", clock=clock, iterations=500, seed=0, engine="plain"
    )
    fast = pg.ranks(x, "complete", method="gorank", clock=clock, iterations=500, seed=0)
    assert fast.estimates == pytest.approx(plain.estimates, rel=1e-12)


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"method": "gotrim"}, "Method 'gotrim' needs a network: give graph='complete'"),
        ({"graph": "cycle", "method": "gorank"}, "Unknown method 'gorank'"),
        ({"graph": "cycle", "method": "gotrim", "weights": np.ones(30)}, "takes no weights"),
        ({"graph": "cycle", "method": "gotrim", "range": (-9, 9)}, "has no bins"),
        ({"graph": "cycle", "method": "gotrim", "schedule": "tree"}, "cannot follow schedule"),
        ({"graph": "cycle", "method": "gotrim", "clock": "slow"}, "Unknown clock"),
        ({"graph": "cycle", "method": "gotrim", "until": "enough"}, "use method='sketch'"),
    ],
)
def test_what_gotrim_cannot_do_is_refused(how: dict[str, Any], sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        pg.trimmed_mean(NUMBERS, 0.1, **how)


def test_ranks_of_all_rows_have_no_method() -> None:
    with pytest.raises(pg.InputError, match="Method 'gorank' needs a network"):
        pg.ranks(NUMBERS, method="gorank")
    with pytest.raises(pg.InputError, match="Unknown method 'fast'"):
        pg.ranks(NUMBERS, method="fast")


def test_gotrim_is_no_method_of_estimate() -> None:
    with pytest.raises(pg.InputError, match="Unknown method 'gotrim'"):
        pg.estimate(NUMBERS, "gini", method="gotrim")
