from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .running import CommandLine


@pytest.fixture(autouse=True)
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a run starts: every mistake here is found before the first exchange."""

    def refuse(*_: object) -> None:
        raise AssertionError("the run has started")

    monkeypatch.setattr("pairgossip.run_requests.request.run_trials", refuse)


def written(folder: Path, text: str) -> Path:
    file = folder / "data.csv"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    "tokens",
    [
        ("estimate", "--column", "x", "--label", "class", "--group-by", "site", "--kernel", "auc"),
        ("train", "--label", "class", "--group-by", "site", "--model", "model.json"),
        ("train", "--column", "x", "--label", "class", "--group-by", "site", "--model", "m.json"),
    ],
)
def test_gaps_of_all_columns_are_listed_at_once(
    cli: CommandLine, tmp_path: Path, tokens: tuple[str, ...]
) -> None:
    file = written(tmp_path, "x,class,site\n1,a,n\n,b,n\n4,,n\n5,a,\n,b,n\n")
    found = cli.error(tokens[0], file, *tokens[1:])
    assert "has 4 missing entries" in found and "column 'x' on lines 3 and 6" in found
    assert "column 'class' on line 4" in found and "column 'site' on line 5" in found


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["--kernel", "ginni"], "Unknown kernel 'ginni': did you mean 'gini'?"),
        (["--clock", "async", "--method", "u2"], "Method 'u2' has no asynchronous form: use "),
        (["--against", "exchange"], "Unknown axis 'exchange': did you mean 'exchanges'?"),
        (["--against", "time"], "A synchronous run has no clock times: use --clock async."),
        (["--jobs", "0"], "Invalid --jobs 0: give a number of workers, or -1 for all cores."),
        (["--graph", "cycle", "--k", "4"], "cycle takes only n, not k."),
        (["--graph", "cycle", "--graph-file", "x.txt"], "Give --graph or --graph-file, not both."),
        (["--save", "no/run.npz"], "Cannot write no/run.npz: there is no folder no."),
        (["--csv", "."], ". is a folder: give the name of a file."),
        (["--plot", "run.bmp"], "run.bmp is not a figure: end its name in .png, .pdf or .svg."),
        (["--save", "run.x", "--csv", "./run.x"], "run.x is named twice: give every output a "),
    ],
)
def test_wrong_options(
    cli: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tokens: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, "value\n" + "".join(f"{k}\n" for k in range(11)))
    kernel = [] if "--kernel" in tokens else ["--kernel", "gini"]
    assert cli.error("estimate", file, *kernel, *tokens).startswith(message)
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_takes_no_files(cli: CommandLine, single: Path) -> None:
    # Even an administrator cannot create files there.
    folder = Path("/proc/self")
    if not folder.is_dir():
        pytest.skip("needs a folder that refuses everybody")
    message = cli.error("estimate", single, "--kernel", "gini", "--save", folder / "run.npz")
    assert message.startswith(f"Cannot write {folder / 'run.npz'}: ")


def test_the_data_is_never_overwritten(cli: CommandLine, single: Path) -> None:
    before = single.read_text()
    message = cli.error("estimate", single, "--kernel", "gini", "--csv", single)
    assert message.startswith(f"{single} is named twice")
    assert single.read_text() == before


_SKETCH = ("--kernel", "gini", "--method", "sketch")


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        (("--kernel", "gini", "--sketch-bins", "3"), "--sketch-bins needs a sketch"),
        (("--method", "averaging", "--sketch-range", "0,1"), "--sketch-range needs a sketch"),
        ((*_SKETCH, "--bins", "3"), "--bins is about private reports"),
        ((*_SKETCH, "--sketch-range", "0"), "'0' is not a range: give --sketch-range lowest,"),
        ((*_SKETCH, "--sketch-range", "0,x"), "'0,x' are not numbers"),
        ((*_SKETCH, "--sketch-range", "0,9"), "The declared range [0, 9] leaves out rows 4, 5, 6,"),
        ((*_SKETCH, "--sketch-range", "0,9", "--sketch-range", "0,9"), "There are 2 ranges for 1 "),
        (
            (*_SKETCH, "--epsilon", "1", "--range", "0,200", "--bins", "4", "--sketch-bins", "3"),
            "Method 'sketch' averages how often each private report was given: leave "
            "--sketch-bins and --sketch-range out.",
        ),
        (
            ("--kernel", "variance", "--method", "sketch", "--sketch-bins", "3"),
            "The sketch of kernel 'variance', Moments, takes no bins: leave --sketch-bins out.",
        ),
    ],
)
def test_wrong_sketches_and_schedules(
    cli: CommandLine, single: Path, tokens: tuple[str, ...], sentence: str
) -> None:
    assert cli.error("estimate", single, *tokens).startswith(sentence)


def test_ranges_of_two_columns_are_spelled_as_one_option(cli: CommandLine, incomes: Path) -> None:
    kendall = ("--column", "income,age", "--kernel", "kendall", "--method", "sketch")
    message = cli.error("estimate", incomes, *kendall, "--sketch-range", "0,1")
    assert message.endswith("(counting from 0): widen --sketch-range, or leave it out.")


def test_a_remedy_in_python_is_not_spelled_as_an_option(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "far.csv"
    file.write_text("x\n" + "".join(f"{10**8 + k}\n" for k in range(5)))
    message = cli.error("estimate", file, "--kernel", "variance", "--method", "sketch")
    assert "or in Python give sketch=pg.sketches.Moments(center=1e+08)." in message


def test_a_picture_of_too_many_nodes(
    cli: CommandLine, single: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairgossip.results.plots.LARGEST_PICTURE", 11)
    tokens = ("--kernel", "gini", "--plot-graph", tmp_path / "network.png")
    assert cli.error("estimate", single, *tokens).startswith("A picture of 12 nodes")


@pytest.mark.parametrize(
    ("library", "tokens"),
    [("matplotlib", ["--plot", "run.png"]), ("pandas", ["--csv", "run.csv"])],
)
def test_a_missing_library_is_known_beforehand(
    cli: CommandLine,
    single: Path,
    monkeypatch: pytest.MonkeyPatch,
    library: str,
    tokens: list[str],
) -> None:
    module = "matplotlib.figure" if library == "matplotlib" else library
    monkeypatch.setitem(sys.modules, module, None)  # how Python marks a module as not installed
    message = cli.error("estimate", single, "--kernel", "gini", *tokens, code=1)
    assert f"needs {library}, which is not installed: pip install 'pairgossip[lab]'." in message
