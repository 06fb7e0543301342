"""Tests on a graph: every node gets the statistic, its error and its p, as from all rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
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
    """Make a rank test of the same rows, transformed."""
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
    near = 0.8 if name == "kolmogorov-smirnov" else 0.2  # gaps within bins are invisible
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


def test_a_test_by_ranks_has_no_interval() -> None:
    run = ask("mann-whitney", **ON_A_TREE)
    assert run.answer is None
    with pytest.raises(pg.InputError, match=r"no interval: see run\.p_value"):
        _ = run.interval


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
    of_before = replace(ask_trial(1, 0.5), p_law=None)  # like files of 0.2
    for halves in ([first, of_before], [of_before, first]):
        with pytest.raises(pg.InputError, match=r"Only some of the results have p_law"):
            pg.join_trials(halves)
    by_two_laws = replace(first, p_law="exact or null variance, ties counted")
    joined = pg.join_trials([by_two_laws, replace(of_before, p_law="exact")])
    assert joined.p_law == by_two_laws.p_law


def test_sites_that_send_bins_test_by_rows() -> None:
    few, of = NUMBERS[:40], LABELS[:40]
    asked: dict[str, Any] = {"labels": of, "method": "sketch", "schedule": "tree"}
    run = pg.test(few, "auc", graph="complete", groups=np.arange(40) % 4, interval=None, **asked)
    away = np.abs(run.estimates - 0.5) - 0.5 / ((of == 1).sum() * (of == 0).sum())
    assert run.p_value == pytest.approx(2 * stats.norm.sf(away / run.null_error), rel=1e-9)
    assert run.p_value == pytest.approx(pg.test(few, "auc", labels=of).p, rel=0.1)


def draw(name: str, n: int, levels: float | None) -> dict[str, Any]:
    """Return the arguments of a test of weakly correlated rows, with or without ties."""
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    rows = np.column_stack([x, 0.3 * x + rng.normal(size=n)])
    rows = rows if levels is None else np.round(levels * rows)
    if name != "auc":
        return {"data": rows, "kernel": name}
    return {"data": rows[:, 1], "kernel": name, "labels": x > 0.2}


OF_ORDER = ("auc", "kendall", "kendall-b", "somers-d", "goodman-kruskal-gamma")


@pytest.mark.pairs
@pytest.mark.parametrize("levels", [None, 1.0], ids=["", "tied"])
@pytest.mark.parametrize("name", OF_ORDER)
@pytest.mark.parametrize("schedule", ["tree", "random"])
def test_nodes_whose_cells_hold_one_value_count_few_rows(
    name: str, levels: float | None, schedule: str
) -> None:
    asked = draw(name, 10, levels)
    exact = pg.test(**asked)
    run = pg.test(**asked, graph="complete", method="sketch", schedule=schedule)
    assert exact.law == run.p_law == "exact"
    assert run.p_value == pytest.approx(exact.p, rel=1e-9)
    assert run.null_error == pytest.approx(exact.null_error, rel=1e-6)
    assert "p: exact, interval: sampling error" in repr(run)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("name", OF_ORDER)
def test_nodes_count_the_ties_of_cells_that_hold_one_value(name: str, alternative: str) -> None:
    asked = {**draw(name, 150, 1.0), "alternative": alternative}
    exact, run = pg.test(**asked), pg.test(**asked, method="sketch", **ON_A_TREE)
    assert exact.law == run.p_law == "null variance, ties counted"
    assert run.p_value == pytest.approx(exact.p, rel=1e-6)
    by_all = pg.test(**asked, graph="complete", method="collect", checkpoints=1)
    assert by_all.p_value == pytest.approx(exact.p) and by_all.p_law == exact.law


@pytest.mark.parametrize("name", OF_ORDER)
def test_bins_tell_the_null_error_of_numbers(name: str) -> None:
    asked = draw(name, 150, None)
    exact, run = pg.test(**asked), pg.test(**asked, method="sketch", **ON_A_TREE)
    assert run.p_law == "null variance, ties by cells"
    assert run.null_error == pytest.approx(exact.null_error, rel=0.01)


@pytest.mark.parametrize("kind", ["v", "u"])
@pytest.mark.parametrize("name", OF_ORDER)
def test_nodes_that_swap_rows_know_the_null_error_without_ties(name: str, kind: str) -> None:
    asked: dict[str, Any] = {**draw(name, 40, None), "kind": kind}
    on_graph: dict[str, Any] = {"graph": "complete", "method": "tracking", "checkpoints": 2}
    run = pg.test(**asked, **on_graph)
    assert run.null_error == pytest.approx(pg.test(**asked).null_error, rel=0.05)
    assert run.p_law == "null variance, ties not counted"
    z = np.abs(run.estimates - (0.5 if name == "auc" else 0.0)) / run.null_error
    at_least = 2 * stats.norm.sf(z)  # for the AUC corrected for continuity
    assert (run.p_value > at_least - 1e-9).all() and (run.p_value < 1.2 * at_least).all()
    weighed = pg.test(**asked, **on_graph, weights=1 + np.arange(40) % 2, seed=1)
    known = pg.test(**asked, weights=1 + np.arange(40) % 2)
    assert weighed.null_error == pytest.approx(known.null_error, rel=0.05)


@pytest.mark.parametrize("name", OF_ORDER)
def test_ties_that_nodes_do_not_see_make_p_larger_and_are_told_of(name: str) -> None:
    asked = draw(name, 60, 0.7)
    with pytest.warns(pg.CoarseSketch, match="do not see which rows are tied: test all rows"):
        run = pg.test(**asked, graph="complete", method="tracking", checkpoints=1)
    assert (run.null_error > pg.test(**asked).null_error).all()
    with warnings.catch_warnings():  # nodes that have not met yet are tested elsewhere
        warnings.simplefilter("error", pg.CoarseSketch)
        warnings.simplefilter("ignore", pg.errors.NotEnough)
        how: dict[str, Any] = {"graph": "cycle", "method": "tracking", "iterations": 60}
        pg.test(**draw(name, 60, None), **how, checkpoints=1)


@pytest.mark.parametrize("method", ["sketch", "collect"])
@pytest.mark.parametrize("name", ["auc", "kendall-b"])
def test_nodes_count_a_perfect_order(name: str, method: str, tmp_path: Any) -> None:
    rows: dict[str, Any] = {"data": np.tile(np.arange(10.0), (2, 1)).T}
    if name == "auc":
        rows = {"data": np.arange(10.0), "labels": np.arange(10) > 5}
    run = pg.test(kernel=name, graph="complete", method=method, **rows)
    assert run.p_value == pytest.approx(pg.test(kernel=name, **rows).p) and run.p_law == "exact"
    assert run.answer is None and "p: exact, no interval" in repr(run)
    run.save(tmp_path / "run.npz")
    loaded = pg.load(tmp_path / "run.npz")
    assert (loaded.p_law, loaded.null_error.tolist()) == ("exact", run.null_error.tolist())


@pytest.mark.parametrize("name", ["auc", "kendall-b"])
def test_nodes_that_hardly_began_count_nothing(name: str) -> None:
    asked, laws = draw(name, 10, None), set()
    for iterations in (30, 40, 50, 60, 2000):  # some end when only a few nodes have met
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            how: dict[str, Any] = {"graph": "complete", "method": "sketch", "checkpoints": 1}
            run = pg.test(**asked, **how, iterations=iterations)
        laws.add(run.p_law)
        assert run.p_law != "exact" or not np.isnan(run.p_value).any()
    assert "exact" in laws


def test_sites_that_swap_sets_and_other_nulls_test_by_the_sampling_error() -> None:
    asked, sites = draw("auc", 40, None), np.arange(40) // 4
    how: dict[str, Any] = {"graph": "complete", "method": "tracking", "checkpoints": 1}
    by_site = pg.test(**asked, **how, groups=sites, construction="whole-sets")
    other = pg.test(**asked, **how, null=0.6)
    for run, null in ((by_site, 0.5), (other, 0.6)):
        assert run.p_law == "sampling error" and run.null_error is None
        low, high = run.interval
        assert ((run.p_value < 0.05) == ((null < low) | (null > high))).all()


@pytest.mark.parametrize("name", ["mann-whitney", "spearman"])
def test_nodes_that_cannot_test_yet_are_told_of(name: str) -> None:
    with pytest.warns(
        pg.errors.NotEnough, match=r"the sampling error, .* iterations=\d+ or more\.$"
    ):
        ask(name, graph="cycle", iterations=500, seed=0, checkpoints=1)


def test_ties_that_bins_do_not_see_are_told_of() -> None:
    zeros = np.where(COLUMNS < 0.3, 0.0, COLUMNS)
    told = r"gives a sampling error of 0\.045, but all rows give 0\.072.*: test all rows at once"
    with pytest.warns(pg.CoarseSketch, match=told):
        pg.test(zeros, "spearman", **ON_A_TREE)


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
        ({"kind": "u"}, "not an average over pairs.*: leave kind= out"),
        ({"graph": "cycle", "kind": "u"}, "not an average over pairs.*: leave kind= out"),
        ({"graph": "cycle", "bins": 3, "range": (0, 1)}, "'bins' is not an argument here"),
        ({"graph": "cycle", "interval": 5}, "The level of an interval must be .*, not 5"),
        ({"graph": "cycle", "labels": np.ones(200)}, "one class only"),
        ({"graph": "cycle", "kernel": "mmd"}, "permuting .*: leave graph= out"),
        ({"graph": "cycle", "kernel": "gini", "labels": None}, "is not known: give it with null="),
    ],
)
def test_bad_options_are_refused(how: dict[str, Any], sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        pg.test(NUMBERS, **{"kernel": "mann-whitney", "labels": LABELS, **how})


def test_noise_of_private_reports_counts_in_p() -> None:
    mechanism = pg.privacy.RandomizedResponse(3.0, 3, (-4, 4), classes=(0, 1))
    run = pg.test(
        np.clip(NUMBERS, -4, 4),
        "auc",
        labels=LABELS,
        privacy=mechanism,
        **{**ON_A_TREE, "schedule": "random"},
    )
    low, high = run.interval
    assert run.p_law == "sampling error"
    assert ((run.p_value < 0.05) == ((low > 0.5) | (high < 0.5))).all()
    assert run.privacy_error.standard_error > run.sampling_error.max()
