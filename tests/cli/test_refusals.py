"""Numbers in options, and what the parser refuses."""

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


@pytest.mark.parametrize("spelling", ["1.5", "many", "nan", "inf", "1e999999999"])
def test_anything_else_is_refused(cli: CommandLine, single: Path, spelling: str) -> None:
    answer = cli("estimate", single, "--kernel", "gini", "--iterations", spelling)
    assert answer.code != 0
    assert "--iterations" in answer.err and spelling in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("foo", "Unknown command 'foo': choose one of answer, completion, dataset"),
        ("estimat", "Unknown command 'estimat': did you mean 'estimate'?"),
        ("peer joi", "Unknown command 'joi': did you mean 'join'?"),
        ("kernels --jsn", "Unknown option --jsn: did you mean --json?"),
        ("kernels --jsn=yes", "Unknown option --jsn: did you mean --json?"),
        ("kernels --no-json", "Unknown option --no-json: did you mean --json?"),
        ("train a.csv --modle m.json", "Unknown option --modle: did you mean --model?"),
        ("kernels --zzz", "Unknown option --zzz: 'pairgossip kernels --help' lists the options."),
        ("estimate", "pairgossip estimate needs FILES: 'pairgossip estimate --help' says what it "),
        ("exact a.csv", "pairgossip exact needs --kernel: 'pairgossip exact --help' says what it "),
        ("exact a.csv --kernel", "--kernel needs a value: give it after the option."),
        ("exact a.csv --kernel gini --kernel auc", "--kernel is given twice: give it once."),
        ("estimate a.csv --p x", "Invalid value for --p: give a number such as 0.5, not 'x'."),
        ("estimate a.csv --trials x", "Invalid value for --trials: give a whole number such as "),
        ("kernels --json=3", "--json takes no value: give it alone."),
        ("kernels gini", "pairgossip kernels has no use for 'gini': leave it out, or put a name "),
        ("kernels " + 300 * "x", "pairgossip kernels has no use for 'xxx"),
        ("exact a.csv --kernel gini b.csv", "b.csv stands apart from the other files: name all "),
        # Not a file: a name that should have been quoted.
        ("estimate a.csv --column household income", "pairgossip estimate has no use for "),
    ],
)
def test_every_refusal_is_one_sentence(cli: CommandLine, line: str, said: str) -> None:
    assert cli.error(*line.split()).startswith(said)


@pytest.mark.parametrize(
    "line",
    [
        "score m.json a.csv b.csv",
        "swarm run --peers 2 --data a.csv b.csv --kernel gini",
        "swarm run --peers 2 --data a.csv --data b.csv --kernel gini",
        "peer init --name a --spec s.toml --data a.csv b.csv",
        "watch --data a.csv b.csv --kernel gini",
    ],
)
def test_several_tables_are_one_too_many(cli: CommandLine, line: str) -> None:
    command = " ".join(word for word in line.split()[:2] if word.isalpha())
    assert cli.error(*line.split()) == (
        f"pairgossip {command} reads one table at a time, but was also given b.csv: put the rows "
        f"of all files into one, or run it once for each."
    )


def test_many_tables_are_counted(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cork").touch()  # the shell may expand a pattern to names without an ending
    assert "was also given cork and 2 more" in cli.error(
        "score", "model", "bray", "cork", "derry", "dublin"
    )
