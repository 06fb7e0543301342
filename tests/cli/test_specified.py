"""Commands driven by a run specification."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.cli.outputs.model import read_model

from .running import CommandLine

SHORT = ("--iterations", 500, "--trials", 2)
SPEC = """
algorithm.name = "exchange"
kernel = "auc"
columns = ["score"]
label = "ill"
[ranges]
score = [0, 1]
ill = [0, 1]
"""
LEARN = """
algorithm.name = "exchange"
loss = "ranking-hinge"
columns = ["score", "age"]
label = "ill"
[ranges]
score = [0, 1]
age = [0, 120]
ill = [0, 1]
[learning]
step = 0.5
radius = 2.0
"""


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    random = np.random.default_rng(1)
    rows = [f"{random.random():.3f},{random.integers(20, 90)},{k % 2}" for k in range(12)]
    file = tmp_path / "patients.csv"
    file.write_text("score,age,ill\n" + "\n".join(rows) + "\n")
    return file


def written(folder: Path, text: str) -> Path:
    file = folder / "run.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("more", "method", "target"),
    [
        ("", "weighted-gosta", "v"),
        ('algorithm.mixing = "weighted"', "weighted-gosta", "v"),
        ('algorithm.mixing = "paper"', "gosta", "v"),
        ("u", "weighted-gosta", "u"),
    ],
)
def test_an_estimate_is_what_python_gives(
    cli: CommandLine, patients: Path, tmp_path: Path, more: str, method: str, target: str
) -> None:
    text = 'target = "u"\nmembers = 12\n' + SPEC if more == "u" else f"{more}\n{SPEC}"
    tokens = ("--spec", written(tmp_path, text), "--graph", "star", *SHORT, "--json")
    answer = cli("estimate", patients, *tokens)
    data = np.loadtxt(patients, delimiter=",", skiprows=1)
    run = pg.estimate(
        data[:, 0], "auc", "star", method=method, clock="async", target=target,
        labels=data[:, 2], iterations=500, trials=2, seed=0,
    )  # fmt: skip
    assert answer.code == 0 and answer.err == ""
    found = answer.json()
    assert (found["columns"], found["label"]) == (["score"], "ill")
    assert (found["method"], found["clock"], found["target"]) == (method, "async", target)
    assert (found["exact"], found["estimate"]) == (run.target, run.mean[-1])


def test_a_model_has_the_settings_of_the_specification(
    cli: CommandLine, patients: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model.json"
    answer = cli(
        *("train", patients, "--spec", written(tmp_path, LEARN), "--iterations", 500),
        *("--model", model, "--json"),
    )
    assert answer.code == 0 and answer.json()["loss"] == "ranking-hinge"
    learned = read_model(model)
    assert (learned.columns, learned.label) == (["score", "age"], "ill")
    settings = learned.settings
    assert (settings["clock"], settings["law"], settings["radius"]) == ("async", "uniform-edges", 2)
    assert (settings["spec"], settings["step"]["scale"]) == ("run.toml", 0.5)
    assert np.linalg.norm(learned.theta) <= 2


def test_options_that_say_the_same_are_welcome(
    cli: CommandLine, patients: Path, tmp_path: Path
) -> None:
    same = ("--kernel", "AUC", "--column", "score", "--label", "ill", "--target", "V")
    how = ("--method", "Weighted_GoSta", "--clock", "async", "--law", "uniform-edges")
    spec = written(tmp_path, SPEC)
    said = cli("estimate", patients, "--spec", spec, *same, *how, *SHORT, "--json")
    assert said == cli("estimate", patients, "--spec", spec, *SHORT, "--json")
    spec, model = written(tmp_path, LEARN), tmp_path / "m.json"
    same = ("--column", "score, age", "--loss", "ranking_hinge", "--step", "0.5", "--radius", "2")
    tokens = ("train", patients, "--spec", spec, "--iterations", 50, "--model", model, "--json")
    assert cli(*tokens, *same) == cli(*tokens)


@pytest.mark.parametrize(
    ("option", "given", "asked"),
    [
        ("--kernel", "gini", "--kernel auc"),
        ("--label", "Ill", "--label ill"),
        ("--method", "gosta", "--method weighted-gosta"),
    ],
)
def test_options_that_contradict(
    cli: CommandLine, patients: Path, tmp_path: Path, option: str, given: str, asked: str
) -> None:
    spec = written(tmp_path, SPEC)
    assert cli.error("estimate", patients, "--spec", spec, option, given) == (
        f"{spec} asks for {asked}, not for {given}: leave {option} out, or change the "
        "specification."
    )


@pytest.mark.parametrize(
    ("option", "given", "asked"),
    [
        ("--loss", "auc-hinge", "--loss ranking-hinge"),
        ("--column", "age,score", "--column score,age"),
        ("--radius", "3.0", "--radius 2.0"),
        ("--l1", "0.1", "no --l1"),
    ],
)
def test_options_that_contradict_learning(
    cli: CommandLine, patients: Path, tmp_path: Path, option: str, given: str, asked: str
) -> None:
    spec, model = written(tmp_path, LEARN), tmp_path / "model.json"
    said = cli.error("train", patients, "--spec", spec, option, given, "--model", model)
    assert said == (
        f"{spec} asks for {asked}, not for {given}: leave {option} out, or change the "
        "specification."
    )
    assert not model.exists()


@pytest.mark.parametrize("command", ["estimate", "train"])
def test_links_ring_alike(cli: CommandLine, patients: Path, tmp_path: Path, command: str) -> None:
    spec = written(tmp_path, SPEC if command == "estimate" else LEARN)
    out = ("--model", tmp_path / "m.json") if command == "train" else ()
    said = cli.error(command, patients, "--spec", spec, "--law", "node-clocks", *out)
    assert said == (
        f"{spec} is for peers, which use all links equally often: leave --law out, or run without "
        "--spec."
    )


def test_links_of_members_have_no_nodes(cli: CommandLine, patients: Path, tmp_path: Path) -> None:
    spec = written(tmp_path, SPEC + '\n[links]\n"ann bob" = 2\n')
    said = cli.error("estimate", patients, "--spec", spec)
    assert "has links by the names of members, and a simulation has nodes without" in said


def test_the_other_command(cli: CommandLine, patients: Path, tmp_path: Path) -> None:
    spec, model = written(tmp_path, SPEC), ("--model", tmp_path / "m.json")
    assert cli.error("train", patients, "--spec", spec, *model) == (
        f"{spec} has a kernel, which is estimated, not learned: use pairgossip estimate."
    )
    written(tmp_path, LEARN)
    assert cli.error("estimate", patients, "--spec", spec) == (
        f"{spec} has a loss, which is learned, not estimated: use pairgossip train."
    )


def test_labels_are_needed_without_a_specification(
    cli: CommandLine, patients: Path, tmp_path: Path
) -> None:
    assert cli.error("train", patients, "--model", tmp_path / "m.json") == (
        "Name the column of labels: give --label, or a --spec that names it."
    )
