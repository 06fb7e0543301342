"""Models and runs, read from their files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.metrics import roc_auc_score

import pairgossip as pg
from pairgossip.cli.outputs.files import write_figure
from pairgossip.cli.outputs.model import Model, read_model, write_model
from pairgossip.errors import InputError

from .images import is_drawn
from .running import CommandLine

THETA = np.array([2.0, -0.5])
ROWS = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 3.0], [2.0, 2.0], [1.0, 0.0]])
STATES = ["ok", "ok", "ill", "ill", "ill"]


def trained(**changes: Any) -> Model:
    settings: dict[str, Any] = {
        "loss": "auc-logistic",
        "columns": ["a", "b"],
        "theta": THETA.tolist(),
        "label": "state",
        "classes": ["ill", "ok"],
        "settings": {"seed": 0, "step": {"kind": "inverse-sqrt", "scale": 0.1}},
        "versions": {"pairgossip": "0.1.0"},
    }
    return Model(**(settings | changes))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "model.json"
    write_model(trained(), file)
    return file


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Write the columns in another order than the model's, and grades as well."""
    file = tmp_path / "rows.csv"
    lines = [
        f"{b},{state},{a},{grade}"
        for (a, b), state, grade in zip(ROWS.tolist(), STATES, (1, 2, 0, 3, 2), strict=True)
    ]
    file.write_text("b,state,a,grade\n" + "\n".join(lines) + "\n")
    return file


def test_scores_on_standard_output_or_in_a_file(
    cli: CommandLine, model: Path, rows: Path, tmp_path: Path
) -> None:
    answer, out = cli("score", model, rows), tmp_path / "scores.csv"
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == ["score", *map(repr, (ROWS @ THETA).tolist())]
    assert cli("score", model, rows, "--out", out).out == "" and out.read_text() == answer.out


