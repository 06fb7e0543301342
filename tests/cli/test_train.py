from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from pairgossip.cli.outputs.model import read_model
from pairgossip.datasets.dataset import breast_cancer_table
from pairgossip.losses import L1, Ball, SquaredL2, inverse_sqrt
from pairgossip.minimization import minimize
from pairgossip.tables import read_columns

from .images import is_drawn
from .running import CommandLine


@pytest.fixture
def points(tmp_path: Path) -> Path:
    """Write a file of 40 rows: two features, classes as text and as numbers, grades, weights."""
    random = np.random.default_rng(2)
    grade = np.arange(40) % 3
    x = random.normal(size=40) + 2.0 * grade
    y = random.normal(size=40)
    rows = [
        f"{a:.4f},{b:.4f},{'ill' if g else 'healthy'},{4 if g else 2},{g},{g + 1}"
        for a, b, g in zip(x, y, grade.tolist(), strict=True)
    ]
    file = tmp_path / "points.csv"
    file.write_text("x,y,state,class,grade,weight\n" + "\n".join(rows) + "\n")
    return file


def test_the_model_is_what_python_gives(cli: CommandLine, points: Path, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    answer = cli(
        *("train", points, "--column", "x,y", "--label", "class", "--loss", "auc-hinge"),
        *("--graph", "watts-strogatz", "--k", 6, "--clock", "async", "--iterations", "2e3"),
        *("--step", "1e-2", "--radius", 10, "--trials", 2, "--seed", 3, "--model", file, "--json"),
    )
    assert answer.code == 0 and answer.err == f"Wrote {file}\n"
    found, model = answer.json(), read_model(file)
    from pairgossip.graphs import watts_strogatz

    table = read_columns(points, ["x", "y"])
    fit = minimize(
        *(table.matrix(), table.numbers("class"), "auc-hinge"),
        watts_strogatz(40, 6, 0.3, seed=3),
        clock="async",
        iterations=2000,
        step=inverse_sqrt(1e-2),
        constraint=Ball(10.0),
        trials=2,
        seed=3,
    )
    assert model.theta == found["theta"] == fit.model.tolist()
    assert found["objective"] == fit.objective[-1]
    assert (model.loss, model.columns, model.label) == ("auc-hinge", ["x", "y"], "class")
    assert model.classes == [2.0, 4.0]
    assert model.settings["graph"]["parameters"]["k"] == 6
    assert model.settings["step"] == {"kind": "inverse-sqrt", "scale": 0.01}
    assert (model.settings["radius"], model.settings["seed"]) == (10.0, 3)
    assert set(model.versions) == {"pairgossip", "numpy", "python"}


@pytest.mark.parametrize(
    ("tokens", "penalty"), [(["--l1", 0.01], L1(0.01)), (["--l2", 0.01], SquaredL2(0.01))]
)
def test_penalties(
    cli: CommandLine, points: Path, tmp_path: Path, tokens: list[object], penalty: L1 | SquaredL2
) -> None:
    settings = ("--iterations", 500, "--step", 0.1, "--model", tmp_path / "m.json", "--json")
    found = cli(
        "train", points, "--column", "x", "--column", "y", "--label", "class", *tokens, *settings
    ).json()
    table = read_columns(points, ["x", "y"])
    data, labels = table.matrix(), table.numbers("class")
    fit = minimize(data, labels, iterations=500, step=inverse_sqrt(0.1), penalty=penalty, seed=0)
    # The bias, computed here, splits the run into other blocks, in which sums round differently.
    assert found["theta"] == pytest.approx(fit.model.tolist(), rel=1e-11)


def test_tables_figures_and_text_labels(cli: CommandLine, points: Path, tmp_path: Path) -> None:
    file, figure = tmp_path / "model.json", tmp_path / "fit.png"
    answer = cli(
        *("train", points, "--column", "x,y", "--label", "state", "--iterations", 3000),
        *("--model", file, "--plot", figure, "--positive", "ill"),
    )
    assert answer.code == 0
    assert answer.err == f"Wrote {file}\nWrote {figure}\n"
    assert "AUC on these rows" in answer.out and "columns: x, y; label: state" in answer.out
    assert "positive: ill" in answer.out
    model = read_model(file)
    assert model.classes == ["healthy", "ill"]
    assert is_drawn(figure)
    assert model.settings["step"] == {"kind": "adaptive", "scale": 4.0}
    assert model.settings["seed"] == 0


def test_every_other_column_is_a_feature(cli: CommandLine, tmp_path: Path) -> None:
    """The paper's experiment, shortened: gamma = 1e-3/sqrt(t) in a ball of radius 10."""
    data, file, model = breast_cancer_table(), tmp_path / "tumors.csv", tmp_path / "model.json"
    lines = [",".join(data.columns), *(",".join(map(str, row)) for row in data.values.tolist())]
    file.write_text("\n".join(lines))
    found = cli(
        *("train", file, "--label", "class", "--step", "1e-3", "--radius", 10),
        *("--iterations", 1e4, "--model", model, "--json"),
    ).json()
    assert found["columns"] == list(data.columns[:-1])
    assert found["objective"] == pytest.approx(0.099, abs=0.003)
    assert found["auc"] > 0.98


def test_a_sketch_is_what_python_gives(
    cli: CommandLine, points: Path, tmp_path: Path, figures: list[Figure]
) -> None:
    file, figure = tmp_path / "model.json", tmp_path / "fit.png"
    how = ("--method", "sketch", "--schedule", "random", "--tolerance", 1e-4, "--accuracy", 1e-3)
    answer = cli(
        *("train", points, "--column", "x,y", "--label", "class", "--weight", "weight", *how),
        *("--graph", "cycle", "--l2", 0.01, "--seed", 3, "--model", file, "--plot", figure),
        "--json",
    )
    assert answer.code == 0 and answer.err == f"Wrote {file}\nWrote {figure}\n"
    table = read_columns(points, ["x", "y"])
    fit = minimize(
        *(table.matrix(), table.numbers("class"), "auc-logistic", "cycle"),
        method="sketch",
        schedule="random",
        tolerance=1e-4,
        accuracy=1e-3,
        weights=table.numbers("weight"),
        penalty=SquaredL2(0.01),
        seed=3,
    )
    found, model = answer.json(), read_model(file)
    assert model.theta == found["theta"] == fit.model.tolist()
    assert (found["method"], found["schedule"], found["weights"]) == ("sketch", "random", "weight")
    assert found["rounds"] == fit.iterations[-1] == found["curve"]["rounds"][-1]
    assert 0 <= found["gradient_error"] < 1e-5 and "iterations" not in found
    assert model.settings["rounds"] == found["rounds"] and model.settings["tolerance"] == 1e-4
    assert not {"step", "clock", "iterations"} & set(model.settings)
    (drawn,) = figures
    assert figure.exists() and [ax.get_xlabel() for ax in drawn.axes] == ["rounds"] * 2


def test_a_sketch_along_a_tree_in_tables(
    cli: CommandLine, points: Path, tmp_path: Path, figures: list[Figure]
) -> None:
    file, figure = tmp_path / "model.json", tmp_path / "fit.png"
    tokens = ("--column", "x,y", "--label", "grade", "--loss", "ranking-hinge")
    answer = cli("train", points, *tokens, "--method", "sketch", "--model", file, "--plot", figure)
    assert answer.code == 0 and figure.exists()
    assert [ax.get_xlabel() for ax in figures[0].axes] == ["rounds"] * 2
    assert "ranking-hinge, sketch, tree, complete of 40 nodes" in answer.out
    assert "rounds" in answer.out and "iterations" not in answer.out
    assert "error of the gradient" in answer.out
    assert cli("score", file, points, "--label", "grade").code == 0


def test_grades_that_a_score_separates(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "apart.csv"
    file.write_text("x,class\n1,a\n2,a\n3,b\n4,b\n")
    tokens = ("--label", "class", "--method", "sketch", "--model", tmp_path / "m.json")
    answer = cli("train", file, *tokens, "--positive", "b")
    assert answer.code == 0 and "Use --l2 1e-6 for a model of definite length" in answer.err


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["--step", 0.1], "Method 'sketch' chooses its steps itself: leave --step out."),
        (["--clock", "async"], "Method 'sketch' has rounds and no clock: leave --clock out."),
        (["--epsilon", 1], "Method 'sketch' averages sums of raw rows: leave --epsilon out."),
        (["--against", "time"], "Method 'sketch' has rounds and no clock: draw --against"),
        (["--group-by", "state", "--construction", "blow-up"], "With --method sketch every site "),
        (["--method", "dual-averaging", "--weight", "weight"], "--weight belongs to method "),
        (["--method", "dual-averaging", "--schedule", "tree"], "--schedule belongs to method "),
    ],
)
def test_options_of_the_other_method(
    cli: CommandLine, points: Path, tmp_path: Path, tokens: list[object], message: str
) -> None:
    method = [] if "--method" in tokens else ["--method", "sketch"]
    what = ("--column", "x,y", "--label", "class", "--model", tmp_path / "m.json")
    assert cli.error("train", points, *what, *method, *tokens).startswith(message)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["--loss", "metric-hinge"], "Loss 'metric-hinge' learns a distance, not a score: choose "),
        (["--l1", 1, "--l2", 1], "Give --l1 or --l2, not both."),
        (["--column", "z"], "There is no column 'z' in {file}: it has x, y, state, class"),
        (["--column", "class"], "Column 'class' is the label: leave it out of --column."),
    ],
)
def test_wrong_options(
    cli: CommandLine, points: Path, tmp_path: Path, tokens: list[object], message: str
) -> None:
    file = tmp_path / "model.json"
    file.write_text("before")
    columns = [] if "--column" in tokens else ["--column", "x,y"]
    said = cli.error("train", points, "--label", "class", *columns, *tokens, "--model", file)
    assert said.startswith(message.format(file=points))
    assert file.read_text() == "before"


