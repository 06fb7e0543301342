"""The front door to optimization: what it returns, that it learns, and what it refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from pairgossip import InputError, graphs
from pairgossip.losses import (
    L1,
    PSD,
    GeneralLoss,
    Loss,
    SquaredL2,
    adaptive,
    constant,
    inverse_sqrt,
    risk,
)
from pairgossip.losses.builtin import higher_label
from pairgossip.minimization import minimize

RNG = np.random.default_rng(0)
LABELS = (np.arange(20) % 3 == 0).astype(int)
FEATURES = RNG.normal(size=(20, 2)) + LABELS[:, None]
GRAPH = graphs.watts_strogatz(20, 4, 0.3, seed=0)
DATA = np.column_stack([FEATURES, LABELS])


def fit(**settings: Any) -> Any:
    chosen: dict[str, Any] = {"loss": "auc-logistic", "graph": GRAPH, "iterations": 2000, "seed": 0}
    return minimize(FEATURES, LABELS, **(chosen | settings))


@pytest.mark.parametrize("step", [None, "paper"])
@pytest.mark.parametrize("clock", ["sync", "async"])
def test_the_contract_of_a_fit(clock: str, step: Any) -> None:
    result = fit(clock=clock, trials=3, step=step)
    count = len(result.iterations)
    assert result.models.shape == (3, 20, 2)
    np.testing.assert_allclose(result.model, result.models.mean(axis=(0, 1)))
    assert result.objective.shape == result.spread.shape == result.disagreement.shape == (count,)
    if step == "paper":
        assert result.bias.norm.shape == result.bias.plotted.shape == (3, count)
    else:
        assert result.bias is None
        assert (result.step, result.step_scale) == ("adaptive", 4.0)
    right = [risk(model, DATA, "auc-logistic") for model in result.models[0]]
    assert result.trial_objective[0, -1] == pytest.approx(np.mean(right))
    assert result.trial_spread[0, -1] == pytest.approx(np.std(right))
    assert (result.times is None) == (clock == "sync")
    assert repr(result).startswith(f"<Fit auc-logistic, {clock}, on 20 nodes: 3 trials")


@pytest.mark.parametrize("step", [None, inverse_sqrt(2.0)])
@pytest.mark.parametrize("clock", ["sync", "async"])
def test_gossip_approaches_the_optimum(clock: str, step: Any) -> None:
    strength = 0.05

    def objective(theta: Any) -> float:
        return risk(theta, DATA, "auc-logistic") + strength * float(theta @ theta)

    optimum = scipy_minimize(objective, np.zeros(2), method="BFGS", options={"gtol": 1e-8})
    result = fit(
        clock=clock,
        penalty=SquaredL2(strength),
        step=step,
        iterations=300_000,
        bias=False,
    )
    gaps = [objective(model) - optimum.fun for model in result.models[0]]
    assert 0 <= max(gaps) < 2e-3
    assert result.disagreement[-1] < 0.1


def test_the_plotted_bias_is_zero_at_the_start_and_the_bound_term_is_not() -> None:
    result = fit(trials=2, step="paper")
    np.testing.assert_array_equal(result.bias.plotted[:, 0], 0)
    assert (np.abs(result.bias.bound_term(np.ones(2))[:, 0]) > 1e-3).all()
    assert result.bias.norm[:, -1].mean() < result.bias.norm[:, 0].mean()


def test_the_same_seed_gives_the_same_bits_on_any_number_of_workers() -> None:
    one, two = (fit(trials=4, n_jobs=jobs, step="paper") for jobs in (1, 2))
    np.testing.assert_array_equal(one.models, two.models)
    np.testing.assert_array_equal(one.bias.gradient, two.bias.gradient)


def test_large_networks_are_judged_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairgossip.run_requests.learning.LARGEST_JUDGED", 5)
    result = fit(step="paper")
    assert result.bias is None
    assert np.isfinite(result.objective).all()


BAD: list[tuple[dict[str, Any], str | None]] = [
    ({"loss": "auc-logistics"}, r"^Unknown loss 'auc-logistics': did you mean 'auc-logistic'\?$"),
    ({"labels": np.zeros(20)}, r"class"),
    ({"labels": np.arange(20)}, r"class"),
    ({"step": lambda t: t}, r"step"),
    ({"step": lambda t: -1.0 / t}, r"step"),
    ({"step": "papers"}, r"^Unknown step 'papers': did you mean 'paper'\?$"),
    ({"bias": True}, r"^The gradient bias needs steps .*: give step='paper', or leave out bias\.$"),
    (
        {"data": np.where(FEATURES > 2, np.nan, FEATURES)},
        r"^Values are missing in data",
    ),
    ({"data": FEATURES[:1], "labels": None}, r"takes at least two observations|two classes"),
    ({"graph": graphs.cycle(5)}, r"^The data has 20 rows but the graph has 5 nodes"),
    ({"loss": "auc-squared-hinge", "penalty": L1(0.1), "step": "paper"}, None),
]


@pytest.mark.parametrize(("wrong", "sentence"), BAD, ids=[str(sorted(w)) for w, _ in BAD])
def test_wrong_input_gets_one_sentence(wrong: dict[str, Any], sentence: str | None) -> None:
    right: dict[str, Any] = {
        "data": FEATURES,
        "labels": LABELS,
        "loss": "auc-logistic",
        "graph": GRAPH,
        "iterations": 10,
        "seed": 0,
    }
    if sentence is None:  # steep only without bounds, which a radius of 1 replaces
        assert np.isfinite(minimize(**(right | wrong)).objective).all()
        return
    with pytest.raises(InputError, match=sentence) as caught:
        minimize(**(right | wrong))
    assert "\n" not in str(caught.value)


def test_a_general_loss_has_no_step_of_the_paper() -> None:
    general = GeneralLoss(
        lambda theta, a, b: (a[:, 0] - b[:, 0] - theta[0]) ** 2,
        lambda theta, a, b: -2 * (a[:, :1] - b[:, :1] - theta[0]),
        dimension=1,
    )
    with pytest.raises(InputError, match="has no finite Lipschitz constant to choose a step size"):
        minimize(FEATURES, loss=general, graph=GRAPH, iterations=10, step="paper")
    for step in (constant(0.01), None):  # not compiled: that takes a hundred times as long
        result = minimize(
            FEATURES, loss=general, graph=GRAPH, iterations=50, step=step, engine="plain"
        )
        assert np.isfinite(result.models).all()


@pytest.mark.pairs
@pytest.mark.parametrize("engine", ["auto", "plain"])
@pytest.mark.parametrize("clock", ["sync", "async"])
@pytest.mark.parametrize("loss", ["auc-logistic", "metric-diagonal-hinge"])
def test_the_adaptive_step_goes_on_bit_for_bit(
    loss: str, clock: str, engine: str, tmp_path: Path
) -> None:
    same: dict[str, Any] = {"loss": loss, "clock": clock, "engine": engine}
    whole = fit(**same, trials=2, iterations=90, checkpoints=[30, 90])
    fit(**same, trials=2, iterations=30, checkpoints=[30]).save(tmp_path / "fit.npz")
    later = fit(**same, start=tmp_path / "fit.npz", iterations=90, checkpoints=[90])
    np.testing.assert_array_equal(later.models, whole.models)
    np.testing.assert_array_equal(later.state.metric, whole.state.metric)
    np.testing.assert_array_equal(later.objective, whole.objective)
    with pytest.raises(InputError, match="has another step than this run"):
        fit(**same, start=tmp_path / "fit.npz", iterations=300, step=adaptive(2.0))


@pytest.mark.parametrize("clock", ["sync", "async"])
@pytest.mark.parametrize("penalty", [None, L1(0.01)])
def test_a_fit_goes_on_from_where_it_stopped(clock: str, penalty: Any, tmp_path: Path) -> None:
    same: dict[str, Any] = {"clock": clock, "penalty": penalty, "step": "paper"}
    whole = fit(**same, trials=2, iterations=900, checkpoints=[300, 600, 900])
    first = fit(**same, trials=2, iterations=600, checkpoints=[300, 600])
    first.save(tmp_path / "fit.npz")
    later = fit(**same, start=tmp_path / "fit.npz", iterations=900, checkpoints=[900])
    np.testing.assert_array_equal(later.iterations, whole.iterations)
    np.testing.assert_allclose(later.models, whole.models, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(later.objective, whole.objective, rtol=1e-10)
    np.testing.assert_allclose(later.bias.gradient, whole.bias.gradient, rtol=1e-8, atol=1e-12)
    if clock == "async":
        np.testing.assert_array_equal(later.times, whole.times)


def test_a_start_must_fit() -> None:
    first = fit(iterations=100)
    with pytest.raises(InputError, match="The start has another loss"):
        fit(start=first, loss="auc-hinge", iterations=200)
    with pytest.raises(InputError, match="has made 100 iterations already"):
        fit(start=first, iterations=100)


def test_a_curve_is_of_the_same_judged_nodes_throughout() -> None:
    first = fit(iterations=100, judged=5)
    later = fit(start=first, iterations=200)
    whole = fit(iterations=200, checkpoints=later.iterations, judged=5)
    np.testing.assert_array_equal(later.judged, first.judged)
    np.testing.assert_allclose(later.objective, whole.objective, rtol=1e-12)
    with pytest.raises(InputError, match="The start judged 5 nodes, and this run is to judge"):
        fit(start=first, iterations=200, judged=10)


def test_a_start_from_another_problem_is_refused() -> None:
    first = fit(iterations=100, step=inverse_sqrt(0.1))
    others: list[tuple[dict[str, Any], str]] = [
        (
            {"step": inverse_sqrt(0.2)},
            "The start has another step than this run ('inverse-sqrt' gives other values): give "
            "the same to go on from it.",
        ),
        (
            {"step": inverse_sqrt(0.1), "penalty": L1(1.0)},
            "The start has another penalty or constraint than this run (Unconstrained() and "
            "L1(strength=1.0)): give the same to go on from it.",
        ),
    ]
    for other, sentence in others:
        with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
            fit(start=first, iterations=200, **other)
    with pytest.raises(InputError, match="The start has other data than this run: give"):
        minimize(2 * FEATURES, LABELS, start=first, graph=GRAPH, step=inverse_sqrt(0.1))
    with pytest.raises(InputError, match="ran on another graph"):
        fit(start=first, iterations=200, graph=graphs.cycle(20), step=inverse_sqrt(0.1))
    with pytest.raises(InputError, match="another law"):
        fit(start=first, iterations=200, law="node-clocks", step=inverse_sqrt(0.1))


def test_the_trials_an_interruption_left_go_on_as_themselves() -> None:
    settings: dict[str, Any] = {"step": inverse_sqrt(0.1), "bias": False}
    whole = fit(trials=3, iterations=400, checkpoints=[200, 400], **settings)
    first = fit(trials=3, iterations=200, checkpoints=[200], **settings)
    left = replace(
        first,
        trial_numbers=first.trial_numbers[1:],
        state=type(first.state)(*(part[1:] for part in first.state)),
        **{
            name: getattr(first, name)[1:]
            for name in ("trial_objective", "trial_spread", "trial_disagreement")
        },
    )
    later = fit(start=left, iterations=400, checkpoints=[400], **settings)
    np.testing.assert_array_equal(later.trial_numbers, [1, 2])
    np.testing.assert_allclose(later.models, whole.models[1:], rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(later.trial_objective, whole.trial_objective[1:], rtol=1e-10)


def test_constant_features_and_misplaced_cones_are_refused() -> None:
    with pytest.raises(InputError, match="there is nothing to learn"):
        minimize(np.ones((20, 2)), LABELS, "auc-logistic", GRAPH, iterations=10)
    with pytest.raises(InputError, match=r"pg\.PSD constrains matrices"):
        four = np.column_stack([FEATURES, FEATURES])
        minimize(four, LABELS, "auc-logistic", GRAPH, iterations=10, constraint=PSD())


@pytest.mark.parametrize("grades", [["low", "medium", "high"], ["8", "9", "10"]])
def test_text_labels_are_refused_where_their_size_matters(grades: list[str]) -> None:
    def apart(x: Any, y: Any) -> Any:
        return x[:, :-1] - y[:, :-1]

    labels = [grades[k % 3] for k in range(20)]
    own = Loss(apart, "hinge", weights=higher_label, name="own")
    for loss, told in (
        ("ranking-hinge", "'ranking-hinge' compares labels by size, but"),
        (own, "'own' gives other"),
    ):
        with pytest.raises(InputError, match=f"^Loss {told} .*text such as '{grades[0]}'"):
            minimize(FEATURES, labels, loss, iterations=10, seed=0)
    minimize(FEATURES, labels, "metric-diagonal-hinge", iterations=10, seed=0)
