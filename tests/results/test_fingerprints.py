"""Results of another problem are neither joined nor continued, whatever its name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.algorithms import gosta_sync
from pairgossip.algorithms.gosta_sync import State
from pairgossip.algorithms.methods import METHODS, Method, Plain, register
from pairgossip.arrays import FloatArray
from pairgossip.errors import UnknownTarget
from pairgossip.results.provenance import difference, estimation_fingerprint
from pairgossip.run_requests import estimation as estimation_request

DATA = np.column_stack((np.random.default_rng(0).normal(size=(30, 2)) * 100, np.arange(30) % 3))


def learn(loss: Any, **settings: Any) -> pg.Fit:
    chosen: dict[str, Any] = {"graph": "cycle", "seed": 0, "step": pg.steps.constant(1e-6)}
    return pg.minimize(DATA, None, loss, **(chosen | {"iterations": 40} | settings))


def estimated(kernel: Any, trial: int, data: Any = DATA[:, 0], **settings: Any) -> pg.Run:
    chosen: dict[str, Any] = {"graph": "cycle", "seed": 0, "reference": 1.0, "iterations": 40}
    return pg.estimate(data, kernel, trials=[trial], **(chosen | settings))


def own_loss(power: float = 1.0, offset: float = 0.0, least: float = 0.0) -> pg.Loss:
    def features(x: FloatArray, y: FloatArray) -> FloatArray:
        return np.sign(x - y)[:, :2] * np.abs(x - y)[:, :2] ** power

    def weights(x: FloatArray, y: FloatArray) -> FloatArray:
        return np.where(x[:, 0] - y[:, 0] > least, 1.0, 0.0)

    return pg.Loss(features, "hinge", weights, lambda x, y: np.full(len(x), offset))


def general_loss(target: float) -> pg.GeneralLoss:
    return pg.GeneralLoss(
        lambda theta, x, y: np.sum((theta - target * (x - y)) ** 2, axis=-1),
        lambda theta, x, y: 2 * (theta - target * (x - y)),
    )


def clipped(x: FloatArray, y: FloatArray, most: float) -> FloatArray:
    return np.minimum(np.abs(x - y), most)


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        (
            pg.losses.metric_loss(threshold=1.0),
            pg.losses.metric_loss(threshold=50.0),
            "metric-hinge, threshold=1.0 and metric-hinge, threshold=50.0",
        ),
        (own_loss(), own_loss(power=0.5), "'custom' gives other values"),
        (own_loss(), own_loss(offset=1e-6), "'custom' gives other values"),
        (own_loss(), own_loss(least=30.0), "'custom' gives other values"),
        (general_loss(1.0), general_loss(1.001), "'custom' gives other values"),
    ],
)
def test_another_loss_of_the_same_name_does_not_go_on(one: Any, other: Any, how: str) -> None:
    first = learn(one)
    with pytest.raises(pg.InputError) as refusal:
        learn(other, start=first, iterations=50)
    assert str(refusal.value) == (
        f"The start has another loss than this run ({how}): give the same to go on from it."
    )
    with pytest.raises(pg.InputError, match="The results differ in loss"):
        pg.join_trials([first, learn(other, trials=[1])])


def test_another_step_of_the_users_own_does_not_go_on() -> None:
    first = learn(own_loss(), step=lambda t: 1e-6 / np.sqrt(t))
    for other in (lambda t: 1e-6 / t**0.49, lambda t: 1e-6 / np.sqrt(np.minimum(t, 35))):
        with pytest.raises(pg.InputError, match=r"another step .*'custom' gives other values"):
            learn(own_loss(), step=other, start=first, iterations=50)
    again = learn(own_loss(), step=lambda t: 1e-6 * t**-0.5, start=first, iterations=50)
    assert again.iterations[-1] == 50


def test_a_step_is_not_asked_beyond_its_run() -> None:
    table = 1e-6 / np.arange(1.0, 1300.0)  # 30 nodes on a cycle: a pick takes 15 iterations

    def looked_up(t: float) -> float:
        return float(table[int(t)])

    first = learn(own_loss(), step=looked_up, iterations=30)
    assert learn(own_loss(), step=looked_up, start=first, iterations=50).iterations[-1] == 50


LATER = """
import sys
sys.path.insert(0, {root!r})
from tests.results.test_fingerprints import clipped, estimated, general_loss, learn, own_loss
learn(own_loss(power=0.7), step=lambda t: 1e-6 / t**0.3).save("own.npz")
learn(general_loss(2.0)).save("general.npz")
estimated(lambda x, y: clipped(x, y, 50.0), 0).save("run.npz")
"""


def test_the_same_functions_written_again_in_another_process_go_on(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[2])
    subprocess.run([sys.executable, "-c", LATER.format(root=root)], cwd=tmp_path, check=True)
    own = learn(
        own_loss(power=0.7),
        step=lambda t: 1e-6 * t**-0.3,
        start=tmp_path / "own.npz",
        iterations=50,
    )
    general = learn(general_loss(2.0), start=tmp_path / "general.npz", iterations=50)
    assert own.iterations[-1] == general.iterations[-1] == 50
    run = pg.load(tmp_path / "run.npz")
    joined = pg.join_trials([run, estimated(lambda x, y: np.minimum(abs(y - x), 50.0), 1)])
    assert joined.trials == 2


def test_kernels_of_the_same_name_are_told_apart() -> None:
    below, above = (estimated(partial(clipped, most=most), 0) for most in (50.0, 60.0))
    with pytest.raises(pg.InputError) as refusal:
        pg.join_trials([below, estimated(partial(clipped, most=60.0), 1)])
    assert str(refusal.value) == (
        "The results differ in kernel (custom, most=50.0 and custom, most=60.0): join results of "
        "the same settings."
    )
    for first, most in ((below, 60.0), (above, 50.0)):
        other = estimated(lambda x, y, most=most: clipped(x, y, most), 1)
        with pytest.raises(pg.InputError, match="differ in kernel"):
            pg.join_trials([first, other])
    values = [estimated(lambda x, y, by=by: clipped(x, y, by), by) for by in (50, 60)]
    with pytest.raises(pg.InputError, match=r"in kernel .'custom' gives other values.: join"):
        pg.join_trials(values)
    ties = [estimated(pg.kernels.auc(ties), k, DATA[:, :2] > 0) for k, ties in enumerate((0, 0.5))]
    with pytest.raises(pg.InputError, match=r"differ in kernel \(auc, ties=0"):
        pg.join_trials(ties)


def own_method(step: Callable[..., State], trial: int, **settings: Any) -> pg.Run:
    """Run a trial of a user's own method, which is registered again."""
    claims = {"averaged_numbers": settings.pop("averaged_numbers", 1)}
    with patch.dict(METHODS):
        register(
            Method(
                name="mine", description="", plain={"sync": Plain(gosta_sync.init, step)},
                estimates="statistic", **claims,
            )
        )  # fmt: skip
        return estimated("gini", trial, method="mine", **settings)


