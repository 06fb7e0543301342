from __future__ import annotations

from pathlib import Path

import pytest

from .running import CommandLine


@pytest.mark.parametrize("spelling", ["1000", "1_000", "1e3", "1000.0"])
def test_whole_numbers_have_several_spellings(
    cli: CommandLine, single: Path, spelling: str
) -> None:
    answer = cli(
        "estimate", single, "--kernel", "gini", "--iterations", spelling, "--trials", 1, "--json"
    )
    assert answer.json()["iterations"] == 1000


@pytest.mark.parametrize("option", ["--seed", "--jobs", "--graph-seed", "--trials"])
def test_nothing_is_rounded(cli: CommandLine, single: Path, option: str) -> None:
    answer = cli("estimate", single, "--kernel", "gini", option, "1.5")
    assert answer.code != 0
    assert f"Invalid value for {option}" in answer.err and "'1.5'" in answer.err


@pytest.mark.parametrize(
    ("spelling", "seed"), [("1e3", 1000), ("7.0", 7), (str(2**127 + 1), 2**127 + 1)]
)
def test_seeds(cli: CommandLine, single: Path, spelling: str, seed: int) -> None:
    tokens = ("--kernel", "gini", "--iterations", 10, "--seed", spelling, "--jobs", "1e0")
    assert cli("estimate", single, *tokens, "--json").json()["seed"] == seed


@pytest.mark.parametrize("spelling", ["1e20", "1e999999999"])
def test_what_is_too_large(cli: CommandLine, single: Path, spelling: str) -> None:
    answer = cli("estimate", single, "--kernel", "gini", "--iterations", spelling)
    assert f"'{spelling}' is too large: give at most" in answer.err


def test_the_demo_rounds_nothing(cli: CommandLine, tmp_path: Path) -> None:
    answer = cli("demo", "--quick", "--out", tmp_path / "demo", "--seed", "1.5")
    assert answer.code != 0 and "Invalid value for --seed" in answer.err


@pytest.mark.parametrize("spelling", ["1.5", "many", "nan", "inf", "1e999999999"])
def test_anything_else_is_refused(cli: CommandLine, single: Path, spelling: str) -> None:
    answer = cli("estimate", single, "--kernel", "gini", "--iterations", spelling)
    assert answer.code != 0
    assert "--iterations" in answer.err and spelling in answer.err
    assert "Traceback" not in answer.err
