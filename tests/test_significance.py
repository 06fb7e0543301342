"""Tests on a graph: every node has the statistic, its error and its p, as all rows tell them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import pairgossip as pg
from pairgossip.order_statistics.comparisons import TESTS

RNG = np.random.default_rng(0)
LABELS = (RNG.random(200) < 0.4).astype(float)
NUMBERS = RNG.normal(size=200) + 0.3 * LABELS
COLUMNS = np.column_stack([NUMBERS, 0.4 * NUMBERS + RNG.normal(size=200)])
ON_A_TREE: dict[str, Any] = {"graph": "complete", "schedule": "tree", "checkpoints": 1}


def ask(name: str, shape: Any = np.asarray, **how: Any) -> Any:
    """Make a test by ranks of the same rows, transformed."""
    if name == "spearman":
        return pg.test(shape(COLUMNS), name, **how)
    return pg.test(shape(NUMBERS), name, labels=LABELS, **how)


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("shape", [np.asarray, np.exp], ids=["normal", "lognormal"])
def test_averaged_bins_tell_what_rows_do(name: str, shape: Any) -> None:
    exact, run = ask(name, shape), ask(name, shape, **ON_A_TREE)
    assert run.target == pytest.approx(exact.value, rel=1e-12)
    assert run.p_value.shape == run.estimates.shape == (1, 200)
    assert run.estimates == pytest.approx(exact.value, abs=0.1 * exact.error)
    assert run.sampling_error == pytest.approx(exact.error, rel=0.05)
    near = 0.8 if name == "kolmogorov-smirnov" else 0.2  # within bins no gap is seen
    assert np.log(run.p_value) == pytest.approx(np.log(exact.p), abs=near)


@pytest.mark.parametrize("name", TESTS)
def test_ties_of_few_numbers_lose_nothing(name: str) -> None:
    exact, run = ask(name, np.round), ask(name, np.round, **ON_A_TREE)
    found = (run.estimates[0, 0], run.sampling_error[0, 0], run.p_value[0, 0])
    assert found == pytest.approx((exact.value, exact.error, exact.p), rel=1e-9)


@pytest.mark.parametrize("name", ["mann-whitney", "spearman"])
def test_sites_learn_the_same(name: str) -> None:
    exact = ask(name)
    run = ask(name, graph="cycle", groups=np.arange(200) % 7, schedule="tree")
    assert run.p_value.shape == (1, 7)
    assert run.p_value == pytest.approx(exact.p, rel=0.2)


@pytest.mark.parametrize("name", ["brunner-munzel", "spearman"])
def test_gossip_gets_there_on_any_engine(name: str) -> None:
    how: dict[str, Any] = {"graph": "complete", "iterations": 5000, "seed": 2, "checkpoints": 2}
    fast, plain = ask(name, **how), ask(name, engine="plain", **how)
    assert fast.p_value == pytest.approx(plain.p_value, rel=1e-6)
    assert fast.estimates == pytest.approx(fast.sketch_value, abs=1e-3)


def test_a_test_is_saved_and_has_no_interval(tmp_path: Any) -> None:
    run = ask("mann-whitney", **ON_A_TREE)
    run.save(tmp_path / "run.npz")
    assert pg.load(tmp_path / "run.npz").p_value.tolist() == run.p_value.tolist()
    assert run.answer is None
    with pytest.raises(pg.InputError, match=r"no interval: see run\.p_value"):
        _ = run.interval
    run.plot("estimate")


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_nodes_test_a_kernel_by_their_own_errors(alternative: str) -> None:
    how: dict[str, Any] = {"labels": LABELS, "alternative": alternative}
    exact = pg.test(NUMBERS, "auc", **how)
    run = pg.test(NUMBERS, "auc", graph="complete", schedule="tree", method="sketch", **how)
    assert run.p_value == pytest.approx(exact.p, rel=0.1)
    assert run.interval[0].shape == (1, 200)


def test_p_values_of_different_tests_are_not_joined() -> None:
    def ask_trial(number: int, null: float) -> Any:
        asked: dict[str, Any] = {"labels": LABELS, "null": null, "trials": [number], "seed": 0}
        return pg.test(NUMBERS, "auc", method="sketch", **asked, **ON_A_TREE)

    first = ask_trial(0, 0.5)
    assert pg.join_trials([first, ask_trial(1, 0.5)]).p_value.shape == (2, 200)
    with pytest.raises(pg.InputError, match=r"differ in test \(two-sided, null 0\.5 and .*0\.6\)"):
        pg.join_trials([first, ask_trial(1, 0.6)])


def test_sites_that_send_bins_test_by_rows() -> None:
    few, of = NUMBERS[:40], LABELS[:40]
    asked: dict[str, Any] = {"labels": of, "method": "sketch", "schedule": "tree"}
    run = pg.test(few, "auc", graph="complete", groups=np.arange(40) % 4, interval=None, **asked)
    z = (run.estimates - 0.5) / run.sampling_error
    assert run.p_value == pytest.approx(2 * stats.norm.sf(np.abs(z)), rel=1e-9)


@pytest.mark.parametrize("name", ["mann-whitney", "spearman"])
def test_nodes_that_cannot_test_yet_are_told_of(name: str) -> None:
    with pytest.warns(
        pg.errors.NotEnough, match=r"the sampling error, .* iterations=\d+ or more\.$"
    ):
        ask(name, graph="cycle", iterations=500, seed=0, checkpoints=1)


def test_ties_that_bins_do_not_see_are_told_of() -> None:
    zeros = np.where(COLUMNS < 0.3, 0.0, COLUMNS)
    told = r"tells a sampling error of 0\.045, where all rows tell 0\.072.*: test all rows at once"
    with pytest.warns(pg.CoarseSketch, match=told):
        pg.test(zeros, "spearman", **ON_A_TREE)


def test_bins_see_that_half_of_the_rows_are_tied() -> None:
    random = np.random.default_rng(0)
    labels = (random.random(600) < 0.4).astype(float)
    amounts = np.maximum(random.normal(size=600) + 0.3 * labels, 0.0)
    exact = pg.test(amounts, "mann-whitney", labels=labels)
    run = pg.test(amounts, "mann-whitney", labels=labels, **ON_A_TREE)
    np.testing.assert_allclose(run.sampling_error, exact.error, rtol=0.005)
    np.testing.assert_allclose(run.p_value, exact.p, rtol=0.25)


def test_ties_that_bins_do_not_see_and_that_change_p_are_told_of() -> None:
    random = np.random.default_rng(0)
    labels = (random.random(600) < 0.4).astype(float)
    numbers = random.normal(size=600)
    amounts = np.where(random.random(600) < 0.6, 0.05, numbers)
    with pytest.warns(pg.CoarseSketch, match="many rows in one bin are tied: test all rows"):
        pg.test(amounts, "mann-whitney", labels=labels, **ON_A_TREE)


@pytest.mark.parametrize("name", ["mann-whitney", "auc"])
def test_notices_are_for_the_line_that_asks(name: str) -> None:
    with pytest.warns(pg.errors.NotEnough) as told:
        pg.test(NUMBERS, name, labels=LABELS, graph="cycle", iterations=300, seed=0)
    assert {one.filename for one in told} == {__file__}


def test_all_names_of_tests_are_documented() -> None:
    documented = pg.test.__doc__ or ""
    assert [name for name in TESTS if f'``"{name}"``' not in documented] == []


def test_dropped_rows_are_noted_and_told_the_caller() -> None:
    gaps = NUMBERS.copy()
    gaps[[3, 9]] = np.nan
    for how in ({}, ON_A_TREE):
        with pytest.warns(pg.RowsDropped, match="Left out 2 of 200 rows") as told:
            found = pg.test(gaps, "mann-whitney", labels=LABELS, missing="drop", **how)
        assert told[0].filename == __file__
    assert found.rows_dropped == 2
    assert found.nodes == 198


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"trials": 2}, "Without a graph nothing is gossiped, so trials has no meaning"),
        ({"graph": "cycle", "weights": np.ones(200)}, "leave weights= out"),
        ({"graph": "cycle", "alternative": "less"}, "leave alternative= out"),
        ({"kernel": "mmd", "seed": -1}, "The seed must be a whole number >= 0 or None, not -1"),
        ({"graph": "cycle", "kernel": "auc", "target": "u"}, "is its kind: leave target= out"),
        ({"kind": "u"}, "no average over pairs.*: leave kind= out"),
        ({"graph": "cycle", "kind": "u"}, "no average over pairs.*: leave kind= out"),
        ({"graph": "cycle", "bins": 3}, "'bins' is no argument here"),
        ({"graph": "cycle", "labels": np.ones(200)}, "one class only"),
        ({"graph": "cycle", "kernel": "mmd"}, "permuting .*: leave graph= out"),
        ({"graph": "cycle", "kernel": "gini", "labels": None}, "is not known: say it with null="),
    ],
)
def test_bad_options_are_refused(how: dict[str, Any], sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        pg.test(NUMBERS, **{"kernel": "mann-whitney", "labels": LABELS, **how})
