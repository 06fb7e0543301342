"""Methods written as one exchange: as written, compiled, and against the functional steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from pairgossip.algorithms.methods import InPlace, Method, find_method
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.engine.estimation.building import build_engine
from pairgossip.engine.estimation.engine import Engine, Procedure
from pairgossip.engine.exchanges.compiled import prepare
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.engine.timetable import Timetable
from pairgossip.graphs import Graph
from pairgossip.kernels import Pairs
from pairgossip.kernels.problem import Means
from tests.engine.test_twins import PROBLEMS, weights_for
from tests.problems import SMALL_GRAPHS, rows

ENGINES = ("auto", "plain")
SMALL_WORLD = SMALL_GRAPHS["watts-strogatz"]


class State(NamedTuple):
    """GoSta as a user writes it."""

    z: FloatArray
    held: IntArray
    picks: IntArray


def init(n: int) -> State:
    return State(np.zeros(n), np.arange(n), np.zeros(n, dtype=np.int64))


def exchange(state: State, i: int, j: int, h: Any) -> None:
    state.held[i], state.held[j] = state.held[j], state.held[i]
    mean = (state.z[i] + state.z[j]) / 2
    for k in (i, j):
        state.picks[k] += 1
        state.z[k] = mean + (h(k, state.held[k]) - mean) / state.picks[k]


def method(**form: Any) -> Method:
    return Method(
        name="mine",
        description="",
        in_place={"async": InPlace(**({"init": init, "exchange": exchange} | form))},
        estimates="statistic",
        averaged_numbers=1,
    )


def advanced(name: str, problem: Any, how: Procedure, graph: Graph = SMALL_WORLD) -> Engine:
    schedule = Schedule(graph, "uniform-edges", root_seed(7))
    network = build_engine(name, problem, how)
    for block in (1, 2, 20, 57):
        network.advance(schedule.draw(block))
        network.estimates()  # reading must not disturb the run
    return network


# Other engines test all of these formulas: here, one for each way to have values.
@pytest.mark.parametrize("target", ["v", "u"])
@pytest.mark.parametrize(
    "problem",
    [
        *("gini", "distance of points", "concordance with events", "auc", "scatter"),
        *("metric risk, nonzero diagonal", "kendall-b", "auc-difference"),
        *("user's", "user's on points", "ratio of user's and built-in"),
    ],
)
def test_an_exchange_of_ones_own_equals_the_steps(problem: str, target: str) -> None:
    kernel, make = PROBLEMS[problem]
    for name in ("star", "watts-strogatz"):
        graph = SMALL_GRAPHS[name]
        pairs = Pairs(make(graph.n), kernel, target)
        steps = advanced("plain", pairs, Procedure(find_method("gosta"), "async"), graph)
        for engine in ENGINES:
            network = advanced(engine, pairs, Procedure(method(), "async"), graph)
            np.testing.assert_allclose(
                network.estimates(), steps.estimates(), rtol=1e-12, atol=1e-12
            )


def in_place_only(built_in: Method) -> Method:
    return replace(built_in, plain={}, twins={}, expectations={}, planned={})


BUILT_IN = ("gosta", "weighted-gosta", "tracking")


@pytest.mark.pairs
@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("relaxation", [None, 0.7])
@pytest.mark.parametrize("problem", ["gini", "kendall-b", "user's"])
def test_built_in_exchanges_equal_the_steps(
    problem: str, name: str, relaxation: float | None
) -> None:
    kernel, make = PROBLEMS[problem]
    chosen = find_method(name, "async")
    if relaxation is not None and not chosen.relaxes:
        pytest.skip("it takes the mean")
    weights = weights_for(chosen, SMALL_WORLD, "uniform-edges")
    how = Procedure(chosen, "async", "update-first", weights, Timetable(relaxation=relaxation))
    pairs = Pairs(make(SMALL_WORLD.n), kernel)
    steps = advanced("plain", pairs, how).estimates()
    in_place = how._replace(method=in_place_only(chosen))
    for engine in ENGINES:
        found = advanced(engine, pairs, in_place).estimates()
        np.testing.assert_allclose(found, steps, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("relaxation", [None, 0.7])
@pytest.mark.parametrize("features", [1, 3])
def test_averaging_in_place_equals_the_steps(features: int, relaxation: float | None) -> None:
    problem = Means(rows(12))
    problem.average(rows(12, features).reshape(12, features))
    how = Procedure(find_method("averaging", "async"), "async")
    how = how._replace(timetable=Timetable(relaxation=relaxation))
    in_place = how._replace(method=in_place_only(how.method))
    steps = advanced("plain", problem, how).estimates()
    for engine in ENGINES:
        found = advanced(engine, problem, in_place).estimates()
        np.testing.assert_allclose(found, steps, rtol=1e-12)


class Sums(NamedTuple):
    """Push-sum of values that are known from the start."""

    total: FloatArray
    weight: FloatArray


def push(state: Sums, i: int, j: int) -> None:
    for part in (state.total, state.weight):
        half = part[i] / 2
        part[i] = half
        part[j] += half


def test_values_that_are_there_from_the_start() -> None:
    form = InPlace(
        lambda values: Sums(values.copy(), np.ones(len(values))),
        push,
        lambda state: state.total / state.weight,
    )
    pushing = Method(
        name="push-sum", description="", in_place={"async": form}, estimates="mean",
        averaged_numbers=2, swaps=False,
    )  # fmt: skip
    problem = Means(rows(12))
    totals, weights = rows(12).tolist(), [1.0] * 12
    schedule = Schedule(SMALL_WORLD, "uniform-edges", root_seed(7))
    for block in (1, 2, 20, 57):
        for i, j in schedule.draw(block)[0].tolist():
            totals[i], weights[i] = totals[i] / 2, weights[i] / 2
            totals[j], weights[j] = totals[j] + totals[i], weights[j] + weights[i]
    for engine in ENGINES:
        network = advanced(engine, problem, Procedure(pushing, "async"))
        expected = np.divide(totals, weights)[:, None]
        np.testing.assert_allclose(network.estimates(), expected, rtol=1e-12)


class Named(NamedTuple):
    """A state with a field that is named like a function."""

    z: FloatArray
    clip: FloatArray


def own_clip(state: Named, k: int) -> float:
    return float(state.clip[k])


def clip(state: Named, k: int, other: int) -> float:
    return own_clip(state, k) + SHARE * (own_clip(state, other))


def meet(state: Named, i: int, j: int, h: Any) -> None:
    state.clip[i] += h(i, j)
    state.z[j] += clip(state, i, j)


SHARE = 0.5


def test_helpers_and_constants_of_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = Pairs(rows(12), "gini")
    how = Procedure(method(init=lambda n: Named(np.zeros(n), np.ones(n)), exchange=meet), "async")
    found = []
    for share in (0.5, 2.0, 0.5):
        monkeypatch.setitem(globals(), "SHARE", share)
        compiled, plain = (advanced(engine, pairs, how).estimates() for engine in ENGINES)
        np.testing.assert_allclose(compiled, plain, rtol=1e-12)
        found.append(compiled)
    assert (found[0] == found[2]).all() and np.abs(found[0] - found[1]).max() > 0.1


@pytest.mark.parametrize(
    "shares", [(0.5, 2.0), ((np.arange(2000.0),), (np.arange(2000.0) + 1e-9,))]
)
def test_defaults_of_an_exchange_are_compiled_in(shares: Any) -> None:
    def write(share: Any) -> Any:
        def meet(state: Any, i: int, j: int, h: Any, *, share: Any = share) -> None:
            state.z[i] += h(i, j)

        return meet

    one, same, other = (prepare(write(share)) for share in (shares[0], shares[0], shares[1]))
    assert one is same and one is not other
