"""`pairgossip relay`, and peers that use one."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pairgossip.peer.identity.relays import read_relay
from pairgossip.study.storage.folder import open_study

from ..peer.zenoh_people import free_address, until
from .running import CommandLine


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: CommandLine) -> Path:
    monkeypatch.setenv("PAIRGOSSIP_RELEASES", str(tmp_path / "releases"))
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.csv").write_text("income\n" + f"1\n5\n{ord(name)}\n" * 10)
    assert cli("relay", "init", "--address", "tls/relay.example:443").code == 0
    return tmp_path


def is_open(place: str) -> bool:
    host, port = place.removeprefix("tls/").split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def init(name: str) -> tuple[str, ...]:
    options = ("--name", name, "--source", f"{name}/rows.csv", "--home", f"at-{name}")
    return ("peer", "init", *options, "--yes", "--relay", "relay/relay.txt")


def test_a_peer_at_a_relay_has_no_address(files: Path, cli: CommandLine) -> None:
    assert cli(*init("a")).code == 0
    home = open_study(Path("at-a"))
    assert home.read_settings().relay == "tls/relay.example:443"
    assert home.relay.read_text() == read_relay("relay/relay.txt").certificate
    told = cli.error("peer", "invite", "--home", "at-a", "--address", "tls/a.example:7447")
    assert told == (
        "This peer meets others at tls/relay.example:443, and nobody calls it: leave --address out."
    )


def test_members_are_let_in_by_their_invitations(files: Path, cli: CommandLine) -> None:
    ids = {name: cli(*init(name)).out.strip() for name in "ab"}
    for name in "ab":
        Path(f"{name}.txt").write_text(cli("peer", "invite", "--home", f"at-{name}").out)
    assert cli("relay", "allow", "a.txt", "b.txt").out == "".join(
        f"{name}, {id}\n" for name, id in ids.items()
    )
    certificates = [Path(f"at-{name}/cert.pem").read_text() for name in "ab"]
    assert [Path(f"relay/members/{name}.pem").read_text() for name in "ab"] == certificates
    assert Path("relay/members.pem").read_text() == "".join(certificates)
    assert cli("relay", "allow", "a.txt").code == 0, "again"
    # Another member with the same name does not take its place automatically.
    shutil.rmtree("at-a")
    assert cli(*init("a")[:-3], "--yes").code == 0
    Path("new.txt").write_text(cli("peer", "invite", "--home", "at-a", "--unreachable").out)
    assert cli.error("relay", "allow", "new.txt") == (
        "Another member is called 'a': remove relay/members/a.pem if this one takes its place."
    )
    # Nor do two that come at the same time: then neither is let in.
    shutil.rmtree("relay/members")
    os.mkdir("relay/members")
    assert cli.error("relay", "allow", "a.txt", "b.txt", "new.txt").startswith("Another member is")
    assert not os.listdir("relay/members")
    assert cli.error("relay", "allow").startswith("No member is named: give one or more")
    Path("new.txt").write_text(Path("a.txt").read_text()[:-9])
    assert cli.error("relay", "allow", "b.txt", "new.txt").startswith("new.txt: The invitation is")
    assert "is neither an invitation nor a file" in cli.error("relay", "allow", "x" * 500)
    assert "is not the folder of a relay" in cli.error("relay", "run", "--home", "at-a")


def test_a_relay_runs_until_it_is_stopped(files: Path, cli: CommandLine) -> None:
    assert cli.error("relay", "run").startswith("This relay lets nobody in")
    for content in (b"\xff", b"no certificate"):
        Path("relay/members/a.pem").write_bytes(content)
        told = "relay/members/a.pem: The certificate cannot be read: it must be PEM text."
        assert cli.error("relay", "run") == told
    Path("relay/members/a.pem").unlink()
    assert cli(*init("a")).code == 0
    Path("a.txt").write_text(cli("peer", "invite", "--home", "at-a").out)
    assert cli("relay", "allow", "a.txt").code == 0
    place = free_address()
    command = [sys.executable, "-m", "pairgossip", "relay", "run", "--listen", place]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "Passing frames on between a.\n"
        assert until(lambda: is_open(place))
        second = subprocess.run(command, capture_output=True, text=True, timeout=20).stderr
        os.kill(running.pid, signal.SIGTERM)
        assert running.wait(20) == 0
    assert second.splitlines()[-1].startswith("Error: Cannot open the relay: ")
