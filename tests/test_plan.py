"""Plans: predictions against runs, what is refused, and how a plan is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot

import pairgossip as pg
from pairgossip import InputError, Plan
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.planning import PlannedMethod
from pairgossip.planning.predictions import list_ways
from pairgossip.theory.averaging import averaging_error
from tests.problems import rows

ROWS = rows(64, seed=3)
TORUS = pg.graphs.torus(8, 8)


@pytest.fixture(scope="module")
def gini() -> Plan:
    return pg.plan(ROWS, "gini", TORUS, error=0.02)


@pytest.fixture(scope="module")
def sharp() -> Plan:
    """Make a plan for an error that pilots do not reach."""
    return pg.plan(rows(16), "gini", "torus", error=0.002)


@pytest.fixture(scope="module")
def custom() -> Plan:
    """Make a plan for a kernel that has no sketch."""
    return pg.plan(ROWS, ratio_of_sizes, TORUS, error=0.02)


def ratio_of_sizes(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.minimum(first, second) / np.maximum(first, second)


def find(plan: Plan, name: str) -> PlannedMethod:
    return next(row for row in plan.rows if row.name == name)


@contextmanager
def planning_only(*names: str) -> Iterator[None]:
    """Plan only these methods; each is planned as among all, with its own random numbers."""
    ways = [way for way in list_ways() if PlannedMethod(*way).name in names]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pairgossip.planning.list_ways", lambda: ways)
        yield


def plan_one(name: str, *arguments: Any, **options: Any) -> PlannedMethod:
    with planning_only(name):
        (row,) = pg.plan(*arguments, **options).rows
    return row


def run_as_planned(row: PlannedMethod, factor: float, trials: int, **changes: Any) -> pg.Run:
    """Run a method for a multiple of its planned length, with other random numbers."""
    assert row.exchanges is not None
    arguments: dict[str, Any] = {"data": ROWS, "kernel": "gini", "graph": TORUS} | changes
    return pg.estimate(
        **arguments,
        method=row.method,
        clock=row.clock,
        schedule=row.schedule,
        iterations=int(factor * row.exchanges),
        trials=trials,
        checkpoints=1,
        record="summary",
        seed=1,
    )


def relative_error(row: PlannedMethod, factor: float, trials: int = 40, **changes: Any) -> float:
    run = run_as_planned(row, factor, trials, **changes)
    return float(run.error[-1] / abs(run.target))


@pytest.mark.parametrize("name", ["sketch (ordered)", "sketch (random)", "sketch (continuized)"])
def test_averaging_takes_as_long_as_planned(gini: Plan, name: str) -> None:
    row = find(gini, name)
    assert row.basis == "simulated"  # when all nodes know the range of the rows
    assert relative_error(row, 1.1) < gini.error < relative_error(row, 0.9)


def test_where_the_range_is_declared_theory_knows_all_but_continuized_averaging() -> None:
    declared = pg.sketches.Bins(16, range=(0.0, 20.0))
    names = [f"sketch ({name})" for name in ("tree", "ordered", "random", "continuized")]
    with planning_only(*names):
        made = pg.plan(ROWS, "gini", TORUS, error=0.02, sketch=declared)
    found = [find(made, name).basis for name in names]
    assert found == ["counted", "exact", "exact", "simulated"]


def test_errors_that_are_known_for_a_while_only_are_simulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments: dict[str, Any] = {"data": ROWS, "kernel": "variance", "graph": TORUS, "error": 0.05}
    exact = plan_one("sketch (random)", **arguments)

    def known_for_a_while(
        values: FloatArray, graph: pg.Graph, exchanges: IntArray, law: str
    ) -> FloatArray:
        return np.where(exchanges < 100, averaging_error(values, graph, exchanges, law), np.nan)

    monkeypatch.setattr("pairgossip.planning.predictions.averaging_error", known_for_a_while)
    row = plan_one("sketch (random)", **arguments)
    assert (exact.basis, row.basis) == ("exact", "simulated")
    assert row.exchanges == pytest.approx(exact.exchanges, rel=0.15)


@pytest.mark.parametrize("name", ["sketch (ordered)", "sketch (random)"])
def test_where_slopes_are_flat_the_sketch_itself_is_tried_out(name: str) -> None:
    # The variance of as many zeros as ones is the largest possible.
    halves: dict[str, Any] = {"data": np.arange(64) // 32, "kernel": "variance"}
    row = plan_one(name, **halves, graph=TORUS, error=0.02)
    assert row.basis == "simulated"
    assert relative_error(row, 1.2, **halves) < 0.02 < relative_error(row, 0.8, **halves)


def test_an_error_is_reached_when_every_node_has_an_estimate() -> None:
    # If the classes do not overlap, every estimate of the AUC is exact from the start.
    labels = np.arange(64) % 2
    apart: dict[str, Any] = {"data": np.arange(64) + 100.0 * labels, "labels": labels}
    for name in ("sketch (random)", "gosta (async)", "tracking (random)"):
        row = plan_one(name, **apart, kernel="auc", graph=TORUS, error=0.01)
        run = run_as_planned(row, 1.5, 10, kernel="auc", **apart)
        assert not np.isnan(run.estimates).any()


@pytest.mark.parametrize("scale", [2.0**-600, 2.0**600])
def test_tiny_and_huge_rows_take_as_long_as_others(gini: Plan, scale: float) -> None:
    for name in ("sketch (ordered)", "sketch (random)", "gosta (async)"):
        row = plan_one(name, scale * ROWS, "gini", TORUS, error=0.02)
        assert row.messages == find(gini, name).messages


def test_along_a_tree_messages_are_counted(gini: Plan) -> None:
    row = find(gini, "sketch (tree)")
    run = run_as_planned(row, 1, trials=1)
    assert (row.messages, row.bytes) == (run.messages[-1], run.bytes[-1])
    assert row.remaining_error == pytest.approx(run.error[-1] / run.target, rel=1e-6)
    assert run.sketch_error is not None
    assert row.remaining_error == pytest.approx(run.sketch_error / run.target)
    # Nodes first learn the range of the rows, which takes as many messages again.
    bins = pg.sketches.Bins(16, range=(0.0, 20.0))
    declared = plan_one(row.name, ROWS, "gini", TORUS, error=0.02, sketch=bins)
    assert row.messages == 2 * gini.bounds.messages
    assert declared.messages == gini.bounds.messages == 126


@pytest.mark.parametrize("name", ["collect (random)", "collect (ordered)"])
def test_collecting_takes_as_long_as_planned(gini: Plan, name: str) -> None:
    row = find(gini, name)
    assert row.messages is not None and row.bytes is not None and row.remaining_error == 0
    run = run_as_planned(row, 3, trials=20)
    assert row.messages == pytest.approx(run.messages[-1], rel=0.1)
    assert row.bytes == pytest.approx(run.bytes[-1], rel=0.03)
    assert relative_error(row, 3, trials=2) < 1e-12


@pytest.mark.parametrize("name", ["sketch (ordered)", "sketch (random)", "gosta (sync)"])
def test_bytes_are_those_of_a_run(gini: Plan, name: str) -> None:
    row = find(gini, name)
    assert row.messages is not None and row.bytes is not None
    run = run_as_planned(row, 1, trials=20)
    assert row.messages == run.messages[-1]
    assert row.bytes == pytest.approx(run.bytes[-1], rel=0.03)


@pytest.mark.parametrize("name", ["gosta (sync)", "gosta (async)", "tracking (random)"])
def test_tokens_take_as_long_as_planned_within_a_factor_of_two(gini: Plan, name: str) -> None:
    row = find(gini, name)
    assert row.basis == "simulated"
    assert relative_error(row, 2) < gini.error < relative_error(row, 0.5)


@pytest.mark.parametrize("name", ["gosta (async)", "tracking (ordered)"])
def test_what_is_fitted_holds_within_a_factor_of_two(sharp: Plan, name: str) -> None:
    row = find(sharp, name)
    assert row.basis == "fitted"
    other: dict[str, Any] = {"data": rows(16), "graph": "torus"}
    assert relative_error(row, 2, **other) < sharp.error < relative_error(row, 0.5, **other)


def test_rows_are_sorted_and_the_best_needs_the_fewest_messages(gini: Plan) -> None:
    counts = [row.messages for row in gini.rows]
    assert len(counts) == 10 and counts == sorted(counts, key=lambda count: count or 0)
    assert gini.best == gini.rows[0] == find(gini, "sketch (tree)")
    assert gini.target == pg.exact(ROWS, "gini")
    assert gini.bounds.calls == 124 and 1_000 < (gini.bounds.pairs or 0) < 64**2


def test_where_there_is_no_sketch_the_plan_says_so_and_goes_on(custom: Plan) -> None:
    row = find(custom, "sketch (random)")
    assert (row.exchanges, row.messages, row.bytes, row.basis) == (None,) * 4
    assert row.why_not is not None and row.why_not.startswith("Kernel 'ratio_of_sizes' has no")
    assert custom.best.name == "collect (ordered)" and custom.best.why_not is None
    assert str(custom).count("has no sketch") == 1  # once for all schedules
    assert "tracking and gosta: shows rows to strangers" in str(custom)


def test_sweeps_on_a_star_and_on_a_dense_graph_are_not_planned() -> None:
    for graph, n in (("star", 12), ("complete", 200)):
        methods = ("sketch", "collect", "tracking")
        with planning_only(
            *(f"{method} (ordered)" for method in methods),
            *("sketch (random)", "tracking (random)"),
        ):
            made = pg.plan(rows(n), "variance", graph, error=0.1)
        for method in methods:
            why = find(made, f"{method} (ordered)").why_not
            assert why is not None and why.startswith("Ordered exchanges would be slower")
        assert {row.name for row in made.reaching} == {"sketch (random)", "tracking (random)"}


def test_sweeps_over_too_many_edges_are_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairgossip.graphs.orders._LARGEST_SWEEP", 100)
    row = plan_one("collect (ordered)", ROWS, "variance", TORUS, error=0.1)
    assert row.why_not is not None and row.why_not.startswith("A sweep over all 128 edges is")


def test_sweeps_are_looked_at_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairgossip.planning.predictions._MOST_SWEPT", 1)
    row = plan_one("sketch (ordered)", ROWS, "variance", "cycle", error=1e-3)
    assert row.messages is None and row.why_not is not None
    assert row.why_not.startswith("A pilot of 512 exchanges is too short for a prediction")


def test_flooding_is_tried_out_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairgossip.planning.predictions._MOST_UNITED", 3 * 8192)
    for name in ("sketch (random)", "collect (random)"):
        small, large = (plan_one(name, rows(n), "gini", "cycle", error=0.1) for n in (64, 600))
        assert small.messages is not None  # from fewer trials
        assert (large.why_not or "").startswith("A pilot of 24,576 exchanges is too")


def test_two_nodes_take_one_exchange() -> None:
    with planning_only("sketch (tree)"):
        summary = pg.plan([1.0, 2.0], "gini", error=0.5).summary
    assert summary.startswith("It takes at least 2 messages, or 1 exchange, until")


def test_a_sketch_that_stays_off_does_not_reach_the_error() -> None:
    coarse = pg.sketches.Bins(1)
    row = plan_one("sketch (tree)", ROWS, "gini", TORUS, error=0.02, sketch=coarse)
    assert row.messages is None and (row.remaining_error or 0) > 0.02
    assert row.why_not is not None and "make it finer with sketch=" in row.why_not


def test_a_network_that_mixes_too_slowly_is_not_extrapolated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pairgossip.planning.predictions._SLOW_PILOT", 2_000)
    for name in ("gosta (sync)", "gosta (async)", "tracking (random)"):
        row = plan_one(name, ROWS, ratio_of_sizes, "cycle", error=0.001)
        assert "A pilot of 2,000 exchanges is too short" in (row.why_not or "")


def test_ratios_and_labels_are_planned() -> None:
    labels = np.arange(64) % 2
    made = pg.plan(ROWS + labels, "auc", TORUS, labels=labels, error=0.05)
    assert all(row.messages is not None for row in made.rows)
    assert made.bounds.pairs is not None and made.bounds.pairs < 64**2


def test_pairs_of_a_function_of_averages_are_counted_to_first_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pairgossip.planning.list_ways", list)  # no pilots
    data = rows(12)

    def fewest(kernel: Any, error: float) -> int | None:
        return pg.plan(data, kernel, "cycle", error=error).bounds.pairs

    deviation = pg.Combination(("variance",), lambda averages: np.sqrt(averages[..., 0]))
    assert fewest(deviation, 0.1) == fewest("variance", 0.2)
    difference = pg.Combination(("gini", "variance"), lambda of: 3 * of[..., 0] - of[..., 1])
    both = fewest(lambda x, y: 3 * np.abs(x - y) - (x - y) ** 2 / 2, 0.2)
    assert fewest(difference, 0.2) == both is not None


def test_node_clocks_are_planned_where_chance_decides() -> None:
    graph = pg.graphs.barabasi_albert(40, 2, seed=1)
    law = "node-clocks"
    with planning_only("sketch (random)", "sketch (tree)"):
        made = pg.plan(rows(40), "variance", graph, error=0.05, law=law)
    row = find(made, "sketch (random)")
    changes: dict[str, Any] = {
        "data": rows(40),
        "kernel": "variance",
        "graph": graph,
        "law": "node-clocks",
    }
    assert relative_error(row, 1.25, **changes) < 0.05 < relative_error(row, 0.8, **changes)
    assert find(made, "sketch (tree)").messages == 78


def test_the_same_seed_gives_the_same_plan() -> None:
    plans = [pg.plan(rows(10), "gini", "cycle", error=0.2, seed=seed) for seed in (4, 4, 5)]
    assert plans[0] == plans[1] != plans[2]


def test_progress_is_reported_method_by_method() -> None:
    steps: list[int] = []
    with planning_only("sketch (tree)", "sketch (random)", "collect (random)"):
        pg.plan(rows(8), "variance", error=0.2, progress=steps.append)
    assert steps == [1] * 3


def test_a_table_and_a_figure(gini: Plan, sharp: Plan, custom: Plan) -> None:
    frame = custom.to_pandas()
    assert frame["messages"].isna().sum() == 4 == frame["why_not"].notna().sum()
    assert frame["messages"].dropna().tolist() == [row.messages for row in custom.reaching]
    for made in (gini, sharp, custom):
        axes = made.plot()
        names = [label.get_text() for label in axes.get_yticklabels()]
        assert names == [row.name for row in made.rows]
        texts = [text.get_text() for text in axes.texts]
        wall = made.bounds.messages
        assert f"below {wall:,} some answers lack rows" in texts
        assert f"{made.best.messages:,}" in texts
        assert texts.count("left out") == len(made.rows) - len(made.reaching)
        assert sum("fitted" in text for text in texts) == (4 if made is sharp else 0)
        axes.figure.canvas.draw()
    pyplot.close("all")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"error": 0}, "between 0 and 1, not 0: give error=0.01 for 1 %"),
        ({"error": "small"}, "between 0 and 1, not 'small'"),
        ({"data": np.ones(5)}, "The exact value of 'gini' is 0 on these rows"),
        ({"data": [1.0]}, "A network of one node sends no messages"),
        ({"groups": np.zeros(64)}, "A network of one node sends no messages"),
        ({"data": np.arange(30_000.0)}, "up to 20,000 nodes, .* not for 30,000"),
        ({"graph": pg.graphs.cycle(7)}, "7"),
        (
            {"graph": pg.graphs.grouped(pg.graphs.cycle(4), np.arange(64) % 4)},
            "made for the graph of the sites: give this graph, and groups=",
        ),
        ({"kernel": None}, "needs a kernel"),
    ],
)
def test_wrong_input_is_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"data": ROWS, "kernel": "gini"} | arguments
    with pytest.raises(InputError, match=sentence):
        pg.plan(**given)


def test_a_plan_for_sites_is_what_their_runs_need() -> None:
    sites = np.arange(64) % 6
    made = pg.plan(ROWS, "gini", "cycle", groups=sites, error=0.05)
    assert made.title == "gini to 5 % RMS error over nodes, cycle of 6 sites, 64 rows"
    assert made.target == pg.exact(ROWS, "gini")
    tree = find(made, "sketch (tree)")
    assert "a site's summed features" in find(made, "sketch (random)").shows
    run = run_as_planned(tree, 1, 1, graph="cycle", groups=sites)
    assert (tree.messages, tree.bytes) == (run.messages[-1], run.bytes[-1])
    for name in ("sketch (random)", "gosta (async)"):
        row = find(made, name)
        assert row.messages is not None
        run = run_as_planned(row, 1, 40, graph="cycle", groups=sites)
        assert run.messages[-1] == pytest.approx(row.messages, rel=0.05)
        assert run.error[-1] / made.target == pytest.approx(0.05, rel=0.3)
    collect = find(made, "collect (random)")
    run = run_as_planned(collect, 10, 40, graph="cycle", groups=sites)
    assert collect.bytes == pytest.approx(run.bytes[-1], rel=0.1)


def test_small_plans_keep_blas_to_one_thread_and_give_the_others_back() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def count() -> set[int]:
        found = threadpoolctl.threadpool_info()
        return {pool["num_threads"] for pool in found if pool["user_api"] == "blas"}

    seen: list[set[int]] = []
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = count()
        pg.plan(
            [1.0, 2.0, 4.0, 7.0],
            "variance",
            "cycle",
            error=0.05,
            progress=lambda _: seen.append(count()),
        )
        assert count() == before
    assert seen
    assert set.union(*seen) == {1}
