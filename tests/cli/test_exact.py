from __future__ import annotations

from pathlib import Path

import pytest

import pairgossip as pg
from pairgossip.tables import read_columns

from .running import CommandLine


@pytest.mark.parametrize("kind", ["v", "u"])
def test_it_prints_all_digits(cli: CommandLine, incomes: Path, kind: str) -> None:
    answer = cli("exact", incomes, "--column", "income", "--kernel", "gini", "--kind", kind)
    values = read_columns(incomes, ["income"])["income"]
    assert float(answer.out) == pg.exact(values, "gini", kind)
    assert (answer.code, answer.err) == (0, "")


def test_the_only_column_of_numbers_needs_no_name(cli: CommandLine, single: Path) -> None:
    answer = cli("exact", single, "--kernel", "variance")
    assert float(answer.out) == pg.exact([k * k for k in range(12)], "variance")


@pytest.mark.parametrize("columns", [["income,age"], ["income", "age"], ["income, age"]])
def test_several_columns(cli: CommandLine, incomes: Path, columns: list[str]) -> None:
    named = [token for column in columns for token in ("--column", column)]
    answer = cli("exact", incomes, *named, "--kernel", "kendall")
    table = read_columns(incomes, ["income", "age"])
    assert float(answer.out) == pg.exact(table.matrix(), "kendall")


def test_a_comma_in_a_columns_own_name(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "odd.csv"
    file.write_text('"a,b",c\n1,5\n2,6\n')
    assert float(cli("exact", file, "--column", "a,b", "--kernel", "gini").out) == 0.5


def test_text_labels(cli: CommandLine, incomes: Path) -> None:
    answer = cli("exact", incomes, "--column", "age", "--label", "class", "--kernel", "auc")
    table = read_columns(incomes, ["age"])
    assert float(answer.out) == pg.exact(table["age"], "auc", labels=table.text("class"))


def test_labels_of_numbers_keep_their_order(cli: CommandLine, incomes: Path) -> None:
    by_text = cli("exact", incomes, "--column", "age", "--label", "class", "--kernel", "auc")
    by_number = cli("exact", incomes, "--column", "age", "--label", "grade", "--kernel", "auc")
    assert by_text.out == by_number.out  # sorted as text, 10 would come before 2


def test_the_label_is_not_taken_for_the_data(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("score,label\n1,0\n2,1\n3,1\n")
    assert float(cli("exact", file, "--label", "label", "--kernel", "auc").out) == 1.0


def test_which_column_is_asked_when_there_are_several(cli: CommandLine, incomes: Path) -> None:
    assert cli.error("exact", incomes, "--kernel", "gini") == (
        f"{incomes} has 3 columns of numbers: choose with --column, one or several of "
        "income, age, grade."
    )


def test_no_column_of_numbers(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "words.csv"
    file.write_text("name,town\nada,london\n")
    message = f"{file} has no column of numbers; its columns are name, town."
    assert cli.error("exact", file, "--kernel", "gini") == message


def test_a_gap_in_the_only_column_names_its_line(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "gap.csv"
    file.write_text("value\n1\nNaN\n3\n")
    message = f"Column 'value' of {file}, line 3, is missing: fill it in or drop the line."
    assert cli.error("exact", file, "--kernel", "gini") == message


def test_a_column_named_twice(cli: CommandLine, incomes: Path) -> None:
    message = cli.error("exact", incomes, "--column", "age,age", "--kernel", "kendall")
    assert message == "Column 'age' is named twice: name it once."


def test_an_unknown_kind(cli: CommandLine, single: Path) -> None:
    message = cli.error("exact", single, "--kernel", "gini", "--kind", "w")
    assert message.startswith("Unknown kind of statistic 'w'")
