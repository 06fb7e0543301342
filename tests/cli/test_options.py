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


@pytest.mark.parametrize("spelling", ["1.5", "many", "nan", "inf", "1e999999999"])
def test_anything_else_is_refused(cli: CommandLine, single: Path, spelling: str) -> None:
    answer = cli("estimate", single, "--kernel", "gini", "--iterations", spelling)
    assert answer.code != 0
    assert "--iterations" in answer.err and spelling in answer.err
    assert "Traceback" not in answer.err
