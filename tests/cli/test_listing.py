"""Lists of what the package holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.algorithms.methods import METHODS
from pairgossip.datasets import CATALOG
from pairgossip.order_statistics.comparisons import TESTS
from pairgossip.tables import read_columns

from .running import CommandLine


def test_the_table_names_every_kernel(cli: CommandLine) -> None:
    answer = cli("kernels")
    assert answer.code == 0
    for name in (*pg.kernels.CATALOG, *TESTS, "distance-correlation"):
        assert name in answer.out
    assert "score, label" in answer.out
    assert "scipy.stats.somersd" in answer.out  # what it is an alias of


def test_json_is_what_describe_says(cli: CommandLine) -> None:
    found = cli("kernels", "--json").json()
    names = [name for name in found if not found[name]["test"]]
    assert names == [kernel.name for kernel in pg.kernels.describe()]
    assert set(found) - set(names) == {*TESTS, "distance-correlation"}
    assert found["kendall"]["columns"] == ["x", "y"]
    assert found["distance"]["columns"] is None
    assert found["kendall"]["sketch"] == "TwoWayBins"
    assert found["gini-coefficient"]["same_as"] == "V: R ineq::Gini"
    without = {name for name in names if found[name]["sketch"] is None}
    assert without == {"energy-distance", "hand-till", "metric-learning-risk", "mmd"}


def test_methods_are_listed_with_what_they_show_and_tolerate(cli: CommandLine) -> None:
    answer, found = cli("methods"), cli("methods", "--json").json()
    assert answer.code == 0
    assert list(found) == list(METHODS)
    assert all(name in answer.out for name in METHODS)
    assert found["u2"]["clocks"] == ["sync"] and found["u2"]["schedules"] == ["random"]
    assert found["collect"]["shows"] == {"random": "all rows to all nodes"}
    assert all(method["shows"] and method["tolerates"] for method in found.values())
    assert "one liar moves all" in found["gosta"]["tolerates"]
    assert "not lies just inside the clip" in found["clipped-gosta"]["tolerates"]


def test_losses_are_listed_with_whether_they_can_be_sketched(cli: CommandLine) -> None:
    answer, found = cli("losses"), cli("losses", "--json").json()
    assert answer.code == 0
    assert list(found) == list(pg.losses.CATALOG)
    assert all(name in answer.out for name in found)
    assert {name for name, loss in found.items() if not loss["sketches"]} == {
        name for name in found if name.startswith("metric-")
    }


def test_the_list_names_every_data_set(cli: CommandLine) -> None:
    answer = cli("dataset")
    assert answer.code == 0
    listed = {tuple(line.split()[:2]) for line in answer.out.splitlines()}
    assert {(name, str(len(load()))) for name, load in CATALOG.items()} <= listed
    assert "65 in all" in " ".join(answer.out.split())


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_a_file_holds_every_decimal(name: str, cli: CommandLine, tmp_path: Path) -> None:
    file, data = tmp_path / "data.csv", CATALOG[name]()
    answer = cli("dataset", name, "--out", file)
    assert answer.code == 0
    assert data.source in " ".join(answer.out.split())
    assert file.read_text().partition("\n")[0] == ",".join(data.columns)
    np.testing.assert_array_equal(read_columns(file, None).matrix(), data.values)


def test_standard_output_is_the_same_table(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "incomes.csv"
    cli("dataset", "engel", "--out", file)
    assert cli("dataset", "engel").out == file.read_text()


def test_sites_get_the_rows_in_turn(cli: CommandLine, tmp_path: Path) -> None:
    answer = cli("dataset", "engel", "--split", 3, "--out", tmp_path / "office-{}.csv")
    assert answer.code == 0
    sizes = [79, 78, 78]
    for number, size in enumerate(sizes):
        file = tmp_path / f"office-{number + 1}.csv"
        assert f"office-{number + 1}.csv: {size} rows." in "".join(answer.out.split("\n"))
        dealt = CATALOG["engel"]().values[number::3]
        np.testing.assert_array_equal(read_columns(file, None).matrix(), dealt)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_file_that_holds_something_else_is_kept(cli: CommandLine, tmp_path: Path) -> None:
    named = ("--split", 3, "--out", tmp_path / "office-{}.csv")
    assert cli("dataset", "engel", *named).code == cli("dataset", "engel", *named).code == 0
    (tmp_path / "office-3.csv").write_text("mine\n", encoding="utf-8")
    (tmp_path / "office-1.csv").unlink()
    said = cli.error("dataset", "engel", *named)
    assert said.endswith("holds something else: choose another name, or remove it first.")
    assert (tmp_path / "office-3.csv").read_text(encoding="utf-8") == "mine\n"
    assert not (tmp_path / "office-1.csv").exists()  # no run was started


def test_files_of_sites_need_names(cli: CommandLine, tmp_path: Path) -> None:
    for out in ([], ["--out", tmp_path / "office.csv"], ["--out", tmp_path / "{}" / "x.csv"]):
        said = cli.error("dataset", "engel", "--split", 3, *out)
        assert said.endswith("name with {} for the number of each, as in hospital-{}.csv.")
    named = ("--out", tmp_path / "{}.csv")
    assert cli.error("dataset", "engel", "--split", 236, *named) == (
        "The number of files must be at most 235, not 236."
    )
    assert cli.error("dataset", *named) == (
        "Say which data set to write: pairgossip dataset lists them."
    )
    assert not list(tmp_path.iterdir())
