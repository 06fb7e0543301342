"""`pairgossip exact`, and how columns and labels are read."""

from __future__ import annotations

import io
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
    assert (answer.code, answer.err) == (0, "column: income\n")


def test_the_only_column_needs_no_name(cli: CommandLine, single: Path) -> None:
    answer = cli("exact", single, "--kernel", "variance")
    assert float(answer.out) == pg.exact([k * k for k in range(12)], "variance")
    assert answer.err == "column: value\n"


def test_a_dash_is_standard_input(
    cli: CommandLine, single: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pipe(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    pipe(single.read_bytes().replace(b"\n", b"\r\n"))
    assert cli("exact", "-", "--kernel", "gini").out == cli("exact", single, "--kernel", "gini").out
    pipe(b"")
    message = "standard input is empty: it needs a header line and rows."
    assert cli.error("exact", "-", "--kernel", "gini") == message


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
    asked = ("--column", "age", "--label", "class", "--kernel", "auc", "--positive", "rich")
    answer = cli("exact", incomes, *asked)
    table = read_columns(incomes, ["age"])
    is_rich = [name == "rich" for name in table.text("class")]
    assert float(answer.out) == pg.exact(table["age"], "auc", labels=is_rich)
    assert answer.err == "column: age; label: class (poor < rich); positive: rich\n"


def test_text_has_no_size(cli: CommandLine, incomes: Path) -> None:
    kernel = "Kendall"
    asked = ("--column", "age", "--label", "class", "--kernel", kernel)
    assert cli.error("exact", incomes, *asked) == (
        f"Kernel '{kernel.lower()}' depends on which of two classes is the positive one, but the "
        "labels are 'poor' and 'rich': give --positive poor, or the other."
    )
    answer = cli("exact", incomes, "--column", "age", "--label", "grade", "--kernel", kernel)
    assert (answer.code, answer.err) == (0, "column: age; label: grade; positive: 10\n")
    incomes.write_text(incomes.read_text().replace("poor", "neither", 1))
    first = read_columns(incomes, ["age"]).text("class")[0]
    assert cli.error("exact", incomes, *asked) == (
        f"Kernel '{kernel.lower()}' compares labels by size, but the labels are text such as "
        f"'{first}': pass numbers, or give their order with --classes."
    )


def test_clusters_may_be_text(cli: CommandLine, incomes: Path) -> None:
    tokens = ("--column", "age", "--label", "class", "--kernel", "within-cluster-scatter")
    assert cli("exact", incomes, *tokens).err == "column: age; label: class\n"


def test_the_label_is_not_taken_for_the_data(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("score,label\n1,0\n2,1\n3,1\n")
    assert float(cli("exact", file, "--label", "label", "--kernel", "auc").out) == 1.0


def test_labels_alone(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("label\n0\n1\n")
    message = f"{file} has no column besides the label 'label': add the data."
    assert cli.error("exact", file, "--label", "label", "--kernel", "auc") == message
    message = f"There is no column 'lable' in {file}: did you mean 'label'?"
    assert cli.error("exact", file, "--label", "lable", "--kernel", "auc") == message


def test_which_column_is_asked_when_there_are_several(cli: CommandLine, incomes: Path) -> None:
    assert cli.error("exact", incomes, "--kernel", "gini") == (
        f"{incomes} has 4 columns: choose with --column, one or several of "
        "income, age, class, grade."
    )
    assert cli.error("exact", incomes, "--kernel", "auc", "--label", "class") == (
        f"{incomes} has 3 columns besides the label 'class': choose with --column, one or several "
        "of income, age, grade."
    )


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("income;rank\n1,5;1\n2;2\n", "column 'income', line 2, is not a number: '1,5'"),
        ("income,rank\n3,1\n12 kg,2\n", "column 'income', line 3, is not a number: '12 kg'"),
        ('income,rank\n3,1\n"2,5",2\n', "column 'income', line 3, is not a number: '2,5'"),
    ],
)
def test_a_malformed_column_is_not_passed_over(
    cli: CommandLine, tmp_path: Path, text: str, bad: str
) -> None:
    file = tmp_path / "data.csv"
    file.write_text(text)
    hint = " (decimal comma?)" if bad.endswith("5'") else ""
    assert cli.error("exact", file, "--kernel", "gini") == (
        f"{file} has 2 columns: choose with --column, one or several of income, rank; {bad}{hint}."
    )


def test_a_column_without_a_name(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "index.csv"
    file.write_text(",value\n0,3\n1,7\n")
    assert cli.error("exact", file, "--kernel", "gini").endswith("several of (unnamed), value.")
    answer = cli("exact", file, "--column", "(unnamed)", "--kernel", "gini")
    assert (answer.out, answer.err) == ("0.5\n", "column: (unnamed)\n")
    message = cli.error("exact", file, "--column", ",", "--kernel", "gini")
    assert message == "--column is empty: give the name of a column."


def test_a_gap_in_the_only_column_names_its_line(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "gap.csv"
    file.write_text("value\n1\nNaN\n3\n")
    message = (
        f"Column 'value' of {file}, line 3, is missing: fill it in, or leave the row out with "
        "--missing drop."
    )
    assert cli.error("exact", file, "--kernel", "gini") == message


def test_a_column_named_twice(cli: CommandLine, incomes: Path) -> None:
    message = cli.error("exact", incomes, "--column", "age,age", "--kernel", "kendall")
    assert message == "Column 'age' is named twice: name it once."
