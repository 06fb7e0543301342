"""The commands of `pairgossip peer` except `init` and `run`."""

from __future__ import annotations

import io
import json
import os
import sys
from configparser import RawConfigParser
from pathlib import Path

import msgspec
import pytest

from pairgossip.cli.peer.status import _format_seconds
from pairgossip.cli.peer.unit import fill_in
from pairgossip.peer.estimates.errors import Errors
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.state import Save
from pairgossip.peer.service.assembly import assemble, read_snapshot
from pairgossip.peer.service.status import Coverage, Ended, keep_ended, write_status
from pairgossip.peer.storage.folder import open_home

from .running import CommandLine

GINI = """
algorithm.name = "exchange"
kernel = "gini"
columns = ["income"]
[ranges]
income = [0, 100]
"""
LOSS = """
algorithm.name = "exchange"
loss = "auc-logistic"
columns = ["a", "b"]
label = "class"
[ranges]
a = [-5, 5]
b = [-5, 5]
class = [0, 1]
[learning]
step = 0.5
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gini.toml").write_text(GINI)
    (tmp_path / "rows.csv").write_text("income\n1\n5\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(cli: CommandLine, name: str, *more: object, spec: str = "gini.toml") -> str:
    listen = ("--listen", "tls/127.0.0.1:7447")
    data = "rows.csv" if spec == "gini.toml" else "labeled.csv"
    given = ("--name", name, "--data", data, "--spec", spec, *listen, *more)
    answer = cli("peer", "init", *given, "--yes")
    assert answer.code == 0, answer.err
    return answer.out.strip()


def introduce(cli: CommandLine, name: str, to: str, *more: str) -> str:
    invitation = cli("peer", "invite", "--home", name).out.strip()
    answer = cli("peer", "join", invitation, "--home", to, *more)
    assert answer.code == 0, answer.err
    return answer.out.strip()


def make_two(cli: CommandLine) -> str:
    """Make ann, who has joined bob, and return bob's id."""
    init(cli, "ann")
    identity = init(cli, "bob")
    introduce(cli, "bob", "ann")
    return identity


def test_help_teaches(cli: CommandLine) -> None:
    answer = cli("peer", "--help")
    assert answer.code == 0
    commands = "init invite join run status result add evict export"
    for command in commands.split():
        assert f" {command} " in answer.out
        shown = cli("peer", command, "--help").out
        assert f"pairgossip peer {command}" in shown and "For example" in shown


def test_an_invitation_is_one_line_for_the_neighbors(cli: CommandLine, files: Path) -> None:
    identity = init(cli, "ann")
    init(cli, "bob", "--home", "elsewhere")
    line = cli("peer", "invite", "--home", "ann").out
    assert line.startswith("pairgossip-invitation-1:") and line.count("\n") == 1
    (files / "ann.txt").write_text(line)
    answer = cli("peer", "join", "ann.txt", "--home", "elsewhere")
    assert (answer.code, answer.out) == (0, f"neighbor ann, 2 rows, {identity}\n")
    (member,) = json.loads((files / "elsewhere" / "members.json").read_text())["members"]
    assert (member["address"], member["is_neighbor"]) == ("tls/127.0.0.1:7447", True)


def test_several_invitations_are_joined_at_once_or_not_at_all(
    cli: CommandLine, files: Path
) -> None:
    ids = {name: init(cli, name) for name in ("ann", "bob", "cid")}
    for name in ids:
        (files / f"{name}.txt").write_text(cli("peer", "invite", "--home", name).out)
    listed = files / "ann" / "members.json"
    before = listed.read_bytes()
    (files / "broken.txt").write_text((files / "cid.txt").read_text()[:-9])
    error = cli.error("peer", "join", "bob.txt", "broken.txt", "--home", "ann")
    assert error.startswith("broken.txt: The invitation is incomplete or altered")
    assert "own invitation" in cli.error("peer", "join", "ann.txt", "--home", "ann")
    assert "name one or more files" in cli.error("peer", "join", "--home", "ann")
    assert listed.read_bytes() == before
    answer = cli("peer", "join", *sorted(f"{name}.txt" for name in ids), "--home", "ann")
    assert answer.code == 0, answer.err
    assert answer.err == "Left out ann.txt: it is this peer's own invitation.\n"
    assert answer.out == "".join(
        f"neighbor {name}, 2 rows, {ids[name]}\n" for name in ("bob", "cid")
    )
    members = json.loads(listed.read_text())["members"]
    assert [member["name"] for member in members] == ["bob", "cid"]


