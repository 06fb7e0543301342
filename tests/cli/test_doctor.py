"""`pairgossip doctor`: what it reports on this machine as it is, and after something is broken."""

from __future__ import annotations

import contextlib
import datetime
import socket
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import pairgossip
from pairgossip.doctor import installation, peers
from pairgossip.peer.identity.identity import create_identity
from pairgossip.study.protocol.records import NO_DIGEST, Card, MemberList
from pairgossip.study.service.membership import keep_list
from pairgossip.study.storage.folder import StudyHome, create_study
from tests.cli.running import CommandLine


@pytest.fixture
def member(tmp_path: Path) -> StudyHome:
    rows = "".join(f"{i / 7 % 1:.3f},{i % 2}\n" for i in range(40))
    (tmp_path / "rows.csv").write_text("score,ill\n" + rows)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return create_study(
        tmp_path / "h1", "h1", tmp_path / "rows.csv", f"tls/127.0.0.1:{port}", rehearsal=True
    )


def look(cli: CommandLine, *folders: object) -> tuple[int, dict[str, dict[str, Any]]]:
    answer = cli("doctor", *folders, "--json")
    return answer.code, {one["subject"]: one for one in answer.json()}


def list_with(home: StudyHome, folder: Path, address: str, years: int = 10) -> None:
    """Put the member on a list with one other."""
    folder.mkdir()
    other = create_identity(folder, "h2", years)
    card = Card(other.id, "h2", other.certificate, address)
    keep_list(home, MemberList(NO_DIGEST, (card,)), ())


def test_an_installation_that_works(cli: CommandLine) -> None:
    code, found = look(cli)
    assert code == 0
    assert pairgossip.__version__ in found["Python"]["sentence"]
    assert {f"Extra {one}" for one in installation.EXTRAS} <= set(found)
    assert found["Extra lab"]["state"] == "fine"
    shown = cli("doctor").out
    assert all(one["sentence"] in shown for one in found.values() if "Clock" not in one["subject"])


@pytest.mark.parametrize(
    ("system", "python", "words"),
    [
        ("Linux", (3, 12, 1), "All tests have run there."),
        ("Linux", (3, 99, 0), "with Python 3.11, 3.12 and 3.13 on Linux."),
        ("Darwin", (3, 12, 1), "It is expected to work"),
    ],
)
def test_it_says_where_tests_have_run(
    monkeypatch: pytest.MonkeyPatch, system: str, python: tuple[int, ...], words: str
) -> None:
    monkeypatch.setattr("platform.system", lambda: system)
    monkeypatch.setattr("sys.version_info", python)
    assert words in next(installation.examine_installation(Path())).sentence


def test_every_extra_is_known_and_complete() -> None:
    """Each described extra exists, and its requirements were read completely."""
    needed = installation._requirements()
    lines = [line for line in metadata.requires("pairgossip") or [] if "extra ==" in line]
    for extra in installation.EXTRAS:
        own = [line for line in lines if line.endswith((f'"{extra}"', f"'{extra}'"))]
        assert own, extra
        libraries = [line for line in own if not line.startswith("pairgossip[")]
        assert len(needed[extra]) >= len(libraries), extra
    assert needed["lab"].items() <= needed["watch"].items()
    assert needed["tables"].items() <= needed["sql"].items()


def test_a_library_that_is_missing_or_old(cli: CommandLine, monkeypatch: Any) -> None:
    really = metadata.version

    def version(name: str) -> str:
        if name == "scipy":
            raise metadata.PackageNotFoundError(name)
        return "0.1" if name == "uvicorn" else really(name)

    monkeypatch.setattr(installation, "version", version)
    code, found = look(cli)
    assert code == 0  # users who need no figures are not stopped
    assert "scipy missing or too old" in found["Extra lab"]["sentence"]
    assert found["Extra lab"]["advice"].endswith("pip install 'pairgossip[lab]'.")
    assert "scipy and uvicorn" in found["Extra watch"]["sentence"]
    assert found["Extra tables"]["state"] == "fine"


def test_a_package_that_is_not_installed(cli: CommandLine, monkeypatch: Any) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(installation, "version", version)
    code, found = look(cli)
    assert code == 0 and found["Extras"]["advice"] == "Install it: pip install pairgossip."


def test_loops_that_cannot_be_kept(cli: CommandLine, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert "None yet" in look(cli)[1]["Compiled loops"]["sentence"]
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "loop.nbc").write_bytes(b"x" * 2048)
    assert "1 file, 2.05 kB" in look(cli)[1]["Compiled loops"]["sentence"]
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    found = look(cli)[1]["Compiled loops"]
    assert found["state"] == "look"
    assert found["advice"].startswith("Set NUMBA_CACHE_DIR")


@pytest.mark.parametrize(("says", "state"), [("yes", "fine"), ("no", "look"), ("eh", "fine")])
def test_a_clock_that_nobody_sets(
    cli: CommandLine, monkeypatch: Any, tmp_path: Path, says: str, state: str
) -> None:
    command = tmp_path / "timedatectl"
    command.write_text(f"#!/bin/sh\necho {says}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert look(cli)[1]["Clock"]["state"] == state


def test_a_clock_that_is_far_behind(cli: CommandLine, monkeypatch: Any) -> None:
    early = datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)
    monkeypatch.setattr(installation, "_now", lambda: early)
    code, found = look(cli)
    assert (code, found["Clock"]["state"]) == (1, "broken")
    assert "2001-01-01" in found["Clock"]["sentence"]


