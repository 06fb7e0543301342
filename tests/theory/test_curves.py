"""Predictions of theory for runs that do more than average: on the measured curves, or refused."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.kernels import Pairs
from pairgossip.results.curves import wall
from pairgossip.theory.curves import sampling_error
from tests.problems import rows

mpl.use("Agg")
TORUS = pg.graphs.torus(6, 8)
GROUPED = np.repeat(np.arange(12), [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 6])


@pytest.mark.parametrize(
    ("schedule", "law"),
    [("random", "uniform-edges"), ("random", "node-clocks"), ("ordered", "uniform-edges")],
)
@pytest.mark.parametrize("method", ["averaging", "sketch"])
def test_the_error_of_averaging_is_the_measured_one(schedule: str, law: str, method: str) -> None:
    graph: Graph = pg.graphs.watts_strogatz(48, 4, 0.3, seed=1) if law == "node-clocks" else TORUS
    settings: dict[str, Any] = {"kernel": "variance"} if method == "sketch" else {}
    run = pg.estimate(
        rows(48), graph=graph, method=method, law=law, schedule=schedule, iterations=600,
        checkpoints=[350, 450, 600], trials=300 if schedule == "random" else 40, seed=0, **settings,
    )  # fmt: skip
    # A sketch is read to first order; the remainder vanishes with the error.
    np.testing.assert_allclose(run.theory().error, run.error, rtol=0.12)
    if method == "averaging":
        np.testing.assert_allclose(run.theory().error, run.error, rtol=0.06)


@pytest.mark.parametrize("case", ["sites", "relaxed"])
def test_the_error_of_averaging_sites_of_any_size_and_past_the_mean(case: str) -> None:
    how: dict[str, Any] = {"graph": TORUS, "method": "averaging", "relaxation": 0.8}
    if case == "sites":
        how = {"kernel": "variance", "graph": "cycle", "groups": GROUPED, "method": "sketch"}
    at = [100, 200, 400] if case == "relaxed" else [300, 600, 900]
    run = pg.estimate(rows(48), iterations=900, checkpoints=at, trials=300, seed=0, **how)
    theory = run.theory()
    np.testing.assert_allclose(theory.error, run.error, rtol=0.06 if case == "relaxed" else 0.15)
    assert np.isnan(theory.deviation_bound).all()  # those of the paper are for means


def test_the_noise_of_private_reports_is_not_known() -> None:
    reports = pg.privacy.RandomizedResponse(1.0, bins=4, range=(-9, 9))
    settings: dict[str, Any] = {"graph": TORUS, "privacy": reports, "iterations": 500, "seed": 0}
    for method, kernel in (("averaging", None), ("gosta", "gini")):
        theory = pg.estimate(rows(48), kernel, method=method, **settings).theory()
        assert np.isfinite(theory.expected_mean).all()
        assert np.isnan([theory.error, theory.sampling]).all()


def test_a_tree_ends_with_the_error_of_the_sketch() -> None:
    sketch = pg.sketches.Bins(4, range=(-9, 9))
    run = pg.estimate(
        rows(48), "gini", TORUS, method="sketch", sketch=sketch, schedule="tree", seed=0
    )
    error = run.theory().error
    assert np.isnan(error[:-1]).all()
    assert error[-1] == pytest.approx(run.error[-1]) == pytest.approx(run.sketch_error)


def test_what_theory_does_not_know_is_refused() -> None:
    runs: dict[str, dict[str, Any]] = {
        "when all nodes know": {"method": "sketch"},
        "'continuized' is not known": {"method": "averaging", "schedule": "continuized"},
        "ordered exchanges of pairs": {"method": "gosta", "schedule": "ordered"},
        "private reports": {
            "method": "sketch",
            "privacy": pg.privacy.RandomizedResponse(1.0, bins=4, range=(-9, 9)),
        },
    }
    for sentence, settings in runs.items():
        kernel = None if settings["method"] == "averaging" else "gini"
        run = pg.estimate(rows(48), kernel, TORUS, iterations=40, seed=0, **settings)
        with pytest.raises(InputError, match=sentence):
            run.theory()


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({}, r"before run\.save\(\)\.$"),
        ({"method": "sketch"}, "if no range is flooded and no row is private"),
        ({"method": "sketch", "schedule": "continuized"}, "'continuized' is not known"),
        ({"method": "tracking"}, "is known for method 'tracking'"),
        ({"schedule": "ordered"}, "ordered exchanges of pairs"),
        ({"clock": "async"}, "asynchronous clock"),
    ],
    ids=str,
)
def test_a_file_without_theory_says_where_to_get_it(
    tmp_path: Path, settings: dict[str, Any], remedy: str
) -> None:
    pg.estimate(rows(48), "variance", TORUS, iterations=40, seed=0, **settings).save(
        tmp_path / "run.npz"
    )
    with pytest.raises(InputError, match=remedy):
        pg.load(tmp_path / "run.npz").theory()


def test_the_error_of_sampled_pairs_is_that_of_all_samples() -> None:
    values = Pairs([1.0, 2.0, 4.0], "gini").matrix()
    for count in range(1, 10):
        means = [np.mean(sample) for sample in itertools.combinations(values.ravel(), count)]
        expected = pytest.approx(float(np.std(means)), rel=1e-12, abs=1e-12)
        assert sampling_error(values, np.array([count]))[0] == expected


def test_as_many_pairs_are_sampled_as_nodes_meet() -> None:
    values = Pairs(rows(48), "gini").matrix()
    for method, per_iteration in (("gosta", 2), ("u2", 4)):
        run = pg.estimate(rows(48), "gini", TORUS, method=method, iterations=400, seed=0)
        expected = sampling_error(values, per_iteration * run.iterations)
        np.testing.assert_array_equal(run.theory().sampling, expected)


def test_nobody_passes_the_wall() -> None:
    """A plot against messages or bytes marks the fewest that any method needs."""
    run = pg.estimate(rows(48), "gini", TORUS, method="collect", seed=0)
    assert wall(run, "exchanges") is None
    for against, least in (("messages", 94), ("bytes", 752)):
        found = wall(run, against)
        assert found is not None and found[0] == least
        (line,) = [
            line for line in run.plot(against=against).lines if "fewest" in str(line.get_label())
        ]
        np.testing.assert_array_equal(line.get_xdata(), [least, least])
        exact = run.axis(against)[run.error < 1e-9 * run.error[0]]
        assert exact.min() > least


def test_the_part_before_the_wall_is_gray_to_the_edge_and_nothing_else() -> None:
    run = pg.estimate(rows(48), "gini", TORUS, iterations=2000, seed=0)
    ax = run.plot(against="messages", theory=False)
    (gray,) = ax.patches
    left, right = gray.get_extents().transformed(ax.transData.inverted()).intervalx
    assert left == pytest.approx(ax.get_xlim()[0]) and right == pytest.approx(94)
    late = pg.estimate(rows(48), "gini", TORUS, iterations=2000, checkpoints=[1000], seed=0)
    assert wall(late, "messages") is None
    assert not late.plot(against="messages", theory=False).patches