def test_addresses_of_an_invitation(cli: CommandLine, files: Path) -> None:
    given = ("--name", "ann", "--data", "rows.csv", "--spec", "gini.toml")
    assert cli("peer", "init", *given, "--yes").code == 0
    for nowhere in ((), ("--address", "")):
        assert cli.error("peer", "invite", *nowhere) == (
            "This peer listens everywhere (tls/0.0.0.0:7447): say where neighbors reach it, as in "
            "--address tls/clinic-a.example:7447, or give --unreachable."
        )
    init(cli, "bob")
    for option, expected in (
        (("--address", "tls/ann.example:1"), "tls/ann.example:1"),
        (("--unreachable",), None),
    ):
        line = cli("peer", "invite", "--home", "ann", *option).out.strip()
        assert cli("peer", "join", line, "--home", "bob", "--not-a-neighbor").code == 0
        (member,) = json.loads((files / "bob" / "members.json").read_text())["members"]
        assert (member["address"], member["is_neighbor"]) == (expected, False)
    both = ("--address", "tls/x:1", "--unreachable")
    assert "not both" in cli.error("peer", "invite", "--home", "ann", *both)
    assert "is not an address" in cli.error("peer", "invite", "--home", "ann", "--address", "x:1")


def test_another_specification_cannot_join(cli: CommandLine, files: Path) -> None:
    init(cli, "ann")
    line = cli("peer", "invite", "--home", "ann").out.strip()
    (files / "gini.toml").write_text(GINI.replace("100", "200"))
    init(cli, "bob")
    error = cli.error("peer", "join", line, "--home", "bob")
    assert error.startswith("'ann' runs another specification: ") and "200" in error


def test_the_folder_is_found_by_itself(
    cli: CommandLine, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "There is no peer in this folder" in cli.error("peer", "status")
    init(cli, "ann")
    assert cli("peer", "status", "--json").json()["name"] == "ann"
    monkeypatch.chdir(files / "ann")
    assert cli("peer", "status", "--json").json()["name"] == "ann"
    monkeypatch.chdir(files)
    init(cli, "bob")
    assert "several peers in this folder: give --home with one of ann, bob" in cli.error(
        "peer", "status"
    )
    for words in (["status"], ["result"], ["result", 1], ["result", "--json", "a.json"]):
        assert "There is no folder nowhere" in cli.error("peer", *words, "--home", "nowhere")


def test_the_status_of_a_peer_that_never_ran(cli: CommandLine, files: Path) -> None:
    make_two(cli)
    shown = cli("peer", "status", "--home", "ann").out
    assert "unknown: no exchange yet" in shown and "not running" in shown
    assert "records of 1 of 2 members; all have 4 rows together" in shown and "never" in shown
    assert "not known yet" in shown  # whether the neighbor has the same specification
    status = cli("peer", "status", "--home", "ann", "--json").json()
    assert (status["running"], status["state"]) == (False, "down")
    assert (status["exchanges"], status["estimate"]) == (0, None)
    error = cli.error("peer", "result", "--home", "ann", "--out", "result.json")
    assert error == "This peer has made no exchange yet: run it, then ask again."
    assert "added rows" not in shown
    cli("peer", "add", "ann", "--data", "rows.csv")
    assert "2, taken up when the peer runs" in cli("peer", "status", "--home", "ann").out
    assert cli("peer", "status", "--home", "ann", "--json").json()["rows_waiting"] == 2


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.2, "0 seconds"), (1.0, "1 second"), (1.6, "2 seconds"), (119, "119 seconds"),
     (120, "2 minutes"), (7200, "2 hours"), (172_800, "2 days")],
)  # fmt: skip
def test_one_second_is_one(seconds: float, shown: str) -> None:
    assert _format_seconds(seconds) == shown


