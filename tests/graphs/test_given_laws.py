"""Laws that are given by a probability for every edge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.graphs import GivenLaw, Graph, complete, cycle, edge_law, path, watts_strogatz
from pairgossip.graphs.laws import name_law
from tests.graphs.virtual import streams

GRAPH = watts_strogatz(24, 4, 0.3, seed=1)
DRAWS = 200_000


def weigh(graph: Graph, seed: int = 0, unused: int = 0) -> GivenLaw:
    """Return uneven probabilities; some are 0, on edges that are not needed for connection."""
    weights = np.random.default_rng(seed).exponential(size=graph.edge_count) ** 2
    weights[:unused] = 0
    return GivenLaw(weights / weights.sum())


def expected_step(graph: Graph, law: GivenLaw) -> Any:
    """Return L_q edge by edge."""
    matrix = np.zeros((graph.n, graph.n))
    for (i, j), chance in zip(graph.edges, law.probabilities, strict=True):
        d = np.zeros(graph.n)
        d[i], d[j] = 1, -1
        matrix += chance * np.outer(d, d)
    return matrix


@pytest.mark.parametrize("graph", [GRAPH, complete(7), path(2)], ids=["small world", "all", "two"])
def test_edges_are_drawn_with_their_probabilities(graph: Graph) -> None:
    law = weigh(graph, unused=1 if graph.n > 2 else 0)
    sampler = edge_law(graph, law)
    drawn = sampler.draw(streams(sampler.stream_count, seed=5), DRAWS)
    number = {tuple(edge): at for at, edge in enumerate(graph.edges.tolist())}
    counts = np.bincount([number[i, j] for i, j in drawn.tolist()], minlength=graph.edge_count)
    expected = DRAWS * law.probabilities
    assert counts[law.probabilities == 0].sum() == 0
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected)).all()
    picks = np.bincount(graph.edges.ravel(), np.repeat(law.probabilities, 2), graph.n)
    assert graph.pick_probabilities(law) == pytest.approx(picks)


def test_events_do_not_depend_on_how_many_are_drawn_at_a_time() -> None:
    sampler = edge_law(GRAPH, weigh(GRAPH))
    pieces = streams(sampler.stream_count)
    drawn = np.concatenate([sampler.draw(pieces, size) for size in (3, 0, 50, 1)])
    assert np.array_equal(drawn, sampler.draw(streams(sampler.stream_count), 54))


@pytest.mark.parametrize("graph", [GRAPH, complete(7)], ids=["small world", "complete"])
def test_spectra_and_distances_follow_the_probabilities(graph: Graph) -> None:
    law = weigh(graph)
    matrix = expected_step(graph, law)
    gap = float(np.linalg.eigvalsh(matrix)[1])
    assert graph.laplacian_dense(law) == pytest.approx(matrix)
    assert graph.laplacian(law).toarray() == pytest.approx(matrix)
    assert graph.normalized_gap(law) == pytest.approx(gap)
    assert graph.normalized_gap(law.probabilities) == pytest.approx(gap)
    walked = np.linalg.matrix_power(np.eye(graph.n) - matrix, 9)
    farthest = 0.5 * np.abs(walked - 1 / graph.n).sum(axis=1).max()
    assert graph.total_variation(9, law) == pytest.approx(farthest)


def test_gaps_of_different_laws_are_remembered_apart() -> None:
    first, second = weigh(GRAPH, 0), weigh(GRAPH, 1)
    uniform = GRAPH.normalized_gap()
    gaps = [GRAPH.normalized_gap(law) for law in (first, second, first)]
    assert gaps[0] == gaps[2] != gaps[1]
    assert GRAPH.normalized_gap() == uniform
    assert GivenLaw(first.probabilities) == first != second
    assert GRAPH.normalized_gap(GivenLaw(first.probabilities)) == gaps[0]


def test_a_large_graph_has_the_gap_of_the_dense_matrix() -> None:
    graph = watts_strogatz(700, 4, 0.3, seed=0)
    law = weigh(graph)
    dense = np.linalg.eigvalsh(graph.laplacian_dense(law))[1]
    assert graph.normalized_gap(law) == pytest.approx(dense, rel=1e-8)


def test_averaging_has_the_exact_error_of_matrix_products() -> None:
    law, values = weigh(GRAPH, unused=2), np.arange(24.0) ** 2
    run = pg.estimate(values, None, GRAPH, method="averaging", law=law, iterations=200, seed=0,
                      clock="async", trials=400)  # fmt: skip
    theory = run.theory()
    steps = []
    for i, j in GRAPH.edges:
        step = np.eye(24)
        step[[i, i, j, j], [i, j, i, j]] = 0.5
        steps.append(step)
    square = np.outer(values - values.mean(), values - values.mean())
    for _ in range(200):
        square = sum(
            chance * step @ square @ step
            for chance, step in zip(law.probabilities, steps, strict=True)
        )
    assert theory.error[-1] == pytest.approx(np.sqrt(np.trace(square) / 24), rel=1e-3)
    assert np.sqrt(np.mean(run.trial_error[:, -1] ** 2)) == pytest.approx(theory.error[-1], rel=0.1)


@pytest.mark.parametrize("clock", ["sync", "async"])
def test_runs_follow_the_law_on_every_engine(clock: str) -> None:
    law, rows = weigh(GRAPH), np.arange(24.0)
    settings: Any = {"clock": clock, "law": law, "seed": 0, "iterations": 500}
    compiled = pg.estimate(rows, "gini", GRAPH, **settings)
    plain = pg.estimate(rows, "gini", GRAPH, engine="plain", **settings)
    assert compiled.estimates == pytest.approx(plain.estimates)
    other = pg.estimate(rows, "gini", GRAPH, clock=clock, seed=0, iterations=500)
    assert not np.allclose(compiled.estimates, other.estimates)


def test_uneven_picks_do_not_bias_gosta() -> None:
    law = weigh(GRAPH)
    run = pg.estimate(np.arange(24.0), "gini", GRAPH, clock="async", law=law, seed=0,
                      iterations=200_000)  # fmt: skip
    assert run.estimates.mean() == pytest.approx(float(run.target), rel=0.02)


def test_learning_and_plans_take_a_law() -> None:
    graph = watts_strogatz(12, 4, 0.3, seed=0)
    law, rows = weigh(graph), np.arange(12.0)[:, None] % 5
    labels = np.arange(12) % 2
    settings: Any = {"labels": labels, "graph": graph, "seed": 0, "iterations": 200}
    fit = pg.minimize(rows, law=law.probabilities, **settings)
    assert fit.law == law
    with pytest.raises(InputError, match=r"another law \(given\) than this run \(uniform-edges\)"):
        pg.minimize(rows, **settings | {"start": fit, "iterations": 300})
    sketched = pg.minimize(
        rows, method="sketch", schedule="random", law=law, labels=labels, graph=graph, seed=0
    )
    assert sketched.law == law
    plan = pg.plan(rows[:, 0], "variance", graph, law=law, error=0.05)
    uniform = pg.plan(rows[:, 0], "variance", graph, error=0.05)
    random = [
        next(r for r in p.rows if (r.method, r.schedule) == ("sketch", "random"))
        for p in (plan, uniform)
    ]
    assert random[0].exchanges != random[1].exchanges


def test_a_law_is_saved_joined_and_shown(tmp_path: Path) -> None:
    law = weigh(GRAPH)
    settings: Any = {"graph": GRAPH, "seed": 0, "iterations": 50}
    runs = [
        pg.estimate(np.arange(24.0), "gini", law=one, trials=trials, **settings)
        for one, trials in ((law, [0]), (GivenLaw(law.probabilities), [1]), (weigh(GRAPH, 1), [2]))
    ]
    assert pg.join_trials(runs[:2]).trials == 2
    with pytest.raises(InputError, match="differ in law"):
        pg.join_trials([runs[0], runs[2]])
    runs[0].save(tmp_path / "run.npz")
    loaded = pg.load(tmp_path / "run.npz")
    assert loaded.law == law
    assert (name_law(loaded.law), str(law)) == ("given", "<GivenLaw given: 48 of 48 edges used>")
    assert runs[0].to_xarray().attrs["law"] == "given"


def test_continuized_averaging_takes_a_law() -> None:
    law = weigh(GRAPH, unused=2)
    run = pg.estimate(np.arange(24.0), None, GRAPH, method="averaging", schedule="continuized",
                      law=law, iterations=8000, seed=0, clock="async")  # fmt: skip
    assert run.estimates == pytest.approx(11.5, abs=0.01)


def test_laws_that_do_not_fit_are_refused() -> None:
    graph, values = cycle(4), np.arange(4.0)
    cases: dict[str, Any] = {
        "sum to 2": [0.5] * 4,
        "edge 1 is -1": [1, -1, 0.5, 0.5],
        "edge 2 is nan": [0.5, 0.5, np.nan, 0.5],
        "sum to inf": [np.inf, 0, 0.5, 0.5],
        "3 probabilities but the graph has 4 edges": [0.5, 0.25, 0.25],
        "do not connect all nodes": [0.5, 0, 0.5, 0],
        "one of uniform-edges, node-clocks, or a list": [[0.25] * 4],
    }
    for sentence, law in cases.items():
        with pytest.raises(InputError, match=sentence):
            pg.estimate(values, "gini", graph, law=law)
    for schedule in ("ordered", "tree"):
        with pytest.raises(InputError, match="has no random edges"):
            pg.estimate(values, "gini", graph, method="sketch", schedule=schedule, law=[0.25] * 4)
    with pytest.raises(InputError, match="rows at sites exchange along other edges"):
        pg.estimate(np.arange(8.0), "gini", graph, groups=[0, 1, 2, 3] * 2, law=[0.25] * 4)
    whole = pg.estimate(np.arange(8.0), "gini", graph, groups=[0, 1, 2, 3] * 2, seed=0,
                        construction="whole-sets", law=[0.25] * 4)  # fmt: skip
    assert whole.estimates == pytest.approx(float(whole.target), rel=0.5)
