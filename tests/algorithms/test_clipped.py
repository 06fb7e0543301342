"""Clipped GoSta and clipped averaging against transcriptions that share no code with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.algorithms import clipped_averaging, clipped_gosta
from pairgossip.algorithms.methods import METHODS, find_method
from pairgossip.algorithms.steps import bend
from pairgossip.arrays import FloatArray
from pairgossip.engine.estimation.building import build_engine
from pairgossip.engine.estimation.engine import Procedure
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.graphs import Graph
from pairgossip.kernels import Pairs
from pairgossip.kernels.problem import Means
from tests.engine.test_twins import PROBLEMS, weights_for
from tests.problems import SMALL_GRAPHS, rows

EXCHANGES = 400


def run_method(name: str, engine: str, problem: Any, graph: Graph) -> FloatArray:
    method = find_method(name, "async")
    weights = weights_for(method, graph, "uniform-edges")
    network = build_engine(engine, problem, Procedure(method, "async", weights=weights))
    network.advance(Schedule(graph, "uniform-edges", root_seed(3)).draw(EXCHANGES))
    return network.estimates()


def drawn(graph: Graph) -> list[list[int]]:
    pairs: list[list[int]] = (
        Schedule(graph, "uniform-edges", root_seed(3)).draw(EXCHANGES)[0].tolist()
    )
    return pairs


def bent(move: float, clip: float) -> float:
    return 0.0 if move == 0 or clip == 0 else move / (1 + move**2 / clip**2)


def transcribe_gosta(table: FloatArray, graph: Graph) -> tuple[list[float], int]:
    """Run clipped GoSta with all seen values in lists; return also how often a node gave in."""
    n, degrees = len(table), np.bincount(graph.edges.ravel())
    held, z = list(range(n)), [0.0] * n
    seen: list[list[float]] = [[] for _ in range(n)]
    met: list[set[int]] = [set() for _ in range(n)]
    beyond: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    doubts, given_up = [0] * n, 0
    for i, j in drawn(graph):
        held[i], held[j] = held[j], held[i]
        clips = []
        for k, other in ((i, j), (j, i)):
            seen[k].append((table[k, held[k]] + table[held[k], k]) / 2)
            met[k].add(other)
            pull = np.sqrt(np.mean((np.array(seen[k]) - z[k]) ** 2)) if len(seen[k]) > 1 else 0.0
            picks = len(seen[k]) * min(1, degrees[other] / degrees[k])
            clips.append(16 * pull / picks)
        before = dict(zip((i, j), (z[i], z[j]), strict=True))
        for k, other in ((i, j), (j, i)):
            sent, now, own = before[other], before[k], float(np.mean(seen[k]))
            move, clip = (sent - now) / 2, min(clips)
            start = now + bent(move, clip)
            if abs(move) <= clip:
                doubts[k] = max(0, doubts[k] - 1)
            elif len(seen[k]) > 1 and len(seen[other]) > 1:
                speaks = abs(sent - own) < abs(now - own) / 4
                agrees = False
                if beyond[k]:
                    last, value = beyond[k][-1]
                    agrees = last != other and abs(sent - value) < abs(sent + value - 2 * now) / 4
                doubts[k] += 2 if speaks else int(agrees or met[k] == {other})
                beyond[k].append((other, sent))
            if doubts[k] >= 7:
                start, doubts[k] = sent, 0
                given_up += 1
            z[k] = start + (seen[k][-1] - start) / len(seen[k])
    return z, given_up


@pytest.mark.parametrize("graph", ["star", "watts-strogatz", "complete"])
@pytest.mark.parametrize("problem", ["gini", "auc"])
def test_clipped_gosta_equals_its_transcription(problem: str, graph: str) -> None:
    kernel, make = PROBLEMS[problem]
    network = SMALL_GRAPHS[graph]
    pairs = Pairs(make(network.n), kernel)
    for part in range(pairs.components):
        expected, _ = transcribe_gosta(pairs.matrix(part), network)
        for engine in ("auto", "plain"):
            found = run_method("clipped-gosta", engine, pairs, network)[:, part]
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_row_far_from_all_others_is_doubted_and_comes_back() -> None:
    graph, data = SMALL_GRAPHS["watts-strogatz"], np.array(rows(12))
    data[3] = 1e6
    pairs = Pairs(data, "gini")
    expected, given_up = transcribe_gosta(pairs.matrix(0), graph)
    assert given_up > 0
    np.testing.assert_allclose(
        run_method("clipped-gosta", "auto", pairs, graph)[:, 0], expected, rtol=1e-9
    )


def transcribe_averaging(values: FloatArray, graph: Graph) -> FloatArray:
    degrees = np.bincount(graph.edges.ravel())
    width = values.max(axis=0) - values.min(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(width > 0, width, 1.0)
    distances = np.linalg.norm(scaled, axis=1)
    first = max(10 * np.sqrt(np.mean(distances**2)), 10 / 3 * distances.max())
    z, picks = values.copy(), np.zeros(len(values))
    for i, j in drawn(graph):
        picks[[i, j]] += 1
        clips = [
            first / (picks[k] * min(1, degrees[other] / degrees[k]))
            for k, other in ((i, j), (j, i))
        ]
        move = (z[j] - z[i]) / 2
        length = float(np.linalg.norm(move / np.where(width > 0, width, 1.0)))
        if length > 0:
            move = move * bent(length, min(clips)) / length
        for k, sign in ((i, 1), (j, -1)):
            z[k] = (1 - 1 / picks[k]) * (z[k] + sign * move) + values[k] / picks[k]
    return z


@pytest.mark.parametrize("graph", ["star", "watts-strogatz"])
@pytest.mark.parametrize("features", [1, 3])
def test_clipped_averaging_equals_its_transcription(features: int, graph: str) -> None:
    network = SMALL_GRAPHS[graph]
    values = np.array(rows(network.n, features)).reshape(network.n, features)
    if features > 1:
        values[:, 1] = 5.0  # all alike
    problem = Means(rows(network.n))
    problem.average(values)
    expected = transcribe_averaging(values, network)
    for engine in ("auto", "plain"):
        found = run_method("clipped-averaging", engine, problem, network)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_move_is_bent_whatever_its_size() -> None:
    assert bend(1.0, 1.0) == 0.5
    assert bend(0.0, 0.0) == bend(1.0, 0.0) == 0.0
    assert bend(1e-9, 1.0) == 1.0
    assert bend(1e200, 1.0) == 0.0
    for move in (0.2, 3.0):
        assert bend(move, 0.7) == pytest.approx(1 / (1 + (move / 0.7) ** 2))


def test_the_clip_is_the_difference_that_moves_a_node_most() -> None:
    graph = SMALL_GRAPHS["watts-strogatz"]
    weights = weights_for(find_method("clipped-gosta", "async"), graph, "uniform-edges")
    assert weights is not None
    gini = Pairs(rows(12), "gini").matrix(0)
    state = clipped_gosta.start(12, weights)
    values = clipped_averaging.start(rows(12, 2), weights)
    assert clipped_gosta.clip(state, 0, 1) == 0
    for i, j in drawn(graph):
        clipped_gosta.exchange(state, i, j, lambda k, other: gini[k, other])
        clipped_averaging.exchange(values, i, j)
    clip = clipped_gosta.clip(state, i, j)
    moves = [
        difference / 2 * bend(difference / 2, clip / 2)
        for difference in (0.5 * clip, clip, 2 * clip)
    ]
    assert max(moves) == moves[1] == pytest.approx(clip / 4)
    differences = clipped_averaging.clip(values, i, j)
    length = float(np.linalg.norm(differences / values.unit[0])) / 2
    picks = values.picks[i] * min(1.0, weights[i] / weights[j])
    assert length == pytest.approx(values.reach[0] / picks)


def test_messages_carry_estimates_and_clips() -> None:
    # A clip for each component, or one for a whole sketch.
    assert METHODS["clipped-gosta"].numbers_averaged(2) == 4
    assert METHODS["clipped-sketch"].numbers_averaged(5) == 6


def test_every_method_says_what_it_tolerates() -> None:
    assert all(method.tolerates for method in METHODS.values())


@pytest.mark.parametrize(
    ("method", "attack"),
    [
        ("clipped-gosta", "constant"),
        ("clipped-gosta", "inside-the-clip"),
        ("clipped-sketch", "inside-the-clip"),
    ],
)
def test_liars_are_met_by_both_engines_alike(method: str, attack: str) -> None:
    kernel = "gini" if method == "clipped-gosta" else "variance"
    found = [
        pg.estimate(
            rows(12), kernel, SMALL_GRAPHS["watts-strogatz"], method=method, clock="async",
            faults=pg.Faults(liars=[2, 7], attack=attack), iterations=200, engine=engine, seed=1,
        ).estimates
        for engine in ("auto", "plain")
    ]  # fmt: skip
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("method", "attack"), [("gosta", "sign"), ("sketch", "constant")])
def test_a_liar_does_ten_times_less_harm(method: str, attack: str) -> None:
    data, graph = np.random.default_rng(5).normal(size=64), pg.graphs.torus(8, 8)
    faults = pg.Faults(liars=[9], attack=attack)
    medians, kernel = [], "gini" if method == "gosta" else "variance"
    # Without protection the error grows with time: a short run shows it, and need not be compiled.
    for name, iterations, engine in (
        (method, 10_000, "plain"),
        (f"clipped-{method}", 200_000, "auto"),
    ):
        run = pg.estimate(
            data, kernel, graph, method=name, clock="async", iterations=iterations,
            faults=faults, seed=2, engine=engine,
        )  # fmt: skip
        assert run.honest is not None
        off = np.abs(run.estimates[0, run.honest] / run.target - 1)
        medians.append(float(np.median(off)))
    assert 10 * medians[1] < medians[0]


def test_one_liar_captures_no_node_beside_an_honest_one() -> None:
    # On a ring every neighbor of the liar hears as much from it as from an honest node.
    data, ring = np.random.default_rng(6).normal(size=40), pg.graphs.cycle(40)
    run = pg.estimate(
        data, "gini", ring, method="clipped-gosta", clock="async", iterations=400_000,
        faults=pg.Faults(liars=[9]), trials=3, seed=3,
    )  # fmt: skip
    assert run.honest is not None
    off = np.abs(run.estimates[:, run.honest] / run.target - 1)
    assert off.max() < 0.5  # ten times the statistic is what the liar says