def test_the_status_says_what_an_estimate_is_about(cli: CommandLine, files: Path) -> None:
    init(cli, "ann")
    shown = cli("peer", "status").out
    assert "records of 1 of 1 members; all have 2 rows together" in shown
    told = read_snapshot(open_home(files / "ann")).status()
    errors = {"gossip_error": 0.5, "gossip_interval": (1.0, 3.0)}
    errors |= {"sampling_error": 0.0621, "sampling_interval": (1.876, 2.125)}
    told = msgspec.structs.replace(told, estimate=(2.0,), done=True, pid=7, **errors)
    write_status(files / "ann" / "status.json", told)
    shown = " ".join(cli("peer", "status").out.split())
    assert (
        "gini 2 gossip error 0.5 (this peer is likely within 1 of the value over all rows; falls "
        "with messages) sampling error 0.062 (95 %: 1.876 to 2.125 for the population the rows are "
        "drawn from; falls with rows only) has met" in shown
    )
    found = cli("peer", "status", "--json").json()
    assert found["generation"] == 1
    assert (found["gossip_error"], found["gossip_interval"]) == (0.5, [1.0, 3.0])
    assert (found["sampling_error"], found["sampling_interval"]) == (0.0621, [1.876, 2.125])
    told = msgspec.structs.replace(told, privacy="It is.", privacy_error=0.03)
    write_status(files / "ann" / "status.json", told)
    shown = " ".join(cli("peer", "status").out.split())
    assert (
        "within 1 of the value over all reports; falls with messages) sampling error at least "
        "0.062 (95 %, privacy error included: 1.876 to 2.125 for the population the rows are drawn "
        "from; falls with rows only) privacy error at most 0.03 (reports instead of rows; falls "
        "with rows and a larger epsilon)" in shown
    )
    told = msgspec.structs.replace(told, sampling_error=None, sampling_interval=(1e50, 3e50))
    write_status(files / "ann" / "status.json", told)
    shown = " ".join(cli("peer", "status").out.split())
    assert "too small to tell (95 %, privacy error included: 1.000e+50 to 3.000e+50 for" in shown


def test_running_without_neighbors_is_refused(cli: CommandLine, files: Path) -> None:
    init(cli, "ann")
    assert "has no neighbors" in cli.error("peer", "run", "--home", "ann")


@pytest.mark.parametrize(("typed", "code"), [("YES\n", 0), ("n\n", 1), ("", 1)])
def test_evicting_says_what_it_means_and_asks(
    cli: CommandLine, files: Path, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
) -> None:
    make_two(cli)
    told = read_snapshot(open_home(files / "ann")).status()
    told = msgspec.structs.replace(told, estimate=(2.0,), gossip_error=0.5, exchanges=17)
    write_status(files / "ann" / "status.json", told)
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    answer = cli("peer", "evict", "bob", "--home", "ann")
    assert (answer.code, answer.out) == (code, "")
    for part in (
        "Evicting 'bob' cannot be undone:",
        "its 2 rows count no more;",
        "generation 2 begins, from the members' own rows alone;",
        "bob can come back only as a new peer",
        "Generation 1 then ends with 2, gossip error 0.5 (after 17 exchanges",
        "Evict bob? [y/N] ",
    ):
        assert part in answer.err
    assert (files / "ann" / "evict").exists() == (code == 0)
    assert answer.err.endswith("Nothing was done.\n") == (code == 1)


def test_what_ended_generations_have_found(cli: CommandLine, files: Path) -> None:
    make_two(cli)
    home = open_home(files / "ann")
    parts = assemble(home)
    exchange = Exchange(parts.context, parts.state)
    actions = exchange.evict([parts.members.listed[0].id])
    (save,) = (action for action in actions if isinstance(action, Save))
    parts.journal.save(save)
    parts.close()
    errors = Errors(gossip_error=0.25, sampling_error=0.125, sampling_interval=(2.0, 3.0))
    found = Ended(1, (2.5,), 17, Coverage(2, 2, 4), (), 1.5, **errors.as_fields())
    keep_ended(home.ended, found)
    shown = " ".join(cli("peer", "status", "--home", "ann").out.split())
    assert (
        "generation 1 ended with 2.5, gossip error 0.25, sampling error 0.12 (after 17 exchanges, "
        "with records of 2 of 2 members, 4 rows together)"
    ) in shown
    (ended,) = cli("peer", "status", "--home", "ann", "--json").json()["ended"]
    assert (ended["generation"], ended["estimate"], ended["exchanges"]) == (1, [2.5], 17)
    error = cli.error("peer", "result", "--home", "ann", "--out", "result.json")
    assert error == (
        "This peer has made no exchange yet in generation 2: run it, or give --generation 1 for "
        "what that one had found."
    )
    given = ("--home", "ann", "--out", "result.json", "--generation")
    assert (
        cli.error("peer", "result", *given, "3") == "--generation is 3: what is known is of 1, 2."
    )
    assert cli("peer", "result", *given, "1").code == 0
    result = json.loads((files / "result.json").read_text())
    assert (result["generation"], result["estimate"], result["gossip_error"]) == (1, 2.5, 0.25)
    assert (result["sampling_error"], result["sampling_interval"]) == (0.125, [2.0, 3.0])
    assert "was evicted before" in cli.error("peer", "evict", "bob", "--home", "ann", "--yes")
    home.ended.write_text("[")
    assert "is not what a peer keeps of generations" in cli.error("peer", "status", "--home", "ann")


