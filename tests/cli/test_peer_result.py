"""`peer result` and `verify` where sums are computed: all sign it, and it is kept for good."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import pairgossip as pg
from pairgossip.cli.peer.signed import find_signed
from pairgossip.peer.protocol.messages import FIRST_GENERATION
from pairgossip.peer.service.service import EXIT_UNFIT
from pairgossip.peer.signed_report import explain_lack
from pairgossip.peer.signed_result import check_signed
from pairgossip.peer.storage.folder import Home, find_member, request_eviction
from pairgossip.peer.storage.home import create_home
from pairgossip.peer.storage.kept_results import keep_result, read_kept
from tests.cli.running import CommandLine
from tests.peer.homes import introduce, introduce_each_other, make_home
from tests.peer.signing import Rows, draw_rows, sign_result_of
from tests.peer.test_service import Switchboard, running
from tests.peer.test_signed_result import AUC, FIRST
from tests.peer.test_sums_noise import NOISY
from tests.peer.test_sums_service import (
    SUMS,
    agree_to_next,
    is_complete,
    is_in_second_generation,
    run_all,
)
from tests.peer.test_sums_service import make_homes as make_homes_with
from tests.peer.zenoh_people import until

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
ROWS = [np.linspace(1 + k, 90 + k, 20).round(3).tolist() for k in range(4)]


def make_homes(folder: Path, count: int = 3, spec: str = SUMS) -> list[Home]:
    return make_homes_with(folder, ROWS[:count], spec)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A peer that has never run."""
    monkeypatch.chdir(tmp_path)
    return make_homes(tmp_path)[0]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of members whose run has ended."""
    folder = tmp_path_factory.mktemp("finished")
    run_all(make_homes(folder))
    return folder


@pytest.fixture
def homes(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Home]:
    """Copies of them, to be changed."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, tmp_path / "copy")
    return [Home(tmp_path / "copy" / f"clinic-{k}") for k in range(3)]


@pytest.fixture(scope="module")
def evicted(tmp_path_factory: pytest.TempPathFactory) -> list[Home]:
    """Members whose run has ended, then evicted the last of them, and ended again."""
    homes = make_homes(tmp_path_factory.mktemp("evicted"), 4)
    run_all(homes)
    with running(*homes, board=Switchboard()) as peers:
        for home in homes[:3]:
            request_eviction(home, find_member(home.read_members(), "", "clinic-3"))
        assert until(lambda: all(map(is_in_second_generation, peers[:3])))
        assert peers[3].wait() == EXIT_UNFIT
    return homes


def ask_for(home: Home, *more: object) -> tuple[object, ...]:
    return "peer", "result", "--home", home.folder, *more


def write_all(cli: CommandLine, home: Home, *more: object) -> dict[str, Any]:
    """Write a result in all its forms, and return what `verify` says of it."""
    asked = ask_for(home, "--json", "r.json", "--html", "r.html", "--out", "out.json", *more)
    assert cli(*asked).code == 0
    found = dict(cli("verify", "r.json", "--json").json())
    plain = json.loads(Path("out.json").read_text())
    assert found["missing"] == [] and plain["estimate"] == found["value"]
    assert f"Signed by all {len(found['members'])} members" in Path("r.html").read_text()
    return found


def test_nothing_is_written_before_all_have_signed(cli: CommandLine, home: Home) -> None:
    for option in ("--out", "--json", "--html"):
        error = cli.error("peer", "result", "--home", home.folder, option, "file")
        assert error.startswith("Not all members have signed the result yet (round 0 waits for ")
    assert not Path("file").exists()


