"""The command line as a whole."""

from __future__ import annotations

import io
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path

import pytest
from cyclopts import App
from rich.console import Console

import pairgossip
from pairgossip.cli import app
from pairgossip.cli.console import with_options
from pairgossip.errors import InputError, MissingExtra

from .running import CommandLine, assembled_once, main, run_really

COMMANDS = (
    *("answer", "completion", "dataset", "demo", "errata", "estimate", "exact", "graph", "kernels"),
    *("losses", "methods", "plot", "score", "summarize", "test", "train", "validate"),
)


def test_version(cli: CommandLine) -> None:
    answer = cli("--version")
    assert (answer.code, answer.out.strip()) == (0, pairgossip.__version__)


def test_the_package_is_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["pairgossip", "--version"])
    monkeypatch.delitem(sys.modules, "pairgossip.__main__", raising=False)  # else it warns
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module("pairgossip", run_name="__main__")
    assert capsys.readouterr().out.strip() == pairgossip.__version__


def printed_by(*tokens: str) -> str:
    """Return what a command prints; it must succeed."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert main(tokens) == 0
    return printed.getvalue()


@cache
def help_of(*command: str) -> str:
    """Return the help of a command, once for all tests that read it."""
    return printed_by(*command, "--help")


def test_help_lists_the_commands(cli: CommandLine) -> None:
    answer = cli("--help")
    assert answer.code == 0
    for command in COMMANDS:
        assert f"│ {command} " in answer.out
    assert "pairgossip demo --quick" in answer.out


def all_commands(above: App, chain: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield chain
    for name in above:
        if not name.startswith("-"):
            yield from all_commands(above[name], (*chain, name))


EXAMPLES = re.compile(r"(?:Begin with|or example[^:]{0,30}):\s*?\n(.*?)╭", re.DOTALL)


@pytest.mark.parametrize("chain", list(all_commands(app)), ids=" ".join)
def test_examples_can_be_copied(chain: tuple[str, ...]) -> None:
    found = EXAMPLES.search(help_of(*chain))
    assert found or chain == ("swarm",)
    for line in filter(str.strip, found[1].splitlines() if found else ()):
        # In a terminal, a command that continues on the next line ends with blanks.
        assert line.strip().startswith("pairgossip ") and not line.rstrip().endswith("\\")
        words = shlex.split(line.partition(" > ")[0])[1:]
        with assembled_once():
            app.parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.parametrize(
    "command",
    ["exact", "estimate", "summarize", "test", "train", "score", "graph", "plot", "swarm run"],
)
@pytest.mark.usefixtures("figures")
def test_examples_fit_the_data_they_begin_with(
    cli: CommandLine, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = EXAMPLES.search(help_of(*command.split()))
    assert found
    briefly = {
        "estimate": ["--iterations", "20", "--trials", "1"],
        "train": ["--iterations", "20"],
        "swarm": ["--within", "-1"],  # refused after everything else has been checked
    }
    for line in filter(str.strip, found[1].splitlines()):
        words = shlex.split(line)[1:]
        answer = cli(*words, *briefly.get(words[0], []))
        assert answer.code == 0 or "--within is -1" in answer.err, answer.err


FIRST_OPTIONS = {
    "estimate": (
        "--kernel --column --label --interval --graph --method --iterations --until --plot --save "
        "--json"
    ),
    "train": "--label --column --loss --model --plot --graph --method --iterations",
    "exact": "--kernel --column --label --interval",
    "test": "--kernel --column --label --alternative",
    "plan": "--kernel --column --label --error --graph",
    "summarize": "--kernel --column --label --cells --out --share",
    "peer init": "--name --data --spec --listen --yes",
}


@pytest.mark.parametrize(
    ("command", "width"), [("estimate", 120), *((command, 80) for command in FIRST_OPTIONS)]
)
def test_the_first_options_are_those_needed_most(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, command: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    # The app's own console keeps the width of the first help that it shows.
    monkeypatch.setattr(app, "_console", Console())
    shown = cli(*command.split(), "--help").out
    assert max(map(len, shown.splitlines())) <= width
    needed = FIRST_OPTIONS[command].split()
    options = re.findall(r"^│ (?:[ *]  )?(--[a-z-]+)", shown, re.MULTILINE)
    assert options[: len(needed)] == needed


def test_help_imports_nothing_heavy() -> None:
    heavy = ["numpy", "numba", "scipy", "sklearn", "matplotlib", "pandas", "joblib", "networkx"]
    script = (
        "import sys\n"
        "from pairgossip.cli import main\n"
        "main(sys.argv[1:])\n"
        f"sys.exit(','.join(sorted(set({heavy!r}) & set(sys.modules))))\n"
    )
    for tokens in (["--help"], ["--version"]):
        done = subprocess.run(
            [sys.executable, "-c", script, *tokens], capture_output=True, text=True, timeout=60
        )
        assert done.stderr.strip() == ""
        assert done.stdout


def test_a_missing_extra_leaves_with_1(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise MissingExtra("Drawing needs matplotlib, which is not installed.")

    monkeypatch.setattr("pairgossip.kernels.describe", absent)
    assert cli.error("kernels", code=1) == "Drawing needs matplotlib, which is not installed."


def test_a_library_that_fails_is_not_taken_for_the_output() -> None:
    script = (
        "import sys, pairgossip.kernels\n"
        "from pairgossip.cli import main\n"
        "def failing(): raise OSError('Could not find libfar.so.')\n"
        "pairgossip.kernels.describe = failing\n"
        "sys.exit(main(['kernels']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: A library failed: Could not find libfar.so.\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_limit_of_addresses_is_warned_of_before_any_work(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    limits = {"kind": resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limits["kind"], resource.RLIM_INFINITY))
    for enough in (resource.RLIM_INFINITY, 1 << 40):
        limits["kind"] = enough
        assert cli("kernels").err == ""
    limits["kind"] = 900_000 << 10
    warned = cli("kernels")
    assert warned.code == 0 and warned.err.count("\n") == 1
    assert warned.err.startswith("Warning: This process is limited to 9")
    assert "MemoryMax=" in warned.err
    assert cli("--version").err == cli("kernels", "--help").err == ""


def test_ctrl_c_before_anything_leaves_with_130(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pairgossip.kernels.describe", stopped)
    answer = cli("kernels")
    assert (answer.code, answer.out) == (130, "")
    assert answer.err == "Warning: Interrupted before there was anything to keep.\n"


def test_ctrl_c_says_how_far_the_work_was(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped() -> None:
        raise KeyboardInterrupt("Stopped counting a.csv after 6 rows.")

    monkeypatch.setattr("pairgossip.kernels.describe", stopped)
    answer = cli("kernels")
    assert (answer.code, answer.err) == (130, "Warning: Stopped counting a.csv after 6 rows.\n")


def test_too_little_memory_is_one_line(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy() -> None:
        raise MemoryError

    monkeypatch.setattr("pairgossip.kernels.describe", greedy)
    assert cli.error("kernels", code=1).startswith("There is not enough memory")


@pytest.mark.parametrize(
    ("argument", "value", "python", "option"),
    [
        ("engine", "plain", "engine='plain'", "--engine plain"),
        ("order", None, "order=", "--order"),
        ("groups", None, "groups=", "--group-by"),
        ("resume", True, "resume=True", "--resume"),
        ("together", False, "together=False", "--columns apart"),
        ("classes", [2.0, 4.0], "classes=[2.0, 4.0]", "--classes 2,4"),
    ],
)
def test_an_argument_is_an_option_on_the_command_line(
    argument: str, value: object, python: str, option: str
) -> None:
    error = InputError("No file law=a.csv: use {argument}.", argument, value)
    assert str(error) == f"No file law=a.csv: use {python}."
    assert with_options(error) == f"No file law=a.csv: use {option}."


def test_file_names_are_not_markup(cli: CommandLine) -> None:
    assert "[bold]no[/bold].csv" in cli.error("exact", "[bold]no[/bold].csv", "--kernel", "gini")


def test_a_real_process_has_the_exit_code() -> None:
    answer = run_really("exact", "nowhere.csv", "--kernel", "gini")
    assert answer == (2, "", "Error: There is no file nowhere.csv: check the path.\n")


def test_a_reader_that_goes_away_is_no_drama() -> None:
    script = "import sys; from pairgossip.cli import main; sys.exit(main(['kernels']))"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) in (0, 1)


def test_without_arguments_it_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "Usage: pairgossip COMMAND" in capsys.readouterr().out


@pytest.fixture(scope="module")
def bash_script() -> str:
    """Return what is printed for bash, once for all tests, since that takes a second."""
    return printed_by("completion", "bash")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_finishes_words(bash_script: str, tmp_path: Path) -> None:
    script = tmp_path / "completion.sh"
    script.write_text(
        bash_script
        + "\nCOMP_WORDS=(pairgossip esti) COMP_CWORD=1\n_pairgossip; echo ${COMPREPLY[@]}\n"
        + "COMP_WORDS=(pairgossip estimate a.csv --grap) COMP_CWORD=3\n"
        + "_pairgossip; echo ${COMPREPLY[@]}\n",
        encoding="utf-8",
    )
    done = subprocess.run(["bash", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("estimate\n--graph --graph-file\n", "")


@pytest.mark.parametrize(("shell", "start"), [("bash", ".bashrc"), ("fish", None)])
def test_the_script_knows_all_and_is_installed_where_the_shell_looks(
    cli: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bash_script: str,
    shell: str,
    start: str | None,
) -> None:
    for name in ("ZDOTDIR", "ZSH_CUSTOM", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    answer = cli("completion", shell, "--install")
    assert (answer.code, answer.out) == (0, "")
    written = Path(answer.err.removeprefix("Wrote ").partition(": open a new shell")[0])
    assert written.is_relative_to(tmp_path)
    script = written.read_text(encoding="utf-8")
    for word in ("estimate", "swarm", "evict", "graph-file", "group-by"):
        assert word in script
    assert shell != "bash" or script == bash_script
    assert start is None or str(written.parent) in (tmp_path / start).read_text(encoding="utf-8")


def test_another_shell_is_refused(cli: CommandLine) -> None:
    assert cli.error("completion", "tcsh") == "Unknown shell 'tcsh': choose one of bash, fish, zsh."


def test_a_shell_that_cannot_be_told_is_asked_for(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown() -> str:
        raise RuntimeError

    monkeypatch.setattr("cyclopts.completion.detect_shell", unknown)
    assert cli.error("completion") == "Which shell? Name it: bash, fish, zsh."


def test_a_folder_that_cannot_be_made_is_one_sentence(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert "run 'pairgossip completion fish' and put what it prints" in cli.error(
        "completion", "fish", "--install"
    )
