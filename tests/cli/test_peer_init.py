"""`pairgossip peer init`: what is printed before a peer is made, and what is kept of an old one."""

from __future__ import annotations

import shutil
import stat
import sys
from pathlib import Path

import pytest

from pairgossip.study.storage.folder import open_study

from .running import CommandLine
from .test_peer import GINI, Terminal, files, init

__all__ = ["files"]
INIT = ("peer", "init", "--data", "rows.csv", "--spec", "gini.toml")
OLD_FOLDER = Path(__file__).parents[1] / "study_site" / "old_folder"


def test_init_makes_a_folder_for_one(cli: CommandLine, files: Path) -> None:
    identity = init(cli, "ann")
    assert len(identity) == 64 and int(identity, 16)
    assert stat.S_IMODE((files / "ann").stat().st_mode) == 0o700
    assert stat.S_IMODE((files / "ann" / "key.pem").stat().st_mode) == 0o600
    assert "exists already" in cli.error(*INIT, "--yes", "--name", "ann")
    needed = "The peer needs a name that others call it by: give --name."
    assert cli.error(*INIT, "--yes") == needed


def test_what_is_for_a_study_is_refused_beside_a_specification(
    cli: CommandLine, files: Path
) -> None:
    given = (*INIT, "--name", "cid", "--yes")
    for option in (
        *(("--least-rows", 25), ("--allow", "distance"), ("--id", "who"), ("--same", "a,b")),
        *(("--register", "here"), ("--visible",), ("--columns", "a"), ("--rehearsal",)),
        *(("--relay", "relay.txt"), ("--from", "old")),
    ):
        said = cli.error(*given, *map(str, option))
        assert said == f"{option[0]} is for a member of a study: leave it out, or leave out --spec."
    (files / "sums.toml").write_text(GINI.replace("exchange", "sums"))
    sums = ("peer", "init", "--name", "ann", "--data", "rows.csv", "--spec", "sums.toml")
    assert cli.error(*sums) == (
        "This specification asks for sums, which members of a study compute: leave --spec out, and "
        'ask it with pairgossip peer ask; or let rows travel, with algorithm.name = "exchange".'
    )
    assert not (files / "cid").exists() and not (files / "ann").exists()


@pytest.mark.parametrize("is_study", [False, True])
def test_a_folder_that_is_there_after_ctrl_c_is_named(
    cli: CommandLine, files: Path, monkeypatch: pytest.MonkeyPatch, is_study: bool
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    last = "studies.tell_made" if is_study else "init._tell_made"
    monkeypatch.setattr(f"pairgossip.cli.peer.{last}", stop)
    (files / "rows.csv").write_text("income\n" + "".join(f"{k}\n" for k in range(20)))
    answer = cli(*INIT[: 4 if is_study else 6], "--name", "ann", "--yes")
    assert answer.code == 130
    assert "Interrupted, but ann is made, and complete. Next: pairgossip peer inv" in answer.err
    assert (files / "ann" / "key.pem").exists()


@pytest.mark.parametrize("typed", ["y\n", "n\n", ""])
def test_an_operator_is_told_what_leaves_and_asked(
    cli: CommandLine, files: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    given = (*INIT, "--name", "ann")
    assert "There is no terminal to ask on: give --yes." in cli.error(*given)
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    answer = cli(*given)
    assert answer.err.index("Your rows travel") < answer.err.index("Make this peer? [y/N] ")
    assert (files / "ann").exists() == (answer.code == 0) == (typed == "y\n")


@pytest.fixture
def old(files: Path) -> Path:
    """Copy the folder of a peer that pairgossip 0.2.0 has made."""
    folder = Path(shutil.copytree(OLD_FOLDER / "clinic-0", files / "old"))
    folder.chmod(0o700)
    (folder / "key.pem").chmod(0o600)
    lines = (f"{k},{k % 2},{k % 7}\n" for k in range(30))
    (files / "rows.csv").write_text("risk,died,secret\n" + "".join(lines))
    return folder


MEMBER = ("peer", "init", "--source", "rows.csv", "--yes")
FROM_OLD = (*MEMBER, "--from", "old", "--rehearsal")


def test_a_member_is_made_of_an_old_folder(cli: CommandLine, files: Path, old: Path) -> None:
    with open(old / "peer.toml", "a", encoding="utf-8") as file:
        file.write("budget = 2.0\n")
    answer = cli(*FROM_OLD)
    assert answer.code == 0, answer.err
    status = cli("peer", "status", "--home", "clinic-0", "--json").json()
    assert status["name"] == "clinic-0"
    assert (files / "clinic-0" / "key.pem").read_bytes() == (old / "key.pem").read_bytes()
    said = " ".join(answer.err.split())
    for sentence in (
        "Others know a table of 'income' that has the rows of old:",
        "Taken from old: its key, so its id stays; its certificate; listen and power_safe of peer",
        "Left in old, which must not run any more: its rows,",
        "Its budget is not taken: rows have spent of it what their ledger says.",
    ):
        assert sentence in said
    assert "exists already" in cli.error(*FROM_OLD)


def test_options_go_before_old_settings(cli: CommandLine, files: Path, old: Path) -> None:
    more = ("--listen", "tls/[::1]:1", "--least-rows", 12, "--fast", "--metrics", "127.0.0.1:9464")
    answer = cli(*FROM_OLD, *more, "--name", "ann", "--home", "new")
    assert "a new certificate, with the new name" in answer.err
    found = open_study(files / "new").read_settings()
    assert (found.name, found.listen, found.power_safe) == ("ann", "tls/[::1]:1", False)
    assert (found.metrics, found.policy.least_rows) == ("127.0.0.1:9464", 12)


def test_what_cannot_be_taken_over_makes_nothing(cli: CommandLine, files: Path, old: Path) -> None:
    before = sorted(files.iterdir())
    assert cli.error(*FROM_OLD, "--spec", "gini.toml") == (
        "--from is for a member of a study: leave it out, or leave out --spec."
    )
    (old / "key.pem").chmod(0o644)
    assert "Others can read the key old/key.pem" in cli.error(*FROM_OLD)
    assert sorted(files.iterdir()) == before


def test_what_is_said_of_a_members_rows_is_kept(cli: CommandLine, files: Path, old: Path) -> None:
    member = (*MEMBER, "--name", "ann")
    cli(*member, "--columns", "risk, died", "--columns", "risk", "--rehearsal")
    found = open_study(files / "ann").read_settings()
    assert (found.declared, found.rehearsal) == (("risk", "died"), True)
    assert "--visible is about a question" in cli.error(*member, "--visible")
    for option in (("--budget", 1), ("--ledger", "rows.ledger")):
        assert cli.error(*member, *option).startswith("A study keeps no ledger: leave --ledger")


def test_data_outside_the_range_are_refused(cli: CommandLine, files: Path) -> None:
    (files / "rows.csv").write_text("income\n1\n101\n")
    error = cli.error(*INIT, "--yes", "--name", "ann")
    assert "outside the agreed range [0, 100], in line 3" in error
    assert not (files / "ann").exists()


def test_a_peer_is_made_where_the_environment_says(
    cli: CommandLine, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIRGOSSIP_HOME", str(files / "peer"))
    given = (*INIT, "--name", "ann", "--yes")
    assert cli(*given).code == 0
    assert (files / "peer" / "peer.toml").exists() and not (files / "ann").exists()
    assert cli(*given, "--home", "other").code == 0
    assert (files / "other" / "peer.toml").exists()