def test_evicting_a_stopped_peers_member_waits(cli: CommandLine, files: Path) -> None:
    lost = make_two(cli)
    refused = cli.error("peer", "evict", "bob", "--home", "ann")
    assert refused == (
        "Evicting 'bob' cannot be undone, and there is no terminal to ask on: give --yes."
    )
    assert not (files / "ann" / "evict").exists()
    answer = cli("peer", "evict", "bob", "--home", "ann", "--yes")
    assert answer.err == "bob is evicted as soon as this peer is started.\n"
    assert [file.name for file in (files / "ann" / "evict").iterdir()] == [lost]
    error = cli.error("peer", "evict", "carl", "--home", "ann")
    assert error == "No member is called 'carl': the members are bob."


def test_an_export_holds_data_only_if_asked(cli: CommandLine, files: Path) -> None:
    identity = init(cli, "ann")
    assert cli("peer", "export", "--out", "plain.json").code == 0
    plain = json.loads((files / "plain.json").read_text())
    assert plain["nodes"][0]["holds"]["origin"] == identity
    assert "value" not in (files / "plain.json").read_text()
    assert cli("peer", "export", "--out", "full.json", "--with-data").code == 0
    full = json.loads((files / "full.json").read_text())
    assert [node["holds"]["value"] for node in full["nodes"]] == [[1.0], [5.0]]
    assert "PRIVATE" not in (files / "full.json").read_text()


def test_a_model_is_one_that_score_reads(
    cli: CommandLine, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "loss.toml").write_text(LOSS)
    (files / "labeled.csv").write_text("a,b,class\n1,2,0\n2,1,1\n3,0,1\n")
    init(cli, "ann", spec="loss.toml")
    monkeypatch.setattr("pairgossip.peer.service.status.estimate_of", lambda *_: (1.0, -0.5))
    assert cli("peer", "result", "--out", "model.json").code == 0
    model = json.loads((files / "model.json").read_text())
    assert (model["format"], model["theta"]) == ("pairgossip-model", [1.0, -0.5])
    assert (model["columns"], model["classes"]) == (["a", "b"], [0.0, 1.0])
    scored = cli("score", "model.json", "labeled.csv", "--label", "class")
    assert (scored.code, scored.out) == (0, "1.0\n")


def test_a_unit_has_the_paths_and_the_owner(cli: CommandLine, files: Path) -> None:
    init(cli, "ann")
    unit = RawConfigParser(strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(cli("peer", "unit").out)
    service, folder = unit["Service"], (files / "ann").resolve()
    program, _, words = service["ExecStart"].partition(" ")
    assert words == f"peer run --home {folder}" and Path(program).name == "pairgossip"
    assert service["ReadWritePaths"] == service["WorkingDirectory"] == str(folder)
    assert service["User"] == folder.owner() and "StateDirectory" not in service
    odd = fill_in("ExecStart=x\nProtectHome=true\n", Path("/opt/p"), [Path("/home/a b%")], "a", "a")
    assert odd == 'ExecStart=/opt/p peer run --home "/home/a b%%"\nProtectHome=false\n'


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_unit_names_an_owner_without_a_name_by_number(cli: CommandLine, files: Path) -> None:
    init(cli, "ann")
    os.chown(files / "ann", 54321, 54322)
    lines = cli("peer", "unit").out.splitlines()
    assert {"User=54321", "Group=54322"} <= set(lines)


def test_a_unit_lets_the_source_be_read(cli: CommandLine, files: Path) -> None:
    for source, shown in (("/home/ann/rows.csv", "false"), ("/srv/rows.csv", "true")):
        given = ("ProtectHome=true", Path("/p"), [Path("/srv/ann")], "a", "a", [Path(source)])
        assert fill_in(*given) == f"ProtectHome={shown}\n"


def test_a_mistyped_variable_is_named(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRGOSSIP_HOM", "somewhere")
    error = cli.error("peer", "status")
    assert error.startswith("Unknown variable 'PAIRGOSSIP_HOM': choose one of PAIRGOSSIP_HOME, ")


def test_a_status_is_printed_for_prometheus_and_checked(
    cli: CommandLine, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    init(cli, "ann")
    assert "pairgossip_exchanges 0.0" in cli("peer", "status", "--prometheus").out
    answer = cli("peer", "status", "--check")
    assert (answer.code, answer.out, answer.err) == (1, "", "ann: not alive.\n")
    monkeypatch.chdir("/")
    monkeypatch.setenv("PAIRGOSSIP_HOME", str(files / "ann"))
    assert cli("peer", "status", "--json").json()["name"] == "ann"
