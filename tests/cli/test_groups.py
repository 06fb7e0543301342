"""Sites that hold several rows, at the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import pairgossip as pg
from pairgossip.tables import read_columns

from .running import CommandLine

GINI = ("--column", "income", "--kernel", "gini", "--group-by", "site")
SHORT = ("--iterations", "2000", "--trials", "3")
POSITIVE = ("--positive", "rich")
SITES = ["north", "east", "south", "west", "east", "east", "south"] * 3


@pytest.fixture
def shops(tmp_path: Path) -> Path:
    """Write a file of 21 rows at four sites: 3 at north, 9 at east, 6 at south, 3 at west."""
    income = np.random.default_rng(6).lognormal(size=len(SITES)).round(4)
    rows = [
        f"{value},{site},{number % 4},{'rich' if value > 1 else 'poor'}"
        for number, (value, site) in enumerate(zip(income.tolist(), SITES, strict=True))
    ]
    file = tmp_path / "shops.csv"
    file.write_text("income,site,number,class\n" + "\n".join(rows) + "\n")
    return file


def square(folder: Path, *names: str) -> Path:
    """Write a cycle of named nodes to a file."""
    file = folder / "square.txt"
    following = (*names[1:], names[0])
    file.write_text("".join(f"{a} {b}\n" for a, b in zip(names, following, strict=True)))
    return file


def run_of(shops: Path, graph: Any, column: str = "site", **settings: Any) -> pg.Run:
    table = read_columns(shops, ["income"])
    how = {"iterations": 2000, "trials": 3, "seed": 0} | settings
    return pg.estimate(table["income"], "gini", graph, groups=table.text(column), **how)


def assert_same_run(found: dict[str, Any], run: pg.Run) -> None:
    assert run.traffic is not None
    network = run.traffic.network[:, -1].mean()
    assert found["estimate"] == run.mean[-1]
    assert found["rms_error"] == run.error[-1]
    assert found["normalized_gap"] == pytest.approx(run.graph.normalized_gap(run.law))
    assert found["exchanges"] == run.exchanges[-1]
    assert found["network_exchanges"] == network
    assert found["local_exchanges"] == pytest.approx(run.exchanges[-1] - network, rel=1e-12)
    assert found["messages"] == 2 * network
    assert found["bytes"] == run.traffic.bytes[:, -1].mean()
    assert found["groups"]["construction"] == run.construction


@pytest.mark.parametrize("construction", ["lexicographic", "blow-up", "whole-sets"])
@pytest.mark.parametrize("clock", ["sync", "async"])
def test_json_is_what_python_gives(
    cli: CommandLine, shops: Path, construction: str, clock: str
) -> None:
    how = ("--graph", "cycle", "--construction", construction.title(), "--clock", clock)
    answer = cli("estimate", shops, *GINI, *how, *SHORT, "--json")
    assert (answer.code, answer.err) == (0, "")
    found = answer.json()
    run = run_of(shops, "cycle", construction=construction, clock=clock)
    assert_same_run(found, run)
    assert found["graph"] == {"family": "cycle", "parameters": {}, "nodes": 4, "edges": 4}
    # Sites in alphabetical order are east (9), north (3), south (6), west (3), in a circle.
    between = 9 * 3 + 3 * 6 + 6 * 3 + 3 * 9
    within = (9 * 8 + 3 * 2 + 6 * 5 + 3 * 2) / 2
    share = between / (between + within) if construction == "lexicographic" else 1.0
    assert found["groups"] == {
        "column": "site",
        "construction": construction,
        "rows": 21,
        "sites": 4,
        "size_min": 3,
        "size_median": 4.5,
        "size_max": 9,
        "network_share": pytest.approx(share, abs=1e-15),
    }


def test_the_report_says_where_the_rows_are(cli: CommandLine, shops: Path) -> None:
    answer = cli("estimate", shops, *GINI, "--graph", "cycle", *SHORT)
    lines = {line[:34].strip(): line[34:].strip() for line in answer.out.splitlines()}
    assert answer.out.startswith(
        "gosta-sync of gini, 21 rows at a cycle of 4 sites, 3 trials; column: income; sites: site"
    )
    run = run_of(shops, "cycle")
    assert lines["rows"] == "21"
    assert lines["sites"] == "4"
    assert lines["rows per site: min, median, max"] == "3, 4.5, 9"
    assert lines["construction"] == "lexicographic"
    assert lines["messages"] == f"{round(run.messages[-1]):,}"
    assert lines["bytes sent"] == f"{round(run.bytes[-1]):,}"


def test_nodes_of_a_file_are_found_by_their_names(
    cli: CommandLine, shops: Path, tmp_path: Path
) -> None:
    file = square(tmp_path, "south", "east", "west", "north")
    save = tmp_path / "run.npz"
    how = ("--graph-file", file, "--save", save)
    found = cli("estimate", shops, *GINI, *how, *SHORT, "--json").json()
    run = run_of(shops, pg.Graph.load(file))
    assert_same_run(found, run)
    again = pg.load(save)
    assert isinstance(again, pg.Run)
    assert again.sites.names == pg.Graph.load(file).names
    # East has most rows; its neighbors here, south and west, are not those of the circle by name.
    assert (
        found["normalized_gap"]
        != cli("estimate", shops, *GINI, "--graph", "cycle", *SHORT, "--json").json()[
            "normalized_gap"
        ]
    )


def test_names_with_leading_zeros_stay_names(cli: CommandLine, tmp_path: Path) -> None:
    data, net = tmp_path / "data.csv", tmp_path / "net.txt"
    data.write_text("x,site\n1,007\n2,008\n4,007\n")
    net.write_text("008 007\n")
    save = tmp_path / "run.npz"
    tokens = ("--kernel", "gini", "--group-by", "site", "--graph-file", net, "--save", save)
    assert cli("estimate", data, *tokens, *SHORT).code == 0
    run = pg.load(save)
    assert isinstance(run, pg.Run)
    assert run.groups is not None
    assert [run.sites.names[site] for site in run.groups] == ["007", "008", "007"]  # type: ignore[index]


def draw_against(cli: CommandLine, shops: Path, folder: Path, against: str) -> None:
    """Draw the figure of a run, and of the same run after it is saved."""
    curve, again = folder / "curve.png", folder / "again.png"
    save, table = folder / "run.npz", folder / "curves.csv"
    how = ("--clock", "async", "--against", against, "--plot", curve)
    assert cli("estimate", shops, *GINI, *how, "--save", save, "--csv", table, *SHORT).code == 0
    assert cli("plot", save, "--against", against, "--out", again).code == 0


@pytest.mark.parametrize(
    ("against", "label"),
    [
        ("messages", "messages sent between sites"),
        ("time", "time (one exchange per row and unit)"),
    ],
)
def test_figures_are_drawn_against_what_is_sent(
    cli: CommandLine, shops: Path, tmp_path: Path, figures: list[Figure], against: str, label: str
) -> None:
    draw_against(cli, shops, tmp_path, against)
    drawn, again = figures
    assert [ax.get_xlabel() for ax in (*drawn.axes, *again.axes)] == [label] * 3


def trained(cli: CommandLine, shops: Path, folder: Path, *tokens: object) -> dict[str, Any]:
    how = ("--label", "class", "--column", "income", "--graph", "cycle", "--group-by", "site")
    long = (*POSITIVE, "--iterations", "2000", "--step", "0.1", "--radius", "5", "--json")
    answer = cli("train", shops, *how, *long, "--model", folder / "model.json", *tokens)
    assert answer.code == 0, answer.err
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("construction", ["lexicographic", "blow-up", "whole-sets"])
def test_training_is_what_python_gives(
    cli: CommandLine, shops: Path, tmp_path: Path, figures: list[Figure], construction: str
) -> None:
    figure = tmp_path / "fit.png"
    tokens = ("--construction", construction, "--plot", figure, "--against", "bytes")
    found = trained(cli, shops, tmp_path, *tokens)
    table = read_columns(shops, ["income"])
    fit = pg.minimize(
        table["income"][:, None], table.text("class"), "auc-logistic", "cycle", positive="rich",
        groups=table.text("site"), construction=construction, iterations=2000, seed=0, bias=False,
        step=pg.steps.inverse_sqrt(0.1), constraint=pg.Ball(5),
    )  # fmt: skip
    assert found["theta"] == fit.model.tolist()
    assert found["messages"] == fit.messages[-1]
    assert found["bytes"] == fit.bytes[-1]
    assert found["groups"]["sites"] == 4
    settings = json.loads((tmp_path / "model.json").read_text())["settings"]
    assert settings["construction"] == construction
    assert settings["graph"]["nodes"] == 4
    (drawn,) = figures
    assert figure.exists() and "bytes sent" in drawn.axes[0].get_xlabel()


def test_the_column_of_sites_is_no_feature(cli: CommandLine, shops: Path, tmp_path: Path) -> None:
    how = ("--label", "class", "--group-by", "number", "--iterations", "100", "--json")
    data = tmp_path / "numbers.csv"
    lines = [line.split(",") for line in shops.read_text().split()]
    data.write_text("".join(f"{line[0]},{line[2]},{line[3]}\n" for line in lines))
    found = cli("train", data, *how, *POSITIVE, "--model", tmp_path / "model.json").json()
    assert found["columns"] == ["income"]


class TestMistakes:
    """Each mistake is found before the first exchange, and reported in one sentence."""

    @pytest.fixture(autouse=True)
    def no_work(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise AssertionError("the run has started")

        monkeypatch.setattr("pairgossip.run_requests.request.run_trials", refuse)

    @pytest.mark.parametrize("command", ["estimate", "train"])
    @pytest.mark.parametrize(
        ("tokens", "message"),
        [
            (
                ["--construction", "blow-up"],
                "--construction is about sites that hold several rows: give --group-by, the column "
                "with the site of each row, too, or a file for each site.",
            ),
        ],
    )  # fmt: skip
    def test_of_both_commands(
        self, cli: CommandLine, shops: Path, tmp_path: Path, command: str, tokens: list[str],
        message: str,
    ) -> None:  # fmt: skip
        assert cli.error(*self.words(command, shops, tmp_path), *tokens) == message.format(
            file=shops
        )

    def words(self, command: str, file: Path, folder: Path) -> tuple[object, ...]:
        if command == "estimate":
            return ("estimate", file, *GINI[:4])
        label = ("--label", "class", "--column", "income")
        return ("train", file, *label, "--model", folder / "model.json")

    def test_whole_sets_of_means(self, cli: CommandLine, shops: Path) -> None:
        how = ("--column", "income", "--method", "averaging", "--group-by", "site")
        assert cli.error("estimate", shops, *how, "--construction", "whole-sets") == (
            "Method 'averaging' swaps no observations, so there are no whole sets to swap: use "
            "--construction lexicographic."
        )

    def test_a_specification_of_peers(self, cli: CommandLine, shops: Path, tmp_path: Path) -> None:
        spec = tmp_path / "run.toml"
        spec.write_text('kernel = "gini"\ncolumns = ["income"]\n')
        assert cli.error("estimate", shops, "--spec", spec, "--group-by", "site") == (
            f"{spec} is for peers, which use links equally often for any number of rows: leave "
            "--group-by out, or run without --spec."
        )
