from __future__ import annotations

import errno
import io
import json
import shutil
import socket
from pathlib import Path

import pytest
from rich.console import Console

import pairgossip as pg
from pairgossip.cli.swarm.command import _ChaosOptions, _run_options
from pairgossip.cli.swarm.plans import DurationOptions
from pairgossip.errors import InputError
from pairgossip.peer.estimates.errors import Errors
from pairgossip.peer.reading import PeerReading, SwarmReading
from pairgossip.swarm import running
from pairgossip.swarm.audit import Audit, Finding
from pairgossip.swarm.plan import Plan
from pairgossip.swarm.running import Report
from pairgossip.tables import read_columns
from pairgossip.watch.terminal import PeersPicture

from ..swarm.brisk import use_brisk_peers
from .running import CommandLine

BASIC = ("swarm", "run", "--kernel", "gini", "--column", "income", "--data")

AUC = """
kernel = "auc"
columns = ["income"]
label = "grade"
[ranges]
income = [0, 20]
grade = [0, 10]
[algorithm]
name = "exchange"
rate = 30.0
"""


def test_a_swarm_from_start_to_verdict(cli: CommandLine, incomes: Path, tmp_path: Path) -> None:
    home = tmp_path / "swarm"
    options = ("--peers", 3, "--graph", "path", "--exchanges", 100, "--rate", 30, "--home", home)
    answer = cli(*BASIC, incomes, *options)
    assert answer.code == 0, answer
    exact = pg.exact(read_columns(incomes, ["income"])["income"], "gini")
    verdict = answer.out.splitlines()[-1]
    assert verdict.startswith("Verdict: all 20 records and the mass of ")
    assert verdict.endswith(f"of the exact value {exact:.6g}.")
    assert "records" in answer.out and "20, each held once" in answer.out
    lines = answer.err.splitlines()
    assert lines[0].startswith("0 s: 3 up; ")
    assert lines[-1] == f"Everything is in {home}"
    assert json.loads((home / "swarm.json").read_text())["running"] is False
    # The peers are ordinary peers.
    status = cli("peer", "status", "--home", home / "peer-02", "--json").json()
    assert status["name"] == "peer-02" and status["stopped"] and not status["running"]


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    use_brisk_peers(monkeypatch)


@pytest.mark.usefixtures("brisk")
def test_a_specification_and_json(cli: CommandLine, incomes: Path, tmp_path: Path) -> None:
    spec = tmp_path / "auc.toml"
    spec.write_text(AUC)
    tokens = ("--spec", spec, "--data", incomes, "--peers", 2, "--exchanges", 60, "--json")
    answer = cli("swarm", "run", *tokens)
    assert answer.code == 0, answer
    told = answer.json()
    assert told["sound"] and told["violations"] == [] and told["failures"] == []
    assert (told["peers"], told["links"], told["records"]) == (2, 1, 20)
    table = read_columns(incomes, ["income", "grade"])
    assert told["exact"] == pytest.approx(pg.exact(table["income"], "auc", "v", table["grade"]))
    assert set(told["estimates"]) == {"peer-01", "peer-02"}


GINI = """
kernel = "gini"
columns = ["income"]
[ranges]
income = [0, 20]
"""


@pytest.mark.usefixtures("brisk")
def test_a_study(cli: CommandLine, incomes: Path, tmp_path: Path) -> None:
    home, specs = tmp_path / "swarm", (tmp_path / "gini.toml", tmp_path / "again.toml")
    for spec in specs:
        spec.write_text(GINI)
    what = (*specs, "--data", incomes, "--peers", 4, "--fast", "--home", home)
    answer = cli("swarm", "run", *what)
    assert answer.code == 0, answer
    exact = pg.exact(read_columns(incomes, ["income"])["income"], "gini")
    verdict = answer.out.splitlines()[-1]
    assert verdict.startswith("Verdict: 2 questions answered alike by all members, as their rows")
    assert f"exact {exact:.5f}" in " ".join(answer.out.split())
    facts = {line[:20].strip(): line[20:].strip() for line in answer.out.splitlines()}
    assert facts["rows elsewhere"].startswith("not looked for: no value is so long")
    assert "4 up; " in answer.err
    # The members are ordinary members.
    shown = cli("peer", "questions", "--home", home / "peer-02")
    assert shown.out.count("answered, and signed by all") == 2
    cli("peer", "disclosed", "--verify", "--home", home / "peer-02")


