"""Which of two classes is the positive one, on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg

from .running import CommandLine

RNG = np.random.default_rng(12)
SCORES = RNG.normal(size=30)
ILL = SCORES + RNG.normal(size=30) > 0
AUC = pg.exact(SCORES, "auc", labels=ILL)
REFUSED = (
    "depends on which of two classes is the positive one, but the labels are 'ill' and 'well': "
    "give --positive ill, or the other."
)


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    rows = [
        f"{score!r},{'ill' if ill else 'well'},{int(ill)}"
        for score, ill in zip(SCORES.tolist(), ILL.tolist(), strict=True)
    ]
    file = tmp_path / "cells.csv"
    file.write_text("\n".join(["score,class,code", *rows]) + "\n")
    return file


@pytest.mark.parametrize("command", ["exact", "test", "estimate", "plan"])
def test_text_is_refused_until_one_class_is_positive(
    cli: CommandLine, cells: Path, command: str
) -> None:
    asked = (command, cells, "--column", "score", "--label", "class", "--kernel", "auc")
    assert f"Kernel 'auc' {REFUSED}" in cli.error(*asked)


@pytest.mark.parametrize("words", [("False", "True"), ("FALSE", "TRUE"), ("false", "true")])
def test_the_booleans_of_a_file_suggest_the_true_one(
    cli: CommandLine, tmp_path: Path, words: tuple[str, str]
) -> None:
    rows = [
        f"{score!r},{words[ill]}" for score, ill in zip(SCORES.tolist(), ILL.tolist(), strict=True)
    ]
    file = tmp_path / "cells.csv"
    file.write_text("\n".join(["score,ill", *rows]) + "\n")
    asked = ("exact", file, "--column", "score", "--label", "ill", "--kernel", "auc")
    assert cli.error(*asked).endswith(f"give --positive {words[1]}, or the other.")
    assert float(cli(*asked, "--positive", words[1]).out) == AUC


def test_long_numbers_are_told_apart(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "codes.csv"
    file.write_text("score,code\n1,1000001\n2,1000002\n3,1000001.0\n")
    asked = ("exact", file, "--column", "score", "--label", "code", "--kernel", "auc")
    assert "; positive: 1000002" in cli(*asked).err
    told = cli(*asked, "--positive", 1000001)
    assert float(told.out) == 0.5 and "(1000002 < 1000001); positive: 1000001" in told.err


def test_the_positive_class_is_named(cli: CommandLine, cells: Path) -> None:
    asked = (cells, "--column", "score", "--label", "class", "--kernel", "auc")
    told = cli("exact", *asked, "--positive", "ill", "--interval", "0.9")
    assert float(told.out.splitlines()[0]) == AUC and "positive" not in told.out
    assert "label: class (well < ill); positive: ill" in told.err
    found = cli("test", *asked, "--positive", "ill", "--json").json()
    assert (found["value"], found["positive"]) == (pytest.approx(AUC), "ill")
    short = ("--iterations", 50, "--seed", 0, "--json")
    found = cli("estimate", *asked, "--positive", "well", *short).json()
    assert (found["exact"], found["positive"]) == (pytest.approx(1 - AUC), "well")
    assert "positive: well" in cli("estimate", *asked, "--positive", "well", *short[:-1]).out


def test_numbers_need_no_word_but_take_one(cli: CommandLine, cells: Path) -> None:
    asked = (cells, "--column", "score", "--label", "code", "--kernel", "auc", "--json")
    found = cli("test", *asked).json()
    assert (found["value"], found["positive"]) == (pytest.approx(AUC), "1")
    found = cli("test", *asked, "--positive", "0.0").json()
    assert (found["value"], found["positive"]) == (pytest.approx(1 - AUC), "0")
    assert "the labels are" in cli.error("test", *asked, "--positive", "2")
    named = ("--kernel", "mann-whitney", "--column", "score", "--label", "class")
    found = cli("test", cells, *named, "--positive", "ill", "--json").json()
    assert (found["value"], found["positive"]) == (pytest.approx(AUC), "ill")


def test_a_model_says_which_class_it_scores_higher(
    cli: CommandLine, cells: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model.json"
    train = ("train", cells, "--column", "score", "--label", "class", "--method", "sketch")
    found = cli(*train, "--positive", "ill", "--model", model, "--json").json()
    assert found["positive"] == "ill" and found["classes"] == ["well", "ill"]
    assert found["auc"] == pytest.approx(AUC)
    score = cli("score", model, cells, "--label", "class")
    assert float(score.out) == pytest.approx(AUC) and "positive: ill" in score.err


def test_both_ways_at_once_or_without_a_label_are_refused(cli: CommandLine, cells: Path) -> None:
    asked = ("exact", cells, "--column", "score", "--kernel", "auc", "--positive", "ill")
    assert "--positive is about labels, but no label is used" in cli.error(*asked)
    both = (*asked, "--label", "class", "--classes", "well,ill")
    assert "leave --positive out" in cli.error(*both)