def test_the_auc(cli: CommandLine, model: Path, rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    answer = cli("score", model, rows, "--label", "state", "--out", out)
    assert (answer.code, answer.err) == (0, f"Wrote {out}\npositive: ok\n")
    expected = roc_auc_score([state == "ok" for state in STATES], ROWS @ THETA)
    assert float(answer.out) == pytest.approx(expected)
    lines = out.read_text().splitlines()
    assert lines[0] == "score,state"
    assert lines[1] == f"{float(ROWS[0] @ THETA)!r},ok" and len(lines) == 6


def test_grades(cli: CommandLine, rows: Path, tmp_path: Path) -> None:
    file = tmp_path / "graded.json"
    write_model(trained(loss="ranking-hinge", classes=[0.0, 5.0], label="grade"), file)
    answer = cli("score", file, rows, "--label", "grade")
    # One of the nine pairs of different grades has equal scores, and all others are in order.
    assert float(answer.out) == pytest.approx(8.5 / 9)


def test_the_sampling_error_of_grades(cli: CommandLine, rows: Path, tmp_path: Path) -> None:
    file = tmp_path / "graded.json"
    write_model(trained(loss="ranking-hinge", classes=[0.0, 5.0], label="grade"), file)
    lines = cli("score", file, rows, "--label", "grade", "--interval", 0.9).out.splitlines()
    expected = pg.exact(ROWS @ THETA, "concordance", labels=[1, 2, 0, 3, 2], interval=0.9)
    assert float(lines[0]) == pytest.approx(expected)
    assert lines[1].startswith(f"sampling error {expected.error:.3g} ({str(expected)[7:]}: how far")
    message = "An interval is about the AUC, which needs labels: give --label too."
    assert cli.error("score", file, rows, "--interval", 0.9) == message
    out = tmp_path / "scores.csv"
    wrong = cli.error("score", file, rows, "--label", "grade", "--interval", 95, "--out", out)
    assert wrong.startswith("The level of an interval") and not out.exists()


@pytest.mark.parametrize(
    "content",
    ["", "not json", "[1, 2]", "{}", '{"format": "pairgossip"}', "x" * 100, "\x00\x01", "NaN"],
)
def test_a_file_that_is_no_model(
    cli: CommandLine, model: Path, rows: Path, tmp_path: Path, content: str
) -> None:
    out = tmp_path / "scores.csv"
    out.write_text("before")
    model.write_text(content)
    said = cli.error("score", model, rows, "--out", out)
    assert said == f"{model} is not a model written by pairgossip train or peer result."
    assert out.read_text() == "before"


def _set(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda content: content.update(changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set(version=3), "is a model in format 3, but this pairgossip reads 2"),
        (_set(theta=[1.0]), "has 1 parameters for 2 columns: train it again"),
        (_set(columns=["a", "b", "c"]), "has 2 parameters for 3 columns: train it again"),
        (_set(theta=[1.0, "2"]), "is a damaged model"),
        (_set(columns=["a", "a"]), "is a damaged model"),
        (_set(columns=["a", 1]), "is a damaged model"),
        (_set(classes=["a", 1]), "is a damaged model"),
        (_set(classes=["a", "b", "c"]), "is a damaged model"),
        (_set(loss=None), "is a damaged model"),
        (_set(settings=None), "is a damaged model"),
        (_set(settings={"seed": "0", "step": {"scale": 0.1}}), "is a damaged model"),
        (_set(more=1), "is a damaged model"),
        (lambda content: content.pop("label"), "is a damaged model"),
    ],
)
def test_models_that_are_wrong(
    model: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    content = json.loads(model.read_text())
    change(content)
    model.write_text(json.dumps(content))
    with pytest.raises(InputError) as caught:
        read_model(model)
    assert str(caught.value).startswith(f"{model} {message}")


def test_wrong_labels(cli: CommandLine, model: Path, rows: Path) -> None:
    text = rows.read_text()
    rows.write_text(text.replace(",ok,", ",fine,"))
    assert cli.error("score", model, rows, "--label", "state") == (
        f"Column 'state' of {rows} holds 'fine', which is neither of the model's classes, "
        "ill and ok."
    )
    rows.write_text(text.replace(",ok,", ",ill,"))
    assert cli.error("score", model, rows, "--label", "state") == (
        f"Column 'state' of {rows} holds one class only (ill): the AUC needs two."
    )
    assert cli.error("score", model, rows, "--label", "stat").startswith(
        f"There is no column 'stat' in {rows}: "
    )


def test_nothing_is_overwritten(cli: CommandLine, model: Path, rows: Path) -> None:
    before = model.read_text()
    said = cli.error("score", model, rows, "--out", model)
    assert said == f"{model} is named twice: give every output a file of its own."
    assert model.read_text() == before


@pytest.fixture
def saved(tmp_path: Path) -> list[Path]:
    files = [tmp_path / "complete.npz", tmp_path / "cycle.npz"]
    for file in files:
        run = pg.estimate([1, 2, 4, 8, 16], "gini", file.stem, iterations=500, trials=2, seed=0)
        run.save(file)
    return files


def test_runs_are_drawn(cli: CommandLine, saved: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "figure.png"
    assert cli("plot", *saved, "--out", out) == (0, "", f"Wrote {out}\n")
    assert is_drawn(out)


@pytest.mark.parametrize("what", ["error", "estimate"])
@pytest.mark.parametrize("count", [1, 2])
def test_what_is_drawn(
    cli: CommandLine,
    saved: list[Path],
    tmp_path: Path,
    figures: list[Figure],
    what: str,
    count: int,
) -> None:
    out = tmp_path / "figure.png"
    answer = cli("plot", *saved[:count], "--out", out, "--what", what, "--against", "messages")
    assert answer == (0, "", f"Wrote {out}\n")
    (ax,) = figures[0].axes
    assert what in ax.get_ylabel() and ax.get_xlabel() == "messages sent"


@pytest.mark.parametrize(("suffix", "magic"), [("pdf", b"%PDF"), ("SVG", b"<?xml")])
def test_formats_follow_the_name(tmp_path: Path, suffix: str, magic: bytes) -> None:
    out, figure = tmp_path / f"figure.{suffix}", Figure()
    figure.text(0.5, 0.5, "figure")
    write_figure(figure, out)
    assert out.read_bytes().startswith(magic)


def test_runs_of_the_same_name_are_both_drawn(
    cli: CommandLine, saved: list[Path], tmp_path: Path, figures: list[Figure]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    twin = saved[0].rename(other / saved[1].name)
    assert cli("plot", twin, saved[1], "--out", tmp_path / "both.svg").code == 0
    (drawn,) = figures
    labels = [str(line.get_label()) for line in drawn.axes[0].lines]
    assert len({label for label in labels if label.endswith("cycle.npz")}) == 2


def test_mistakes(cli: CommandLine, saved: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "figure.png"
    message = cli.error("plot", saved[0], "--out", out, "--what", "eror")
    assert message == "Unknown curve 'eror': did you mean 'error'?"
    message = cli.error("plot", saved[0], "--out", out, "--against", "time")
    assert message.startswith("Only asynchronous runs have clock times: draw this one against")
    fit = tmp_path / "fit.npz"
    pg.minimize([[1.0], [2.0], [4.0]], [0, 0, 1], iterations=9, seed=0).save(fit)
    message = cli.error("plot", saved[0], fit, "--out", out)
    assert message == (
        f"{fit} is a fit, not a run: draw it in Python with plot() of what pairgossip.load returns."
    )
    assert not out.exists()
