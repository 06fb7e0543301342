"""`verify`: a result that all members have signed, checked anywhere and read in other ways."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

import pairgossip as pg
from pairgossip.peer.signed_report import add_report, explain_lack
from pairgossip.peer.signed_result import SignedResult, write_signed
from tests.cli.running import CommandLine
from tests.peer.signing import FIRST, sign_table_of

GINI = """
kernel = "gini"
columns = ["income"]
[ranges]
income = [0, 100]
"""
GROUPS = """
kernel = "gini"
columns = ["income"]
whole = ["income"]
by = "sex"
groups = ["f", "m"]
within = "ward"
strata = ["a", "b"]
[ranges]
income = [0, 100]
[algorithm]
least_cell = 1
"""
ROWS = [np.linspace(1 + k, 90 + k, 20).round(3).reshape(-1, 1) for k in range(4)]


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> SignedResult:
    return sign_table_of(tmp_path_factory.mktemp("signed"), GINI, ROWS).signed


@pytest.fixture
def file(signed: SignedResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_signed(signed, Path("r.json"))
    return tmp_path / "r.json"


def test_a_signed_result_is_checked_anywhere(cli: CommandLine, file: Path) -> None:
    found = cli("verify", "r.json", "--json").json()
    assert cli("verify", "r.json").out.endswith("All 4 members have signed this.\n")
    assert found["bracket"][0] <= found["value"] <= found["bracket"][1]
    assert {"model", "noise", "interval", "specification", "signed_by"} <= found.keys()
    assert found["kept"].endswith("Z") and found["positive_class"] is None
    assert found["no_value"] is None and found["missing"] == []
    assert cli("verify", "r.json", "--html", "r.html").code == 0
    assert "Signed by all 4 members" in Path("r.html").read_text()
    assert Path("r.html").stat().st_mode == file.stat().st_mode  # both are passed on


def test_an_altered_file_is_named(cli: CommandLine, file: Path) -> None:
    table = json.loads(file.read_text())
    table["signatures"].popitem()
    Path("fewer.json").write_text(json.dumps(table))
    for more in ((), ("--json",)):
        answer = cli("verify", "fewer.json", "--html", "fewer.html", *more)
        assert answer.code == 2 and "1 of 4 members have not signed (" in answer.err
    assert not Path("fewer.html").exists()
    table["result"]["value"] = 0.5
    Path("altered.json").write_text(json.dumps(table))
    error = cli.error("verify", "altered.json")
    assert error.startswith("altered.json was altered (the signature of ")
    Path("out.json").write_text("{}")
    assert "is not a signed result" in cli.error("verify", "out.json")
    assert "There is no file nothing.json" in cli.error("verify", "nothing.json")


def test_a_result_of_the_first_version_is_verified(cli: CommandLine) -> None:
    assert "All 3 members have signed this.\n" in cli("verify", FIRST).out


def test_it_is_said_why_there_is_no_value(signed: SignedResult) -> None:
    lacking = msgspec.structs.replace(signed.result, value=None)
    assert explain_lack(signed.result) is None
    assert "there may be one class only" in str(explain_lack(lacking))
    no_table = msgspec.structs.replace(lacking, rounds=0, table=None)
    # The least number of members is the operators' least_members, which is not in the result.
    assert "no table was made, since too few members have" in str(explain_lack(no_table))
    assert explain_lack(msgspec.structs.replace(no_table, model=(1.0,))) is None


def test_groups_and_other_statistics_are_read_from_a_published_table(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    rows = [
        np.column_stack([rng.integers(1, 90, 60), rng.integers(0, 2, 60), np.arange(60) % 2])
        for _ in range(5)
    ]
    found = sign_table_of(tmp_path, GROUPS, [one.astype(float) for one in rows])
    write_signed(found.signed, Path("bare.json"))
    assert "This file holds no table" in cli.error("verify", "bare.json", "--reading", "median")
    write_signed(add_report(found.signed, found.table), Path("all.json"))
    incomes, sexes, wards = np.concatenate(rows).T
    women = incomes[sexes == 0].astype(float)
    said = cli("verify", "all.json", "--group", "f").out
    value = float(pg.exact(women, "gini", within=wards[sexes == 0]))
    shown = " ".join(said.split())
    assert f" answer {value:.3g}" in shown and f" rows {len(women)} " in shown
    assert " sex f " in shown
    said = cli("verify", "all.json", "--group", "f", "--pooled", "--reading", "median").out
    read = re.search(r"answer +(\S+) \(", said)
    assert read is not None and float(read[1]) == pytest.approx(np.median(women), abs=0.5)
    for asked, sentence in (
        (("--group", "x"), "Unknown group 'x'"),
        (("--reading", "median"), "--pooled"),
    ):
        answer = cli("verify", "all.json", *asked)
        assert answer.code == 2 and sentence in answer.err
    assert "figures in it follow from the counts" in cli("verify", "all.json").out
