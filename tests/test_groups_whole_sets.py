"""Sites that swap whole sets, against a transcription that knows no engine."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.trials import Meter, Payload
from pairgossip.kernels import Pairs, WholeSets, as_kernel
from pairgossip.kernels import pairs as module
from pairgossip.kernels.blocks import SiteSets
from tests.problems import labeled_rows, rows, skewed
from tests.test_groups import schedule_of

EQUAL = [1, 0, 2, 3, 0, 1, 3, 2]
UNEQUAL = [2, 0, 0, 3, 1, 0, 2, 0, 0]
GRAPH = pg.graphs.star(4)
KERNELS: dict[str, tuple[Any, Any]] = {
    "symmetric": ("gini", rows),
    "neither": (skewed, rows),
    "ratio": ("auc", labeled_rows),
    "nonzero diagonal": (pg.kernels.metric_learning_risk(0.5), lambda n: labeled_rows(n, 3)),
}


def naive_values(data: FloatArray, kernel: Any, groups: list[int], target: str) -> FloatArray:
    """Return what every site adds for every set, by pairs of rows, shape (n, n, K)."""
    n, N = max(groups) + 1, len(groups)
    parts = as_kernel(kernel).components
    values = np.zeros((n, n, len(parts)))
    for a, b in itertools.product(range(N), range(N)):
        for c, part in enumerate(parts):
            if target == "v" or a != b:
                h = float(part.function(data[a : a + 1].copy(), data[b : b + 1].copy())[0])
                values[groups[a], groups[b], c] += h
    return values * n**2 / (N**2 if target == "v" else N * (N - 1))


def naive_gosta(values: FloatArray, exchanges: PairArray, clock: str, order: str) -> FloatArray:
    n = len(values)
    held, z, picks = list(range(n)), np.zeros((n, values.shape[2])), [0] * n
    for t, (i, j) in enumerate(exchanges.tolist(), start=1):
        for phase in ("swap", "update") if order == "exchange-first" else ("update", "swap"):
            if clock == "sync" and phase == "update":
                for k in range(n):
                    z[k] = (t - 1) / t * z[k] + values[k, held[k]] / t
            elif phase == "swap":
                held[i], held[j] = held[j], held[i]
                z[i] = z[j] = (z[i] + z[j]) / 2
        for k in (i, j) if clock == "async" else ():
            picks[k] += 1
            z[k] = (1 - 1 / picks[k]) * z[k] + values[k, held[k]] / picks[k]
    return z


def naive_u2(values: FloatArray, first: PairArray, second: PairArray) -> FloatArray:
    n = len(values)
    one, two, z = list(range(n)), list(range(n)), np.zeros((n, values.shape[2]))
    for t, ((i, j), (k, m)) in enumerate(zip(first, second, strict=True), start=1):
        for node in range(n):
            z[node] = (t - 1) / t * z[node] + values[one[node], two[node]] / t
        one[i], one[j] = one[j], one[i]
        two[k], two[m] = two[m], two[k]
    return z


@pytest.mark.parametrize("engine", ["auto", "plain"])
@pytest.mark.parametrize("target", ["v", "u"])
@pytest.mark.parametrize("groups", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
@pytest.mark.parametrize("case", KERNELS)
def test_runs_equal_the_transcription(
    case: str, groups: list[int], target: str, engine: str
) -> None:
    kernel, make = KERNELS[case]
    data = make(len(groups))
    values = naive_values(data, kernel, groups, target)
    combine = as_kernel(kernel).combine
    np.testing.assert_allclose(
        combine(values.mean(axis=(0, 1))), pg.exact(data, kernel, target), rtol=1e-12
    )
    variants: list[dict[str, Any]] = [
        {"order": "update-first"},
        {"order": "exchange-first"},
        {"clock": "async"},
        {"method": "u2"},
    ]
    for variant in variants:
        run = pg.estimate(
            data, kernel, GRAPH, groups=groups, construction="whole-sets", target=target,
            iterations=120, engine=engine, seed=4, **variant,
        )  # fmt: skip
        walks = schedule_of(run)
        if run.method == "u2":
            expected = naive_u2(values, *walks)
        else:
            expected = naive_gosta(values, walks[0], run.clock, run.order * (run.clock == "sync"))
        np.testing.assert_allclose(run.estimates[0], combine(expected), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(run.target, pg.exact(data, kernel, target), rtol=1e-12)


def test_weighted_runs_reach_the_statistic() -> None:
    """On a star the hub is picked most, and its set is not the mean set."""
    run = pg.estimate(
        rows(9), "variance", GRAPH, groups=UNEQUAL, construction="whole-sets",
        method="weighted-gosta", clock="async", iterations=400_000, seed=0,
    )  # fmt: skip
    assert run.error[-1] < 0.02 * run.target


@pytest.mark.parametrize("target", ["v", "u"])
@pytest.mark.parametrize("groups", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_values_are_the_same_whatever_is_asked_together(
    groups: list[int], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = rows(len(groups))
    problem = WholeSets(Pairs(data, skewed, target), np.array(groups))
    expected = naive_values(data, skewed, groups, target)[:, :, 0]
    np.testing.assert_allclose(problem.matrix(), expected, rtol=1e-13)
    np.testing.assert_allclose(problem.row_means(), expected.mean(axis=1), rtol=1e-12)
    everyone = np.arange(4)
    monkeypatch.setattr(module, "_LARGEST_TABLE", 0)
    forgetful = WholeSets(Pairs(data, skewed, target), np.array(groups))
    for block in (7, 3, 1):
        monkeypatch.setattr(module, "NUMBERS_PER_BLOCK", block)
        np.testing.assert_allclose(forgetful.matrix(), expected, rtol=1e-13)
        one_by_one = [forgetful.values(everyone[k : k + 1], everyone[:1])[0, 0] for k in everyone]
        np.testing.assert_array_equal(one_by_one, forgetful.matrix()[:, 0])


def test_row_pairs_meet_every_pair_once() -> None:
    sets = SiteSets(np.array(UNEQUAL))
    first, second = np.divmod(np.arange(16), 4)
    for at_once in (1, 4, 5, 1000):
        blocks = list(sets.row_pairs(first, second, at_once))
        met = [(int(o), int(a), int(b)) for block in blocks for o, a, b in zip(*block, strict=True)]
        assert len(met) == len(set(met)) == 81
        assert all(UNEQUAL[a] == first[o] and UNEQUAL[b] == second[o] for o, a, b in met)
        assert max(len(block.owner) for block in blocks) <= at_once


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("walks", [1, 2])
def test_bytes_follow_the_sets(walks: int, compiled: bool) -> None:
    sizes = np.bincount(UNEQUAL)
    schedule = np.random.default_rng(0).permuted(np.tile(np.arange(4), (walks, 50, 1)), axis=2)
    exchanges = tuple(np.ascontiguousarray(walk[:, :2], dtype=np.int32) for walk in schedule)
    meter = Meter(GRAPH, Payload(3, 1, sizes), walks, compiled)
    for start in (0, 20):
        stop = 20 if start == 0 else 50
        meter.count(tuple(walk[start:stop] for walk in exchanges))
    numbers = 0
    for walk in exchanges:
        held = list(range(4))
        for i, j in walk.tolist():
            numbers += 3 * int(sizes[held[i]]) + 1 + 3 * int(sizes[held[j]]) + 1
            held[i], held[j] = held[j], held[i]
    assert meter.counts == (50 * walks, 0, 100 * walks, 8 * numbers)


def test_one_site_knows_everything() -> None:
    run = pg.estimate(
        rows(5), "gini", groups=[7] * 5, construction="whole-sets", iterations=9, seed=0
    )
    np.testing.assert_allclose(run.estimates, pg.exact(rows(5), "gini"), rtol=1e-13)
    assert run.messages[-1] == 0


@pytest.mark.parametrize("order", ["update-first", "exchange-first"])
@pytest.mark.parametrize("target", ["v", "u"])
def test_expectation_by_powers_of_the_gossip_matrices(order: str, target: str) -> None:
    data, T = rows(9), 12
    run = pg.estimate(
        data, skewed, GRAPH, groups=UNEQUAL, construction="whole-sets", target=target,
        order=order, iterations=T, checkpoints=range(1, T + 1), seed=0,
    )  # fmt: skip
    H = naive_values(data, skewed, UNEQUAL, target)[:, :, 0]
    swap, average = np.zeros((4, 4)), np.zeros((4, 4))
    for i, j in GRAPH.edges:
        e = np.eye(4)[i] - np.eye(4)[j]
        swap += (np.eye(4) - np.outer(e, e)) / GRAPH.edge_count
        average += (np.eye(4) - np.outer(e, e) / 2) / GRAPH.edge_count
    power = np.linalg.matrix_power
    late, early = (1, 0) if order == "update-first" else (0, 1)
    means = []
    for t in range(1, T + 1):
        terms = [
            power(average, t - s + late) @ (H * power(swap, s - 1 + early)).sum(axis=1)
            for s in range(1, t + 1)
        ]
        means.append(np.sum(terms, axis=0).mean() / t)
    np.testing.assert_allclose(run.theory().expected_mean, means, rtol=1e-11)
