"""Requests of the page to the server: settings, controls and the stream."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import socket
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.watch.simulation.session import _MOST_PENDING
from pairgossip.watch.simulation.view import Simulations

from .serving import GINI, Fields, Served, until_status

HOSTILE = '<img src=x onerror="alert(1)">'
SHORT: Fields = {**GINI, "iterations": "800", "speed": "max"}


def test_what_can_be_chosen_is_what_there_is(served: Served) -> None:
    found = served.ask("/api/choices").json()
    assert {graph["name"] for graph in found["graphs"]} == set(pg.graphs.FAMILIES)
    assert {kernel["name"] for kernel in found["kernels"]} == set(pg.kernels.CATALOG)
    assert {loss["name"] for loss in found["losses"]} == set(pg.losses.CATALOG)
    assert {data["name"] for data in found["data"]} == {*pg.datasets.CATALOG, "two-normals"}
    schedules = {method["name"]: method["schedules"] for method in found["methods"]}
    assert schedules["u2"] == ["random"]
    assert schedules["tracking"] == ["random", "ordered"]
    assert schedules["sketch"] == ["random", "ordered", "continuized", "tree"]


def test_a_watched_run_ends_with_the_numbers_of_estimate(served: Served) -> None:
    key = served.open(**SHORT, seed="4")
    with served.watching(key) as events:
        served.control(key, "start")
        newest = until_status(events, "done")
    run = pg.estimate(
        pg.datasets.engel()["income"], "gini", "watts-strogatz", iterations=800, seed=4
    )
    (frame,) = newest["frame"]["runs"]
    assert frame["done"] == 800
    assert frame["error"] == pytest.approx(run.error[-1], rel=1e-12)
    assert frame["mean"] == pytest.approx(run.mean[-1], rel=1e-12)
    assert [point[0] for point in newest["curve"]["runs"][0]] == pytest.approx(run.error.tolist())
    assert newest["setup"]["runs"][0]["checkpoints"] == run.iterations.tolist()
    levels = np.frombuffer(base64.b64decode(frame["levels"]), dtype=np.uint8)
    shown = frame["middle"] + (levels.astype(float) - 127) / 127 * frame["reach"]
    inside = (levels > 0) & (levels < 254)
    assert inside.sum() > 200
    np.testing.assert_allclose(shown[inside], run.estimates[0][inside], atol=frame["reach"] / 253)


def test_a_late_viewer_gets_the_history(served: Served) -> None:
    key = served.open(**SHORT)
    with served.watching(key) as events:
        served.control(key, "start")
        first = until_status(events, "done")
    with served.watching(key) as events:
        late = until_status(events, "done")
    assert late["setup"] == first["setup"]
    assert late["curve"] == first["curve"]
    assert late["frame"]["runs"][0]["done"] == 800


def test_whoever_opens_the_same_settings_joins(served: Served) -> None:
    key = served.open(**GINI)
    assert served.open(key, **GINI) == key
    assert served.open(key, **GINI, speed="max") == key
    assert served.open(key, **GINI, seed="1") != key
    assert served.open("unknown", **GINI) != key


def test_steps_pause_reset_and_speed(served: Served) -> None:
    key = served.open(**GINI, speed="5", iterations="1e9")
    with served.watching(key) as events:

        def next_done(wanted: int, status: str) -> dict[str, Any]:
            for name, content in events:
                if name == "frame" and content["status"] == status:
                    frame: dict[str, Any] = content["runs"][0]
                    if frame["done"] == wanted:
                        return content
            raise AssertionError("the stream ended")

        next_done(0, "ready")
        for wanted in (1, 2, 3):
            served.control(key, "step")
            frame = next_done(wanted, "paused")["runs"][0]
            assert len(frame["exchanges"]) == 1
        served.control(key, "speed", "max")
        served.control(key, "start")
        until_status(events, "running")
        served.control(key, "pause")
        paused = until_status(events, "paused")["frame"]
        assert paused["speed"] == "max" and paused["runs"][0]["done"] > 3
        served.control(key, "reset")
        assert next_done(0, "ready")["runs"][0]["error"] is None


def test_less_than_one_step_a_second(served: Served) -> None:
    key = served.open(**GINI, speed="0.9")
    with served.watching(key) as events:
        served.control(key, "start")
        frames = (content for name, content in itertools.islice(events, 400) if name == "frame")
        assert any(frame["runs"][0]["done"] for frame in frames)


def test_following(served: Served) -> None:
    key = served.open(**GINI, follow="5")
    with served.watching(key) as events:
        frame = until_status(events, "ready")["frame"]["runs"][0]
        assert (frame["token"], frame["trail"]) == (5, [5])
        served.control(key, "forget")
        served.control(key, "step")
        frame = until_status(events, "paused")["frame"]["runs"][0]
        assert (frame["token"], frame["trail"]) == (None, [])
        first, second = frame["exchanges"][0]
        served.control(key, "follow-node", str(first))
        frame = until_status(events, "paused")["frame"]["runs"][0]
        # After one exchange the node holds the observation of the other.
        assert (frame["token"], frame["trail"]) == (second, [first])
        served.control(key, "reset")
        frame = until_status(events, "ready")["frame"]["runs"][0]
        assert (frame["token"], frame["trail"]) == (second, [second])


def test_two_runs_advance_together(served: Served) -> None:
    fields = {**SHORT, "graph-2": "cycle", "method-2": "u2"}
    key = served.open(**fields)
    with served.watching(key) as events:
        served.control(key, "start")
        newest = until_status(events, "done")
    first, second = newest["frame"]["runs"]
    assert (first["done"], second["done"]) == (800, 800)
    assert first["reach"] == second["reach"]
    data = pg.datasets.engel()["income"]
    other = pg.estimate(data, "gini", "cycle", method="u2", iterations=800, seed=0)
    assert second["error"] == pytest.approx(other.error[-1], rel=1e-12)


def test_a_viewer_that_never_reads_slows_nobody(served: Served) -> None:
    fields = {"data": "two-normals", "nodes": "5000", "column": "score", "kernel": "gini"}
    key = served.open(**fields, graph="cycle", iterations="20000000", speed="max")
    path = f"GET /api/sessions/{key}/events HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n"
    with socket.socket() as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stuck.connect(("127.0.0.1", served.port))
        stuck.sendall(path.encode())
        with served.watching(key) as events:
            served.control(key, "start")
            newest = until_status(events, "done")
    assert newest["frame"]["runs"][0]["done"] == 20_000_000


def test_theory_arrives_on_its_own(served: Served) -> None:
    key = served.open(**{**SHORT, "nodes": "40"})
    with served.watching(key) as events:
        theory = next(content for name, content in events if name == "theory")
    assert len(theory["runs"][0]["bound"]) == len(theory["runs"][0]["expected_error"]) > 10


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"data": "engle"}, "Unknown data set 'engle': did you mean 'engel'?"),
        ({"column": ["wealth"]}, "Unknown column of engel 'wealth': choose one of "),
        ({"nodes": "236"}, "The data has 235 rows, one per node: choose at most as many nodes."),
        ({"follow": "235"}, "There is no node 235 to follow: nodes are 0 to 234."),
        ({"kernel": "auc"}, "Kernel 'auc' compares labels: choose the label's column."),
        (
            {"kernel": "auc", "column": ["income", "foodexp", "income"], "label": "foodexp"},
            "Column 'foodexp' is the label",
        ),
        (
            {
                "kernel": "metric-learning-risk",
                "method": "sketch",
                "column": ["income"],
                "label": "foodexp",
            },
            "Kernel 'metric-learning-risk' has no sketch: use method 'tracking'",
        ),
        ({"kernel": "", "loss": "auc-logit"}, "Unknown loss 'auc-logit'"),
        ({"kernel": "", "loss": "auc-logistic"}, "'auc-logistic' learns from labels"),
        ({"column": ["income"], "label": "income"}, "Column 'income' is the label"),
        ({"data": "upload-none"}, "The uploaded file is no longer here: choose it again."),
        ({HOSTILE: "1"}, "Unknown setting '<img"),
    ],
)
def test_mistakes_are_one_sentence(
    served: Served, fields: dict[str, str | list[str]], sentence: str
) -> None:
    problem = served.refuse(**{**GINI, **fields})
    assert sentence in problem
    assert "\n" not in problem and "Traceback" not in problem


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "null", '{"settings": 3}', '{"settings": {"seed": 3}}',
     '{"settings": {}, "x": 1}', '{"settings": {"column": [["a"]]}}', "\xff"],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(served: Served, body: str) -> None:
    answer = served.ask(
        "/api/sessions",
        "POST",
        content=body.encode("latin-1"),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("The request cannot be read: ")


def test_forms_of_other_pages_cannot_post(served: Served) -> None:
    answer = served.ask(
        "/api/sessions", "POST", content="{}", headers={"Content-Type": "text/plain"}
    )
    assert (answer.status_code, answer.json()["error"]) == (
        400,
        "The request must be application/json.",
    )


@pytest.mark.parametrize("action", ["", "explode", "follow", "follow-node", "speed"])
def test_unknown_actions(served: Served, action: str) -> None:
    key = served.open(**GINI)
    answer = served.control(key, action, "x" * 100)
    assert answer.status_code == 400
    assert len(answer.json()["error"]) < 150


def test_a_session_that_is_gone(served: Served) -> None:
    answer = served.control("nobody", "start")
    assert answer.status_code == 404
    assert answer.json() == {"error": "This simulation is no longer here: open it again."}
    assert served.ask("/api/sessions/nobody/events").status_code == 404


@pytest.mark.parametrize(
    ("graph", "name", "value"),
    [
        ("watts-strogatz", "k", "600"),
        ("random-regular", "degree", "600"),
        ("barabasi-albert", "m", "300"),
        ("erdos-renyi", "p", "0.1"),
        ("random-geometric", "radius", "0.5"),
    ],
)
def test_a_network_too_dense_to_keep(served: Served, graph: str, name: str, value: str) -> None:
    fields = {"data": "two-normals", "nodes": "20000", "column": "score", "kernel": "gini"}
    told = served.refuse(**fields, graph=graph, **{f"graph-{name}": value})
    assert "edges, and at most 5,000,000 can be watched: choose fewer" in told


def test_buttons_pressed_faster_than_the_run_can_follow() -> None:
    session = Simulations().open(GINI)
    session.close()
    session.join()  # from now on no control has any effect
    for _ in range(_MOST_PENDING):
        session.control("step")
    with pytest.raises(pg.InputError, match="wait a moment"):
        session.control("step")


def in_a_thread(looking: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """Run it in a thread, apart from the event loop that browser tests leave in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, looking).result()


