from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.protocol.state import State
from pairgossip.peer.storage import home as founding
from pairgossip.peer.storage.folder import Home, OperatorSettings, open_home
from pairgossip.peer.storage.home import create_home
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.peer.storage.journal_file import export
from tests.peer.homes import AUC, GINI, make_home


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path, "ann", [3.5, 7.25])


def test_a_new_home_has_all_its_parts(home: Home) -> None:
    names = {file.name for file in home.folder.iterdir()}
    assert names == {
        "peer.toml", "spec.toml", "data.csv", "key.pem", "cert.pem", "members.json", "state.sqlite",
        "state.witness",
    }  # fmt: skip
    assert mode(home.folder) == 0o700
    assert mode(home.key) == mode(home.data) == mode(home.state) == 0o600
    assert home.read_settings() == OperatorSettings("ann", "tls/127.0.0.1:7447")
    assert home.read_rows() == ((3.5,), (7.25,))
    assert home.read_members().listed == ()
    assert load_identity(home.folder).name == "ann"
    assert open_home(home.folder).folder == home.folder


def test_the_first_state_is_there_from_the_beginning(home: Home) -> None:
    me = load_identity(home.folder).id
    journal = SqliteJournal(home.state, create=False)
    state = journal.load()
    journal.close()
    assert isinstance(state, State)
    assert (state.generation, state.seq, state.exchanges) == ("00000000", 0, 0)
    assert [(node.record.origin, node.record.row) for node in state.nodes] == [(me, 0), (me, 1)]
    assert [node.record.value for node in state.nodes] == [(3.5,), (7.25,)]
    assert export(home.state)["peer"] == me


def test_only_the_columns_of_the_run_are_copied(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(AUC)
    (tmp_path / "data.csv").write_text("name;score;diseased\nEve;0.5;1\nBob;0.25;0\n")
    home = create_home(tmp_path / "a", "a", tmp_path / "run.toml", tmp_path / "data.csv")
    assert home.data.read_text() == "score,diseased\n0.5,1.0\n0.25,0.0\n"
    assert home.spec.read_text() == AUC
    assert home.read_rows() == ((0.5, 1.0), (0.25, 0.0))


def test_nothing_that_exists_is_overwritten(tmp_path: Path, home: Home) -> None:
    before = {file.name: file.read_bytes() for file in home.folder.iterdir()}
    with pytest.raises(InputError, match="exists already and is left as it is: choose another"):
        make_home(tmp_path, "ann", [1.0])
    assert {file.name: file.read_bytes() for file in home.folder.iterdir()} == before
    (tmp_path / "bob").write_text("a file")
    with pytest.raises(InputError, match="exists already"):
        make_home(tmp_path, "bob", [1.0])
    (tmp_path / "cid").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="exists already"):
        make_home(tmp_path, "cid", [1.0])
    (tmp_path / "dan").mkdir()
    with pytest.raises(InputError, match="exists already"):
        make_home(tmp_path, "dan", [1.0])
    assert (tmp_path / "bob").read_text() == "a file"


def made_of(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.suffix not in (".toml", ".csv"))


@pytest.mark.parametrize(
    "step",
    ["write_new", "create_identity", "_first_journal", "make_context", "sync"],
)
@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, problem: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise problem

    with monkeypatch.context() as patch:
        patch.setattr(founding, step, fail)
        with pytest.raises((InputError, KeyboardInterrupt)) as caught:
            make_home(tmp_path, "ann", [1.0])
    if isinstance(problem, OSError):
        assert str(caught.value).startswith(f"The disk is full: {tmp_path / 'ann'} could not be")
    assert made_of(tmp_path) == []
    make_home(tmp_path, "ann", [1.0])
    assert made_of(tmp_path) == ["ann"]


def test_a_folder_that_appears_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def appear(*_: object) -> None:
        (tmp_path / "ann").mkdir()
        (tmp_path / "ann" / "mine").write_text("x")

    monkeypatch.setattr(founding, "_begin", appear)
    with pytest.raises(InputError, match="exists already"):
        make_home(tmp_path, "ann", [1.0])
    assert made_of(tmp_path) == ["ann"]
    assert (tmp_path / "ann" / "mine").read_text() == "x"