@pytest.mark.parametrize(
    ("text", "tokens", "message"),
    [
        ("x,class\n1,a\n2,a\n", [], "one class only"),
        ("x,class\n1,a\n,b\n", [], "Column 'x' of {file}, line 3, is missing"),
        ("x,class\n1,a\nb,b\n", [], "Column 'x' of {file}, line 3, is not a number"),
        ("class\na\nb\n", [], "{file} has no column besides the label 'class': add the data."),
        ("x,kind\n1,a\n", [], "There is no column 'class' in {file}"),
        ("x,class\n1,a\n2,b\n3,c\n", ["--loss", "ranking-hinge"], "Loss 'ranking-hinge' compares "),
    ],
)
def test_wrong_files(
    cli: CommandLine, tmp_path: Path, text: str, tokens: list[str], message: str
) -> None:
    file, model = tmp_path / "data.csv", tmp_path / "model.json"
    file.write_text(text)
    said = cli.error("train", file, "--label", "class", *tokens, "--model", model)
    assert message.format(file=file) in said
    assert not model.exists()


def test_the_data_are_not_overwritten(cli: CommandLine, points: Path) -> None:
    before = points.read_text()
    said = cli.error("train", points, "--label", "class", "--model", points)
    assert said == f"{points} is named twice: give every output a file of its own."
    assert points.read_text() == before


def test_a_run_that_diverges_writes_nothing(cli: CommandLine, tmp_path: Path, points: Path) -> None:
    model = tmp_path / "model.json"
    tokens = ("--column", "x,y", "--label", "class", "--loss", "auc-squared-hinge")
    said = cli.error(
        "train", points, *tokens, "--step", 1e200, "--iterations", 500, "--model", model
    )
    assert said == "Training diverged: give a smaller --step, or a --radius."
    assert not model.exists()
