"""Rehearsals of runs on sums at the command line: a file per member; every option has an effect."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg

from .running import CommandLine

AUC = """
kernel = "auc"
columns = ["score"]
label = "sick"
[ranges]
score = [0, 1]
sick = [0, 1]
[algorithm]
name = "sums"
least_cell = 1
"""
LOSS = """
loss = "auc-logistic"
columns = ["score", "age"]
label = "sick"
[ranges]
score = [0, 1]
age = [0, 100]
sick = [0, 1]
[algorithm]
name = "sums"
[learning]
l2 = 0.01
"""


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """Write the files of three members, and return all their rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    sick = (rng.random(90) < 0.4).astype(float)
    score = np.clip(rng.normal(0.4 + 0.2 * sick, 0.2), 0, 1)
    table = np.column_stack([score, rng.uniform(20, 80, 90), sick])
    for name, part in zip("abc", np.split(table, 3), strict=True):
        np.savetxt(f"{name}.csv", part, delimiter=",", header="score,age,sick", comments="")
    Path("auc.toml").write_text(AUC)
    Path("loss.toml").write_text(LOSS)
    return table


FILES = ("a.csv", "b.csv", "c.csv")


def test_an_estimate_is_that_of_all_rows(cli: CommandLine, rows: np.ndarray) -> None:
    found = json.loads(cli("estimate", *FILES, "--spec", "auc.toml", "--json").out)
    truth = pg.exact(rows[:, 0], "auc", labels=rows[:, 2])
    assert found["bracket"][0] <= truth <= found["bracket"][1]
    assert found["value"] == pytest.approx(truth, abs=0.01)
    assert found["members"] == {"a": 30, "b": 30, "c": 30}
    shown = cli("estimate", *FILES, "--spec", "auc.toml")
    assert "Real peers find the same on any network" in shown.out
    alone = cli("estimate", "a.csv", "b.csv", "--spec", "auc.toml").out
    assert "sums over 3 members or more only" in alone and "find the same" not in alone


def test_a_test_by_ranks_tells_what_cells_leave_open(cli: CommandLine, rows: np.ndarray) -> None:
    text = AUC.replace('"auc"', '"mann-whitney"')
    Path("test.toml").write_text(text)
    Path("wide.toml").write_text(text.replace("score = [0, 1]", "score = [0, 1e4]"))
    exact = pg.test(rows[:, 0], "mann-whitney", labels=rows[:, 2])
    found = json.loads(cli("estimate", *FILES, "--spec", "test.toml", "--json").out)
    assert found["p_bracket"][0] <= exact.p <= found["p_bracket"][1] < 0.05
    shown = cli("estimate", *FILES, "--spec", "test.toml").out
    assert "p certainly" in shown and "share one cell" not in shown
    wide = " ".join(cli("estimate", *FILES, "--spec", "wide.toml").out.split())
    assert "100 % of all rows share one cell of 'score', so that their order is not known" in wide
    assert "certainly 0 to 1" in wide and "p 1 " in wide and " to 1 members" in wide


def test_noise_is_not_called_the_same(cli: CommandLine, rows: np.ndarray) -> None:
    Path("noisy.toml").write_text(AUC.replace("least_cell = 1", "") + "[privacy]\nepsilon = 5.0\n")
    assert "draw noise of their own" in cli("estimate", *FILES, "--spec", "noisy.toml").out


def test_a_model_is_written_that_scores(cli: CommandLine, rows: np.ndarray) -> None:
    cli("train", *FILES, "--spec", "loss.toml", "--model", "model.json")
    model = json.loads(Path("model.json").read_text())
    best = pg.minimize(
        rows[:, :2],
        rows[:, 2],
        loss="auc-logistic",
        graph=pg.graphs.complete(90),
        method="sketch",
        schedule="tree",
        penalty=pg.SquaredL2(0.01),
    )
    np.testing.assert_allclose(model["theta"], best.models[0, 0], rtol=1e-3)
    assert model["classes"] == [0.0, 1.0]
    assert cli("score", "model.json", "a.csv").code == 0


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("estimate", ("--graph", "cycle")),
        ("train", ("--plot", "fit.png")),
        ("train", ("--trials", "3")),
    ],
)
def test_options_without_effect_are_refused(
    cli: CommandLine, rows: np.ndarray, command: str, option: tuple[str, str]
) -> None:
    more = ("--model", "model.json") if command == "train" else ()
    spec = "loss.toml" if command == "train" else "auc.toml"
    error = cli.error(command, *FILES, "--spec", spec, *more, *option)
    assert f"leave {option[0]} out" in error
    assert not Path("model.json").exists()


def test_two_files_of_one_name_are_refused(cli: CommandLine, rows: np.ndarray) -> None:
    error = cli.error("estimate", "a.csv", "a.csv", "--spec", "auc.toml")
    assert "Two files have the same name" in error
