"""A problem may redraw what its nodes add for every trial; engines require nothing else of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.random import SeedSequence

from pairgossip import graphs
from pairgossip.algorithms.methods import METHODS, find_method
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.engine.descent.engines import Descent
from pairgossip.engine.descent.trial import DescentSetup
from pairgossip.engine.estimation.building import check_engine
from pairgossip.engine.estimation.trial import Setup
from pairgossip.engine.schedule import TRIAL_PROBLEM, child, root_seed
from pairgossip.engine.trials import run_trials
from pairgossip.errors import InputError
from pairgossip.kernels import Means, Pairs, Problem
from pairgossip.losses import as_proximal, steps
from pairgossip.losses.learning import LearningProblem, PairwiseLearning
from tests.problems import labeled_rows, rows

GRAPH = graphs.cycle(6)


class Noisy(Problem):
    """Pairs with noise that is redrawn for every trial; not a subclass of `Pairs`."""

    def __init__(self, pairs: Pairs, noise: FloatArray | None = None) -> None:
        self._pairs = pairs
        self._noise = noise
        self.n, self.data, self.dimension = pairs.n, pairs.data, pairs.dimension
        self.kernel, self.components = pairs.kernel, pairs.components
        self.target, self.scale = pairs.target, pairs.scale

    def for_trial(self, seed: SeedSequence) -> Noisy:
        return Noisy(self._pairs, np.random.default_rng(seed).normal(size=(self.n, self.n)))

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        assert self._noise is not None, "the engine must run the problem of its trial"
        return self._pairs.values(nodes, held) + self._noise[nodes, held][:, None]

    def matrix(self, component: int = 0) -> FloatArray:
        noise = np.zeros((self.n, self.n)) if self._noise is None else self._noise
        return self._pairs.matrix(component) + noise

    def row_means(self) -> FloatArray:
        return self.matrix().mean(axis=1)

    def exact(self, progress: Any = None) -> float:
        return float(self.matrix().mean())


def setup_of(problem: Problem, engine: str, iterations: int = 60) -> Setup:
    return Setup(
        problem=problem, graph=GRAPH, method=find_method("gosta"), clock="sync",
        order="update-first", law="uniform-edges", checkpoints=np.array([iterations]),
        target=problem.exact(), keep_history=False, engine=engine,
    )  # fmt: skip


@pytest.mark.parametrize("engine", ["auto", "tokens", "plain"])
def test_every_trial_runs_its_own_problem(engine: str) -> None:
    problem = Noisy(Pairs(rows(6), "gini"))
    root = root_seed(3)
    outcome = run_trials(setup_of(problem, engine, 10_000), root, [0, 4])
    truths = []
    for number, record in zip(outcome.numbers, outcome.records, strict=True):
        truth = problem.for_trial(child(child(root, number), TRIAL_PROBLEM)).exact()
        np.testing.assert_allclose(record.mean[-1], truth, atol=0.05)
        np.testing.assert_allclose(record.error[-1], abs(truth - problem.exact()), atol=0.05)
        truths.append(truth)
    assert abs(truths[0] - truths[1]) > 0.2  # more than the runs' errors


def test_tokens_and_plain_agree_on_problems_of_a_trial() -> None:
    problem = Noisy(Pairs(rows(6), "gini", "u"))
    found = [
        run_trials(setup_of(problem, engine), root_seed(0), [1]).records[0].estimates
        for engine in ("tokens", "plain")
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_such_problems_are_not_compiled() -> None:
    with pytest.raises(InputError, match="Engine 'fused' compiles the kernel of two single"):
        check_engine("fused", Noisy(Pairs(rows(6), "gini")), find_method("gosta"), "sync")


def test_problems_without_chance_are_their_own() -> None:
    seed = SeedSequence(0)
    for problem in (Pairs(rows(6), "gini"), Means(rows(6))):
        assert problem.for_trial(seed) is problem
    learning = LearningProblem(labeled_rows(6, 2), "auc-logistic")
    assert learning.for_trial(seed) is learning


def test_the_seed_of_a_problem_is_no_exchange_stream() -> None:
    """A trial's child seeds up to the number of walks are for times and exchanges."""
    assert max(method.exchanges_per_iteration for method in METHODS.values()) < TRIAL_PROBLEM


class Shifted(PairwiseLearning):
    """Gradients with a disturbance that is drawn per trial; judged without it."""

    def __init__(self, true: LearningProblem, shift: FloatArray | None = None) -> None:
        self._true = true
        self.shift = shift
        self.n, self.data, self.loss, self.dimension = true.n, true.data, true.loss, true.dimension

    def for_trial(self, seed: SeedSequence) -> Shifted:
        return Shifted(self._true, np.random.default_rng(seed).normal(size=self.dimension))

    def gradient(self, theta: FloatArray, nodes: IntArray, held: IntArray) -> FloatArray:
        assert self.shift is not None, "the engine must run the problem of its trial"
        return self._true.gradient(theta, nodes, held) + self.shift

    def objectives(self, models: FloatArray) -> FloatArray:
        return self._true.objectives(models)

    def own_gradients(self, theta: FloatArray) -> FloatArray:
        return self._true.own_gradients(theta)


def test_models_are_judged_by_the_true_problem() -> None:
    true = LearningProblem(labeled_rows(6, 2), "auc-logistic")
    problem: PairwiseLearning = Shifted(true)
    probabilities = GRAPH.pick_probabilities("uniform-edges")
    descent = Descent(
        problem, as_proximal(None, None), steps.inverse_sqrt(0.1), "sync", probabilities
    )
    setup = DescentSetup(
        descent=descent, graph=GRAPH, law="uniform-edges", checkpoints=np.array([1, 30]),
        judged=np.arange(6), keep_bias=True, engine="auto",
    )  # fmt: skip
    root = root_seed(1)
    record = run_trials(setup, root, [2]).records[0]
    plain = replace(setup, descent=descent._replace(problem=true), engine="plain")
    undisturbed = run_trials(plain, root, [2]).records[0]
    drawn = problem.for_trial(child(child(root, 2), TRIAL_PROBLEM))
    assert isinstance(drawn, Shifted) and drawn.shift is not None
    # The first models are zero: only the disturbance of the gradients taken differs.
    disturbed = undisturbed.gradient_bias[0] + drawn.shift
    np.testing.assert_allclose(record.gradient_bias[0], disturbed, rtol=1e-12)
    assert record.state is not None and undisturbed.state is not None
    assert not np.allclose(record.state.mean, undisturbed.state.mean)
    np.testing.assert_allclose(record.objective[-1], true.objectives(record.state.mean).mean())
