from __future__ import annotations

from pathlib import Path

import numpy as np

from pairgossip.datasets import engel
from pairgossip.tables import read_columns

from .running import CommandLine


def test_the_list_names_every_data_set(cli: CommandLine) -> None:
    answer = cli("dataset")
    assert answer.code == 0
    assert "engel" in answer.out
    assert "235" in answer.out


def test_a_file_holds_every_digit(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "incomes.csv"
    answer = cli("dataset", "engel", "--out", file)
    assert answer.code == 0
    np.testing.assert_array_equal(read_columns(file, None).matrix(), engel().values)


def test_standard_output_is_the_same_table(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "incomes.csv"
    cli("dataset", "engel", "--out", file)
    assert cli("dataset", "engel").out == file.read_text()


def test_wrong_names_and_places(cli: CommandLine, tmp_path: Path) -> None:
    assert cli.error("dataset", "engle") == "Unknown data set 'engle': did you mean 'engel'?"
    nowhere = tmp_path / "none" / "x.csv"
    assert cli.error("dataset", "engel", "--out", nowhere).startswith(f"Cannot write {nowhere}")
