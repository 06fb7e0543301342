from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pairgossip.datasets import CATALOG
from pairgossip.tables import read_columns

from .running import CommandLine


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


def test_wrong_names_and_places(cli: CommandLine, tmp_path: Path) -> None:
    assert cli.error("dataset", "engle") == "Unknown data set 'engle': did you mean 'engel'?"
    nowhere = tmp_path / "none" / "x.csv"
    assert cli.error("dataset", "engel", "--out", nowhere).startswith(f"Cannot write {nowhere}")
