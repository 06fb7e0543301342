"""Kernels, methods and losses entered at run time are found through every door."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from matplotlib import pyplot

import pairgossip as pg
from pairgossip.algorithms import gosta_sync
from pairgossip.algorithms.methods import METHODS, Method, Plain, register
from pairgossip.arrays import FloatArray
from pairgossip.losses import Loss, Margin, SquaredL2, margin
from pairgossip.losses.margins import MARGINS, Piece, Pieces
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.watch.simulation.build import build_runs
from pairgossip.watch.simulation.observations import Uploads, list_choices
from pairgossip.watch.simulation.settings import Settings
from tests.cli.running import CommandLine
from tests.watch.serving import Fields

INCOMES = pg.datasets.engel()["income"][:24]
DOCS = Path(__file__).parents[1] / "docs"
SHOWN = "a test's rows to a test"


@pytest.fixture(autouse=True)
def entered() -> Iterator[None]:
    """Register one of each, and forget them afterward."""
    catalogs = (pg.kernels.CATALOG, METHODS, MARGINS, pg.losses.CATALOG)
    patches = [patch.dict(catalog) for catalog in catalogs]
    for each in patches:
        each.start()
    pg.kernels.register(likeness)
    register(
        Method(
            name="eager",
            description="GoSta under another name",
            plain={"sync": Plain(gosta_sync.init, gosta_sync.step)},
            estimates="statistic",
            averaged_numbers=1,
            shows={"random": SHOWN},
            planned={"sync": ("random",)},
            color=5,
        )
    )
    pg.losses.register_margin(
        Margin(None, "eager-hinge", _value, _slope, 2.0, tolerance=1e-2, pieces=PIECES)
    )
    pg.losses.register(Loss(_both, "hinge", name="both-hinge", description="a test's loss"))
    yield
    for each in patches:
        each.stop()
    pyplot.close("all")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


def likeness(scale: float = 1000.0) -> pg.Kernel:
    """Return a kernel of the similarity of two incomes."""

    def function(x: FloatArray, y: FloatArray) -> FloatArray:
        return np.exp(-np.abs(x - y) / scale)

    return pg.Kernel(
        function,
        name="likeness",
        symmetric=True,
        columns=("value",),
        expression="exp(-|x - y| / scale)",
        description="how alike two rows are",
    )


def _value(u: FloatArray) -> FloatArray:
    return np.maximum(0.0, 2.0 * (1.0 - np.asarray(u)))


def _slope(u: FloatArray) -> FloatArray:
    return np.where(np.asarray(u) < 1.0, -2.0, 0.0)


PIECES = Pieces(
    (Piece(1.0, 2.0, -2.0),),
    (Piece(1.0, -2.0, 0.0),),
    (Piece(1.5, 2.0, 0.0), Piece(0.5, -2.0, 0.0)),
)
"""Twice the hinge, for which results are known."""


def _both(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.asarray(first[:, :-1] - second[:, :-1]) * np.sign(first[:, -1:] - second[:, -1:])


def _write(file: Path) -> Path:
    rows = "\n".join(map(repr, INCOMES.tolist()))
    file.write_text(f"income\n{rows}\n")
    return file


def _write_patients(file: Path) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    labels = np.repeat([0.0, 1.0], 15)
    x = rng.normal(size=(30, 2)) + labels[:, None]
    lines = [f"{a!r},{b!r},{int(label)}" for (a, b), label in zip(x.tolist(), labels, strict=True)]
    file.write_text("\n".join(["a,b,ill", *lines]) + "\n")
    return x, labels


def test_a_kernel_is_estimated_listed_planned_and_specified(
    cli: CommandLine, tmp_path: Path
) -> None:
    file, exact = _write(tmp_path / "incomes.csv"), pg.exact(INCOMES, "likeness")
    assert exact == pytest.approx(pg.exact(INCOMES, likeness()))
    assert cli("kernels", "--json").json()["likeness"]["description"] == "how alike two rows are"
    asked = (file, "--column", "income", "--kernel", "likeness")
    assert float(cli("exact", *asked).out) == pytest.approx(exact)
    told = cli("estimate", *asked, "--json", "--graph", "cycle", "--iterations", 500, "--trials", 1)
    assert told.json()["exact"] == pytest.approx(exact)
    rows = {row.name: row for row in pg.plan(INCOMES, "likeness", "complete", error=0.3).rows}
    assert rows["collect (random)"].messages is not None
    assert "has no sketch" in str(rows["sketch (tree)"].why_not)
    spec = parse_spec('kernel = "likeness"\ncolumns = ["x"]\n[ranges]\nx = [0, 1]\n')
    assert spec.measure.name == "likeness" and not spec.is_sums


def test_a_kernel_is_on_the_page() -> None:
    listed = {kernel["name"]: kernel for kernel in list_choices()["kernels"]}
    assert listed["likeness"]["sketches"] is False
    fields: Fields = {"data": "engel", "column": ["income"], "kernel": "likeness", "graph": "cycle"}
    (run,) = build_runs(Settings.read({**fields, "iterations": "300"}), Uploads())
    assert run is not None


def test_a_method_is_estimated_listed_and_planned(cli: CommandLine, tmp_path: Path) -> None:
    file = _write(tmp_path / "incomes.csv")
    options = {"graph": "complete", "iterations": 300, "seed": 1}
    mine, theirs = (
        pg.estimate(INCOMES, "gini", method=method, **options)  # type: ignore[arg-type]
        for method in ("eager", "gosta")
    )
    np.testing.assert_allclose(mine.estimates, theirs.estimates)
    assert cli("methods", "--json").json()["eager"]["shows"] == {"random": SHOWN}
    asked = (file, "--column", "income", "--kernel", "gini", "--graph", "complete", "--json")
    told = cli("estimate", *asked, "--method", "eager", "--iterations", 300, "--trials", 1)
    assert told.json()["method"] == "eager"
    planned = cli("plan", *asked, "--error", 0.2).json()["methods"]
    (row,) = [row for row in planned if row["method"] == "eager"]
    assert row["shows"] == SHOWN and row["messages"] is not None


def test_a_method_is_drawn_and_on_the_page() -> None:
    plan = pg.plan(INCOMES, "gini", "complete", error=0.3)
    labels = [text.get_text() for text in plan.plot().get_yticklabels()]
    assert "eager (random)" in labels
    listed = {method["name"]: method for method in list_choices()["methods"]}
    assert listed["eager"]["clocks"] == ["sync"]
    assert listed["eager"]["schedules"] == ["random", "ordered"]


def test_a_margin_makes_losses_that_are_learned_listed_and_sketched(
    cli: CommandLine, tmp_path: Path
) -> None:
    x, labels = _write_patients(tmp_path / "patients.csv")
    mine, theirs = (
        pg.minimize(x, labels, loss, "complete", method="sketch", penalty=SquaredL2(strength))
        for loss, strength in (("auc-eager-hinge", 0.2), ("auc-hinge", 0.1))
    )
    np.testing.assert_allclose(mine.model, theirs.model, rtol=1e-3)  # up to the width of bins
    fit = pg.minimize(x, labels, "ranking-eager-hinge", "complete", iterations=300, seed=0)
    assert fit.objective[-1] < fit.objective[0]
    assert cli("losses", "--json").json()["auc-eager-hinge"]["sketches"] is True
    asked = (tmp_path / "patients.csv", "--label", "ill", "--loss", "auc-eager-hinge")
    told = cli("train", *asked, "--iterations", 300, "--model", tmp_path / "model.csv")
    assert told.code == 0, told.err
    listed = {loss["name"]: loss for loss in list_choices()["losses"]}
    assert listed["ranking-eager-hinge"]["sketches"] is True
    assert listed["both-hinge"] == {
        "name": "both-hinge",
        "description": "a test's loss",
        "sketches": False,
    }


def test_a_margin_that_says_little_runs_and_is_not_sketched(tmp_path: Path) -> None:
    x, labels = _write_patients(tmp_path / "patients.csv")
    pg.losses.register_margin(replace(MARGINS["eager-hinge"], name="bare", pieces=None))
    fit = pg.minimize(x, labels, "auc-bare", "complete", iterations=300, seed=0)
    same = pg.minimize(x, labels, "auc-eager-hinge", "complete", iterations=300, seed=0)
    np.testing.assert_array_equal(fit.model, same.model)
    with pytest.raises(pg.InputError, match=r"^Loss 'auc-bare' has a function of the margin"):
        pg.minimize(x, labels, "auc-bare", "complete", method="sketch")


def test_a_margin_of_a_known_code_keeps_what_it_says_itself() -> None:
    hinge = MARGINS["hinge"]
    exacting = replace(hinge, name="exacting", tolerance=1e-4)
    assert margin(exacting) is exacting
    bare = Margin(hinge.code, "bare", hinge.value, hinge.derivative, 1.0)
    assert margin(bare) == replace(hinge, name="bare")
    assert not replace(MARGINS["logistic"], code=None, curvature=None).can_sketch


def test_a_margin_without_sums_of_its_own_has_the_risk_of_all_pairs() -> None:
    rng = np.random.default_rng(1)
    labels = np.repeat([0.0, 1.0], 200)
    x, theta = rng.normal(size=(400, 3)) + labels[:, None], np.array([0.3, -0.2, 0.5])
    scores = x @ theta
    margins = scores[labels == 1][:, None] - scores[labels == 0]
    expected = _value(margins).sum() / 400**2
    assert pg.losses.risk(theta, x, "auc-eager-hinge", labels) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("role", "registry", "name"),
    [
        ("names", "kernels", "likeness"),
        ("described", "methods", "eager"),
        ("names", "losses", "auc-eager-hinge"),
    ],
)
def test_lists_of_the_docs_name_them(
    role: str, registry: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(DOCS / "_ext")
    from registries import list_names  # type: ignore[import-not-found]

    listed, problems = list_names(role, "", registry, 1, None)
    assert name in {node.astext() for node in listed} and not problems
    page = (DOCS / "guide" / "choices.md").read_text(encoding="utf-8")
    assert f"{{{role}}}`{registry}`" in page
