"""Groups in files, joined runs, tables and pictures, and in predictions of theory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.graphs import GroupedGraph
from pairgossip.kernels import Pairs, WholeSets
from pairgossip.theory import constants
from tests.problems import rows, skewed

mpl.use("agg")

GROUPS = ["b", "a", "c", "b", "b", "c", "d", "a", "b"]
SITES = pg.graphs.watts_strogatz(4, 2, 0.3, seed=0)
CONSTRUCTIONS = ["lexicographic", "blow-up", "whole-sets"]


def run_of(construction: str, **settings: Any) -> Any:
    chosen: Any = {"trials": 2, "iterations": 200, "seed": 3} | settings
    return pg.estimate(rows(9), "gini", SITES, groups=GROUPS, construction=construction, **chosen)


def fit_of(construction: str, **settings: Any) -> Any:
    chosen: Any = {"trials": 2, "iterations": 60, "seed": 3} | settings
    labels = np.arange(9) % 2
    return pg.minimize(
        rows(9, 2), labels, graph=SITES, groups=GROUPS, construction=construction, **chosen
    )


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
@pytest.mark.parametrize("make", [run_of, fit_of])
def test_files_keep_groups_and_counts(make: Any, construction: str, tmp_path: Path) -> None:
    result = make(construction)
    result.save(tmp_path / "result.npz")
    loaded = pg.load(tmp_path / "result.npz")
    assert loaded.graph == result.graph and type(loaded.graph) is type(result.graph)
    assert loaded.sites == SITES and loaded.sites.family == SITES.family
    assert loaded.construction == construction
    np.testing.assert_array_equal(loaded.groups, result.groups)
    for name in ("network_exchanges", "local_exchanges", "trial_bytes", "messages", "bytes"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(result, name))
    assert repr(loaded) == repr(result)


def test_files_with_foreign_groups_are_refused(tmp_path: Path) -> None:
    run_of("whole-sets").save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as stored:
        kept = {name: stored[name] for name in stored.files}
    kept["groups"] = kept["groups"] + 1
    np.savez(tmp_path / "run.npz", **kept)
    with pytest.raises(InputError, match="is damaged"):
        pg.load(tmp_path / "run.npz")


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
@pytest.mark.parametrize("make", [run_of, fit_of])
def test_joined_trials_are_those_of_one_run(make: Any, construction: str) -> None:
    whole = make(construction, trials=4)
    parts = [make(construction, trials=part) for part in ([1, 3], [0, 2])]
    joined = pg.join_trials(parts)
    for name in ("network_exchanges", "local_exchanges", "trial_bytes"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))
    assert joined.construction == construction
    np.testing.assert_array_equal(joined.groups, whole.groups)


def test_trials_of_other_constructions_are_not_joined() -> None:
    with pytest.raises(InputError, match="differ in construction"):
        pg.join_trials([run_of("lexicographic", trials=[0]), run_of("blow-up", trials=[1])])
    other = pg.estimate(
        rows(9), "gini", SITES, groups=GROUPS[::-1], construction="whole-sets", trials=[1],
        iterations=200, seed=3,
    )  # fmt: skip
    with pytest.raises(InputError, match="differ in groups"):
        pg.join_trials([run_of("whole-sets", trials=[0]), other])


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_curves_against_messages_and_bytes(construction: str) -> None:
    run, fit = run_of(construction), fit_of(construction, step="paper", bias=True)
    between = "" if construction == "whole-sets" else " between sites"
    for against, label in {
        "messages": f"messages sent{between}",
        "bytes": f"bytes sent{between} (payload)",
    }.items():
        for axes in (
            run.plot(against=against),
            fit.plot(against=against),
            fit.plot("bias", against=against),
            pg.compare({construction: run}, against=against),
            pg.compare({construction: fit}, against=against),
        ):
            assert axes.get_xlabel() == label
    drawn = pg.compare({"a": run}, against="bytes").lines[0]
    np.testing.assert_array_equal(drawn.get_xdata(), run.bytes)
    drawn = fit.plot(against="bytes").lines[0]
    np.testing.assert_array_equal(drawn.get_xdata(), fit.bytes)
    assert "9 rows at a watts-strogatz of 4 sites" in run.plot().get_title()
    mpl.pyplot.close("all")


def test_a_run_and_a_fit_are_not_compared() -> None:
    with pytest.raises(InputError, match="share no axes"):
        pg.compare([run_of("blow-up"), fit_of("blow-up")])
    with pytest.raises(InputError, match="Fits are compared by 'objective', 'disagreement' or"):
        pg.compare([fit_of("blow-up")], what="error")


def test_axes_with_nothing_sent_yet() -> None:
    run = pg.estimate(rows(9), "gini", groups=[0] * 9, iterations=100, seed=0)
    axes = run.plot(against="messages", theory=False)
    assert axes.get_xscale() == "symlog"
    mpl.pyplot.close("all")


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_the_picture_shows_the_sites(construction: str) -> None:
    run = run_of(construction)
    axes = run.plot_graph(trial=1)
    points = axes.collections[-1]
    assert len(points.get_offsets()) == 4
    np.testing.assert_allclose(points.get_array(), run.site_estimates[1])
    mpl.pyplot.close("all")


def test_tables_count_network_and_local_exchanges() -> None:
    run = run_of("lexicographic")
    table = run.to_pandas()
    assert (table["network_exchanges"] + table["local_exchanges"] == table["exchanges"]).all()
    assert (table["messages"] == 2 * table["network_exchanges"]).all()
    assert (table["bytes"] == 16 * table["messages"]).all()
    dataset = run.to_xarray()
    np.testing.assert_array_equal(dataset["site"], run.groups)
    np.testing.assert_array_equal(dataset["local_exchanges"], run.local_exchanges)
    assert dataset.attrs["construction"] == "lexicographic"


@pytest.mark.pairs
@pytest.mark.parametrize("law", ["uniform-edges", "node-clocks"])
@pytest.mark.parametrize("construction", ["lexicographic", "blow-up"])
@pytest.mark.parametrize("method", ["gosta", "u1", "u2", "averaging"])
def test_theory_is_that_of_the_materialized_graph(method: str, construction: str, law: str) -> None:
    kernel: Any = None if method == "averaging" else skewed
    settings: Any = {"method": method, "law": law, "iterations": 40, "seed": 0}
    run = pg.estimate(rows(9), kernel, SITES, groups=GROUPS, construction=construction, **settings)
    assert isinstance(run.graph, GroupedGraph)
    plain = pg.estimate(rows(9), kernel, run.graph.materialized(), **settings)
    for mine, theirs in zip(run.theory(), plain.theory(), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10)


def test_bounds_hold_for_whole_sets() -> None:
    run = run_of("whole-sets", trials=200)
    theory = run.theory()
    assert (theory.expected_error <= theory.expectation_bound).all()
    assert (run.error <= theory.deviation_bound).all()
    assert run.groups is not None
    H = WholeSets(Pairs(rows(9), "gini"), run.groups).matrix()
    assert constants(H, SITES).n == 4