def test_a_signed_result_is_checked_anywhere(cli: CommandLine, homes: list[Home]) -> None:
    found = write_all(cli, homes[0])
    assert Path("r.html").stat().st_mode == Path("r.json").stat().st_mode  # both are handed on
    value = found["value"]
    assert cli("verify", "r.json").out.endswith("All 3 members have signed this.\n")
    assert found["bracket"][0] <= value <= found["bracket"][1]
    assert {"model", "noise", "interval", "specification", "signed_by"} <= found.keys()
    assert found["kept"].endswith("Z") and found["positive_class"] is None
    assert found["no_value"] is None
    assert cli.error(*ask_for(homes[0], "--json", "other.json", "--generation", 2)) == (
        "--generation is 2: the results that all members have signed are of generation 1, and the "
        "present one is 1."
    )

    table = json.loads(Path("r.json").read_text())
    table["signatures"].popitem()
    Path("fewer.json").write_text(json.dumps(table))
    for more in ((), ("--json",)):
        answer = cli("verify", "fewer.json", "--html", "fewer.html", *more)
        assert answer.code == 2 and "1 of 3 members have not signed (" in answer.err
    assert not Path("fewer.html").exists()
    table["result"]["value"] = 0.5
    Path("altered.json").write_text(json.dumps(table))
    error = cli.error("verify", "altered.json")
    assert error.startswith("altered.json was altered (the signature of ")
    assert "is not a signed result" in cli.error("verify", "out.json")
    assert "There is no file nothing.json" in cli.error("verify", "nothing.json")


def test_it_is_said_why_there_is_no_value(homes: list[Home]) -> None:
    result = find_signed(homes[0], None).result
    lacking = msgspec.structs.replace(result, value=None)
    assert explain_lack(result) is None
    assert "there may be one class only" in str(explain_lack(lacking))
    no_table = msgspec.structs.replace(lacking, rounds=0, table=None)
    assert "no table was made, since" in str(explain_lack(no_table))
    assert explain_lack(msgspec.structs.replace(no_table, model=(1.0,))) is None


def test_status_says_that_a_result_is_kept(cli: CommandLine, homes: list[Home]) -> None:
    status = ("peer", "status", "--home", homes[0].folder)
    shown = " ".join(cli(*status).out.split())
    assert "kept result generation 1: " in shown and "signed by all 3 members on 20" in shown
    (kept,) = cli(*status, "--json").json()["results"]
    assert (kept["generation"], kept["members"], kept["rows"]) == (1, 3, 60)
    assert check_signed(Path(kept["file"])).result.value == kept["value"]


def test_a_result_outlives_whoever_joins(cli: CommandLine, homes: list[Home]) -> None:
    """A longer list of members halts the rounds, and neither hides nor deletes their result."""
    before = write_all(cli, homes[0])
    introduce(homes[0], make_home(Path("."), "late", ROWS[0], SUMS, "tls/127.0.0.1:7460"))
    assert write_all(cli, homes[0]) == before == write_all(cli, homes[0], "--generation", 1)
    with running(homes[0], board=Switchboard()) as (peer,):
        assert until(lambda: any("another list" in one for one in peer.status().problems))
    assert write_all(cli, homes[0]) == before
    shown = cli("peer", "status", "--home", homes[0].folder).out
    assert shown.startswith("Problem: ") and "Sums over another list of members" in shown
    assert "signed by all 3" in " ".join(shown.split())


def test_a_result_that_was_not_kept_is_found_in_the_state(
    cli: CommandLine, homes: list[Home]
) -> None:
    """A crash may come between the last signature and the file; then somebody joins."""
    before = write_all(cli, homes[0])
    shutil.rmtree(homes[0].results)
    introduce(homes[0], make_home(Path("."), "late", ROWS[0], SUMS, "tls/127.0.0.1:7460"))
    assert write_all(cli, homes[0]) == {**before, "kept": None}
    with running(homes[0], board=Switchboard()):
        assert until(homes[0].results.exists)
    (file,) = homes[0].results.iterdir()
    assert file.stat().st_mode & 0o077 == homes[0].results.stat().st_mode & 0o077 == 0
    after = write_all(cli, homes[0])
    assert after["kept"] >= before["kept"] and after["value"] == before["value"]


