from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest

import pairgossip as pg
from pairgossip import InputError
from pairgossip.algorithms import averaging, u2_gossip, weighted_gosta
from pairgossip.algorithms.methods import METHODS, Method, Plain, find_method, register
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.cli.network import FamilyParameters
from pairgossip.cli.watch import PaceOptions, SimulatedOptions, simulation_fields
from pairgossip.engine.estimation.building import build_engine
from pairgossip.engine.estimation.engine import Procedure
from pairgossip.engine.estimation.fast import FusedEngine, TokenEngine
from pairgossip.kernels import Pairs, metric_learning_risk
from tests.problems import labeled_rows, rows, skewed

GOSTA = find_method("gosta")


def test_auto_takes_the_fastest_that_can_run_the_problem() -> None:
    def engine(pairs: Pairs) -> object:
        return build_engine("auto", pairs, Procedure(GOSTA, "sync"))

    assert isinstance(engine(Pairs(rows(5), "gini")), FusedEngine)
    assert isinstance(engine(Pairs(rows(5), "gini", "u")), FusedEngine)
    assert isinstance(engine(Pairs(rows(5), skewed)), TokenEngine)
    # The own pair must count as 0 for the U-statistic, which the compiled loop does not know.
    off_diagonal = Pairs(labeled_rows(6, 2), metric_learning_risk(threshold=0.5), "u")
    assert isinstance(engine(off_diagonal), TokenEngine)


def test_a_kernel_that_is_not_compiled_is_refused_by_the_fused_engine() -> None:
    with pytest.raises(InputError, match="Kernel 'skewed' is not compiled into the engine"):
        build_engine("fused", Pairs(rows(5), skewed), Procedure(GOSTA, "sync"))


@pytest.mark.parametrize("engine", ["auto", "tokens", "plain"])
@pytest.mark.parametrize("clock", ["sync", "async"])
def test_a_lone_node_answers_with_its_own_pair(engine: str, clock: str) -> None:
    run = pg.estimate([2.0], skewed, iterations=5, seed=0, clock=clock, engine=engine)
    np.testing.assert_allclose(run.estimates, [[np.exp(-2) + 8]])
    assert run.error[-1] == pytest.approx(0)
    mean = pg.estimate([2.0], method="averaging", iterations=5, seed=0, engine=engine)
    assert mean.estimates[0, 0] == 2.0


class Lazy(NamedTuple):
    """Values, and the number of exchanges so far."""

    z: FloatArray
    t: int


def lazy_init(values: FloatArray) -> Lazy:
    return Lazy(values.copy(), 0)


def lazy_step(state: Lazy, exchanges: PairArray) -> Lazy:
    """Average in every second exchange only."""
    if state.t % 2 == 0:
        return Lazy(state.z, state.t + 1)
    return Lazy(averaging.step(averaging.State(state.z), exchanges).z, state.t + 1)


@pytest.fixture
def own_methods() -> Iterator[None]:
    """Register a user's own methods, of each kind, all without twins."""
    with patch.dict(METHODS):
        for name, settings in OWN.items():
            register(Method(name=name, description="", **settings))
        yield


OWN: dict[str, dict[str, Any]] = {
    "lazy-averaging": {
        "plain": {"sync": Plain(lazy_init, lazy_step), "async": Plain(lazy_init, lazy_step)},
        "estimates": "mean",
        "averaged_numbers": 1,
        "swaps": False,
    },
    "my-weighted": {
        "plain": {"async": Plain(weighted_gosta.init, weighted_gosta.step, weighted_gosta.read)},
        "estimates": "statistic",
        "averaged_numbers": 1,
        "weighs_by_picks": True,
    },
    "my-u2": {
        "plain": {"sync": Plain(u2_gossip.init, u2_gossip.step)},
        "estimates": "statistic",
        "averaged_numbers": 0,
        "exchanges_per_iteration": 2,
    },
    "flat": {
        "plain": {"sync": Plain(u2_gossip.init, u2_gossip.step, lambda state: state.z[:, 0])},
        "estimates": "statistic",
        "averaged_numbers": 0,
        "exchanges_per_iteration": 2,
    },
}


@pytest.mark.usefixtures("own_methods")
@pytest.mark.parametrize("clock", ["sync", "async"])
def test_an_own_method_for_means_is_not_classic_averaging(clock: str) -> None:
    settings: dict[str, Any] = {"clock": clock, "graph": "cycle", "iterations": 60, "seed": 0}
    own = pg.estimate(rows(6), method="lazy-averaging", **settings)
    classic = pg.estimate(rows(6), method="averaging", **settings)
    assert np.abs(own.estimates - classic.estimates).max() > 1e-6
    np.testing.assert_allclose(own.estimates.mean(), rows(6).mean())
    with pytest.raises(InputError, match="runs compiled code, but method 'lazy-averaging' has"):
        pg.estimate(rows(6), method="lazy-averaging", engine="fused", **settings)
    with pytest.raises(InputError, match="No exact expectation"):
        own.theory()
    with pytest.raises(InputError, match="'lazy-averaging' averages the data itself and takes"):
        pg.estimate(rows(6), "gini", method="lazy-averaging", **settings)
    with pytest.raises(InputError, match="'lazy-averaging' swaps no observations"):
        pg.estimate(rows(6), method="lazy-averaging", groups=[0, 0, 1, 1, 2, 2],
                    construction="whole-sets", **settings | {"graph": "path"})  # fmt: skip


@pytest.mark.usefixtures("own_methods")
def test_the_command_line_asks_an_own_method_for_means_for_no_kernel() -> None:
    def fields(method: str) -> dict[str, Any]:
        how = PaceOptions(method=method)
        return dict(simulation_fields(SimulatedOptions(), FamilyParameters(), how))

    assert "kernel" not in fields("lazy-averaging")
    assert "kernel" not in fields("averaging")
    assert "kernel" in fields("gosta")


@pytest.mark.usefixtures("own_methods")
@pytest.mark.parametrize(
    ("own", "known", "clock"), [("my-weighted", "weighted-gosta", "async"), ("my-u2", "u2", "sync")]
)
def test_an_own_method_gets_what_it_asks_for(own: str, known: str, clock: str) -> None:
    """It gets weights, and as many exchanges as it makes; its messages are counted."""
    settings: dict[str, Any] = {"clock": clock, "graph": "star", "iterations": 300, "seed": 0}
    found = pg.estimate(rows(7), "gini", method=own, **settings)
    right = pg.estimate(rows(7), "gini", method=known, engine="plain", **settings)
    np.testing.assert_array_equal(found.estimates, right.estimates)
    np.testing.assert_array_equal(found.exchanges, right.exchanges)
    np.testing.assert_array_equal(found.bytes, right.bytes)


@pytest.mark.usefixtures("own_methods")
def test_estimates_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"'flat' gives estimates of shape \(7,\).*\(7, 1\)"):
        pg.estimate(rows(7), "gini", method="flat", iterations=10)
