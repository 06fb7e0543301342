"""Half-lost exchanges and liars: against plain simulations on the same path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg

from . import naive

N = 14
GRAPH = pg.graphs.watts_strogatz(N, 4, 0.3, seed=3)
X = np.random.default_rng(5).lognormal(size=N)
FAULTS = {
    "half lost": "half_loss=0.2",
    "constant": "liars=[2, 9], lie=3",
    "sign": "liars=[2, 9], attack=sign",
    "inside": "liars=[2, 9], attack=inside-the-clip",
    "dissensus": "liars=[2], attack=dissensus",
    "all": "loss=0.1, half_loss=0.1, delay=0.1, crashed=[7@8], liars=[2, 3], attack=sign",
}
ENGINES = ("auto", "plain")


def gini(one: float, other: float) -> float:
    return abs(one - other)


def estimate(faults: Any, method: str = "gosta", **more: Any) -> pg.Run:
    how: Any = {"clock": "async", "iterations": 600, "seed": 6, "faults": faults} | more
    return pg.estimate(X, None if method == "averaging" else "gini", GRAPH, method=method, **how)


def simulate(faults: pg.Faults, meet: Any, nodes: list[naive.Node], count: int = 600) -> int:
    rings = naive.ring(naive.exchanges_of(GRAPH, 6, 0, count), faults, N, 6)
    liars = () if isinstance(faults.liars, int) else tuple(faults.liars)
    lie = naive.lies(GRAPH, liars, faults.attack_name, faults.lie)
    half = naive.half_losses(faults.half_loss, 6, 0)
    return naive.spoil(rings, nodes, meet, half, liars, lie)


METHODS = ("gosta", "tracking", "averaging")
CASES = [
    *((name, method, "plain") for name in FAULTS for method in METHODS),
    ("all", "tracking", "auto"),  # compiling takes seconds; more of it is in engine/test_spoil.py
]


@pytest.mark.parametrize(("name", "method", "engine"), CASES)
def test_estimates_are_those_of_a_plain_simulation(name: str, method: str, engine: str) -> None:
    faults = pg.Faults.from_text(FAULTS[name])
    nodes = naive.start_nodes(N)
    meet: Any = {
        "gosta": naive.meet_gosta(X, gini),
        "tracking": naive.meet_tracking(X, gini),
        "averaging": naive.meet_averaging,
    }[method]
    if method == "averaging":
        nodes = [node | {"z": float(value)} for node, value in zip(nodes, X, strict=True)]
    lost = simulate(faults, meet, nodes)
    run = estimate(faults, method, engine=engine)
    expected = np.array([node["z"] for node in nodes])
    np.testing.assert_allclose(run.estimates[0], expected, rtol=1e-8)
    assert (run.half_lost is None) == (faults.half_loss == 0)
    assert run.half_lost is None or run.half_lost[-1] == lost
    honest = [k for k in range(N) if run.honest is not None and k in run.honest]
    error = np.sqrt(np.mean((expected[honest] - run.target) ** 2))
    assert run.honest_error is not None
    np.testing.assert_allclose(run.honest_error[-1], error, rtol=1e-8)


def test_a_half_lost_exchange_costs_two_messages() -> None:
    run = estimate("half_loss=0.3", engine="plain")
    assert run.half_lost is not None and run.lost is not None
    assert 120 < run.half_lost[-1] < 240
    assert run.lost[-1] == 0
    assert run.messages[-1] == 2 * 600


def test_blocks_make_no_difference() -> None:
    text = "half_loss=0.1, churn=9/3, loss=0.1"
    whole = estimate(text, checkpoints=[600])
    steps = estimate(text, checkpoints=range(1, 601))
    np.testing.assert_array_equal(whole.estimates, steps.estimates)
    assert whole.half_lost is not None and steps.half_lost is not None
    assert whole.half_lost[-1] == steps.half_lost[-1]


def test_a_sketch_is_lied_about_in_all_its_numbers() -> None:
    """Liars send ten times the mean of each feature."""
    run = pg.estimate(
        X, "variance", GRAPH, method="sketch", clock="async", seed=6, iterations=300,
        faults=pg.Faults(liars=[4]), engine="plain",
    )  # fmt: skip
    setup = run._setup
    assert setup is not None and setup.faulty is not None
    lie, features = setup.faulty.network.lie, setup.problem.features
    np.testing.assert_allclose(lie, 10 * features.mean(axis=0))
    nodes = [node | {"z": row} for node, row in zip(naive.start_nodes(N), features, strict=True)]
    rings = naive.ring(naive.exchanges_of(GRAPH, 6, 0, 300), pg.Faults(), N, 6)
    lies = naive.lies(GRAPH, (4,), "constant", lie)
    naive.spoil(rings, nodes, naive.meet_averaging, naive.half_losses(0, 6, 0), (4,), lies)
    estimates = setup.problem.read(np.array([node["z"] for node in nodes]))
    np.testing.assert_allclose(run.estimates[0], estimates, rtol=1e-8)


def test_of_a_ratio_the_first_part_is_lied_about() -> None:
    labels = np.arange(N) % 2
    run = pg.estimate(
        X, "auc", GRAPH, labels=labels, clock="async", seed=6, iterations=500, engine="plain",
        faults=pg.Faults(liars=[4], lie=7),
    )  # fmt: skip
    rings = naive.ring(naive.exchanges_of(GRAPH, 6, 0, 500), pg.Faults(), N, 6)

    def above(one: int, other: int) -> float:
        return float(labels[one] > labels[other]) * (
            float(X[one] > X[other]) + 0.5 * float(X[one] == X[other])
        )

    def compared(one: int, other: int) -> float:
        return float(labels[one] > labels[other])

    parts = []
    for h, liars in ((above, (4,)), (compared, ())):
        nodes, meet = naive.start_nodes(N), naive.meet_gosta(range(N), h)
        half = naive.half_losses(0, 6, 0)
        naive.spoil(rings, nodes, meet, half, liars, naive.lies(GRAPH, liars, "constant", 7.0))
        parts.append(np.array([node["z"] for node in nodes]))
    np.testing.assert_allclose(run.estimates[0], parts[0] / parts[1], rtol=1e-8)


def test_lies_are_ten_times_the_exact_value() -> None:
    run = estimate("liars=1", engine="plain")
    assert run._setup is not None and run._setup.faulty is not None
    np.testing.assert_allclose(run._setup.faulty.network.lie, [10 * float(run.target)])
    assert run.honest_error is not None
    unharmed = estimate("loss=1e-300").honest_error
    assert unharmed is not None
    assert run.honest_error[-1] > 3 * unharmed[-1]


def shout(z: Any, liar: int, partner: int, clip: float, network: Any) -> float:
    return z[partner] + 2.0 * clip + len(network.indices)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_attack_of_ones_own(engine: str) -> None:
    run = estimate(pg.Faults(liars=[5], attack=shout), engine=engine)
    nodes = naive.start_nodes(N)
    rings = naive.ring(naive.exchanges_of(GRAPH, 6, 0, 600), pg.Faults(), N, 6)
    inside = naive.lies(GRAPH, (5,), "inside-the-clip", 0)

    def lie(nodes: list[naive.Node], liar: int, partner: int) -> float:
        theirs: float = nodes[partner]["z"]
        clip = inside(nodes, liar, partner) - theirs
        return theirs + 2 * clip + 2 * GRAPH.edge_count

    half = naive.half_losses(0, 6, 0)
    naive.spoil(rings, nodes, naive.meet_gosta(X, gini), half, (5,), lie)
    expected = np.array([node["z"] for node in nodes])
    np.testing.assert_allclose(run.estimates[0], expected, rtol=1e-8)
    assert run.faults == "liars=[5], attack=shout"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("text", "factor"), [("liars=[5]", 10), ("liars=[5], attack=sign", -1)])
def test_where_rows_are_collected_liars_give_false_ones(
    text: str, factor: float, engine: str
) -> None:
    run = estimate(text, "collect", engine=engine)
    told = X.copy()
    told[5] *= factor
    np.testing.assert_allclose(run.target, pg.exact(X, "gini"))
    np.testing.assert_allclose(run.estimates[0], pg.exact(told, "gini"))


@pytest.mark.parametrize("apart", [False, True])
def test_liars_of_collected_rows_keep_their_classes(apart: bool) -> None:
    labels = np.arange(N) % 2
    data: Any = {"data": X, "labels": labels} if apart else {"data": np.column_stack([X, labels])}
    how: Any = {"graph": GRAPH, "clock": "async", "method": "collect", "iterations": 600, "seed": 6}
    run = pg.estimate(kernel="auc", faults="liars=[5], attack=sign", **data, **how)
    told = X.copy()
    told[5] *= -1
    np.testing.assert_allclose(run.estimates[0], pg.exact(told, "auc", labels=labels))


@pytest.mark.parametrize("attack", ["constant", "sign"])
def test_liars_of_sites_lie_about_sums_and_not_about_counts(attack: str) -> None:
    groups = np.repeat(np.arange(7), 2)
    how: Any = {
        "groups": groups,
        "clock": "async",
        "iterations": 300,
        "seed": 0,
        "method": "sketch",
    }
    how |= {"engine": "plain", "graph": "complete"}
    run = pg.estimate(X, "variance", faults=f"liars=[2], attack={attack}", **how)
    assert run.honest_error is not None and run.honest_error[-1] > run.target / 2


def test_liars_are_the_same_in_all_trials_and_by_seed() -> None:
    how: Any = {"engine": "plain", "iterations": 10}
    one, other = estimate("liars=3", **how), estimate("liars=3", trials=[4, 9], **how)
    assert one.honest is not None and other.honest is not None
    assert one.honest.tolist() == other.honest.tolist()
    others = [estimate("liars=3", seed=seed, **how).honest for seed in range(5)]
    assert len({tuple(honest) for honest in others if honest is not None}) > 1


def test_lies_beyond_the_floating_range_are_cut() -> None:
    run = estimate("liars=3, attack=dissensus", iterations=3_000, engine="plain")
    assert np.abs(run.estimates).max() > 1e50
    assert np.isfinite(run.estimates).all()