@pytest.mark.usefixtures("brisk")
def test_sums_of_a_kernel(cli: CommandLine, incomes: Path) -> None:
    header, *lines = incomes.read_text().splitlines()
    incomes.write_text("\n".join([header, *(4 * lines), ""]))  # enough of each class for everyone
    what = ("--kernel", "auc", "--column", "income", "--label", "class", "--classes", "rich,poor")
    more = ("--algorithm", "sums", "--peers", 4, "--fast", "--json")
    told = cli("swarm", "run", "--data", incomes, *what, *more).json()
    assert told["sound"] and told["violations"] == [] and told["failures"] == []
    (answer,) = told["answers"]
    assert (answer["adding"], answer["exact"]) == (4, 0.0)


def test_classes_in_words_are_agreed_on(
    cli: CommandLine, incomes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faked(monkeypatch, 1.0, 1.0, 1.0)
    what = ("--kernel", "auc", "--column", "income", "--label", "class", "--peers", 3, "--json")
    for order in (("--classes", "rich,poor"), ("--positive", "poor")):
        found = cli("swarm", "run", "--data", incomes, *what, *order)
        assert found.code == 0 and found.json()["exact"] == 0.0
    told = cli.error("swarm", "run", "--data", incomes, *what, "--classes", "rich,pure")
    assert "holds 'poor' in lines" in told
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'algorithm.name = "exchange"\nkernel = "auc"\ncolumns = ["income"]\n'
        'label = "class"\nclasses = ["rich", "poor"]\n'
        "[ranges]\nincome = [0, 100]\n"
    )
    by_spec = ("--spec", spec, "--data", incomes, "--peers", 3, "--json")
    assert cli("swarm", "run", *by_spec).json()["exact"] == 0.0
    assert cli.error("swarm", "run", *by_spec, "--classes", "poor,rich") == (
        "Specifications say everything about it: leave out --classes."
    )


def faked(monkeypatch: pytest.MonkeyPatch, *estimates: float | None) -> list[Path]:
    """Let runs end at once with these estimates of peers; return the folders that they get."""
    folders: list[Path] = []

    def run_swarm(plan: Plan, folder: Path, *_: object) -> Report[Audit]:
        folder.mkdir()
        folders.append(folder)
        exact = plan.exact()
        assert exact is not None
        findings = tuple(
            Finding(name, None if factor is None else (factor * exact,), Errors(), 0)
            for name, factor in zip(plan.names, estimates, strict=True)
        )
        audit = Audit(20, 4, 0, 0, 8.0, 8.0, (), findings)
        return Report(audit, exact, 1.0, {}, 0, 0, (), False, 0, 4.0, 0.1, 0.1, None)

    monkeypatch.setattr(running, "run_swarm", run_swarm)
    return folders


@pytest.mark.parametrize(
    ("estimates", "end"),
    [
        ((1.01, None, 1.02), "1 of 3 peers have NO estimate."),
        ((1.0, 1.0, 1.06), "which is NOT within 5.00%."),
        ((None, None, None), "4 exchanges conserved, but 3 of 3 peers have NO estimate."),
    ],
)
def test_a_peer_without_an_estimate_or_too_far_off_fails(
    cli: CommandLine,
    incomes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    estimates: tuple[float | None, ...],
    end: str,
) -> None:
    faked(monkeypatch, *estimates)
    answer = cli(*BASIC, incomes, "--peers", 3, "--within", 0.05, "--home", tmp_path / "swarm")
    assert answer.code == 1
    assert answer.out.rstrip().endswith(end)


