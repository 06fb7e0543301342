"""Realistic files: one for each site, with gaps, and with classes in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg

from .running import CommandLine

CORK = "score,age,ill\n0.3,20,no\n0.1,30,no\n,40,yes\n0.7,50,yes\n"
DERRY = "age,score,ill\n20,0.25,yes\n30,0.9,yes\n33,0.2,NA\n40,0.4,no\n"
SCORE, ILL = [0.3, 0.1, 0.7, 0.25, 0.9, 0.4], [0, 0, 1, 1, 1, 0]
SITES = ["cork"] * 3 + ["derry"] * 3
"""The complete rows of both files."""
AUC = ("--column", "score", "--label", "ill", "--classes", "no,yes", "--kernel", "auc")
DROP = ("--missing", "drop")
SHORT = ("--iterations", 200, "--trials", 2)
LEFT_OUT = (
    "Warning: Left out 2 of 8 rows, which have missing values: line 4 of cork.csv and line 4 of "
    "derry.csv.\n"
)


@pytest.fixture
def towns(tmp_path: Path) -> tuple[Path, Path]:
    cork, derry = tmp_path / "cork.csv", tmp_path / "derry.csv"
    cork.write_text(CORK)
    derry.write_text(DERRY)
    return cork, derry


def test_each_file_is_a_site(cli: CommandLine, towns: tuple[Path, Path], tmp_path: Path) -> None:
    save = tmp_path / "run.npz"
    answer = cli("estimate", *towns, *AUC, *DROP, *SHORT, "--json", "--save", save)
    assert (answer.code, answer.err) == (0, LEFT_OUT + f"Wrote {save}\n")
    found = answer.json()
    run = pg.estimate(SCORE, "auc", labels=ILL, groups=SITES, iterations=200, trials=2, seed=0)
    assert (found["estimate"], found["exact"]) == (run.mean[-1], run.target)
    assert (found["rows_dropped"], found["classes"]) == (2, ["no", "yes"])
    assert found["groups"]["sites"] == 2 and found["groups"]["column"] is None
    again = pg.load(save)
    assert again.rows_dropped == 2 and again.sites.names == ("cork", "derry")


def test_the_report_says_it(cli: CommandLine, towns: tuple[Path, Path]) -> None:
    out = cli("estimate", *towns, *AUC, *DROP, *SHORT).out
    title = "column: score; label: ill (no < yes); sites: one per file\n"
    assert out.splitlines(keepends=True)[0].endswith(title)
    lines = {line[:34].strip(): line[34:].strip() for line in out.splitlines()}
    assert lines["rows left out, entries missing"] == "2"
    assert "rows left out" not in cli("estimate", towns[0], *AUC[:2], "--kernel", "gini", *DROP,
                                      "--column", "age", *SHORT).out  # fmt: skip


def test_exact_is_of_all_rows(cli: CommandLine, towns: tuple[Path, Path]) -> None:
    answer = cli("exact", *towns, *AUC, *DROP)
    assert float(answer.out) == pg.exact(SCORE, "auc", labels=ILL)
    assert answer.err.startswith(LEFT_OUT)
    turned = cli("exact", *towns, *AUC, "--classes", "yes,no", *DROP)
    assert turned.code == 2 and "--classes is given twice" in turned.err
    other = [token if token != "no,yes" else "yes,no" for token in AUC]
    assert float(cli("exact", *towns, *other, *DROP).out) == pytest.approx(1 - float(answer.out))


def test_numbers_of_one_file_are_text_beside_words_of_another(
    cli: CommandLine, tmp_path: Path
) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("x,c\n1,1\n2,2\n")
    two.write_text("x,c\n3,1\n4,high\n")
    answer = cli("exact", one, two, "--column", "x", "--label", "c", "--kernel", "auc",
                 "--classes", "1,2,high")  # fmt: skip
    assert "needs two classes, but the labels hold 3" in answer.err
    answer = cli("exact", one, two, "--column", "x", "--label", "c", "--kernel", "ranking-risk",
                 "--classes", "1,2,high")  # fmt: skip
    assert float(answer.out) == pg.exact([1, 2, 3, 4], "ranking-risk", labels=[0, 1, 0, 2])


def test_numerals_are_classes_however_they_are_spelled(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "grades.csv"
    file.write_text("x,c\n1,2.0\n2,10\n3,2\n")
    tokens = ("exact", file, "--column", "x", "--label", "c", "--kernel", "auc", "--classes")
    assert float(cli(*tokens, "10,2").out) == pg.exact([1, 2, 3], "auc", labels=[1, 0, 1])
    assert cli(*tokens, "10,3").err.endswith(
        f"Error: Column 'c' of {file} holds 2.0 in lines 2 and 4, but the declared classes are "
        "10.0 and 3.0: correct the labels, or declare all classes.\n"
    )


def test_training_on_files(cli: CommandLine, towns: tuple[Path, Path], tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    how = ("--label", "ill", "--column", "score", "--iterations", 100, "--model", model)
    answer = cli("train", *towns, *how, *DROP, "--classes", "yes,no", "--json")
    fit = pg.minimize(
        np.array(SCORE)[:, None], [1 - label for label in ILL], groups=SITES, iterations=100,
        seed=0, bias=False,
    )  # fmt: skip
    found = answer.json()
    assert found["theta"] == fit.model.tolist()
    assert (found["rows_dropped"], found["classes"]) == (2, ["yes", "no"])
    scored = tmp_path / "new.csv"
    scored.write_text("score,ill\n0.1,no\n0.9,yes\n")
    ordered = float(cli("score", model, scored, "--label", "ill").out)
    assert ordered == (1.0 if fit.model[0] < 0 else 0.0)


def test_grades_in_words_are_ranked(cli: CommandLine, tmp_path: Path) -> None:
    file, model = tmp_path / "pain.csv", tmp_path / "model.json"
    # A declared class is an entry, even if its text would otherwise mark a missing one.
    file.write_text("dose,pain\n1,severe\n2,mild\n3,none\n4,none\n")
    how = ("--label", "pain", "--loss", "ranking-logistic", "--iterations", 200, "--model", model)
    assert cli("train", file, *how, "--classes", "none,mild,severe").code == 0
    assert json.loads(model.read_text())["classes"] == ["none", "mild", "severe"]
    assert float(cli("score", model, file, "--label", "pain").out) == 1.0
    file.write_text("dose,pain\n1,severe\n2,bad\n")
    assert cli.error("score", model, file, "--label", "pain") == (
        f"Column 'pain' of {file} holds 'bad', which is none of the model's classes, none, mild "
        "and severe."
    )


def words(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        (["exact", "cork.csv", "derry.csv", *AUC], "Column 'score' of cork.csv, line 4, is "),
        (words("exact cork.csv other/cork.csv --kernel gini"), "cork.csv and other/cork.csv "),
        (words("exact derry.csv few.csv --kernel gini"), "few.csv has other columns than "),
        (words("exact few.csv derry.csv --label ill --kernel auc"), "derry.csv has other columns "),
        (words("exact few.csv derry.csv --column age --kernel gini"), "There is no column 'age' i"),
        (
            words("estimate cork.csv derry.csv --column age --kernel gini --group-by ill"),
            "Each of the 2 files is a site: leave --group-by out, or put all rows into one file.",
        ),
        (words("estimate cork.csv derry --column age --kernel gini"), "There is no file derry: le"),
        (
            words("exact few.csv --column score --kernel gini --classes no,yes"),
            "--classes is about labels, but no label is used: give --label, or leave --classes "
            "out.",
        ),
        (
            words("exact few.csv --label ill --kernel auc --classes no,oui"),
            "Column 'ill' of few.csv holds 'yes' in line 3, but the declared classes are 'no' and "
            "'oui': correct the labels, or declare all classes.",
        ),
        (
            words("exact few.csv more.csv --label ill --kernel auc --classes no,oui"),
            "Column 'ill' holds 'yes' in line 3 of few.csv and 'perhaps' in lines 2 and 3 of "
            "more.csv, but the declared classes are 'no' and 'oui': correct the labels, or "
            "declare all classes.",
        ),
        (words("exact few.csv --label ill --kernel auc --classes no"), "Labels need at least two "),
        (
            words("exact few.csv --label ill --kernel auc --missing skip"),
            "Unknown treatment of missing values 'skip': choose one of drop, refuse.",
        ),
        (words("exact bad.csv worse.csv --column x --kernel gini"), "bad.csv has 2 entries that "),
    ],
)
def test_mistakes(
    cli: CommandLine, towns: tuple[Path, Path], tokens: list[str], sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder = towns[0].parent
    monkeypatch.chdir(folder)
    (folder / "other").mkdir()
    files: dict[str, Any] = {
        "few.csv": "score,ill\n0.5,no\n0.7,yes\n",
        "more.csv": "score,ill\n0.5,perhaps\n0.7,perhaps\n",
        "bad.csv": "x\na\n1\nb\n",
        "worse.csv": "x\nc\n1\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    assert cli.error(*tokens).startswith(sentence)


def test_nothing_is_left(cli: CommandLine, tmp_path: Path) -> None:
    empty, full = tmp_path / "empty.csv", tmp_path / "full.csv"
    empty.write_text("x,y\n,1\nNA,2\n")
    full.write_text("x,y\n1,1\n2,2\n")
    tokens = ("--column", "x", "--kernel", "gini", *DROP)
    assert cli.error("exact", empty, *tokens) == ("All 2 rows have missing values: fill in some.")
    said = cli("exact", empty, full, *tokens).err
    assert said.endswith(f"All rows of {empty} have missing entries: leave the file out.\n")


SPEC = """
algorithm.name = "exchange"
kernel = "auc"
columns = ["score"]
label = "ill"
classes = ["no", "yes"]
[ranges]
score = [0, 1]
"""


@pytest.fixture
def members(tmp_path: Path) -> tuple[Path, Path]:
    """Write the complete rows of both files, and a specification."""
    (tmp_path / "run.toml").write_text(SPEC)
    files = tmp_path / "cork.csv", tmp_path / "derry.csv"
    for file, part in zip(files, (slice(0, 3), slice(3, 6)), strict=True):
        rows = zip(SCORE[part], ILL[part], strict=True)
        lines = [f"{score},{['no', 'yes'][ill]}" for score, ill in rows]
        file.write_text("score,ill\n" + "\n".join(lines) + "\n")
    return files


def test_the_members_of_a_specification(cli: CommandLine, members: tuple[Path, Path]) -> None:
    spec = members[0].parent / "run.toml"
    answer = cli("estimate", *members, "--spec", spec, *SHORT, "--json")
    assert answer.err == (
        f"Taken from {spec}: kernel auc, columns score, ill, classes no < yes, their ranges, and "
        "how peers average. Each file is a member; who talks to whom and for how long are options, "
        "and links are used more often the more rows they join.\n"
    )
    found = answer.json()
    run = pg.estimate(
        SCORE, "auc", labels=ILL, groups=SITES, method="weighted-gosta", clock="async",
        iterations=200, trials=2, seed=0,
    )  # fmt: skip
    assert (found["estimate"], found["exact"]) == (run.mean[-1], run.target)
    assert (found["classes"], found["groups"]["sites"]) == (["no", "yes"], 2)
    same = ("--classes", "no, yes", "--label", "ill", "--kernel", "auc")
    assert cli("estimate", *members, "--spec", spec, *same, *SHORT, "--json") == answer


def test_members_report_privately(cli: CommandLine, members: tuple[Path, Path]) -> None:
    spec = members[0].parent / "run.toml"
    spec.write_text(SPEC + "[privacy]\nepsilon = 3.0\nbins = 2\n")
    answer = cli("estimate", *members, "--spec", spec, *SHORT, "--json")
    assert answer.json()["privacy"]["epsilon"] == 3.0 and "epsilon 3, and how" in answer.err
    told = cli("estimate", *members, "--spec", spec, *SHORT, "--epsilon", 2).err
    assert f"Error: {spec} says how observations are reported: leave --epsilon out, or" in told


def test_members_learn(cli: CommandLine, members: tuple[Path, Path]) -> None:
    spec, model = members[0].parent / "run.toml", members[0].parent / "model.json"
    spec.write_text(
        SPEC.replace('kernel = "auc"', 'loss = "auc-logistic"') + "[learning]\nstep = 0.5\n"
    )
    answer = cli("train", *members, "--spec", spec, "--iterations", 99, "--model", model, "--json")
    assert answer.json()["classes"] == ["no", "yes"] and answer.json()["groups"]["sites"] == 2
    assert "loss auc-logistic" in answer.err and "and how peers learn" in answer.err


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        (["--classes", "yes,no"], "run.toml asks for --classes no,yes, not for yes,no: leave"),
        (["--missing", "drop"], "is for peers, which take complete rows only: leave --missing"),
        (["--construction", "blow-up"], "is for peers, which exchange one row at a time: leave"),
    ],
)
def test_options_that_contradict_a_specification(
    cli: CommandLine, members: tuple[Path, Path], tokens: list[str], sentence: str
) -> None:
    spec = members[0].parent / "run.toml"
    assert sentence in cli.error("estimate", *members, "--spec", spec, *tokens)


def test_all_members_are_counted_and_checked(cli: CommandLine, members: tuple[Path, Path]) -> None:
    spec = members[0].parent / "run.toml"
    spec.write_text("members = 7\n" + SPEC)
    assert cli.error("estimate", *members, "--spec", spec) == (
        f"{spec} says members = 7, but the 2 files have 6 rows: give the rows of all members, or "
        "change the specification."
    )
    for file in members:
        file.write_text("score,ill\n0.5,maybe\n")
    said = cli.error("estimate", *members, "--spec", spec)
    assert all(f"Column 'ill' of {file} holds 'maybe' in line 2" in said for file in members)


WARDS = "score,ward,times,sex\n0.3,a,1,f\n0.1,a,2,m\n0.7,b,1,f\n0.9,b,3,m\n,b,1,f\n0.4,,1,f\n"
GINI = ("--column", "score", "--kernel", "gini")


@pytest.fixture
def wards(tmp_path: Path) -> Path:
    file = tmp_path / "wards.csv"
    file.write_text(WARDS)
    return file


@pytest.mark.parametrize(
    ("tokens", "rows", "arguments"),
    [
        (["--weight", "times"], [0.3, 0.1, 0.7, 0.9, 0.4], {"weights": [1, 2, 1, 3, 1]}),
        (["--within", "ward"], [0.3, 0.1, 0.7, 0.9], {"within": list("aabb")}),
        (["--between", "ward"], [0.3, 0.1, 0.7, 0.9], {"between": list("aabb")}),
        (
            ["--within", "ward", "--weight", "times"],
            [0.3, 0.1, 0.7, 0.9],
            {"weights": [1, 2, 1, 3], "within": list("aabb")},
        ),
    ],
)
def test_pairs_that_count_more_or_less(
    cli: CommandLine, wards: Path, tokens: list[str], rows: list[float], arguments: dict[str, Any]
) -> None:
    answer = cli("exact", wards, *GINI, *tokens, *DROP)
    value = pg.exact(rows, "gini", **arguments)
    assert float(answer.out) == value != pg.exact(rows, "gini")
    found = cli("estimate", wards, *GINI, *tokens, *DROP, *SHORT, "--json").json()
    run = pg.estimate(rows, "gini", **arguments, iterations=200, trials=2, seed=0)
    assert (found["exact"], found["estimate"]) == (run.target, run.mean[-1])
    assert found["rows_dropped"] == 6 - len(rows)
    names = {"--weight": "weights", "--within": "within", "--between": "between"}
    columns = dict(zip(map(names.__getitem__, tokens[::2]), tokens[1::2], strict=True))
    assert found["factors"] == columns
    assert all(f"; {name}: {column}" in answer.err for name, column in columns.items())


def test_weights_of_several_files(cli: CommandLine, wards: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("score,times,ward\n0.5,2,1\n0.6,4,1\n")
    answer = cli("exact", wards, other, *GINI, "--weight", "times", "--within", "ward", *DROP)
    assert float(answer.out) == pg.exact(
        [0.3, 0.1, 0.7, 0.9, 0.5, 0.6], "gini", weights=[1, 2, 1, 3, 2, 4], within=list("aabb11")
    )


@pytest.mark.parametrize(
    ("text", "tokens", "sentence"),
    [
        ("score,w\n1,a\n2,b\n", ["--weight", "w"], "{file} has 2 entries that are not numbers"),
        ("score,w\n1,2\n2,0\n3,-1\n", ["--weight", "w"], "Column 'w' holds weights that are not "),
        ("score,w\n1,2\n2,x\n", ["--weight", "w"], "Column 'w' of {file}, line 3, is not a "),
        ("score,w\n1,a\n2,b\n3,a\n", ["--within", "w"], "Column 'w' has strata of one row, which "),
        ("score,w\n1,a\n2,a\n", ["--between", "w"], "All rows are of one stratum, so there is no "),
        ("score,w\n1,a\n2,a\n", ["--between", "w", "--within", "w"], "Pairs are within strata or "),
        ("score,w\n1,a\n2,\n", ["--within", "w"], "Column 'w' of {file}, line 3, is missing: "),
        ("score,w\n1,a\n2,a\n", ["--within", "v"], "There is no column 'v' in {file}: it has "),
    ],
)  # fmt: skip
def test_wrong_weights_and_strata(
    cli: CommandLine, wards: Path, text: str, tokens: list[str], sentence: str
) -> None:
    wards.write_text(text)
    assert cli.error("exact", wards, *GINI, *tokens).startswith(sentence.format(file=wards))


def test_peers_weigh_all_pairs_alike(cli: CommandLine, members: tuple[Path, Path]) -> None:
    spec = members[0].parent / "run.toml"
    for option in ("--weight", "--within", "--between"):
        assert cli.error("estimate", *members, "--spec", spec, option, "score") == (
            f"{spec} is for peers, for which all pairs count alike: leave {option} out, or run "
            "without --spec."
        )


def test_a_test_is_asked_for_by_its_own_command(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("x,y\n1,0\n2,1\n4,0\n9,1\n3,2\n")
    for command in ("exact", "estimate"):
        answer = cli(command, file, "--column", "x,y", "--kernel", "spearman")
        assert answer.code != 0
        assert "use pg.test, or `pairgossip test`" in " ".join(answer.err.split())
    found = cli("test", file, "--column", "x,y", "--kernel", "distance-correlation", "--json")
    known = pg.test([[1, 0], [2, 1], [4, 0], [9, 1], [3, 2]], "distance-correlation")
    assert found.json()["value"] == pytest.approx(known.value)
