"""Faults in `minimize`: against a plain transcription on the same path, and in continued fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg

from . import naive

N = 16
GRAPH = pg.graphs.watts_strogatz(N, 4, 0.3, seed=2)
RNG = np.random.default_rng(7)
LABELS = np.arange(N) % 2
X = RNG.normal(size=(N, 3)) + 0.7 * LABELS[:, None]
STEP = 0.05
FAULTS = {
    "loss": "loss=0.3",
    "churn": "churn=4/2",
    "delay": "delay=0.15",
    "crashes": "crashed=[3, 7@10]",
    "all": "loss=0.1, churn=9/3, delay=0.1",
}


def slope(theta: Any, k: int, other: int) -> Any:
    """Return the gradient of the logistic AUC loss at one ordered pair."""
    if not LABELS[k] > LABELS[other]:
        return np.zeros(3)
    apart = X[k] - X[other]
    return -apart / (1 + np.exp(min(theta @ apart, 700.0)))


def learn_sync(rings: list[naive.Ring]) -> Any:
    """Run Algorithm 2: an exchange swaps and averages if it takes place, and all nodes step."""
    held, z, theta, total = list(range(N)), np.zeros((N, 3)), np.zeros((N, 3)), np.zeros((N, 3))
    for t, (i, j, takes_place) in enumerate(rings, 1):
        if takes_place:
            held[i], held[j] = held[j], held[i]
            z[i] = z[j] = (z[i] + z[j]) / 2
        z = z + np.array([slope(theta[k], k, held[k]) for k in range(N)])
        theta = -STEP / np.sqrt(t) * z
        total += theta
    return total / len(rings)


def learn_async(rings: list[naive.Ring]) -> Any:
    """Run Algorithm 7: only the two nodes of an exchange that takes place do anything."""
    picked = np.bincount(GRAPH.edges.ravel()) / GRAPH.edge_count
    held, z, theta = list(range(N)), np.zeros((N, 3)), np.zeros((N, 3))
    models: list[list[Any]] = [[] for _ in range(N)]
    for i, j, takes_place in rings:
        if not takes_place:
            continue
        held[i], held[j] = held[j], held[i]
        mean = (z[i] + z[j]) / 2
        for k in (i, j):
            z[k] = mean + slope(theta[k], k, held[k]) / picked[k]
            theta[k] = -STEP / np.sqrt((len(models[k]) + 1) / picked[k]) * z[k]
            models[k].append(theta[k].copy())
    return np.array([np.mean(some, axis=0) if some else np.zeros(3) for some in models])


def meet(one: naive.Node, other: naive.Node) -> None:
    """Carry out one exchange of Algorithm 7."""
    mean = (one["z"] + other["z"]) / 2
    one["held"], other["held"] = other["held"], one["held"]
    for node in (one, other):
        node["z"] = mean + slope(node["theta"], node["own"], node["held"]) / PICKED[node["own"]]
        node["picks"] += 1
        node["theta"] = -STEP / np.sqrt(node["picks"] / PICKED[node["own"]]) * node["z"]
        node["mean"] = node["mean"] + (node["theta"] - node["mean"]) / node["picks"]


PICKED = np.bincount(GRAPH.edges.ravel()) / GRAPH.edge_count
SPOILED = {
    "half lost": "half_loss=0.2",
    "constant": "liars=[2, 9], lie=3",
    "sign": "liars=[2, 9], attack=sign",
    "inside": "liars=[2, 9], attack=inside-the-clip",
    "dissensus": "liars=[2], attack=dissensus",
    "all": "half_loss=0.1, loss=0.1, delay=0.1, liars=[2, 3], attack=sign",
}


@pytest.mark.parametrize("engine", ["auto", "plain"])
@pytest.mark.parametrize("text", SPOILED.values(), ids=list(SPOILED))
def test_exchanges_that_go_wrong_on_one_side(text: str, engine: str) -> None:
    faults = pg.Faults.from_text(text)
    found = fit(faults, engine=engine, iterations=300)
    rings = naive.ring(naive.exchanges_of(GRAPH, 3, 0, 300), faults, N, 3)
    zero = np.zeros(3)
    nodes = [node | {"z": zero, "theta": zero, "mean": zero} for node in naive.start_nodes(N)]
    liars = () if isinstance(faults.liars, int) else tuple(faults.liars)
    lie = naive.lies(GRAPH, liars, faults.attack_name, np.full(3, faults.lie or 0.0))
    half = naive.half_losses(faults.half_loss, 3, 0)
    lost = naive.spoil(rings, nodes, meet, half, liars, lie)
    expected = np.array([node["mean"] for node in nodes])
    np.testing.assert_allclose(found.models[0], expected, rtol=1e-7, atol=1e-12)
    assert (found.half_lost is None) == (lost == 0)
    assert found.half_lost is None or found.half_lost[-1] == lost


def test_liars_do_harm_unless_told_otherwise() -> None:
    honest = fit("loss=0.01", iterations=4000)
    for attack in ("constant", "sign"):
        lied_to = fit(f"liars=2, attack={attack}", iterations=4000)
        assert lied_to.objective[-1] > honest.objective[-1] + 0.01


def test_the_adaptive_step_with_liars_on_either_engine() -> None:
    text = "half_loss=0.05, liars=[2], attack=dissensus"
    one, other = (
        fit(text, engine=engine, step=None, iterations=300) for engine in ("auto", "plain")
    )
    np.testing.assert_allclose(one.models, other.models, rtol=1e-6)


@pytest.mark.parametrize("attack", ["sign", "constant"])
def test_a_fit_with_halves_goes_on(attack: str) -> None:
    text = f"half_loss=0.1, liars=[3], attack={attack}"
    whole, half = fit(text, checkpoints=[300]), fit(text, iterations=300)
    later = fit(text, start=half, checkpoints=[300])
    np.testing.assert_allclose(later.models, whole.models, rtol=1e-9)
    assert later.half_lost is not None and whole.half_lost is not None
    assert later.half_lost[-2:].tolist() == whole.half_lost.tolist()


def fit(faults: Any, clock: str = "async", engine: str = "auto", **more: Any) -> pg.Fit:
    settings: Any = {"iterations": 800, "seed": 3, "step": pg.steps.inverse_sqrt(STEP)}
    how = settings | {"clock": clock, "engine": engine, "faults": faults} | more
    return pg.minimize(X, LABELS, "auc-logistic", GRAPH, **how)


@pytest.mark.parametrize("engine", ["auto", "vectors", "plain"])
@pytest.mark.parametrize("clock", ["sync", "async"])
@pytest.mark.parametrize("name", FAULTS)
def test_models_are_those_of_a_plain_simulation(name: str, clock: str, engine: str) -> None:
    if clock == "sync" and name == "crashes":
        pytest.skip("all nodes act on the synchronous clock")
    faults = pg.Faults.from_text(FAULTS[name])
    found = fit(faults, clock, engine, trials=[2])
    rings = naive.ring(naive.exchanges_of(GRAPH, 3, 2, 800), faults, N, 3, 2)
    learn = learn_sync if clock == "sync" else learn_async
    np.testing.assert_allclose(found.models[0], learn(rings), rtol=1e-8, atol=1e-12)
    lost = sum(not ring.takes_place for ring in rings)
    assert found.trial_lost is not None
    assert found.trial_lost[0, -1] == lost
    assert found.messages[-1] == 2 * (800 - lost) + lost


@pytest.mark.parametrize("clock", ["sync", "async"])
def test_adaptive_steps_on_either_engine(clock: str) -> None:
    faults = FAULTS["all"]
    one, other = (fit(faults, clock, engine, step=None) for engine in ("auto", "plain"))
    np.testing.assert_allclose(one.models, other.models, rtol=1e-7)


def test_honest_models_are_judged() -> None:
    found = fit("crashed=[3, 7@10]")
    assert found.honest is not None
    assert found.judged.tolist() == found.honest.tolist()
    assert 3 not in found.judged
    np.testing.assert_allclose(found.model, found.models[0, found.honest].mean(axis=0))
    apart = found.models[0, found.honest] - found.model
    size = np.sqrt(np.mean(np.sum(apart**2, axis=1)))
    np.testing.assert_allclose(found.disagreement[-1], size)


@pytest.mark.parametrize("clock", ["sync", "async"])
def test_a_fit_goes_on_with_the_same_faults(clock: str) -> None:
    text = FAULTS["all"]
    whole = fit(text, clock, checkpoints=[300])
    half = fit(text, clock, iterations=300)
    later = fit(text, clock, start=half, checkpoints=[300])
    np.testing.assert_allclose(later.models, whole.models, rtol=1e-9)
    assert later.trial_lost is not None and whole.trial_lost is not None
    assert later.trial_lost[:, -1] == whole.trial_lost[:, -1]
    assert later.messages[-1] == whole.messages[-1]
    with pytest.raises(pg.InputError, match="other faults"):
        fit(None, clock, start=half)
    with pytest.raises(pg.InputError, match="other faults"):
        fit("loss=0.1", clock, start=half)


@pytest.mark.parametrize(
    ("faults", "more", "sentence"),
    [
        ("crashed=1", {"clock": "sync"}, "all nodes act at every iteration"),
        ("liars=1", {"clock": "sync"}, "exchanges are whole, and without liars"),
        ("loss=0.1", {"method": "sketch", "step": None, "clock": "sync"}, "to the last digit"),
        ("churn=0.001/10", {}, "no two meet"),
        ("liars=16", {}, "Every node lies"),
        ("liars=[16]", {}, "outside the nodes 0 to 15"),
    ],
)
def test_refusals(faults: str, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        fit(faults, **more)