def test_a_run_waits_while_nobody_looks() -> None:
    simulations = Simulations()
    session = simulations.open({**GINI, "iterations": "60000", "speed": "5000", "seed": "4"})
    session.control("start")
    watched = session._runs[0]
    time.sleep(0.5)  # in which it would make at least hundreds of exchanges
    assert watched.done == 0

    async def look(enough: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        messages = session.messages()
        async for message in messages:
            name, _, content = message.decode().partition("\ndata: ")
            if name.startswith("event: "):
                seen[name.removeprefix("event: ")] = json.loads(content)
            if "frame" in seen and enough(seen["frame"]):
                break
        await messages.aclose()  # type: ignore[attr-defined]
        return seen

    in_a_thread(look(lambda frame: frame["runs"][0]["done"] > 0))
    time.sleep(0.3)  # for what was started
    before = watched.done
    time.sleep(0.5)
    assert 0 < before == watched.done < 60_000
    session.control("speed", "max")
    seen = in_a_thread(look(lambda frame: frame["status"] == "done"))
    simulations.close()
    run = pg.estimate(
        pg.datasets.engel()["income"], "gini", "watts-strogatz", iterations=60_000, seed=4, trials=1
    )
    measured = [point[0] for point in seen["curve"]["runs"][0]]
    assert measured == pytest.approx(run.error.tolist(), rel=1e-12)


def test_old_sessions_make_room_but_not_watched_ones() -> None:
    from pairgossip.watch.server.server import ServerAddress
    from pairgossip.watch.simulation.view import _MOST_SESSIONS

    server = Served(ServerAddress())
    try:
        keys = [server.open(**GINI, seed=str(seed)) for seed in range(_MOST_SESSIONS)]
        with server.watching(keys[0]) as events:
            until_status(events, "ready")
            server.open(**GINI, seed="99")
            assert server.control(keys[0], "step").status_code == 200
            assert server.control(keys[1], "step").status_code == 404
    finally:
        server.stop()
