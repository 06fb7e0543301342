"""A watched run gives the numbers of the front doors, however it is sliced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.engine.schedule import Schedule, child, root_seed
from pairgossip.watch.simulation.building import build_courses
from pairgossip.watch.simulation.courses import MOST_JUDGED, Course
from pairgossip.watch.simulation.observations import Uploads
from pairgossip.watch.simulation.settings import Settings

Fields = dict[str, str | list[str]]
INCOMES: Fields = {"data": "engel", "column": ["income"], "nodes": "60"}
ROWS = np.linspace(0, 234, 60).astype(int)


def courses(**fields: str | list[str]) -> list[Course]:
    return build_courses(Settings.read({**INCOMES, **fields}), Uploads())


def run_in_slices(course: Course) -> None:
    random = np.random.default_rng(1)
    while course.done < course.iterations:
        course.advance(int(random.integers(1, 300)))


@pytest.mark.parametrize(
    ("fields", "how"),
    [
        ({"kernel": "gini", "graph": "watts-strogatz"}, {}),
        ({"kernel": "gini", "graph": "cycle", "clock": "async"}, {"clock": "async"}),
        ({"kernel": "variance", "graph": "star", "target": "u"}, {"target": "u"}),
        (
            {"kernel": "gini", "graph": "star", "method": "weighted-gosta", "clock": "async",
             "law": "node-clocks"},
            {"method": "weighted-gosta", "clock": "async", "law": "node-clocks"},
        ),
        ({"kernel": "gini", "graph": "complete", "method": "u1"}, {"method": "u1"}),
        ({"kernel": "gini", "graph": "grid", "method": "u2"}, {"method": "u2"}),
        ({"graph": "torus", "method": "averaging"}, {"method": "averaging"}),
    ],
)  # fmt: skip
def test_estimation_is_that_of_estimate(fields: dict[str, str], how: dict[str, Any]) -> None:
    (course,) = courses(**fields, seed="3", iterations="2500")
    run_in_slices(course)
    run = pg.estimate(
        pg.datasets.engel()["income"][ROWS],
        fields.get("kernel"),
        fields["graph"],
        iterations=2500,
        seed=3,
        **how,
    )
    error, spread = np.array(course.curves).T
    np.testing.assert_array_equal(course.checkpoints, run.iterations)
    np.testing.assert_allclose(course.values(), run.estimates[0], rtol=1e-12)
    np.testing.assert_allclose(error, run.error, rtol=1e-11)
    np.testing.assert_allclose(spread, run.spread, rtol=1e-9, atol=1e-12)


def test_a_ratio_is_that_of_estimate() -> None:
    data = pg.datasets.breast_cancer_table()
    settings: Fields = {"data": data.name, "column": ["mitoses"], "label": "class", "nodes": "699"}
    (course,) = courses(**settings, kernel="auc", graph="barabasi-albert", iterations="5000")
    run_in_slices(course)
    run = pg.estimate(
        data["mitoses"], "auc", "barabasi-albert", labels=data["class"], iterations=5000, seed=0
    )
    np.testing.assert_allclose(course.values(), run.estimates[0], rtol=1e-12)


@pytest.mark.parametrize("clock", ["sync", "async"])
def test_learning_is_that_of_minimize(clock: str) -> None:
    data = pg.datasets.breast_cancer_table()
    columns = ["clump_thickness", "mitoses"]
    (course,) = courses(
        data=data.name, column=columns, label="class", nodes="100", loss="auc-logistic",
        graph="watts-strogatz", clock=clock, step="0.1", ball="2", iterations="3000", seed="5",
    )  # fmt: skip
    run_in_slices(course)
    rows = np.linspace(0, 698, 100).astype(int)
    fit = pg.minimize(
        np.column_stack([data[name] for name in columns])[rows],
        data["class"][rows],
        "auc-logistic",
        "watts-strogatz",
        clock=clock,
        step=pg.steps.inverse_sqrt(0.1),
        constraint=pg.Ball(2),
        iterations=3000,
        seed=5,
        bias=False,
        judged=MOST_JUDGED,
    )
    objective, _, disagreement = np.array(course.curves).T
    np.testing.assert_allclose(objective, fit.objective, rtol=1e-10)
    np.testing.assert_allclose(disagreement, fit.disagreement, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(course.values(), fit.models[0][:, 0], rtol=1e-9)


def test_theory_is_that_of_the_run() -> None:
    (course,) = courses(kernel="gini", graph="cycle", iterations="1000")
    run = pg.estimate(pg.datasets.engel()["income"][ROWS], "gini", "cycle", iterations=1000, seed=0)
    theory, known = course.theory(), run.theory()
    np.testing.assert_allclose(theory["expected_error"], known.expected_error)
    np.testing.assert_allclose(theory["bound"], known.deviation_bound)
    assert theory["bound_on"] == "error"


def test_where_there_is_no_theory_it_says_why() -> None:
    (course,) = courses(kernel="gini", clock="async")
    assert "asynchronous" in course.theory()["absent"]


def test_an_observation_is_followed_where_it_goes() -> None:
    (course,) = courses(kernel="gini", graph="cycle", follow="7", iterations="3000", seed="2")
    assert course.follower is not None
    exchanges = Schedule(course.graph, "uniform-edges", child(root_seed(2), 0)).draw(3000)[0]
    place, places = 7, [7]
    for first, second in exchanges.tolist():
        if place in (first, second):
            place = first + second - place
            places.append(place)
    run_in_slices(course)
    trail = course.follower.trail
    assert list(trail) == places[-len(trail) :]
    assert course.follower.moves == len(places) - 1
    assert course.follower.place_of(7) == place
    assert course.follower.held_at(place) == 7


def test_a_restart_gives_the_same_run_again() -> None:
    (course,) = courses(kernel="gini", graph="watts-strogatz", iterations="1000", follow="3")
    run_in_slices(course)
    curves, values = list(course.curves), course.values()
    assert course.follower is not None
    trail = list(course.follower.trail)
    course.restart()
    assert (course.done, course.curves) == (0, [])
    course.advance(10_000)
    assert course.curves == curves
    np.testing.assert_array_equal(course.values(), values)
    assert list(course.follower.trail) == trail


def test_recent_exchanges_are_told_once() -> None:
    (course,) = courses(kernel="gini", graph="cycle", iterations="1000")
    expected = Schedule(course.graph, "uniform-edges", child(root_seed(0), 0)).draw(5)[0]
    course.advance(5)
    assert course.take_recent() == expected.tolist()
    assert course.take_recent() == []
