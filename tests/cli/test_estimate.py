"""`pairgossip estimate`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import pairgossip as pg
from pairgossip.tables import read_columns
from pairgossip.text import json_value

from .images import is_drawn
from .running import CommandLine

SHORT = ("--iterations", "2000", "--trials", "3")


def assert_same_run(found: dict[str, Any], run: pg.Run) -> None:
    exact, estimate = float(np.mean(run.target)), float(run.mean[-1])
    assert found["exact"] == exact
    assert found["estimate"] == estimate
    assert found["relative_error"] == abs(estimate - exact) / abs(exact)
    assert found["rms_error"] == run.error[-1]
    assert found["spread"] == run.spread[-1]
    assert found["iterations"] == run.iterations[-1]
    assert found["exchanges"] == run.exchanges[-1]
    assert found["messages"] == run.messages[-1]
    assert found["normalized_gap"] == pytest.approx(run.graph.normalized_gap(run.law))
    assert (found["trials"], found["seed"], found["status"]) == (run.trials, run.seed, "done")
    assert found["curve"]["iterations"] == run.iterations.tolist()
    assert found["curve"]["mean"] == json_value(run.mean)
    assert found["curve"]["spread"] == json_value(run.spread)
    assert found["curve"]["error"] == json_value(run.error)


@pytest.mark.parametrize(
    ("tokens", "settings"),
    [
        ([], {}),
        (["--clock", "Async", "--law", "Node_Clocks"], {"clock": "async", "law": "node-clocks"}),
        (["--target", "U", "--reference", "3.5"], {"target": "u", "reference": 3.5}),
        (["--method", "u2", "--checkpoints", "5"], {"method": "u2", "checkpoints": 5}),
        (["--seed", "12", "--jobs", "1", "--graph", "watts-strogatz"], {"seed": 12}),
        (
            ["--graph", "cycle", "--method", "tracking", "--schedule", "ordered"],
            {"method": "tracking", "schedule": "ordered"},
        ),
        (
            ["--method", "sketch", "--sketch-bins", "3", "--sketch-range", "-1,30"],
            {"method": "sketch", "sketch": pg.sketches.Bins(3, (-1, 30))},
        ),
    ],
)
def test_json_is_what_python_gives(
    cli: CommandLine, incomes: Path, tokens: list[str], settings: dict[str, Any]
) -> None:
    answer = cli(
        "estimate", incomes, "--column", "income", "--kernel", "gini", *SHORT, *tokens, "--json"
    )
    graph = tokens[tokens.index("--graph") + 1] if "--graph" in tokens else "complete"
    values = read_columns(incomes, ["income"])["income"]
    settings = {"iterations": 2000, "trials": 3, "seed": 0, **settings}
    assert (answer.code, answer.err) == (0, "")
    assert_same_run(answer.json(), pg.estimate(values, "gini", graph, **settings))


def test_a_sketch_says_what_it_is_worth(cli: CommandLine, incomes: Path) -> None:
    tokens = (
        *("estimate", incomes, "--column", "income", "--kernel", "gini", "--method", "sketch"),
        *("--schedule", "tree", "--sketch-bins", "2", "--trials", "2"),
    )
    found = cli(*tokens, "--json").json()
    values = read_columns(incomes, ["income"])["income"]
    run = pg.estimate(
        values, "gini", method="sketch", schedule="tree", sketch=pg.sketches.Bins(2), seed=0
    )
    assert run.bracket is not None and run.bracket[0] < found["exact"] < run.bracket[1]
    assert (found["schedule"], found["relaxation"]) == ("tree", None)
    assert found["sketch"] == {
        "name": "Bins(bins=2, range=None)",
        "value": run.sketch_value,
        "error": run.sketch_error,
        "bracket": list(run.bracket),
    }
    table = " ".join(cli(*tokens).out.split())
    assert "schedule tree" in table and "sketch Bins(bins=2, range=None)" in table
    low, high = (f"{end:.8g}" for end in run.bracket)
    assert f"the exact value lies for sure between {low} and {high}" in table


def test_two_columns_have_two_ranges(cli: CommandLine, incomes: Path) -> None:
    tokens = ("estimate", incomes, "--column", "income,age", "--kernel", "kendall", *SHORT)
    how = ("--method", "sketch", "--sketch-bins", "3", "--sketch-range", "0,30")
    found = cli(*tokens, *how, "--sketch-range", "0,100", "--json").json()
    assert found["sketch"]["name"] == "TwoWayBins(bins=3, ranges=((0.0, 30.0), (0.0, 100.0)))"


def test_a_slow_schedule_and_a_short_run_are_said_aloud(cli: CommandLine, incomes: Path) -> None:
    tokens = ("estimate", incomes, "--column", "income", "--kernel", "gini", "--method", "sketch")
    answer = cli(*tokens, "--graph", "star", "--schedule", "ordered", "--sketch-range", "0,30")
    assert answer.err.startswith("Warning: Ordered exchanges would be slower than random ones")
    answer = cli(*tokens, "--iterations", "20", "--sketch-bins", "2", "--json")
    assert answer.json()["estimate"] is None
    assert answer.err == (
        "Warning: After 20 iterations not all nodes know the range of the rows, so none has an "
        "estimate: give more --iterations.\n"
    )


def test_averaging_takes_no_kernel(cli: CommandLine, single: Path) -> None:
    found = cli("estimate", single, "--method", "averaging", *SHORT, "--json").json()
    values = [k * k for k in range(12)]
    assert_same_run(
        found, pg.estimate(values, method="averaging", iterations=2000, trials=3, seed=0)
    )
    assert found["statistic"] == "mean"


def test_what_is_unknown_is_null(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "flat.csv"
    file.write_text("value\n3\n3\n3\n")
    found = cli("estimate", file, "--kernel", "gini", *SHORT, "--json").json()
    assert found["exact"] == 0 and found["relative_error"] is None


def test_a_lone_node_has_no_gap(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "alone.csv"
    file.write_text("value\n3\n")
    found = cli("estimate", file, "--kernel", "gini", *SHORT, "--json").json()
    assert found["normalized_gap"] is None


def test_the_table_says_the_same(cli: CommandLine, single: Path) -> None:
    tokens = ("estimate", single, "--kernel", "gini", "--graph", "cycle", *SHORT)
    found, answer = cli(*tokens, "--json").json(), cli(*tokens)
    assert answer.code == 0
    filled = [line.strip() for line in answer.out.splitlines() if line.strip()]
    lines = {line.split("  ")[0]: line.split()[-1] for line in filled}
    assert lines["exact value (all pairs)"] == f"{found['exact']:.8g}"
    assert lines["mean estimate"] == f"{found['estimate']:.8g}"
    assert lines["RMS error over nodes and trials"] == f"{found['rms_error']:.4g}"
    assert lines["messages"] == "4,000"
    assert lines["seed"] == "0"
    assert lines["2,000"] == f"{found['rms_error']:.6g}"
    title = answer.out.splitlines()[0]
    assert title == "gosta-sync of gini, cycle of 12 nodes, 3 trials; column: value"


def test_the_asynchronous_clock_has_a_time(cli: CommandLine, single: Path) -> None:
    tokens = ("estimate", single, "--kernel", "gini", "--clock", "async", *SHORT)
    assert cli(*tokens, "--json").json()["time"] > 0
    assert "\ntime " in cli(*tokens).out


def test_everything_is_written(cli: CommandLine, single: Path, tmp_path: Path) -> None:
    plot, network = tmp_path / "curves.png", tmp_path / "network.png"
    save, table = tmp_path / "run.npz", tmp_path / "curves.csv"
    answer = cli(
        *("estimate", single, "--kernel", "gini", "--graph", "cycle", *SHORT, "--json"),
        *("--plot", plot, "--plot-graph", network, "--save", save, "--csv", table),
    )
    assert answer.code == 0
    assert answer.err.splitlines() == [f"Wrote {file}" for file in (save, table, plot, network)]
    assert is_drawn(plot) and is_drawn(network)
    run = pg.load(save)
    assert_same_run(answer.json(), run)
    assert run.known_theory is not None
    with table.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 3 * len(run.iterations)
    assert float(rows[-1]["error"]) == run.trial_error[-1, -1]


def test_an_unknown_target_is_said_aloud(
    cli: CommandLine, single: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairgossip.run_requests.estimation._LARGEST_BLOCKED_TARGET", 5)
    tokens = ("estimate", single, "--kernel", "distance", *SHORT)
    answer = cli(*tokens, "--json")
    assert answer.code == 0
    assert answer.err.startswith("Warning: The exact value of kernel 'distance'")
    assert answer.json()["exact"] is None and answer.json()["rms_error"] is None
    assert answer.err.endswith("errors are unknown: pass --reference if you know it.\n")
    assert "unknown" in cli(*tokens).out


def test_only_estimates_are_drawn_without_a_target(
    cli: CommandLine,
    single: Path,
    tmp_path: Path,
    figures: list[Figure],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pairgossip.run_requests.estimation._LARGEST_BLOCKED_TARGET", 5)
    plot = tmp_path / "curves.svg"
    answer = cli("estimate", single, "--kernel", "distance", *SHORT, "--plot", plot)
    assert (answer.code, answer.err.splitlines()[1:]) == (0, [f"Wrote {plot}"])
    (drawn,) = figures
    assert len(drawn.axes) == 1


@pytest.mark.parametrize(
    ("graph", "gap"), [("complete", "0.1818"), ("star", "0.09091"), ("erdos-renyi", "not computed")]
)
def test_the_gap_of_a_large_network_needs_a_formula(
    cli: CommandLine, single: Path, monkeypatch: pytest.MonkeyPatch, graph: str, gap: str
) -> None:
    monkeypatch.setattr("pairgossip.cli.outputs.facts._LARGEST_UNASKED_GAP", 11)
    parameters = ("--p", 0.9) if graph == "erdos-renyi" else ()
    tokens = ("estimate", single, "--kernel", "gini", "--graph", graph, *parameters, *SHORT)
    answer = cli(*tokens)
    assert f" {gap}\n" in answer.out.partition("normalized gap")[2]
    if gap == "not computed":
        assert cli(*tokens, "--json").json()["normalized_gap"] is None
