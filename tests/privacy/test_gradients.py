"""Debiased gradients: unbiased by enumeration, and learning from reports in the engines."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.random import SeedSequence

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.losses import GeneralLoss, Loss, as_loss
from pairgossip.privacy import DebiasedLoss, PrivateLearning, RandomizedResponse
from tests.privacy.enumeration import channel, moments, report_laws, rows_of

DATA = np.array([[0.1, 0.0], [0.7, 1.0], [0.4, 0.0]])
JOINT = RandomizedResponse(1.0, 3, (0, 1), classes=(0, 1))
APART = RandomizedResponse(1.0, 3, (0, 1), classes=(0, 1), together=False)


def squares(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    return (first[:, 0] * theta[0] + second[:, 0] ** 2 * theta[1] - first[:, 1]) ** 2


def slopes(theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    error = 2 * (first[:, 0] * theta[0] + second[:, 0] ** 2 * theta[1] - first[:, 1])
    return np.column_stack((error * first[:, 0], error * second[:, 0] ** 2))


LOSSES: dict[str, Any] = {
    "auc-logistic": "auc-logistic",
    "metric-hinge": "metric-hinge",
    "own": Loss(
        lambda x, y: np.column_stack((x[:, 0] + y[:, 0] ** 2, x[:, 0] * y[:, 1] + 0.3)),
        "logistic",
        weights=lambda x, y: 1 + x[:, 0],
        offsets=lambda x, y: y[:, 0],
    ),
    "general": GeneralLoss(squares, slopes, dimension=2),
}


def one_gradient(loss: Any, theta: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    return as_loss(loss).gradient(theta, x[None], y[None])[0]


@pytest.mark.parametrize("mechanism", [JOINT, APART], ids=["together", "apart"])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_gradients_are_the_sum_over_all_pairs_of_cells(
    mechanism: RandomizedResponse, loss: Any
) -> None:
    debiased = DebiasedLoss(mechanism, loss)
    inverse, values = np.linalg.inv(channel(mechanism)), mechanism.representatives
    cells = range(mechanism.cells)
    theta = np.linspace(-0.7, 1.1, debiased.dimension)
    for y, other in itertools.product((0, 2, 5), (1, 2)):
        expected = sum(
            inverse[y, a] * inverse[other, b] * one_gradient(loss, theta, values[a], values[b])
            for a in cells
            for b in cells
        )
        one, two = rows_of(mechanism, (y,)), rows_of(mechanism, (other,))
        assert debiased.gradient(theta, one, two)[0] == pytest.approx(expected, abs=1e-9)
        own = sum(inverse[y, a] * one_gradient(loss, theta, values[a], values[a]) for a in cells)
        assert debiased.own(theta, one)[0] == pytest.approx(own, abs=1e-9)


@pytest.mark.parametrize("target", ["u", "v"])
@pytest.mark.parametrize("mechanism", [JOINT, APART], ids=["together", "apart"])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_unbiased_over_all_reports(mechanism: RandomizedResponse, loss: Any, target: str) -> None:
    """The mean over all pairs has the gradient of the risk at the cells as its expectation."""
    problem = PrivateLearning(DATA, loss, mechanism, target=target)
    n = len(DATA)
    theta = np.linspace(0.5, -0.4, problem.dimension)
    everyone = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)

    def taken(flat: tuple[int, ...]) -> FloatArray:
        reported = problem.with_reports(rows_of(mechanism, flat))
        return reported.gradient(theta, *everyone).mean(axis=0)

    values = mechanism.representatives[mechanism.flat(mechanism.encode(DATA))]
    pairs = [(k, other) for k in range(n) for other in range(n) if target == "v" or k != other]
    expected = np.mean([one_gradient(loss, theta, values[k], values[o]) for k, o in pairs], axis=0)
    mean, _ = moments(report_laws(mechanism, DATA), taken)
    assert mean == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("target", ["u", "v"])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_a_nodes_share_is_the_mean_of_its_gradients(loss: Any, target: str) -> None:
    problem = PrivateLearning(DATA, loss, JOINT, target=target)
    trial = problem.for_trial(SeedSequence(4))
    theta = np.random.default_rng(0).normal(size=(3, problem.dimension))
    expected = [
        trial.gradient(np.tile(theta[k], (3, 1)), np.full(3, k), np.arange(3)).mean(axis=0)
        for k in range(3)
    ]
    assert trial.own_gradients(theta) == pytest.approx(np.array(expected), abs=1e-9)


def test_the_size_is_the_root_mean_square_at_zero() -> None:
    debiased = DebiasedLoss(JOINT, LOSSES["own"])
    flat = list(itertools.product(range(JOINT.cells), repeat=2))
    first = rows_of(JOINT, tuple(one for one, _ in flat))
    second = rows_of(JOINT, tuple(two for _, two in flat))
    found = debiased.gradient(np.zeros(2), first, second)
    assert debiased.size() == pytest.approx(np.sqrt(np.mean(np.sum(found**2, axis=1))))


def test_objectives_are_those_of_the_raw_data() -> None:
    problem = PrivateLearning(DATA[:, 0], "auc-logistic", JOINT, labels=DATA[:, 1])
    models = np.array([[0.3], [-2.0]])
    expected = pg.losses.risks(models, DATA, "auc-logistic")
    for judged in (problem, problem.for_trial(SeedSequence(0))):
        assert judged.objectives(models) == pytest.approx(expected)
        assert not judged.compilable
    assert problem.marks != PrivateLearning(DATA, "auc-logistic", APART).marks


def test_refusals() -> None:
    many = RandomizedResponse(1.0, 8, ((0, 1), (0, 1)), classes=(0, 1, 2, 3, 4))
    with pytest.raises(
        pg.InputError,
        match=r"no affordable debiased gradient here: reports have 320 cells \(8 x 8 x 5\)",
    ):
        DebiasedLoss(many, "ranking-logistic")
    with pytest.raises(pg.InputError, match="Loss 'metric-hinge' asks whether two raw values of"):
        DebiasedLoss(RandomizedResponse(1.0, 3, ((0, 1), (0, 1))), "metric-hinge")
    with pytest.raises(pg.InputError, match="The declared columns do not suit the loss"):
        DebiasedLoss(RandomizedResponse(1.0, 3, (0, 1)), "auc-logistic")
    problem = PrivateLearning(DATA, "auc-logistic", JOINT)
    with pytest.raises(pg.InputError, match="There are 2 reports for 3 observations"):
        problem.with_reports(np.zeros((2, 2), dtype=np.int64))
    with pytest.raises(pg.InputError, match="A model for loss 'auc-logistic' has 1 parameter"):
        DebiasedLoss(JOINT, "auc-logistic").gradient(np.zeros(2), [[0, 0]], [[1, 1]])