def test_a_home_needs_a_folder_to_be_in(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(GINI)
    (tmp_path / "data.csv").write_text("income\n1\n")
    with pytest.raises(InputError, match=r"There is no folder .*absent: make it first"):
        create_home(tmp_path / "absent" / "a", "a", tmp_path / "run.toml", tmp_path / "data.csv")


def test_sums_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "sums.toml").write_text(GINI.replace("exchange", "sums"))
    (tmp_path / "data.csv").write_text("income\n1\n")
    with pytest.raises(InputError, match="asks for sums, which members of a study compute: leave"):
        create_home(tmp_path / "a", "a", tmp_path / "sums.toml", tmp_path / "data.csv")
    assert made_of(tmp_path) == []


def test_an_operator_says_no_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(GINI)
    (tmp_path / "data.csv").write_text("income\n1\n")
    said: list[str] = []

    def refuse(sentences: list[str]) -> None:
        said.extend(sentences)
        raise InputError("No.")

    given = tmp_path / "a", "a", tmp_path / "run.toml", tmp_path / "data.csv"
    with pytest.raises(InputError, match=r"No\."):
        create_home(*given, confirm=refuse)
    assert "Your rows travel" in said[0] and made_of(tmp_path) == []


# Opening


def test_what_is_no_home_is_told(tmp_path: Path, home: Home) -> None:
    with pytest.raises(InputError, match=r"There is no folder .*absent: run peer init"):
        open_home(tmp_path / "absent")
    with pytest.raises(InputError, match="is not the folder of a peer: run peer init"):
        open_home(tmp_path)
    home.folder.chmod(0o750)
    with pytest.raises(InputError, match=r"Others can enter .*: run chmod 700 "):
        open_home(home.folder)
    link = tmp_path / "link"
    link.symlink_to(home.folder)
    with pytest.raises(InputError, match=r"The folder .*link is a link to ") as refused:
        open_home(link)
    assert "chmod" not in str(refused.value)
    home.folder.chmod(0o700)
    home.members.unlink()
    with pytest.raises(InputError, match=r"members\.json is missing in .*: restore it"):
        open_home(home.folder)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name = ", "is not valid TOML"),
        ("", "name is missing: add it."),
        ('name = "a"\nlisten = 3', "listen must be text in quotes, but it is a whole number."),
        ('name = "a"\nlisen = "x"', "Unknown key 'lisen': did you mean 'listen'?"),
        ('name = "a b"', "is not a name for a peer"),
        ('name = "a"\nlisten = "x"', "'x' is not an address"),
        ('name = "a"\nmetrics = "9464"', "metrics is '9464': write it as HOST:PORT"),
        ('name = "a"\npower_safe = 1', "power_safe must be true or false, but it is a whole"),
    ],
)
def test_wrong_settings_are_told(home: Home, text: str, sentence: str) -> None:
    home.peer.write_text(text)
    with pytest.raises(InputError) as caught:
        open_home(home.folder)
    assert sentence in str(caught.value)
    assert "peer.toml" in str(caught.value)


# One process, one peer


def test_a_home_is_held_by_one_process_only(home: Home) -> None:
    assert not home.is_running()
    with home.lock():
        assert home.is_running()
        with (
            pytest.raises(
                InputError,
                match=f"already running as process {os.getpid()}: let it run, or stop it before "
                "you start it again. A second peer needs a folder of its own: run peer init",
            ),
            Home(home.folder).lock(),
        ):
            pass
        assert home.is_running()
    assert not home.is_running()
    with home.lock():
        pass


def test_the_environment_changes_settings(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRGOSSIP_METRICS", "0.0.0.0:9464")
    monkeypatch.setenv("PAIRGOSSIP_POWER_SAFE", "false")
    monkeypatch.setenv("PAIRGOSSIP_HOME", "/elsewhere")
    monkeypatch.setenv("PAIRGOSSIP_RELEASES", "/elsewhere/releases")
    found = home.read_settings()
    assert (found.metrics, found.power_safe, found.name) == ("0.0.0.0:9464", False, "ann")


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("PAIRGOSSIP_LISTEN", "nowhere", "Environment: 'nowhere' is not an address"),
        ("PAIRGOSSIP_POWER_SAFE", "few", "Environment: power_safe must be true or false"),
        ("PAIRGOSSIP_METRIC", "x", "Unknown variable 'PAIRGOSSIP_METRIC': choose one of"),
        ("PAIRGOSSIP_NAME", "bob", "Unknown variable 'PAIRGOSSIP_NAME'"),
    ],
)
def test_a_wrong_variable_is_told(
    home: Home, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, sentence: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InputError, match=sentence):
        home.read_settings()
