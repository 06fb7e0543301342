"""Private reports at the command line: the same as in Python, and every refusal is one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.cli.outputs.model import read_model

from .running import CommandLine

SHORT = ("--iterations", 300, "--trials", 2)
GINI = ("--column", "income", "--kernel", "gini", *SHORT)
PRIVATE = ("--epsilon", 1, "--bins", 4, "--range", "0,20")


def values(file: Path, column: int = 0) -> Any:
    return np.loadtxt(file, delimiter=",", skiprows=1, usecols=column)


def test_a_private_estimate_is_what_python_gives(cli: CommandLine, incomes: Path) -> None:
    answer = cli("estimate", incomes, *GINI, *PRIVATE, "--json")
    mechanism = pg.privacy.RandomizedResponse(1.0, 4, (0, 20))
    run = pg.estimate(values(incomes), "gini", privacy=mechanism, iterations=300, trials=2, seed=0)
    found = answer.json()
    assert answer.code == 0 and answer.err == ""
    assert (found["exact"], found["estimate"]) == (run.target, run.mean[-1])
    privacy = found["privacy"]
    assert run.privacy_error is not None and run.private_values is not None
    assert (privacy["epsilon"], privacy["bins"]) == (1.0, [4])
    assert privacy["guarantee"] == mechanism.guarantee()
    assert privacy["reports_value"] == run.private_values.mean()
    assert privacy["standard_error"] == run.privacy_error.standard_error
    assert privacy["binning_bias"] == run.privacy_error.binning_bias
    assert cli("estimate", incomes, *GINI, "--json").json()["privacy"] is None


def test_the_report_says_what_is_promised(cli: CommandLine, incomes: Path) -> None:
    out = cli("estimate", incomes, *GINI, *PRIVATE, "--seed", 7).out
    assert "Each observation is reported once, by 4-ary randomized response: epsilon = 1" in out
    assert "whoever knows the seed, 7, can undo them" in out
    for line in ("value of the reports", "predicted error of the reports", "bias of the bins"):
        assert line in out


def test_bins_are_chosen_aloud(cli: CommandLine, incomes: Path) -> None:
    answer = cli("estimate", incomes, *GINI, "--epsilon", 1, "--range", "0,20", "--json")
    advice = pg.privacy.advise_bins(20, 1.0, "gini", (0, 20), target="v")
    assert answer.json()["privacy"]["bins"] == [advice.bins]
    assert f"{advice.bins} bins: predicted error" in answer.err
    mean = cli(
        *("estimate", incomes, "--column", "income", "--method", "averaging", *SHORT),
        *("--epsilon", 1, "--range", "0,20", "--rounding", "stochastic", "--json"),
    )
    assert mean.code == 0 and mean.json()["privacy"]["binning_bias"] == pytest.approx(0, abs=1e-9)


def test_columns_labels_and_groups(cli: CommandLine, incomes: Path) -> None:
    two = cli(
        *("estimate", incomes, "--column", "income,age", "--kernel", "distance", *SHORT),
        *("--epsilon", 4, "--bins", "3,2", "--range", "-1,20", "--range", "0,99", "--json"),
        *("--group-by", "grade"),
    )
    assert two.code == 0 and two.json()["privacy"]["bins"] == [3, 2]
    assert two.json()["groups"]["sites"] == 2
    auc = ("estimate", incomes, "--column", "age", "--kernel", "auc", *SHORT)
    ranges = ("--epsilon", 4, "--bins", 3, "--range", "0,99")
    text = cli(*auc, *ranges, "--label", "class", "--classes", "poor,rich", "--json")
    numbers = cli(*auc, *ranges, "--label", "grade", "--classes", "2, 10", "--json")
    assert text.json()["estimate"] == numbers.json()["estimate"]
    turned = cli(*auc, *ranges, "--label", "class", "--classes", "rich,poor", "--json").json()
    assert turned["exact"] == pytest.approx(1 - numbers.json()["exact"], rel=1e-12)
    assert turned["classes"] == ["rich", "poor"] and numbers.json()["classes"] == [2.0, 10.0]
    apart = cli(
        *auc, *ranges, "--label", "grade", "--classes", "2,10", "--columns", "apart", "--json"
    )
    assert "column by column" in apart.json()["privacy"]["guarantee"]


def test_private_training(cli: CommandLine, incomes: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    train = ("train", incomes, "--column", "income", "--label", "grade", "--iterations", 200)
    private = ("--epsilon", 3, "--bins", 3, "--range", "0,20", "--classes", "2,10")
    answer = cli(*train, *private, "--radius", 2, "--model", model)
    assert answer.code == 0
    assert "6-ary randomized response on its 2 columns as one value" in answer.out
    settings = read_model(model).settings
    assert settings["privacy"]["epsilon"] == 3.0
    assert settings["privacy"]["classes"] == [0.0, 1.0]
    assert read_model(model).classes == [2.0, 10.0]
    many = ("--epsilon", 3, "--bins", 300, "--range", "0,20", "--classes", "2,10")
    told = cli.error(*train, *many, "--model", model)
    assert "no affordable debiased gradient here: reports have 600 cells" in told
    unsaid = ("--epsilon", 3, "--range", "0,20", "--classes", "2,10")
    assert "Give --bins, few of them" in cli.error(*train, *unsaid, "--model", model)


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        (("--bins", 4), "--bins is about private reports, but --epsilon is missing: give it too"),
        (("--range", "0,20"), "--range is about private reports, but --epsilon is missing"),
        (("--epsilon", 1), "Give --range lowest,highest: the values that are possible, as known"),
        (("--epsilon", 0, "--range", "0,20"), "epsilon is 0: give a number from 1e-09 to 40"),
        (("--epsilon", 1, "--range", "0"), "'0' is not a range: give --range lowest,highest"),
        (("--epsilon", 1, "--range", "a,b"), "'a,b' are not numbers"),
        (("--epsilon", 1, "--range", "0,1", "--range", "0,2"), "There are 2 ranges for 1 column"),
        ((*PRIVATE[:2], "--range", "0,20", "--bins", "x"), "whole number >= 2, not 'x'"),
        ((*PRIVATE[:2], "--range", "0,20", "--bins", "3,4"), "There are 2 numbers of bins for 1"),
        ((*PRIVATE[:4], "--range", "0,0.5"), "of column 'income' outside [0, 0.5] (lines 4, 5, "),
        ((*PRIVATE, "--classes", "0,1"), "--classes is about labels, but no label is used"),
        ((*PRIVATE, "--rounding", "up"), "Unknown rounding 'up'"),
        ((*PRIVATE, "--columns", "both"), "Unknown way to report columns 'both'"),
        ((*PRIVATE, "--label", "grade"), "Give --classes, all labels that are possible"),
        ((*PRIVATE, "--label", "grade", "--classes", "2,x"), "holds '10' in lines "),
        (("--epsilon", 1, "--range", "0,20", "--label", "grade", "--classes", "2,10"),
         "Give --bins, few of them, such as 8: they are not chosen where there are labels."),
    ],
)  # fmt: skip
def test_refusals(
    cli: CommandLine, incomes: Path, tokens: tuple[object, ...], sentence: str
) -> None:
    kernel = "auc" if "--label" in tokens else "gini"
    base = ("--column", "income", "--kernel", kernel, *SHORT)
    assert sentence in cli.error("estimate", incomes, *base, *tokens)


def test_bins_are_not_chosen_where_even_values_say_nothing(cli: CommandLine, incomes: Path) -> None:
    sentence = cli.error(
        *("estimate", incomes, "--column", "income,age", "--kernel", "Kendall"),
        *("--epsilon", 3, "--range", "0,20", "--range", "0,100"),
    )
    assert sentence == (
        "Give --bins, such as 6: they are not chosen for kernel 'kendall', about which values "
        "spread evenly say nothing."
    )