def test_a_result_outlives_an_eviction(
    cli: CommandLine, evicted: list[Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = write_all(cli, evicted[0], "--generation", 1)
    assert json.loads(Path("out.json").read_text())["evicted"] == []
    second = write_all(cli, evicted[0])
    plain = json.loads(Path("out.json").read_text())
    assert (plain["evicted"], plain["generation"], len(plain["ended"])) == (["clinic-3"], 2, 1)
    assert (len(first["members"]), len(second["members"])) == (4, 3)
    assert first["generation"] != second["generation"]
    assert write_all(cli, evicted[0], "--generation", 2) == second
    assert "are of generation 1, 2, and the present one is 2" in cli.error(
        *ask_for(evicted[0], "--out", "other.json", "--generation", 3)
    )


def test_an_evicted_peer_says_so_first_and_keeps_its_result(
    cli: CommandLine, evicted: list[Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = cli("peer", "status", "--home", evicted[3].folder).out
    assert shown.startswith("Problem: The other members have evicted this peer: 'clinic-")
    assert shown.count("have evicted this peer") == 1
    answer = cli(*ask_for(evicted[3], "--json", "r.json"))
    assert answer.err.startswith("The other members have evicted this peer: ")
    assert len(write_all(cli, evicted[3], "--generation", 1)["members"]) == 4


def test_an_altered_file_gets_a_sentence(
    cli: CommandLine, evicted: list[Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(evicted[0].folder, tmp_path / "clinic-0")
    home = Home(tmp_path / "clinic-0")
    first = min(home.results.iterdir(), key=lambda file: (len(file.stem), file.stem))
    table = json.loads(first.read_text())
    table["result"]["rows"] += 1
    first.write_text(json.dumps(table))
    asked = ask_for(home, "--json", "r.json", "--generation", 1)
    altered = cli.error(*asked)
    assert altered.startswith(f"{first} was altered (the signature of ")
    assert altered.endswith("Every member keeps the same result: put another's copy in its place.")
    shown = cli("peer", "status", "--home", home.folder)
    assert shown.out.startswith(f"Problem: {first} was altered")
    assert len(cli("peer", "status", "--home", home.folder, "--json").json()["results"]) == 1
    first.write_text("{")
    assert cli.error(*asked).startswith(f"{first} is not a signed result")
    assert len(write_all(cli, home)["members"]) == 3  # the present one is as it was
    shutil.copy(evicted[1].results / first.name, first)
    assert len(write_all(cli, home, "--generation", 1)["members"]) == 4


def test_a_result_with_noise_outlives_a_notice(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    homes = make_homes(tmp_path, 4, NOISY)
    run_all(homes)
    before = write_all(cli, homes[1])
    with running(*homes[:3], board=Switchboard()) as peers:
        request_eviction(homes[0], find_member(homes[0].read_members(), "", "clinic-3"))
        assert until(lambda: peers[1].status().problems != ())
        assert write_all(cli, homes[1]) == before
        agree_to_next(homes[1])
        assert until(lambda: peers[1].status().generation == 2)
    assert write_all(cli, homes[1], "--generation", 1) == before
    error = cli.error(*ask_for(homes[1], "--json", "r.json"))
    assert error.endswith(". --generation 1 writes the result of that generation.")


def test_results_of_another_study_hide_nothing(cli: CommandLine, homes: list[Home]) -> None:
    """They are named, and their pages are one command away."""
    shutil.copy(FIRST, homes[0].results / "0.2.json")
    cli(*ask_for(homes[0], "--json", "r.json", "--generation", 1))
    assert len(check_signed(Path("r.json")).result.members) == 3
    error = cli.error(*ask_for(homes[0], "--json", "r.json", "--generation", 2))
    assert f"(pairgossip verify {homes[0].results / '0.2.json'} reads one of another" in error
    assert "another study" in cli("peer", "status", "--home", homes[0].folder).out
    assert cli("verify", homes[0].results / "0.2.json", "--html", "old.html").code == 0
    assert "pairgossip 0.2.0" in Path("old.html").read_text()
    assert write_all(cli, homes[0])["rows"] == 60


def test_another_result_in_its_place_is_left_there(homes: list[Home]) -> None:
    own = homes[0].results / f"{FIRST_GENERATION}.json"
    signed = read_kept(own).signed
    shutil.copy(FIRST, own)
    beside = keep_result(homes[0], signed)
    assert beside != own and read_kept(beside).signed == signed == find_signed(homes[0], 1)
    assert keep_result(homes[0], signed) == beside and own.read_bytes() == FIRST.read_bytes()


def test_a_result_that_cannot_be_written_keeps_a_peer_from_being_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: CommandLine
) -> None:
    monkeypatch.chdir(tmp_path)
    homes = make_homes(tmp_path)
    homes[0].results.write_text("in the way of the folder")
    with running(*homes, board=Switchboard()) as peers:
        assert until(lambda: all(map(is_complete, peers)))
        assert until(lambda: peers[0].status().problems != () and peers[1].status().done)
        status = peers[0].status()
        assert status.problems[0].startswith(f"Cannot write {homes[0].results}: File exists")
        assert status.problems[0].endswith("What all members have signed is not kept yet.")
        assert not status.done
        homes[0].results.unlink()
        assert until(lambda: peers[0].status().done)
        assert until(lambda: peers[0].status().problems == ())
    assert write_all(cli, homes[0])["missing"] == []


def make_graded_homes(tmp_path: Path, spec: str, tables: list[Rows]) -> list[Home]:
    (tmp_path / "rank.toml").write_text(spec)
    homes = []
    for k, rows in enumerate(tables):
        data = tmp_path / f"{k}.csv"
        data.write_text("score,grade\n" + "".join(f"{x},{y}\n" for x, y in rows))
        where = (tmp_path / f"clinic-{k}", f"clinic-{k}", tmp_path / "rank.toml", data)
        allowed = ("ranking-logistic",)
        homes.append(create_home(*where, f"tls/127.0.0.1:{7450 + k}", allow=allowed))
    introduce_each_other(homes)
    return homes


def test_a_model_names_the_classes_of_all(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tables = draw_rows(3, 1, classes=3)
    tables[0] = tuple(row for row in tables[0] if row[-1] < 2)
    homes = make_graded_homes(tmp_path, RANKING, tables)
    run_all(homes)
    assert set(
        np.loadtxt(str(homes[0].read_settings().source), delimiter=",", skiprows=1)[:, -1]
    ) == {0.0, 1.0}
    cli("peer", "result", "--home", homes[0].folder, "--out", "model.json", "--json", "r.json")
    assert json.loads(Path("model.json").read_text())["classes"] == [0.0, 1.0, 2.0]
    # The signed file is a model too.
    Path("new.csv").write_text("score,grade\n0.1,0\n0.7,2\n0.4,1\n")
    scores = [cli("score", name, "new.csv").out for name in ("model.json", "r.json")]
    assert scores[0] == scores[1] and scores[0].startswith("score\n")
    assert cli("score", "r.json", "new.csv", "--label", "grade").out == "1.0\n"


def test_only_a_signed_model_is_scored_with(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pairgossip.peer.signed_result import write_signed

    monkeypatch.chdir(tmp_path)
    loss = AUC.replace('kernel = "auc"', 'loss = "auc-logistic"') + "[learning]\nl2 = 0.1\n"
    write_signed(sign_result_of(tmp_path, loss, draw_rows(3, 1)), Path("r.json"))
    Path("new.csv").write_text("score,diseased\n0.1,no\n0.7,yes\n")
    assert cli("score", "r.json", "new.csv", "--label", "diseased").out == "1.0\n"
    table = json.loads(Path("r.json").read_text())
    assert table["positive_class"] == "yes"
    signatures = dict(table["signatures"])
    table["signatures"].popitem()
    Path("fewer.json").write_text(json.dumps(table))
    assert "1 of 3 members have not signed" in cli.error("score", "fewer.json", "new.csv")
    table["signatures"], table["result"]["model"][0] = signatures, -1.0
    Path("altered.json").write_text(json.dumps(table))
    assert "altered.json was altered (" in cli.error("score", "altered.json", "new.csv")
    assert "It holds a statistic and no model" in cli.error("score", FIRST, "new.csv")


def test_the_kept_table_answers_other_questions(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    homes = make_homes(tmp_path)
    run_all(homes)
    where = ("--home", str(homes[1].folder))
    said = cli("peer", "result", *where, "--reading", "median").out
    summary = pg.summarize(
        np.concatenate([np.array(one) for one in ROWS[:3]]), "gini", cells=pg.cells.Even(0, 100)
    )
    assert str(summary.answer(0.95, "median")) in " ".join(said.split())
    assert "all 3 members have signed: nothing was sent." in said
    assert "--with-table is for the file of --json" in cli.error(
        "peer", "result", *where, "--html", "a.html", "--with-table"
    )
    assert "is for --reading" in cli.error("peer", "result", *where, "--column", "income")
    assert "takes labels" in cli.error("peer", "result", *where, "--reading", "auc")
    assert "wage" in cli.error("peer", "result", *where, "--reading", "median", "--column", "wage")
    assert cli("peer", "result", *where, "--json", "all.json", "--with-table").code == 0
    assert cli("verify", "all.json").code == 0
    assert said in cli("verify", "all.json", "--reading", "median").out
    assert "of the signed figures" in cli.error("verify", "all.json", "--json", "--reading", "gini")
    assert "--level is for --reading" in cli.error("verify", "all.json", "--level", "0.9")
    assert cli("peer", "result", *where, "--json", "figures.json").code == 0
    assert "holds no table" in cli.error("verify", "figures.json", "--reading", "median")
    table = json.loads(Path("all.json").read_text())
    kept = base64.b64decode(table["table"])
    (file,) = homes[1].tables.iterdir()
    assert kept == file.read_bytes()
    altered = kept[:-1] + bytes([kept[-1] ^ 1])
    table["table"] = base64.b64encode(altered).decode()
    Path("all.json").write_text(json.dumps(table))
    assert "its table is not the one that members have signed" in cli.error("verify", "all.json")
    file.write_bytes(altered)
    assert "is not the table that all members have signed" in cli.error(
        "peer", "result", *where, "--reading", "median"
    )
    file.unlink()
    assert "every member keeps the same table" in cli.error(
        "peer", "result", *where, "--reading", "median"
    )


def test_the_kept_table_is_read_by_group(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    rows = [(rng.integers(0, 12, 40), rng.choice(["f", "m"], 40)) for _ in range(5)]
    wards = ["a", "b"] * 20
    spec = (
        'kernel = "gini"\ncolumns = ["income"]\nwhole = ["income"]\nby = "sex"\n'
        'groups = ["f", "m"]\nwithin = "ward"\nstrata = ["a", "b"]\n'
        "algorithm.least_cell = 1\n[ranges]\nincome = [0, 11]\n"
    )
    Path("gini.toml").write_text(spec)
    homes = []
    for k, (incomes, sexes) in enumerate(rows):
        lines = [",".join(map(str, line)) for line in zip(incomes, sexes, wards, strict=True)]
        Path(f"c{k}.csv").write_text("\n".join(["income,sex,ward", *lines, ""]))
        homes.append(create_home(tmp_path / f"c{k}", f"c{k}", "gini.toml", f"c{k}.csv"))
    introduce_each_other(homes)
    run_all(homes)
    ask = ("peer", "result", "--home", str(homes[2].folder))
    incomes, sexes = (np.concatenate(column) for column in zip(*rows, strict=True))
    women, ward = incomes[sexes == "f"].astype(float), np.array(wards * 5)[sexes == "f"]
    said = cli(*ask, "--group", "f").out
    value = float(pg.exact(women, "gini", within=ward))
    assert f"answer  {value:.2f} (" in said and f"rows    {len(women)} " in said
    assert "sex     f " in said
    said = cli(*ask, "--group", "f", "--pooled", "--reading", "median").out
    assert f"{np.median(women):g} " in said
    assert "Unknown group 'x'" in cli.error(*ask, "--group", "x")
    assert "--pooled" in cli.error(*ask, "--reading", "median")
    assert cli(*ask, "--json", "all.json", "--with-table").code == 0
    assert said in cli("verify", "all.json", "--group", "f", "--pooled", "--reading", "median").out
