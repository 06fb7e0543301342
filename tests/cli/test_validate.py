"""`pairgossip validate`: rows and files of counts, as text, JSON and a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg

from .running import CommandLine


@pytest.fixture
def sites(tmp_path: Path) -> list[str]:
    """Write risks and outcomes of two sites."""
    random, files = np.random.default_rng(3), []
    for name, n in (("north", 300), ("south", 200)):
        x = random.normal(-1, 1.2, n)
        died = random.random(n) < 1 / (1 + np.exp(-x))
        lines = [
            f"{1 / (1 + np.exp(-one)):.6f},{'yes' if dead else 'no'},{random.choice(['f', 'm'])}"
            for one, dead in zip(x, died, strict=True)
        ]
        file = tmp_path / f"{name}.csv"
        file.write_text("risk,died,sex\n" + "\n".join(lines) + "\n", encoding="utf-8")
        files.append(str(file))
    return files


ROWS = ("--column", "risk", "--label", "died", "--positive", "yes")


def test_rows_are_validated_as_in_python(cli: CommandLine, sites: list[str]) -> None:
    more = ("--by", "sex", "--thresholds", "0.2,0.4")
    answer = cli("validate", sites[0], *ROWS, *more, "--json")
    assert answer.code == 0
    v = pg.validate(
        sites[0], "died", columns="risk", by="sex", positive="yes", thresholds=[0.2, 0.4]
    )
    assert json.loads(answer.out) == v.to_dict()
    assert v.roc.positive == "yes" and v.groups is not None and v.groups.by == "sex"
    assert cli("validate", sites[0], *ROWS, *more).out.strip() == str(v)


def check_borders(named: dict[str, dict[str, list[float]]], *borders: Any) -> None:
    for side, (fpr, tpr) in zip(("lower", "upper"), borders, strict=True):
        assert named[side] == {"fpr": fpr.tolist(), "tpr": tpr.tolist()}


def test_a_curve_has_all_its_points(cli: CommandLine, sites: list[str]) -> None:
    found = cli("validate", sites[0], *ROWS, "--json", "--curve").json()
    roc = pg.roc(sites[0], labels="died", columns="risk", positive="yes")
    frame, curve = roc.to_pandas(), found["curve"]
    assert curve["points"].keys() == set(frame.columns)
    assert curve["points"]["threshold"] == [None, *roc.cuts[1:].tolist()]
    for name in set(frame.columns) - {"threshold"}:
        assert curve["points"][name] == frame[name].tolist()
    check_borders(curve["band"], *roc.band[:2])
    assert curve["certain"] is None
    del found["curve"]
    assert found == cli("validate", sites[0], *ROWS, "--json").json()


def test_files_of_counts_add_up_to_a_page(
    cli: CommandLine, sites: list[str], tmp_path: Path
) -> None:
    counted = []
    for file in sites:
        out = file.replace(".csv", ".summary")
        cells = ("--cells", "logit(0.001, 64)", "--classes", "no,yes")
        words = ("summarize", file, "--kernel", "auc", *ROWS[:4], *cells, "--out", out)
        assert cli(*words).code == 0
        counted.append(out)
    page = tmp_path / "report.html"
    answer = cli("validate", *counted, "--thresholds", "0.2", "0.4", "--html", str(page))
    assert answer.code == 0 and "parts: north, south" in answer.err
    assert answer.out.startswith("rows: 500") and "certain" in answer.out
    curve = cli("validate", *counted, "--json", "--curve").json()["curve"]
    roc = pg.roc(sum(pg.load(file).summary for file in counted))
    check_borders(curve["certain"], *roc.certain)
    assert "<h1>Validation of risk for died</h1>" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--column", "risk"], "Which rows have the outcome? Name its column: give --label."),
        ([*ROWS, "--thresholds", "x"], "A threshold is a finite number, not 'x'"),
        ([*ROWS, "--html", "no/where.html"], "there is no folder no"),
        ([*ROWS, "--curve"], "give --json with --curve"),
        (["--column", "risk,sex", "--label", "died"], "sex"),
    ],
)
def test_one_sentence_says_what_is_wrong(
    cli: CommandLine, sites: list[str], words: list[str], sentence: str
) -> None:
    answer = cli("validate", sites[0], *words)
    assert answer.code == 2 and sentence in answer.err and answer.err.count("Error") == 1


def test_counts_take_no_options_of_rows(cli: CommandLine, sites: list[str], tmp_path: Path) -> None:
    counts = tmp_path / "a.summary"
    words = ("--kernel", "auc", *ROWS[:4], "--classes", "no,yes", "--cells", "even(0, 1, 64)")
    assert cli("summarize", sites[0], *words, "--out", str(counts)).code == 0
    answer = cli("validate", str(counts), "--by", "sex")
    assert answer.code == 2 and "leave --by out" in answer.err
    answer = cli("validate", str(counts), sites[0])
    assert answer.code == 2 and "give files of one kind" in answer.err
