"""The settings, runs and frames of a simulation."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.engine.estimation.trial import Setup
from pairgossip.engine.schedule import Schedule, child, root_seed
from pairgossip.errors import InputError, SlowSchedule
from pairgossip.graphs import build
from pairgossip.watch.server.requests import format_event
from pairgossip.watch.simulation.build import _MOST_JUDGED, build_runs
from pairgossip.watch.simulation.frames import (
    UNKNOWN,
    _drawn_edges,
    color_levels,
    color_reach,
    layout,
)
from pairgossip.watch.simulation.observations import Uploads
from pairgossip.watch.simulation.runs import WatchedRun
from pairgossip.watch.simulation.settings import Settings

GIVEN: dict[str, str | list[str]] = {"kernel": "gini", "column": ["income"]}
LEARNED: dict[str, str | list[str]] = {"kernel": "", "loss": "auc-logistic"}


def test_what_is_left_out_takes_its_default() -> None:
    settings = Settings.read(GIVEN)
    assert (settings.data, settings.nodes, settings.seed, settings.follow) == (
        "engel",
        None,
        0,
        None,
    )
    assert settings.columns == ("income",)
    (run,) = build_runs(Settings.read({"kernel": "gini"}), Uploads())
    assert 'data["income"]' in run.again.python  # the first column of numbers
    assert [tuple(run) for run in settings.runs] == [("complete", {}, "gosta", "sync", "random")]


def test_the_second_run_is_like_the_first_but_for_what_is_said() -> None:
    fields = {"graph": "watts-strogatz", "graph-k": "6", "clock": "async", "graph-2": "cycle"}
    first, second = Settings.read({**GIVEN, **fields}).runs
    assert (first.graph, first.parameters, first.clock) == ("watts-strogatz", {"k": 6}, "async")
    assert (second.graph, second.parameters, second.clock) == ("cycle", {}, "async")
    same_graph = Settings.read({**GIVEN, **fields, "graph-2": "", "method-2": "weighted-gosta"})
    assert same_graph.runs[1] == (
        *("watts-strogatz", {"k": 6}),
        *("weighted-gosta", "async", "random"),
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"kernel": "ginni"}, "Unknown kernel 'ginni': did you mean 'gini'?"),
        ({"kernal": "gini"}, "Unknown setting 'kernal': did you mean 'kernel'?"),
        ({"nodes": "1"}, "The setting 'nodes' is '1': give a whole number from 2 to 20,000."),
        ({"seed": "-1"}, "The setting 'seed' is '-1': give a whole number from 0 to "),
        ({"speed": "0"}, "The speed is '0': give exchanges per second, up to 10,000,000, or max."),
        ({"graph": "erdos-renyi", "graph-p": "-1"}, "'graph-p' is '-1': give a number >= 0."),
        ({"interval": "95"}, "The setting 'interval' is '95': give 0.95, or none."),
        ({"step": "0"}, "The setting 'step' is '0': give a number above 0."),
        ({"loss": "auc-logistic"}, "Give a kernel to estimate or a loss to learn with, not both."),
        ({**LEARNED, "schedule": "ordered"}, "so there is no other schedule: leave out schedule "),
        ({**LEARNED, "method": "u1"}, "Unknown method of learning 'u1': choose one of dual-averag"),
        ({**LEARNED, "method": "sketch", "clock": "async"}, "has rounds and no clock: leave out "),
        ({**LEARNED, "method": "sketch", "iterations": "9"}, "ends by itself: leave out "),
        ({**LEARNED, "method": "sketch", "step": "0.1"}, "chooses its steps itself: leave out "),
        ({"kernel": ""}, "Say what to average over pairs, such as kernel='gini', or give a loss."),
        ({"method-2": "averaging"}, "choose it for both runs or for neither."),
        ({"seed": ["1", "2"]}, "The setting 'seed' is given too often: give at most 1."),
        ({"column": ["x"] * 101}, "The setting 'column' is given too often: give at most 100."),
        ({"label": "x" * 1001}, "The setting 'label' is too long: shorten it."),
    ],
)
def test_mistakes_are_named(fields: dict[str, str | list[str]], sentence: str) -> None:
    with pytest.raises(InputError) as problem:
        Settings.read({**GIVEN, **fields})
    assert sentence in str(problem.value)


Fields = dict[str, str | list[str]]
INCOMES: Fields = {"data": "engel", "column": ["income"], "nodes": "60"}
ROWS = np.linspace(0, 234, 60).astype(int)


def one_run(**fields: str | list[str]) -> WatchedRun:
    (run,) = build_runs(Settings.read({**INCOMES, **fields}), Uploads())
    return run


def test_the_exact_value_has_its_sampling_error() -> None:
    rows = pg.datasets.engel()["income"][ROWS]
    for method in ("gosta", "sketch"):
        shown = one_run(kernel="gini", method=method, interval="0.9").describe()["sampling"]
        answer = pg.exact(rows, "gini", interval=0.9)
        assert (shown["error"], shown["low"], shown["level"]) == (answer.error, answer.low, 0.9)
    assert one_run(kernel="gini", interval="none").describe()["sampling"] is None
    assert one_run(method="averaging").describe()["sampling"] is None


def run_in_slices(run: WatchedRun) -> None:
    random = np.random.default_rng(1)
    while run.done < run.iterations:
        run.advance(int(random.integers(1, 300)))


@pytest.mark.parametrize("step", [None, 0.1])
def test_learning_shows_the_numbers_of_minimize(step: float | None) -> None:
    data = pg.datasets.breast_cancer_table()
    columns = ["clump_thickness", "mitoses"]
    watched = one_run(
        data=data.name, column=columns, label="class", nodes="100", loss="auc-logistic",
        graph="watts-strogatz", step="" if step is None else str(step), ball="2",
        iterations="3000", seed="5",
    )  # fmt: skip
    watched.advance(3000)
    rows = np.linspace(0, 698, 100).astype(int)
    features = np.column_stack([data[name] for name in columns])[rows]
    fit = pg.minimize(
        features,
        data["class"][rows],
        "auc-logistic",
        "watts-strogatz",
        step=None if step is None else pg.steps.inverse_sqrt(step),
        constraint=pg.Ball(2),
        iterations=3000,
        seed=5,
        bias=False,
        judged=_MOST_JUDGED,
    )
    objective, of_mean, disagreement = np.array(watched.curves).T
    np.testing.assert_array_equal(objective, fit.objective)
    np.testing.assert_array_equal(disagreement, fit.disagreement)
    np.testing.assert_array_equal(watched.values(), fit.models[0][:, 0])
    risk = pg.losses.risk(fit.model, features, "auc-logistic", data["class"][rows])
    assert of_mean[-1] == pytest.approx(risk)


@pytest.mark.parametrize("schedule", ["tree", "random"])
def test_rounds_show_the_numbers_of_minimize(schedule: str) -> None:
    data = pg.datasets.breast_cancer_table()
    columns = ["clump_thickness", "mitoses"]
    watched = one_run(
        data=data.name, column=columns, label="class", nodes="100", loss="auc-logistic",
        graph="watts-strogatz", ball="5", seed="3", method="sketch", schedule=schedule,
    )  # fmt: skip
    assert np.isnan(watched.values()).all() and watched.share == 0
    shares = []
    while not watched.is_over:
        watched.advance(300)
        shares.append(watched.share)
    rows = np.linspace(0, 698, 100).astype(int)
    fit = pg.minimize(
        np.column_stack([data[name] for name in columns])[rows], data["class"][rows],
        "auc-logistic", "watts-strogatz", method="sketch", schedule=schedule,
        constraint=pg.Ball(5), seed=3, judged=_MOST_JUDGED,
    )  # fmt: skip
    objective, of_mean, disagreement, exchanges = np.array(watched.curves).T
    np.testing.assert_array_equal(objective, fit.objective)
    np.testing.assert_array_equal(disagreement, fit.disagreement)
    np.testing.assert_array_equal(exchanges, fit.exchanges)
    np.testing.assert_array_equal(watched.values(), fit.models[0][:, 0])
    np.testing.assert_allclose(of_mean[-1], fit.objective[-1], rtol=1e-6)
    assert watched.done == watched.iterations == watched.sent()["made"] == fit.exchanges[-1]
    assert watched.sent()["bytes"] == fit.bytes[-1]
    assert shares[-1] == 1 and min(shares) < 0.5


def test_a_round_is_shown_when_its_exchanges_have_passed() -> None:
    columns = ["clump_thickness", "mitoses"]
    watched = one_run(
        data="breast-cancer-wisconsin", column=columns, label="class", nodes="50",
        loss="auc-logistic", method="sketch", graph="cycle",
    )  # fmt: skip
    watched.advance(195)  # up and down a tree of 50 nodes are 98 messages, twice in this round
    assert (watched.curves, watched.done) == ([], 195)
    watched.advance(1)
    assert len(watched.curves) == 1 and watched.sent()["made"] == 196
    watched.step()
    assert len(watched.curves) == 2 and watched.done == watched.sent()["made"] > 196
    watched.restart()
    assert (watched.curves, watched.done) == ([], 0)
    assert np.isnan(watched.values()).all()
    watched.step()
    assert watched.done == 196 and np.ptp(watched.values()) == 0


def test_a_slow_order_is_said_beside_the_run() -> None:
    with pytest.warns(SlowSchedule):
        run = one_run(kernel="gini", graph="star", method="sketch", schedule="ordered")
    assert run.remark.startswith("Ordered exchanges would be slower than random ones")
    assert "Nodes average 48 numbers about their rows, off by" in run.remark
    assert run.title == "sketch (sync) on star"


def test_collect_is_watched_on_small_networks() -> None:
    with pytest.raises(InputError, match="'collect' is watched up to 1,000 nodes"):
        one_run(data="two-normals", column=["score"], nodes="1001", kernel="gini", method="collect")


def test_the_exact_error_of_averaging_is_theory() -> None:
    theory = one_run(kernel="variance", graph="cycle", method="sketch", iterations="1000").theory()
    assert set(theory) == {"error", "bound_on"}
    assert theory["error"][-1] < theory["error"][0]
    flooding = one_run(kernel="gini", graph="cycle", method="sketch", iterations="1000").theory()
    # No range can be declared in the page.
    assert flooding == {"absent": "Theory does not know when all nodes know the range of the rows."}


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


def test_levels_are_symmetric_and_clipped() -> None:
    found = color_levels(np.array([-9.0, -1.0, -0.5, 0.0, 0.5, 1.0, 9.0, np.nan]), 1.0)
    assert list(base64.b64decode(found)) == [0, 0, 63, 127, 191, 254, 254, UNKNOWN]


@pytest.mark.parametrize(("far", "reach"), [(0.9, 1.0), (1.1, 2.0), (3e-7, 5e-7), (6e4, 1e5)])
def test_the_range_of_colors_is_round(far: float, reach: float) -> None:
    assert color_reach(np.array([far, -far, np.nan])) == pytest.approx(reach)


def test_without_differences_there_is_no_range() -> None:
    assert color_reach(np.zeros(3)) is None
    assert color_reach(np.full(3, np.nan)) is None


def test_events_are_one_line_of_json() -> None:
    sent = format_event("frame", {"text": "a\nb", "nan": np.nan, "array": np.arange(2)})
    assert sent.startswith(b"event: frame\ndata: {") and sent.endswith(b"}\n\n")
    assert sent.count(b"\n") == 3
    assert json.loads(sent.split(b"data: ")[1]) == {"text": "a\nb", "nan": None, "array": [0, 1]}


@pytest.mark.parametrize("n", [36, 2_500])
def test_edges_of_large_networks_are_not_drawn(n: int) -> None:
    graph = build("path", n)
    assert (_drawn_edges(graph, layout(graph, ("path", n))) is None) == (n > 2_000)


def test_errors_on_the_page_are_those_of_honest_nodes() -> None:
    settings: dict[str, str | list[str]] = {**GIVEN, "nodes": "20"}
    more = {"clock": "async", "iterations": "200", "faults": "crashed=[3]", "graph": "complete"}
    (run,) = build_runs(Settings.read(settings | more), Uploads())
    run.advance(200)
    setup = run._setup
    assert isinstance(setup, Setup) and setup.faulty is not None
    errors = np.delete(run.values(), 3) - setup.target
    assert run.curves[-1][0] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert run.readouts(run.values())["error"] == pytest.approx(run.curves[-1][0])
    assert run.curves[-1][1] == pytest.approx(np.delete(run.values(), 3).std())
    assert "all nodes but 3, which lie or crash" in run.remark
    assert "absent" in run.theory()


def test_models_on_the_page_are_those_of_honest_nodes() -> None:
    run = one_run(
        data="breast-cancer-wisconsin", column=["mitoses"], label="class", nodes="20",
        loss="auc-logistic", clock="async", iterations="200", faults="crashed=[0]",
    )  # fmt: skip
    run.advance(200)
    trial = run._trial
    models = trial.read().mean
    assert len(run.values()) == len(models)
    expected = trial.objectives(models[1:].mean(axis=0, keepdims=True))[0]
    assert run.readouts(run.values())["objective"] == pytest.approx(expected)
    assert run.curves[-1][1] == pytest.approx(expected)


def test_curves_of_nodes_settle_on_that_of_all_rows() -> None:
    fields = {"data": "breast-cancer-wisconsin", "kernel": "auc", "column": "mitoses"}
    how = {"label": "class", "graph": "complete", "method": "sketch", "iterations": "40000"}
    (run,) = build_runs(Settings.read({**fields, **how}), Uploads())
    x, y = pg.datasets.breast_cancer_wisconsin()
    exact = pg.roc(x[:, 8], y)  # mitoses are the last column
    assert np.allclose(run.describe()["roc"], [exact.fpr, exact.tpr], atol=1e-4)
    first = run.node_curves()
    run.advance(run.iterations)
    curves = run.node_curves()["roc"]
    assert len(curves) == 12 and first != {"roc": curves}
    for x_node, y_node in curves:
        assert np.trapezoid(y_node, x_node) == pytest.approx(float(exact.auc), abs=1e-3)
        # Every corner of the exact curve is one of the node's.
        for corner in zip(exact.fpr, exact.tpr, strict=True):
            assert np.hypot(x_node - corner[0], y_node - corner[1]).min() < 1e-3
    (other,) = build_runs(Settings.read({**GIVEN, "method": "sketch"}), Uploads())
    assert other.describe()["roc"] is None and other.node_curves() == {}
