"""Groups that are compared on the command line, with the same tables as in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.tables import read_columns

from .running import CommandLine

ROWS = "score,died,sex,ward\n" + "".join(
    f"{k * k % 17},{'yes' if k * 7 % 17 > 9 else 'no'},{'fm'[k * 5 % 13 > 5]},{k % 8}\n"
    for k in range(80)
)
AUC = ("--column", "score", "--label", "died", "--positive", "yes", "--kernel", "auc")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    return path


def expected(file: Path, **more: Any) -> pg.GroupTable:
    table = read_columns(file, ())
    how: dict[str, Any] = {"labels": table.text("died"), "positive": "yes", "by": table.text("sex")}
    return pg.exact(table.numbers("score"), "auc", **how, **more)


def test_exact_prints_a_table_by_group(cli: CommandLine, file: Path) -> None:
    answer = cli("exact", file, *AUC, "--by", "sex", "--interval", 0.9)
    table = expected(file, interval=0.9)
    shown = str(table).replace("group", "sex", 1)
    assert [line.split() for line in answer.out.split("\n")] == [
        *(line.split() for line in shown.split("\n")),
        [],
        [],
    ]
    assert answer.err == ("column: score; label: died (no < yes); positive: yes; by: sex\n")
    plain = cli("exact", file, *AUC, "--by", "sex").out
    assert "interval" not in plain and f"{table['f'].value:.3f}" in plain


def test_json_has_the_table(cli: CommandLine, file: Path) -> None:
    asked = ("exact", file, *AUC, "--by", "sex", "--interval", 0.95, "--json")
    found, table = cli(*asked).json(), expected(file, interval=0.95)
    assert (found["statistic"], found["by"], found["positive"]) == ("auc", "sex", "yes")
    for name in ("f", "m"):
        part = found["groups"][name]
        assert (part["value"], part["error"]) == (table[name].value, table[name].error)
        assert part["rows"] == table.rows[name]
    assert found["differences"][0]["p"] == table.differences[0].p
    assert found["by_site"] is None
    wards = read_columns(file, ["ward"]).numbers("ward")
    by_site = cli(*asked, "--group-by", "ward").json()["by_site"]
    drawn = expected(file, interval=0.95, groups=wards).differences[0]
    assert by_site["differences"][0]["error"] == pytest.approx(drawn.error)


def test_exact_has_json_without_groups_too(cli: CommandLine, file: Path) -> None:
    found = cli("exact", file, *AUC, "--json").json()
    assert found["value"] == expected(file).all.value and found["positive"] == "yes"
    found = cli("exact", file, *AUC, "--json", "--interval", 0.9).json()
    assert found["low"] == expected(file, interval=0.9).all.low


def test_every_group_is_tested(cli: CommandLine, file: Path) -> None:
    asked = ("test", file, *AUC, "--by", "sex")
    columns = read_columns(file, ())
    labels = np.array([one == "yes" for one in columns.text("died")])
    table = pg.test(columns.numbers("score"), "auc", labels=labels, by=columns.text("sex"))
    found = cli(*asked, "--json").json()
    assert found["groups"]["f"]["p"] == table.tests["f"].p and found["all"]["p"] == table.test.p
    assert f"{table.tests['f'].p:.4f}" in cli(*asked).out
    whole = cli(*asked, "--group-by", "ward").out
    assert whole.count("all rows") == 2 and "If sites are drawn whole:" in whole


def test_reasons_name_options(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "few.csv"
    file.write_text("x,sex,ward\n1,f,a\n2,f,b\n4,f,a\n3,m,a\n5,m,a\n")
    asked = ("exact", file, "--column", "x", "--kernel", "gini", "--by", "sex")
    shown = " ".join(cli(*asked, "--interval", 0.9, "--group-by", "ward").out.split())
    assert "Group 'm': All rows are in one group" in shown and "leave --group-by out" in shown


def test_what_is_wrong_with_groups_is_said(cli: CommandLine, file: Path) -> None:
    assert cli.error("exact", file, *AUC, "--by", "sx").endswith("did you mean 'sex'?")
    alone = ("exact", file, "--kernel", "gini", "--column", "score", "--by")
    assert "at most 50 groups" not in cli(*alone, "ward").err
    assert cli.error("test", file, *AUC[:-1], "mann-whitney", "--by", "sex").startswith(
        "Test 'mann-whitney' takes plain rows, and differences on either side: leave --by out"
    )
