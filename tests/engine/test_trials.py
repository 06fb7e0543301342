"""Trials: the same numbers however they are run, and Ctrl-C keeps computed results."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any, TypeVar

import joblib
import numpy as np
import pytest

import pairgossip as pg
from pairgossip import InterruptedRun
from pairgossip.arrays import FloatArray
from pairgossip.engine.schedule import child, root_seed
from pairgossip.engine.trials import Record, Trial, run_trials
from pairgossip.run_requests.learning import LearningRequest
from tests.problems import labeled_rows, rows, skewed

R = TypeVar("R", bound=Record)

GRAPH = pg.graphs.watts_strogatz(30, 4, 0.3, seed=0)


def run(**settings: Any) -> pg.Run:
    chosen: dict[str, Any] = {"kernel": "gini", "iterations": 3000, "trials": 5, "seed": 3}
    return pg.estimate(rows(30), graph=GRAPH, **(chosen | settings))


def assert_same_bits(first: pg.Run, second: pg.Run) -> None:
    assert first.history is not None
    assert second.history is not None
    np.testing.assert_array_equal(first.history, second.history)
    np.testing.assert_array_equal(first.estimates, second.estimates)
    np.testing.assert_array_equal(first.trial_error, second.trial_error)
    if first.times is not None:
        assert second.times is not None
        np.testing.assert_array_equal(first.times, second.times)


@pytest.mark.parametrize("clock", ["sync", "async"])
@pytest.mark.parametrize("kernel", ["gini", skewed])
def test_one_or_two_workers_give_the_same_bits(kernel: Any, clock: str) -> None:
    alone = run(kernel=kernel, clock=clock, n_jobs=1)
    assert_same_bits(alone, run(kernel=kernel, clock=clock, n_jobs=2))
    assert_same_bits(alone, run(kernel=kernel, clock=clock, n_jobs=1))


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading", "sequential"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_every_backend_gives_the_same_bits(backend: str) -> None:
    alone = run(clock="async", n_jobs=1)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert_same_bits(alone, run(clock="async", n_jobs=None))


def test_a_trial_does_not_depend_on_how_many_there_are() -> None:
    np.testing.assert_array_equal(run(trials=2).estimates, run(trials=5).estimates[:2])


def test_checkpoints_do_not_disturb_a_run() -> None:
    few, many = run(checkpoints=[3000]), run(checkpoints=200)
    np.testing.assert_array_equal(few.estimates, many.estimates)


def run_in_slices(trial: Trial[R]) -> R:
    random = np.random.default_rng(1)
    while trial.next_checkpoint is not None:
        trial.advance(int(random.integers(1, 300)), lambda block, exchanges: None)
    return trial.record


@pytest.mark.parametrize(
    ("method", "clock", "law"),
    [("gosta", "sync", "uniform-edges"), ("gosta", "async", "uniform-edges"),
     ("weighted-gosta", "async", "node-clocks"), ("u1", "sync", "uniform-edges"),
     ("u2", "sync", "uniform-edges"), ("averaging", "sync", "uniform-edges")],
)  # fmt: skip
def test_a_trial_can_be_advanced_in_slices(method: str, clock: str, law: str) -> None:
    kernel = None if method == "averaging" else "gini"
    alone = run(kernel=kernel, method=method, clock=clock, law=law, trials=1)
    assert alone._setup is not None
    record = run_in_slices(alone._setup.start(child(root_seed(3), 0)))
    np.testing.assert_allclose(record.error, alone.error, rtol=1e-11)
    np.testing.assert_allclose(record.spread, alone.spread, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(record.estimates, alone.estimates[0], rtol=1e-12)
    assert (alone.times is not None) == (clock == "async")
    if alone.times is not None:
        np.testing.assert_array_equal(record.time, alone.times[0])
    np.testing.assert_array_equal(record.traffic[:, 0], alone.exchanges)


@pytest.mark.parametrize("step", [None, "paper"])
@pytest.mark.parametrize("clock", ["sync", "async"])
def test_learning_can_be_advanced_in_slices(clock: str, step: str | None) -> None:
    same: dict[str, Any] = {"graph": GRAPH, "clock": clock, "iterations": 3000, "seed": 3}
    same["step"] = step
    request = LearningRequest(data=labeled_rows(30, 2), **same)
    record = run_in_slices(request.setup().start(child(root_seed(3), 0)))
    fit = pg.minimize(labeled_rows(30, 2), **same)
    np.testing.assert_allclose(record.objective, fit.objective, rtol=1e-10)
    np.testing.assert_allclose(record.disagreement, fit.disagreement, rtol=1e-9, atol=1e-12)
    if fit.bias is not None:
        gradient = fit.bias.gradient[0]
        np.testing.assert_allclose(record.gradient_bias, gradient, rtol=1e-8, atol=1e-12)


def test_another_seed_gives_another_run() -> None:
    assert not np.array_equal(run(seed=3).estimates, run(seed=4).estimates)


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """Restore Ctrl-C, since a test run that was started in the background may ignore the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class PressCtrlC:
    """A kernel that interrupts its own process after some calls."""

    def __init__(self, after: int) -> None:
        self.calls_left = after
        self.lock = threading.Lock()

    def __call__(self, first: FloatArray, second: FloatArray) -> FloatArray:
        with self.lock:
            self.calls_left -= 1
            if self.calls_left == 0:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.05)  # let the main thread notice
        return np.abs(first - second)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_the_finished_trials(n_jobs: int) -> None:
    kernel = PressCtrlC(after=2000)
    with pytest.warns(InterruptedRun, match=r"^Interrupted: kept \d+ of 400 trials, up to"):
        kept = run(kernel=kernel, trials=400, n_jobs=n_jobs)
    assert kept.status == "interrupted"
    assert 1 <= kept.trials < 400
    assert kept.iterations[-1] == 3000
    assert np.isfinite(kept.trial_error).all()


def test_ctrl_c_in_the_first_trial_keeps_its_checkpoints() -> None:
    kernel = PressCtrlC(after=60)
    with pytest.warns(InterruptedRun, match=r"kept 1 of 1 trials, up to iteration"):
        kept = run(kernel=kernel, trials=1, iterations=10**9)
    assert kept.status == "interrupted"
    assert 0 < kept.iterations[-1] < 10**9
    assert len(kept.mean) == len(kept.iterations)
    whole = run(kernel="gini", trials=1, iterations=10**9 // 10**6)
    assert kept.mean[0] == pytest.approx(whole.mean[0])


def test_ctrl_c_before_anything_was_computed_is_passed_on() -> None:
    class AtOnce(PressCtrlC):
        pass

    with pytest.raises(KeyboardInterrupt):
        run(kernel=AtOnce(after=2), trials=1)


def test_workers_stop_after_ctrl_c() -> None:
    kernel = PressCtrlC(after=60)
    with pytest.warns(InterruptedRun):
        run(kernel=kernel, trials=4, iterations=10**9, n_jobs=2)
    before, patience = None, 100
    while before != kernel.calls_left and patience:
        before, patience = kernel.calls_left, patience - 1
        time.sleep(0.2)
    assert patience, "a worker is still calling the kernel"


def test_progress_is_reported_in_full() -> None:
    finished = run(trials=3)
    assert finished._setup is not None
    for backend in ("threading", "loky"):
        done: list[int] = []
        with joblib.parallel_config(backend=backend, n_jobs=2):
            run_trials(finished._setup, root_seed(0), range(3), None, done.append)
        assert sum(done) == 3 * 3000
