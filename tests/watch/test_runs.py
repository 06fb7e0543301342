"""Watched runs: the numbers of the front doors, and what a page shows besides them."""

from __future__ import annotations

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.engine.schedule import Schedule, child, root_seed
from pairgossip.watch.simulation.observations import Uploads
from pairgossip.watch.simulation.runs import MOST_JUDGED, WatchedRun, build_runs
from pairgossip.watch.simulation.settings import Settings

Fields = dict[str, str | list[str]]
INCOMES: Fields = {"data": "engel", "column": ["income"], "nodes": "60"}
ROWS = np.linspace(0, 234, 60).astype(int)


def one_run(**fields: str | list[str]) -> WatchedRun:
    (run,) = build_runs(Settings.read({**INCOMES, **fields}), Uploads())
    return run


def run_in_slices(run: WatchedRun) -> None:
    random = np.random.default_rng(1)
    while run.done < run.iterations:
        run.advance(int(random.integers(1, 300)))


def test_learning_shows_the_numbers_of_minimize() -> None:
    data = pg.datasets.breast_cancer_table()
    columns = ["clump_thickness", "mitoses"]
    watched = one_run(
        data=data.name, column=columns, label="class", nodes="100", loss="auc-logistic",
        graph="watts-strogatz", step="0.1", ball="2", iterations="3000", seed="5",
    )  # fmt: skip
    watched.advance(3000)
    rows = np.linspace(0, 698, 100).astype(int)
    features = np.column_stack([data[name] for name in columns])[rows]
    fit = pg.minimize(
        features,
        data["class"][rows],
        "auc-logistic",
        "watts-strogatz",
        step=pg.steps.inverse_sqrt(0.1),
        constraint=pg.Ball(2),
        iterations=3000,
        seed=5,
        bias=False,
        judged=MOST_JUDGED,
    )
    objective, of_mean, disagreement = np.array(watched.curves).T
    np.testing.assert_array_equal(objective, fit.objective)
    np.testing.assert_array_equal(disagreement, fit.disagreement)
    np.testing.assert_array_equal(watched.values(), fit.models[0][:, 0])
    risk = pg.losses.risk(fit.model, features, "auc-logistic", data["class"][rows])
    assert of_mean[-1] == pytest.approx(risk)


def test_theory_is_that_of_the_run() -> None:
    theory = one_run(kernel="gini", graph="cycle", iterations="1000").theory()
    run = pg.estimate(pg.datasets.engel()["income"][ROWS], "gini", "cycle", iterations=1000, seed=0)
    known = run.theory()
    np.testing.assert_allclose(theory["expected_error"], known.expected_error)
    np.testing.assert_allclose(theory["bound"], known.deviation_bound)
    assert theory["bound_on"] == "error"


def test_where_there_is_no_theory_it_says_why() -> None:
    run = one_run(kernel="gini", clock="async")
    assert "asynchronous" in run.theory()["absent"]


def test_an_observation_is_followed_where_it_goes() -> None:
    run = one_run(kernel="gini", graph="cycle", follow="7", iterations="3000", seed="2")
    assert run.follower is not None
    exchanges = Schedule(run.graph, "uniform-edges", child(root_seed(2), 0)).draw(3000)[0]
    place, places = 7, [7]
    for first, second in exchanges.tolist():
        if place in (first, second):
            place = first + second - place
            places.append(place)
    run_in_slices(run)
    trail = run.follower.trail
    assert list(trail) == places[-len(trail) :]
    assert run.follower.moves == len(places) - 1
    assert run.follower.place_of(7) == place
    assert run.follower.held_at(place) == 7


def test_a_restart_gives_the_same_run_again() -> None:
    run = one_run(kernel="gini", graph="watts-strogatz", iterations="1000", follow="3")
    run_in_slices(run)
    curves, values = list(run.curves), run.values()
    assert run.follower is not None
    trail = list(run.follower.trail)
    run.restart()
    assert (run.done, run.curves) == (0, [])
    run.advance(10_000)
    assert run.curves == curves
    np.testing.assert_array_equal(run.values(), values)
    assert list(run.follower.trail) == trail


def test_recent_exchanges_are_taken_once() -> None:
    run = one_run(kernel="gini", graph="cycle", iterations="1000")
    expected = Schedule(run.graph, "uniform-edges", child(root_seed(0), 0)).draw(5)[0]
    run.advance(5)
    assert run.take_recent() == expected.tolist()
    assert run.take_recent() == []