def halved(state: State, *given: Any) -> State:
    after = gosta_sync.step(state, *given)
    return after._replace(z=after.z / 2)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"graph": "path", "groups": np.arange(30) % 5, "construction": "whole-sets"},
        {"privacy": pg.privacy.RandomizedResponse(4.0, 3, (-400, 400))},
    ],
)
def test_methods_of_the_same_name_are_told_apart(settings: Any, tmp_path: Path) -> None:
    first = own_method(gosta_sync.step, 0, **settings)
    first.save(tmp_path / "first.npz")
    again = own_method(lambda *given: gosta_sync.step(*given), 1, **settings)
    assert pg.join_trials([pg.load(tmp_path / "first.npz"), again]).trials == 2
    others = (
        own_method(halved, 1, **settings),
        own_method(gosta_sync.step, 1, averaged_numbers=2, **settings),
    )
    for other in others:
        with pytest.raises(pg.InputError) as refusal:
            pg.join_trials([first, other])
        assert str(refusal.value) == (
            "The results differ in method ('mine' gives other values): join results of the same "
            "settings."
        )


def test_a_method_that_takes_its_own_problem_only_is_compared_by_name() -> None:
    def picky(state: State, exchanges: Any, h: Any) -> State:
        own = np.arange(len(state.held))
        assert not h(own, own).any()  # like that of gini
        return gosta_sync.step(state, exchanges, h)

    assert pg.join_trials([own_method(picky, trial) for trial in (0, 1)]).trials == 2


def test_other_data_of_the_same_target_are_told_apart() -> None:
    with pytest.raises(pg.InputError, match="The results differ in data: join results"):
        pg.join_trials([estimated("gini", 0), estimated("gini", 1, DATA[::-1, 0])])
    means = [
        estimated(None, k, d, method="averaging") for k, d in enumerate(([1, 2, 3], [0, 3, 3]))
    ]
    with pytest.raises(pg.InputError, match="The results differ in data: join results"):
        pg.join_trials(means)


def test_rounding_makes_no_other_function() -> None:
    forms = (lambda x, y: (x - y) ** 2, lambda x, y: x * x - 2 * x * y + y * y)
    joined = pg.join_trials([estimated(form, k) for k, form in enumerate(forms)])
    assert joined.trials == 2


def test_trials_of_an_unknown_target_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimation_request, "_LARGEST_BLOCKED_TARGET", 10)

    def gap(x: FloatArray, y: FloatArray) -> FloatArray:
        return np.abs(x - y)

    with pytest.warns(UnknownTarget):
        parts = [estimated(gap, trial, reference=None) for trial in (0, 1)]
    assert pg.join_trials(parts).trials == 2


def test_functions_that_are_not_finite_everywhere_are_compared_where_they_are() -> None:
    def log_gap(x: FloatArray, y: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(np.abs(x - y))

    one, other = (
        difference(*pair)
        for pair in [
            [_kernel_fingerprint(log_gap), _kernel_fingerprint(log_gap)],
            [_kernel_fingerprint(log_gap), _kernel_fingerprint(lambda x, y: 2 * log_gap(x, y))],
        ]
    )
    assert one is None
    assert other is not None and other.part == "kernel"


def _kernel_fingerprint(function: Any) -> Any:
    kernel = pg.Kernel(function, name="log gap")
    return estimation_fingerprint(pg.kernels.Pairs(DATA[:, 0], kernel))
