"""`peer result` and `verify` where sums are computed: nothing is handed on that not all signed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairgossip.peer.service.assembly import read_snapshot
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import create_home
from tests.cli.running import CommandLine
from tests.peer.homes import introduce_each_other
from tests.peer.test_sums_service import make_homes, run_all

RANKING = """
loss = "ranking-logistic"
columns = ["score"]
label = "grade"
[ranges]
score = [0, 1]
grade = [0, 2]
[algorithm]
name = "sums"
[learning]
l2 = 0.1
"""
GRADED = (((0.1, 0.0), (0.3, 1.0)), ((0.6, 2.0), (0.5, 1.0)), ((0.9, 2.0), (0.2, 0.0)))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A peer that has never run."""
    monkeypatch.chdir(tmp_path)
    return make_homes(tmp_path)[0]


def test_nothing_is_written_before_all_have_signed(cli: CommandLine, home: Home) -> None:
    for option in ("--out", "--json", "--html"):
        error = cli.error("peer", "result", "--home", home.folder, option, "file")
        assert error.startswith("Not all members have signed the result yet (round 0 waits for ")
    assert not Path("file").exists()


def test_a_signed_result_is_checked_anywhere(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    homes = make_homes(tmp_path)
    run_all(homes)
    result = ("peer", "result", "--home", homes[0].folder)
    given = cli(*result, "--json", "r.json", "--html", "r.html", "--out", "out.json")
    assert given.code == 0
    assert "Signed by all 3 members" in Path("r.html").read_text()
    assert Path("r.html").stat().st_mode == Path("r.json").stat().st_mode  # both are handed on
    value = json.loads(Path("out.json").read_text())["estimate"]
    assert cli("verify", "r.json").out.endswith("All 3 members have signed this.\n")
    found = cli("verify", "r.json", "--json").json()
    assert found["value"] == value and found["missing"] == []
    assert found["bracket"][0] <= value <= found["bracket"][1]
    assert {"model", "noise", "interval", "specification", "signed_by"} <= found.keys()
    error = cli.error(*result, "--json", "other.json", "--generation", 2)
    assert "Signatures are kept of the present generation only, which is 1" in error

    table = json.loads(Path("r.json").read_text())
    table["signatures"].popitem()
    Path("fewer.json").write_text(json.dumps(table))
    for more in ((), ("--json",)):
        answer = cli("verify", "fewer.json", *more)
        assert answer.code == 2 and "1 of 3 members have not signed (" in answer.err
    table["result"]["value"] = 0.5
    Path("altered.json").write_text(json.dumps(table))
    error = cli.error("verify", "altered.json")
    assert error.startswith("altered.json was altered (the signature of ")
    assert "is not a signed result" in cli.error("verify", "out.json")
    assert "There is no file nothing.json" in cli.error("verify", "nothing.json")


def test_a_model_names_the_classes_of_all(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "rank.toml").write_text(RANKING)
    homes = []
    for k, rows in enumerate(GRADED):
        data = tmp_path / f"{k}.csv"
        data.write_text("score,grade\n" + "".join(f"{x},{y}\n" for x, y in rows))
        where = (tmp_path / f"clinic-{k}", f"clinic-{k}", tmp_path / "rank.toml", data)
        homes.append(create_home(*where, f"tls/127.0.0.1:{7450 + k}"))
    introduce_each_other(homes)
    run_all(homes)
    assert {row[-1] for row in read_snapshot(homes[0]).context.own} == {0.0, 1.0}
    cli("peer", "result", "--home", homes[0].folder, "--out", tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["classes"] == [0.0, 1.0, 2.0]