def test_a_failed_run_is_kept_even_if_its_report_cannot_be_written(
    cli: CommandLine, incomes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_disk(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    folders = faked(monkeypatch, 1.0, 1.0, 2.0)
    monkeypatch.setattr("pairgossip.cli.swarm.command.write_line", fill_disk)
    monkeypatch.setattr("pairgossip.cli.silence_output", lambda: None)
    assert cli(*BASIC, incomes, "--peers", 3, "--within", 0.05).code == 1
    (folder,) = folders
    assert folder.is_dir()
    shutil.rmtree(folder.parent)


def test_logs_stay_of_peers_that_did_not_start(
    cli: CommandLine, incomes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object, folder: Path, *__: object) -> None:
        folder.mkdir()
        (folder / "peer-01.log").write_text("Error: no room.")
        raise InputError("peer-01 did not start: no room.")

    monkeypatch.setattr(running, "run_swarm", fail)
    answer = cli(*BASIC, incomes, "--peers", 3)
    assert answer.code == 2 and "peer-01 did not start: no room." in answer.err
    folder = Path(answer.err.partition("Everything is in ")[2].splitlines()[0])
    assert (folder / "peer-01.log").exists()
    shutil.rmtree(folder.parent)


SUMS = ("--algorithm", "sums", "--peers")
FOUR = ("--peers", 4)
UNFIT = [
    (("--peers", 21), "21 peers need at least 21 rows, but FILE has 20: use fewer peers, or more"),
    (("--peers", 1), "--peers is 1: give 2 or more."),
    ((*FOUR, "--seconds", 0), "The swarm cannot run for 0.0 seconds: give more than 0."),
    ((*FOUR, "--seconds", "nan"), "The swarm cannot run for nan seconds: give more than 0."),
    ((*FOUR, "--exchanges", 0), "The swarm cannot make 0 exchanges: give 1 or more."),
    ((*FOUR, "--kills", -1), "The number of kills is -1: give 0 or more."),
    ((*FOUR, "--within", 0), "--within is 0.0: give a number > 0, such as 0.05."),
    ((*FOUR, "--spec", "auc.toml"), "Specifications say everything about it: leave out --kernel."),
    ((*FOUR, "--joins", 1), "--joins is for a study's members: leave it out, or ask for sums."),
    ((*FOUR, "--rate", 0), "algorithm.rate is 0: give a finite number > 0."),
    ((*FOUR, "--first-port", 65_534), "4 ports from 65534 on do not exist: give a first port of"),
    ((*FOUR, "--algorithm", "sum"), "Unknown algorithm 'sum': did you mean 'sums'?"),
    ((*SUMS, 4, "--exchanges", 5), "A study's members make no exchanges: leave --exchanges out."),
    ((*SUMS, 4, "--graph", "path"), "A study's members all talk to each other, on no network: le"),
    ((*SUMS, 4, "--leaves", 1), "1 of 4 peers are to leave, and sums are over 4 members or more"),
    ((*SUMS, 4, "--joins", 17), "21 peers need at least 21 rows, but FILE has 20: use fewer"),
    ((*SUMS, 4, "--joins", -1), "-1 peers cannot join: give 0 or more."),
    ((*SUMS, 4, "--leaves", -1), "-1 peers cannot leave: give 0 or more."),
    ((*SUMS, 4, "--seconds", 0), "The swarm cannot run for 0.0 seconds: give more than 0."),
    ((*FOUR, "--home", "nowhere/net"), "There is no folder nowhere: make it first."),
    ((*SUMS, 4, "--rate", 5), "--rate is how often rows are exchanged, and with sums none are:"),
    ((*SUMS, 2), "Peers contribute to sums over 4 members or more, not 2: use more peers, or"),
]


@pytest.mark.parametrize(("options", "sentence"), UNFIT)
def test_what_does_not_fit(
    cli: CommandLine, incomes: Path, options: tuple[object, ...], sentence: str
) -> None:
    assert cli.error(*BASIC, incomes, *options).startswith(sentence.replace("FILE", str(incomes)))


def test_a_study_goes_on_after_its_faults() -> None:
    how, chaos = DurationOptions(seconds=40), _ChaosOptions(chaos=True)
    assert _run_options(how, _ChaosOptions(), "sums").seconds == 40
    disturbed = _run_options(how, chaos, "sums")
    assert disturbed.faults is not None
    assert (disturbed.faults.window, disturbed.seconds) == (30, 150)
    assert _run_options(how, chaos, "exchange").seconds == 40, "peers go on until they are stopped"
    assert _run_options(DurationOptions(), chaos, "sums").seconds == 120
    with pytest.raises(InputError, match="give more than 0"):
        _run_options(DurationOptions(seconds=-3), chaos, "sums")


def test_questions_that_no_study_answers(cli: CommandLine, incomes: Path, tmp_path: Path) -> None:
    gini, auc, median = (tmp_path / name for name in ("gini.toml", "auc.toml", "median.toml"))
    gini.write_text(GINI)
    auc.write_text(AUC)
    median.write_text(AUC.partition("[algorithm]")[0].replace("[0, 10]", "[2, 10]"))
    tokens = ("--data", incomes, *FOUR)
    assert cli.error("swarm", "run", gini, auc, *tokens) == (
        f"{auc} lets rows travel: give it alone; a study's questions are sums."
    )
    assert cli.error("swarm", "run", gini, median, *tokens) == (
        f"{median}: column 'income' is counted for {gini}, too, in other cells, classes or groups, "
        "or beside others. A study counts it once: leave one out."
    )
    gini.write_text(GINI.replace("20", "2"))
    assert "outside the agreed range [0, 2]" in cli.error("swarm", "run", gini, *tokens)
    gini.write_text(GINI.replace("income", "incomes"))
    assert "'incomes'" in cli.error("swarm", "run", gini, *tokens)


def test_a_folder_that_exists_and_no_kernel(
    cli: CommandLine, incomes: Path, tmp_path: Path
) -> None:
    said = cli.error("swarm", "run", "--data", incomes, *FOUR)
    assert said.startswith("Say what to average over pairs, such as --kernel gini, or give")
    assert cli.error(*BASIC, incomes, "--peers", 4, "--home", tmp_path) == (
        f"{tmp_path} exists already and is left as it is: choose another folder."
    )


def test_a_port_that_is_taken(cli: CommandLine, incomes: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        tokens = ("--peers", 4, "--first-port", port, "--home", tmp_path / "swarm")
        assert cli.error(*BASIC, incomes, *tokens) == (
            f"Port {port} of 127.0.0.1 cannot be used, another program may have it: give another "
            f"first port, or none to have free ones found."
        )
    assert not (tmp_path / "swarm").exists()


def test_the_table_while_it_runs() -> None:
    errors = Errors(gossip_error=0.125, sampling_error=0.5)
    peers = (
        PeerReading("up", "peer-01", 1.23456789, 0, errors, 1234, 2.5, 0, 1),
        PeerReading("frozen", "peer-02", refused=2),
    )
    console = Console(width=300, record=True, file=io.StringIO())
    picture = PeersPicture(console, "2 peers: gini", None)
    picture.add(SwarmReading(3.2, peers), "; 1 freeze")
    console.print(picture.draw(300, 40))
    lines = [line.split() for line in console.export_text().splitlines()]
    assert lines[0] == ["2", "peers:", "gini"]
    assert " ".join(lines[1]).startswith("3 s: 1 up, 1 frozen; estimates 1.23457")
    assert " ".join(lines[1]).endswith("generation 1; 1 freeze")
    assert lines[5] == ["peer-02", "frozen", "-", "-", "-", "0", "0", "2", "-", "-"]
    assert lines[6] == ["peer-01", "up", "1.23457", "0.12", "0.5", "1,234", "2.5", "0", "1", "-"]