def test_a_folder_that_is_none(cli: CommandLine, tmp_path: Path) -> None:
    code, found = look(cli, tmp_path / "none")
    assert code == 1
    assert "There is no folder" in found[str(tmp_path / "none")]["sentence"]


def test_a_member_that_has_not_begun(cli: CommandLine, member: StudyHome) -> None:
    code, found = look(cli, member.folder)
    assert code == 0
    assert found["h1: certificate"]["state"] == found["h1: source"]["state"] == "fine"
    assert found["h1: process"]["sentence"].endswith("is free.")
    assert "invite" in found["h1: members"]["advice"]


def test_a_member_that_runs(cli: CommandLine, member: StudyHome) -> None:
    with member.lock():
        assert look(cli, member.folder)[1]["h1: process"]["sentence"] == "The peer runs."


def test_a_port_that_is_taken(cli: CommandLine, member: StudyHome) -> None:
    listen = member.read_settings().listen
    with socket.create_server(("127.0.0.1", int(listen.rpartition(":")[2]))):
        code, found = look(cli, member.folder)
    assert (code, found["h1: process"]["state"]) == (1, "broken")
    assert listen in found["h1: process"]["sentence"]


def test_a_source_that_is_gone(cli: CommandLine, member: StudyHome, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").unlink()
    code, found = look(cli, member.folder)
    assert (code, found["h1: source"]["state"]) == (1, "broken")
    assert str(tmp_path / "rows.csv") in found["h1: source"]["sentence"]


def test_rows_that_were_added_and_are_gone(
    cli: CommandLine, member: StudyHome, tmp_path: Path
) -> None:
    more = tmp_path / "more.csv"
    rows = "".join(f"{i / 11 % 1:.3f},{i % 2}\n" for i in range(20))
    more.write_text("score,ill\n" + rows)
    assert cli("peer", "add", str(more), "--yes", "--home", str(member.folder)).code == 0
    more.unlink()
    for is_running in (False, True):
        with member.lock() if is_running else contextlib.nullcontext():
            source = look(cli, member.folder)[1]["h1: source"]
        assert (source["state"], source["sentence"]) == ("broken", f"There is no {more}.")


def test_a_source_that_has_changed(cli: CommandLine, member: StudyHome, tmp_path: Path) -> None:
    assert look(cli, member.folder)[1]["h1: source"]["sentence"].startswith("All 40 rows")
    with (tmp_path / "rows.csv").open("a") as file:
        file.write("0.5,1\n")
    code, found = look(cli, member.folder)
    assert (code, found["h1: source"]["state"]) == (1, "broken")
    assert "peer add" in found["h1: source"]["advice"]
    with member.lock():  # a peer that runs uses its own state
        assert look(cli, member.folder)[1]["h1: source"]["state"] == "fine"


def test_an_address_of_another_machine(cli: CommandLine, member: StudyHome) -> None:
    text = member.peer.read_text()
    listen = member.read_settings().listen
    member.peer.write_text(text.replace(listen, "tls/192.0.2.1:7447"))
    code, found = look(cli, member.folder)
    assert (code, found["h1: process"]["state"]) == (1, "broken")
    assert "while attempting" not in found["h1: process"]["sentence"]
    assert "address of this machine" in found["h1: process"]["advice"]


def test_the_peer_of_a_single_run(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "peer.toml").write_text('name = "p1"\n')
    code, found = look(cli, tmp_path)
    assert (code, found[str(tmp_path)]["state"]) == (0, "look")
    assert "peer status" in found[str(tmp_path)]["advice"]


def test_settings_that_cannot_be_read(cli: CommandLine, member: StudyHome) -> None:
    member.peer.write_text(member.peer.read_text() + "[policy]\nacept = 'ask'\n")
    code, found = look(cli, member.folder)
    assert code == 1
    assert "accept" in found[str(member.folder)]["sentence"]


def test_ways_to_others(cli: CommandLine, member: StudyHome, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"tls/127.0.0.1:{other.getsockname()[1]}"
        list_with(member, tmp_path / "h2", address)
        _, found = look(cli, member.folder)
        assert found["h1: way to 'h2'"]["sentence"] == f"{address} takes connections."
    _, found = look(cli, member.folder)
    assert found["h1: way to 'h2'"]["state"] == "look"
    assert "firewalls" in found["h1: way to 'h2'"]["advice"]


def test_certificates_of_others(
    cli: CommandLine, member: StudyHome, tmp_path: Path, monkeypatch: Any
) -> None:
    list_with(member, tmp_path / "h2", "tls/127.0.0.1:9", years=0)
    code, found = look(cli, member.folder)
    assert (code, found["h1: certificate of 'h2'"]["state"]) == (1, "broken")
    assert "evicted" in found["h1: certificate of 'h2'"]["advice"]
    monkeypatch.setattr(peers, "_SOON", datetime.timedelta(days=365 * 20))
    assert look(cli, member.folder)[1]["h1: certificate"]["state"] == "look"
