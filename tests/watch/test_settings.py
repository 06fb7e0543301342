from __future__ import annotations

import math

import pytest

from pairgossip.errors import InputError
from pairgossip.watch.simulation.settings import Settings, read_speed

GIVEN: dict[str, str | list[str]] = {"kernel": "gini", "column": ["income"]}


def test_what_is_left_out_takes_its_default() -> None:
    settings = Settings.read(GIVEN)
    assert (settings.data, settings.nodes, settings.seed, settings.follow) == (
        "engel",
        None,
        0,
        None,
    )
    assert settings.columns == ("income",)
    assert [tuple(run) for run in settings.runs] == [("complete", {}, "gosta", "sync")]


def test_the_second_run_is_like_the_first_but_for_what_is_said() -> None:
    fields = {"graph": "watts-strogatz", "graph-k": "6", "clock": "async", "graph-2": "cycle"}
    first, second = Settings.read({**GIVEN, **fields}).runs
    assert (first.graph, first.parameters, first.clock) == ("watts-strogatz", {"k": 6}, "async")
    assert (second.graph, second.parameters, second.clock) == ("cycle", {}, "async")
    same_graph = Settings.read({**GIVEN, **fields, "graph-2": "", "method-2": "weighted-gosta"})
    assert same_graph.runs[1] == ("watts-strogatz", {"k": 6}, "weighted-gosta", "async")


def test_speeds() -> None:
    assert (read_speed("max"), read_speed("0.5"), read_speed("1e6")) == (math.inf, 0.5, 1e6)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"kernel": "ginni"}, "Unknown kernel 'ginni': did you mean 'gini'?"),
        ({"kernal": "gini"}, "Unknown setting 'kernal': did you mean 'kernel'?"),
        ({"graph": "hexagon"}, "Unknown graph 'hexagon': choose one of "),
        ({"nodes": "1"}, "The setting 'nodes' is '1': give a whole number from 2 to 20,000."),
        ({"nodes": "1e9"}, "The setting 'nodes' is '1e9': give a whole number from 2 to 20,000."),
        ({"seed": "-1"}, "The setting 'seed' is '-1': give a whole number from 0 to "),
        ({"seed": "nan"}, "The setting 'seed' is 'nan': give a whole number from 0 to "),
        ({"speed": "0"}, "The speed is '0': give exchanges per second, up to 10,000,000, or max."),
        ({"speed": "inf"}, "The speed is 'inf': give exchanges per second"),
        ({"graph": "erdos-renyi", "graph-p": "-1"}, "'graph-p' is '-1': give a number >= 0."),
        ({"step": "0"}, "The setting 'step' is '0': give a number above 0."),
        ({"loss": "auc-logistic"}, "Give a kernel to estimate or a loss to learn with, not both."),
        ({"kernel": ""}, "Say what to average over pairs, such as kernel gini, or give a loss."),
        ({"method": "u1", "clock": "async"}, "Method 'u1' has no asynchronous form"),
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
