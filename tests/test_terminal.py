"""Nothing in a file can control the terminal that shows it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.progress import PlainConsole
from pairgossip.text import printable

from .cli.running import CommandLine

EVIL = "a\x1b[2Jb\x07\x9b31m\u202ec"
SPELLED = r"a\x1b[2Jb\x07\x9b31m\u202ec"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


def is_harmless(text: str) -> bool:
    return all(letter.isprintable() or letter in "\n\t" for letter in text)


def test_control_characters_are_spelled_out() -> None:
    assert printable(EVIL) == SPELLED
    assert printable("caf\xe9\tau\nlait") == "caf\xe9\tau\nlait"
    assert printable("\udcff") == r"\udcff"  # a file name that is not UTF-8


def test_errors_say_it_so_in_python_too() -> None:
    assert str(InputError(EVIL)) == SPELLED


def test_the_console_lets_its_own_codes_through_and_no_others() -> None:
    file = io.StringIO()
    console = PlainConsole(file=file, force_terminal=True, color_system="standard", width=60)
    table = Table(EVIL)
    table.add_row(EVIL)
    console.print(EVIL, Text(EVIL), table, style="bold")
    shown = file.getvalue()
    assert "\x1b[1m" in shown and "\x1b[2J" not in shown
    assert is_harmless(shown.replace("\x1b[1m", "").replace("\x1b[0m", ""))
    assert shown.count(SPELLED) == 3  # all but the Text, which drops its bell when it is made


@pytest.fixture
def evil_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    cells = [f"{k},{k % 3},{'yes' if k % 2 else EVIL},{EVIL}{k % 3}" for k in range(12)]
    Path("rows.csv").write_text("\n".join([f"x{EVIL},y,c{EVIL},s{EVIL}", *cells]))
    Path(f"{EVIL}.csv").write_text("x\n1\n2\n3\n4\n")
    Path("twice.csv").write_text(f"{EVIL},{EVIL}\n1,2\n")
    Path("bad.csv").write_text(f"x\n1\n{EVIL}\n")
    Path("edges.txt").write_text(f"{EVIL} b\nb d\nd\n")
    Path("named.txt").write_text(f"{EVIL} b\nb d\nd {EVIL}\n")
    Path("net.graphml").write_text(
        "<graphml><graph edgedefault='undirected'>"
        + 2 * "<node id='a&#x202E;\x9b'/>"
        + "</graph></graphml>"
    )
    Path("spec.toml").write_text('kernel = "' + "a\\u001b[2Jb" + '"\ncolumns = ["x"]\n')
    model = {"format": "pairgossip-model", "version": EVIL}
    Path("model.json").write_text(json.dumps(model))
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "estimate rows.csv --kernel gini",
        "estimate rows.csv --column z --kernel gini",
        f"estimate rows.csv --column x{EVIL} --kernel gini --iterations 20 --trials 1",
        f"estimate rows.csv --column y --label c{EVIL} --kernel auc --iterations 20 --trials 1",
        f"estimate rows.csv --column y --label c{EVIL} --positive {EVIL} --kernel auc "
        "--iterations 20 --trials 1",
        f"estimate rows.csv --column y --label c{EVIL} --kernel ranking-risk",
        f"estimate rows.csv --column y --kernel gini --group-by s{EVIL} --iterations 20 --trials 1",
        f"estimate {EVIL}.csv --kernel gini --iterations 20 --trials 1 --save {EVIL}.npz",
        f"estimate {EVIL}-none.csv --kernel gini",
        "exact twice.csv --kernel gini",
        "exact bad.csv --kernel gini",
        f"exact rows.csv --column y --kernel {EVIL}",
        "graph --file edges.txt",
        "graph --file named.txt",
        "graph --file net.graphml",
        "estimate rows.csv --spec spec.toml",
        "score model.json rows.csv",
        f"train rows.csv --column y --label c{EVIL} --positive yes --model {EVIL}.json "
        "--iterations 20",
        f"plot {EVIL}.npz --out none.png",
        f"{EVIL}",
        f"estimate a.csv {EVIL}.csv",
    ],
)
def test_what_commands_show_of_files_is_harmless(
    cli: CommandLine, evil_files: Path, line: str
) -> None:
    answer = cli(*line.split(" "))
    assert answer.out + answer.err
    assert is_harmless(answer.out) and is_harmless(answer.err)


def test_files_keep_what_they_hold(evil_files: Path) -> None:
    graph = Graph.load("named.txt")
    assert graph.names is not None and EVIL in graph.names
