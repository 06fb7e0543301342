from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.protocol.state import State
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.storage import home as founding
from pairgossip.peer.storage.folder import Home, OperatorSettings, open_home
from pairgossip.peer.storage.growth import request_growth
from pairgossip.peer.storage.home import create_home, make_folder
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.peer.storage.journal_file import export
from pairgossip.peer.sums import disclosure
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
    assert home.read_settings() == OperatorSettings("ann", "tls/127.0.0.1:7447", least_rows=1)
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

    monkeypatch.setitem(founding._BEGINNINGS, "exchange", appear)
    with pytest.raises(InputError, match="exists already"):
        make_home(tmp_path, "ann", [1.0])
    assert made_of(tmp_path) == ["ann"]
    assert (tmp_path / "ann" / "mine").read_text() == "x"


def test_a_home_needs_a_folder_to_be_in(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(GINI)
    (tmp_path / "data.csv").write_text("income\n1\n")
    with pytest.raises(InputError, match=r"There is no folder .*absent: make it first"):
        create_home(tmp_path / "absent" / "a", "a", tmp_path / "run.toml", tmp_path / "data.csv")


# What sums say about single rows


SUMS = GINI.replace('algorithm.name = "exchange"', 'algorithm.name = "sums"')
LEARNING = AUC.replace("exchange", "sums").replace('kernel = "auc"', 'loss = "auc-logistic"')
NOISY = SUMS + "[privacy]\nepsilon = 1.0\n"


class Checks:
    """Stands in for what is checked of a site's rows; refuses on demand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[tuple[list[list[float]], int, tuple[str, ...]]] = []
        self.refuses = False
        monkeypatch.setattr(disclosure, "check_own_rows", self.check)
        monkeypatch.setattr(disclosure, "describe_small_cells", lambda *_: "Two cells are small.")

    def check(self, spec: Spec, rows: FloatArray, least_rows: int, allowed: Any) -> None:
        self.seen.append((rows.tolist(), least_rows, tuple(allowed)))
        if self.refuses:
            raise InputError("Too few rows.")


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Checks:
    return Checks(monkeypatch)


def test_rows_are_checked_before_anything_is_made(
    tmp_path: Path, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run.toml").write_text(NOISY)
    (tmp_path / "data.csv").write_text("income\n1\n2\n")
    files = tmp_path / "run.toml", tmp_path / "data.csv"
    settings = OperatorSettings("a", least_rows=2, allow=("distance",))
    said: list[str] = []
    checks.refuses = True
    with pytest.raises(InputError, match=r"Too few rows\."):
        make_folder(tmp_path / "a", settings, *files, confirm=said.extend)
    assert (said, sorted(file.name for file in tmp_path.iterdir())) == (
        [],
        ["data.csv", "run.toml"],
    )
    checks.refuses = False

    def refuse(sentences: list[str]) -> None:
        said.extend(sentences)
        raise InputError("No.")

    with pytest.raises(InputError, match=r"No\."):
        make_folder(tmp_path / "a", settings, *files, confirm=refuse)
    assert "No row leaves this machine" in said[0] and said[-2] == "Two cells are small."
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data.csv", "run.toml"]
    monkeypatch.setenv("PAIRGOSSIP_LEAST_ROWS", "7")  # as it will be when the peer runs
    make_folder(tmp_path / "a", settings, *files)
    rows = [[1.0], [2.0]]
    assert checks.seen == [(rows, least, ("distance",)) for least in (2, 2, 7)]


def test_rows_that_are_added_are_checked_alone_and_with_those_there_are(
    tmp_path: Path, checks: Checks
) -> None:
    home = make_home(tmp_path, "ann", [3.5, 7.25], SUMS)
    (tmp_path / "more.csv").write_text("\n".join(["income", *map(str, range(10))]))
    checks.refuses = True
    with pytest.raises(InputError, match=r"Too few rows\."):
        request_growth(home, tmp_path / "more.csv")
    assert not home.next_sources.exists()
    checks.refuses = False
    request_growth(home, tmp_path / "more.csv")
    assert home.next_sources.exists()
    added = [[float(k)] for k in range(10)]
    assert checks.seen[-1] == (added, 1, ())


def test_rows_that_models_are_learned_from_are_checked_with_those_there_are(
    tmp_path: Path, checks: Checks
) -> None:
    (tmp_path / "run.toml").write_text(LEARNING)
    old, new = ["0.5,1", "0.25,0"], [f"0.{k},{k % 2}" for k in range(10)]
    for name, lines in (("data", old), ("more", new)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["score,diseased", *lines]))
    home = create_home(tmp_path / "a", "a", tmp_path / "run.toml", tmp_path / "data.csv")
    request_growth(home, tmp_path / "more.csv")
    tables = [[list(map(float, line.split(","))) for line in lines] for lines in (new, old + new)]
    assert [sorted(rows) for rows, _, _ in checks.seen[-2:]] == [sorted(one) for one in tables]


def test_rows_that_travel_are_not_checked_for_sums(tmp_path: Path, checks: Checks) -> None:
    home = make_home(tmp_path, "ann", [3.5, 7.25])
    (tmp_path / "more.csv").write_text("income\n9\n")
    request_growth(home, tmp_path / "more.csv")
    assert checks.seen == []


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
    monkeypatch.setenv("PAIRGOSSIP_LEAST_MEMBERS", "5")
    monkeypatch.setenv("PAIRGOSSIP_POWER_SAFE", "false")
    monkeypatch.setenv("PAIRGOSSIP_BUDGET", "1.5")
    monkeypatch.setenv("PAIRGOSSIP_HOME", "/elsewhere")
    monkeypatch.setenv("PAIRGOSSIP_RELEASES", "/elsewhere/releases")
    found = home.read_settings()
    assert (found.metrics, found.least_members, found.power_safe) == ("0.0.0.0:9464", 5, False)
    assert (found.budget, found.name) == (1.5, "ann")


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("PAIRGOSSIP_LISTEN", "nowhere", "Environment: 'nowhere' is not an address"),
        ("PAIRGOSSIP_LEAST_MEMBERS", "few", "Environment: least_members must be a whole number"),
        ("PAIRGOSSIP_LEAST_MEMBERS", "1", "Environment: least_members must be 2 or more"),
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
