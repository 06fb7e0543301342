from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pairgossip as pg

DATA = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 9.0])


def run(**changes: Any) -> pg.Run:
    settings: dict[str, Any] = {
        "graph": "cycle",
        "kernel": "gini",
        "clock": "async",
        "iterations": 50,
        "seed": 3,
    }
    return pg.estimate(DATA, **(settings | changes))


def fit(**changes: Any) -> pg.Fit:
    settings: dict[str, Any] = {
        "graph": "cycle",
        "loss": "auc-logistic",
        "iterations": 50,
        "seed": 3,
    }
    return pg.minimize(DATA[:, None], [0, 0, 1, 0, 1, 1], **(settings | changes))


@pytest.mark.parametrize("make", [run, fit])
def test_trials_run_apart_equal_trials_run_together(
    make: Callable[..., Any], tmp_path: Any
) -> None:
    together = make(trials=5)
    joined = pg.join_trials([make(trials=[4, 1]), make(trials=(0,)), make(trials=range(2, 4))])
    together.save(tmp_path / "together.npz")
    joined.save(tmp_path / "joined.npz")
    assert (tmp_path / "together.npz").read_bytes() == (tmp_path / "joined.npz").read_bytes()
    assert pg.load(tmp_path / "joined.npz").trial_numbers.tolist() == [0, 1, 2, 3, 4]


def test_joined_fits_by_sketches_hold_the_gradient_errors_of_all_trials(tmp_path: Any) -> None:
    how = {"method": "sketch", "iterations": None}
    joined = pg.join_trials([fit(trials=[0], **how), fit(trials=[1], **how)])
    joined.save(tmp_path / "joined.npz")
    back = pg.load(tmp_path / "joined.npz")
    assert back.gradient_error.shape == (2, len(joined.iterations))


def test_a_part_without_bias_or_history_leaves_the_whole_without() -> None:
    assert pg.join_trials([fit(trials=[0]), fit(trials=[1], bias=False)]).bias is None
    assert pg.join_trials([run(trials=[0], record="summary"), run(trials=[1])]).history is None


@pytest.mark.parametrize(
    ("make", "changes", "message"),
    [
        (run, {"seed": 4}, "The results have another seed: join results of the same settings."),
        (run, {"graph": "path"}, "The results have another graph: join results of the same"),
        (run, {"kernel": "variance"}, "The results differ in kernel: join results"),
        (run, {}, "The results have trials in common: join results of different trials."),
        (fit, {}, "A Run and a Fit cannot be joined: give results of one kind."),
    ],
)
def test_what_cannot_be_joined(
    make: Callable[..., Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(pg.InputError, match=re.escape(message)):
        pg.join_trials([run(), make(**changes)])


def test_fits_that_judge_other_nodes_are_not_joined() -> None:
    with pytest.raises(pg.InputError, match="The results differ in judged nodes: join results"):
        pg.join_trials([fit(trials=[0]), fit(trials=[1], judged=2)])
    with pytest.raises(pg.InputError, match="nothing to join"):
        pg.join_trials([])


@pytest.mark.parametrize("trials", [[], [0, 0], [-1], [1.5], [True], ["a"]])
def test_wrong_trial_numbers(trials: Any) -> None:
    with pytest.raises(pg.InputError, match="Trials must be how many to run, or their numbers"):
        run(trials=trials)


def test_runs_that_end_when_nodes_have_enough_are_not_joined_with_others() -> None:
    how: dict[str, Any] = {"iterations": 20_000, "interval": 0.95}
    with pytest.raises(pg.InputError, match="differ in until"):
        pg.join_trials([run(trials=[0], until="enough", **how), run(trials=[1], **how)])
