"""Results of runs with faults: fields, files, tables, figures, command line; and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.results.charts import make_charts
from pairgossip.watch.results import _facts

GRAPH = pg.graphs.cycle(12)
X = np.random.default_rng(1).normal(size=12)


def estimate(faults: Any = "loss=0.2, crashed=[4]", **more: Any) -> pg.Run:
    how = {"clock": "async", "seed": 0, "iterations": 400, "trials": 3, "faults": faults} | more
    return pg.estimate(X, "gini", GRAPH, **how)


def test_results_are_saved_and_loaded(tmp_path: Path) -> None:
    run = estimate()
    run.save(tmp_path / "run.npz")
    again = pg.load(tmp_path / "run.npz")
    assert again.faults == "loss=0.2, crashed=[4]"
    for name in ("honest", "trial_lost", "trial_honest_error", "honest_error", "lost"):
        assert np.array_equal(getattr(again, name), getattr(run, name)), name
    assert again.half_lost is None


def test_a_loaded_run_says_what_theory_knows(tmp_path: Path) -> None:
    estimate("loss=0.2", clock="sync").save(tmp_path / "run.npz")
    with pytest.raises(pg.InputError, match=r"holds no theory curves.* where exchanges are lost"):
        pg.load(tmp_path / "run.npz").theory()


def test_results_without_faults_have_no_entries_for_them(tmp_path: Path) -> None:
    run = estimate(None)
    run.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as stored:
        assert not {"honest", "trial_lost", "trial_half_lost", "trial_honest_error"} & {*stored}
        assert "faults" not in json.loads(stored["header"].tobytes())
    assert "lost" not in run.to_pandas()


def test_trials_join() -> None:
    whole = estimate()
    joined = pg.join_trials([estimate(trials=[2]), estimate(trials=[0, 1])])
    assert np.array_equal(joined.estimates, whole.estimates)
    assert np.array_equal(joined.trial_lost, whole.trial_lost)  # type: ignore[arg-type]
    assert np.array_equal(joined.honest_error, whole.honest_error)  # type: ignore[arg-type]
    with pytest.raises(pg.InputError, match="differ in faults"):
        pg.join_trials([estimate(trials=[0]), estimate("loss=0.2", trials=[1])])


def test_attacks_of_one_name_are_told_apart() -> None:
    def make(size: float) -> Any:
        def shout(z: Any, liar: int, partner: int, clip: Any, network: Any) -> Any:
            return size + 0.0 * z[partner]

        return pg.Faults(liars=[3], attack=shout)

    how: Any = {"engine": "plain", "iterations": 20}
    one, same, other = (
        estimate(make(size), trials=[trial], **how) for trial, size in enumerate((2.0, 2.0, 3.0))
    )
    assert pg.join_trials([one, same]).trials == 2
    with pytest.raises(pg.InputError, match=r"differ in attack .'shout' gives other values"):
        pg.join_trials([one, other])


def test_who_crashes_is_the_same_in_all_trials() -> None:
    one, other = estimate("crashed=2"), estimate("crashed=2", trials=[7])
    assert one.honest is not None and other.honest is not None
    assert one.honest.tolist() == other.honest.tolist()
    different = [estimate("crashed=2", seed=seed).honest.tolist() for seed in range(6)]  # type: ignore[union-attr]
    assert len({tuple(each) for each in different}) > 1


def test_tables_have_columns_of_faults() -> None:
    run = estimate()
    table, dataset = run.to_pandas(), run.to_xarray()
    assert np.array_equal(table["lost"], run.trial_lost.ravel())  # type: ignore[union-attr]
    assert np.array_equal(table["honest_error"], run.trial_honest_error.ravel())  # type: ignore[union-attr]
    assert dataset["honest_error"].dims == ("trial", "iteration")
    assert dataset.attrs["faults"] == run.faults
    assert np.flatnonzero(dataset["is_honest"]).tolist() == run.honest.tolist()  # type: ignore[union-attr]


def test_figures_and_pages_lead_with_honest_nodes() -> None:
    run = estimate()
    labels = [curve.label for curve in make_charts(run)["error"].curves]
    assert labels[:2] == ["error of honest nodes", "error of all nodes"]
    assert run.plot().get_legend_handles_labels()[1]
    assert ("faults", run.faults) in _facts(run)
    assert "error of honest nodes" in repr(run)
    all_honest = estimate("loss=0.2")
    assert [curve.label for curve in make_charts(all_honest)["error"].curves] == ["measured error"]


@pytest.mark.parametrize(
    ("faults", "more", "sentence"),
    [
        ("loss=1", {}, "loss must be a probability >= 0 and < 1"),
        ("crashed=1", {"clock": "sync"}, "all nodes act at every iteration.*clock='async'"),
        ("liars=1", {"clock": "sync"}, "exchanges are whole, and without liars"),
        ("liars=1", {"method": "u1"}, "averages nothing, so liars have nothing to lie about"),
        ("half_loss=0.1", {"method": "u1"}, "leave half_loss out"),
        ("half_loss=0.1", {"method": "collect"}, "no value that half an exchange could spoil"),
        ("liars=1", {"engine": "tokens"}, "Engine 'tokens' carries out whole, honest exchanges"),
        ("loss=0.1", {"method": "sketch", "schedule": "tree"}, "loses a whole branch"),
        (
            "liars=1",
            {"method": "sketch", "schedule": "continuized"},
            "need a method that is written as one exchange.*: leave liars out",
        ),
        ("crashed=1", {"method": "sketch"}, "which crashed nodes never do"),
        ("churn=9/1", {"interval": 0.95}, "cannot know their error"),
        ("crashed=1", {"until": "enough"}, "cannot know their error"),
        ("churn=0.001/10", {}, "no two meet: use iterations="),
        ("liars=12", {}, "Every node lies or crashes"),
        ("crashed=[1, 4]", {}, "not connected"),
        ("liars=[12]", {}, "outside the nodes 0 to 11"),
        (
            "half_loss=0.1",
            {"groups": np.arange(12) // 3, "graph": "cycle"},
            "Rows of one site exchange among themselves",
        ),
    ],
)
def test_refusals(faults: str, more: dict[str, Any], sentence: str) -> None:
    graph = more.pop("graph", GRAPH)
    how: Any = {"clock": "async", "seed": 0, "iterations": 400} | more
    with pytest.raises(pg.InputError, match=sentence):
        pg.estimate(X, "gini", graph, faults=faults, **how)


def test_one_node_has_no_faults() -> None:
    with pytest.raises(pg.InputError, match="One node alone"):
        pg.estimate([1.0], "gini", faults="loss=0.1", seed=0)


def test_order_statistics_have_faults_too() -> None:
    found = pg.quantile(X, 0.5, graph=GRAPH, faults="loss=0.2", seed=0)
    assert found.faults == "loss=0.2"
