"""Peers in a terminal."""

from __future__ import annotations

import errno
import io
import math
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console, ConsoleDimensions
from rich.text import Text

from pairgossip.cli import main
from pairgossip.peer.estimates.errors import Errors
from pairgossip.peer.reading import DOWN, PeerReading
from pairgossip.watch.peers import Swarm
from pairgossip.watch.terminal import (
    _ASCII_BLOCKS,
    _BLOCKS,
    TextSwarm,
    _number,
    _sparkline,
    cut_line,
    draw_curve,
    show_live,
)

from .peers_to_watch import HOSTILE, Scripted, made_up_swarm, told


@pytest.mark.parametrize(
    ("values", "width", "drawn"),
    [
        ([10.0**k for k in range(8)], 8, _BLOCKS),
        ([8, 1], 20, "█▁"),
        ([5, 5, 5], 3, "███"),
        ([1, None, 8, math.nan], 4, "▁ █ "),
        ([2.0**k for k in range(100)], 4, "▃▄▆█"),
        ([0.0, 1.0, 100.0], 3, "▁▁█"),
        ([0.0, 0.0], 2, ""),
        ([], 10, ""),
        ([None, math.inf], 10, ""),
        ([1, 2], 0, ""),
    ],
)
def test_sparklines(values: list[float | None], width: int, drawn: str) -> None:
    assert _sparkline(values, width, _BLOCKS) == drawn


@pytest.mark.parametrize(("encoding", "blocks"), [("ascii", _ASCII_BLOCKS), ("utf-8", _BLOCKS)])
def test_blocks_that_a_terminal_has(encoding: str, blocks: str) -> None:
    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert draw_curve(console, "error", [1, 10**7], 60, "").plain == f"error (log) {blocks[::7]} "
    assert len(_ASCII_BLOCKS) == len(_BLOCKS)


def test_small_things() -> None:
    assert [_number(value) for value in (None, math.nan, 1.5, 123456789.0)] == [
        *("-", "-", "1.5"),
        "1.23457e+08",
    ]
    assert cut_line("x" * 50, 10).plain == "x" * 9 + "…"


def test_what_is_shown_follows_the_size_of_the_terminal() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=50, height=10)
    with show_live(console, lambda width, height: Text(f"{width} x {height}")) as redraw:
        redraw()
        console.size = ConsoleDimensions(33, 7)
        redraw()
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "50 x 10" in shown and "33 x 7" in shown


ENVIRONMENT = {"TERM": "xterm", "COLUMNS": "120", "LINES": "24", "PYTHONFAULTHANDLER": "1"}
"""The environment of a process in a terminal; a crash is printed there."""
ERRORS = Errors(gossip_error=0.12, sampling_error=0.062)


def peers() -> list[Scripted]:
    return [
        Scripted("ann", [told(10, 1.25, errors=ERRORS), told(30, 1.5, refused=3)]),
        Scripted("bob", [told(10, 1.75), PeerReading(DOWN)]),
    ]


def swarm_of(readers: list[Scripted], ends_after: int = 3) -> Swarm:
    looks = iter([True] * (ends_after - 1))
    return Swarm("test", readers, exact=1.5, measure="gini", refresh=lambda: next(looks, False))


def shown(console: Console, readers: list[Scripted]) -> str:
    text = TextSwarm(swarm_of(readers), console, wait=lambda _: None)
    assert text.run()  # until the swarm has ended
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_lines() -> None:
    lines = shown(Console(file=io.StringIO(), width=200), peers()).splitlines()
    assert lines[0] == "test: gini, exact value 1.5"
    assert re.fullmatch(
        r"0 s: 2 up; estimates 1\.5 \(1\.25 to 1\.75\); 10 exchanges, 0 per second; 0 refused; "
        r"generation 1",
        lines[1],
    )
    assert "1 up, 1 down; estimates 1.625 (1.5 to 1.75); 20 exchanges" in lines[-1]
    assert "3 refused" in lines[-1] and len(lines) == 3


def test_a_live_table() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=110)
    text = shown(console, peers())
    assert "gossip error" in text and "0.12" in text
    assert "sampling error" in text and "0.062" in text
    assert re.search(r"bob +down +1\.75 ", text)
    assert "error (log)" in text and "█" in text


def test_those_that_are_not_up_are_shown_first_of_all() -> None:
    readers = [Scripted(f"peer-{k}", [told(1)]) for k in range(50)]
    readers.append(Scripted("lost", [PeerReading(DOWN)]))
    console = Console(file=io.StringIO(), width=120, height=20)
    text = TextSwarm(swarm_of(readers), console)
    text.read()
    console.print(text.picture.draw(120, 20))
    assert isinstance(console.file, io.StringIO)
    drawn = console.file.getvalue()
    assert "lost" in drawn and "and 40 more that are up" in drawn
    assert len(drawn.splitlines()) <= 20


def test_hostile_names_cannot_steer_the_terminal() -> None:
    readers = [Scripted("a\x1b[2J[bold]:smile:", [told(1)]), Scripted(HOSTILE, [told(1)])]
    console = Console(file=io.StringIO(), width=120)
    text = TextSwarm(swarm_of(readers), console)
    text.read()
    console.print(text.picture.draw(120, 30))
    assert isinstance(console.file, io.StringIO)
    drawn = console.file.getvalue()
    assert "\x1b" not in drawn and "a\\x1b[2J[bold]:smile:" in drawn


def test_ctrl_c_ends_it() -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    text = TextSwarm(swarm_of(peers(), 99), Console(file=io.StringIO()), interrupt)
    assert text.run() is False


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_up_swarm(tmp_path / "swarm", ["ann", "bob"], running=False)
    assert main(["watch", "--text", "--swarm", str(folder)]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines()[0] == "swarm in swarm: gini, exact value 1.5"
    assert "2 up; estimates 1.5 (1.5 to 1.5); 7 exchanges" in told.out
    assert told.err == "The swarm has ended.\n"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--text", "--swarm", "a", "--kernel", "gini"], "A terminal shows peers or a simulation"),
        (["--graph", "cycle", "--k", "4"], "The family 'cycle' takes no --k: leave it out."),
        (["--text", "--swarm", "nowhere"], "There is no folder nowhere: check the path."),
        (["--kernel", "ginny"], "Unknown kernel 'ginny': did you mean 'gini'?"),
        (["--text", "a.npz"], "Saved runs are shown in the page: leave out --text"),
        (["--swarm", "a", "--peers", "b"], "Give --swarm or --peers, not both."),
        (["--data", "mine.csv", "--kernel", "gini"], "There is no file mine.csv: check the path."),
        (["--data", "enel"], "Unknown data set 'enel': did you mean 'engel'?"),
        (["mine.csv"], "mine.csv is not a saved run, a .npz file: give a table with --data."),
        (["nowhere.npz"], "There is no file nowhere.npz: check the path."),
        (["--results", "nowhere"], "There is no folder nowhere: check the path."),
        (["--peers", "10.0.0.1:80"], "Metrics cannot be read from '10.0.0.1:80'"),
        (["--host", "0.0.0.0"], "The host is 0.0.0.0, which is every address at once"),
        (["--port", "99999"], "The port is 99999: give 1 to 65,535."),
        (["--key", "key.pem"], "A certificate is for another host than this machine"),
    ],
)
def test_bad_input(options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", *options]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("Error: ") and told.err.count("\n") == 1
    assert sentence in told.err


def test_a_sampling_error_under_privacy_is_a_bound() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=110)
    private = Errors(gossip_error=0.12, sampling_error=0.062, privacy_error=0.2)
    assert ">= 0.062" in shown(console, [Scripted("ann", [told(10, 1.25, errors=private)])])


@pytest.mark.skipif(sys.platform == "win32", reason="terminals as on Unix")
def test_ctrl_c_in_a_real_terminal(tmp_path: Path) -> None:
    folder = made_up_swarm(tmp_path / "swarm", ["ann", "bob"])
    ours, theirs = pty.openpty()
    command = "import sys; from pairgossip.cli import main; sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", command, "watch", "--text", "--swarm", str(folder)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, **ENVIRONMENT},
    ) as process:
        os.close(theirs)
        text = _read_until(process, ours, "gossip error")
        process.send_signal(signal.SIGINT)
        text = _read_until(process, ours, "\x1b[?25h", text)
        assert process.wait(60) == 0
    os.close(ours)
    assert "Traceback" not in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")  # the cursor is back


def _read_until(
    process: subprocess.Popen[bytes], terminal: int, awaited: str, before: str = ""
) -> str:
    text, end = before, time.monotonic() + 120
    while awaited not in text[len(before) :]:
        if time.monotonic() > end:
            process.kill()
        if select.select([terminal], [], [], 1.0)[0]:
            new = _read(terminal)
            assert new, f"ended with {process.wait(60)} before {awaited!r}, having shown:\n{text}"
            text += new
    return text


def _read(terminal: int) -> str:
    """Read what is available; nothing after the process has ended, which is an error on Linux."""
    try:
        return os.read(terminal, 65536).decode(errors="replace")
    except OSError as problem:
        if problem.errno != errno.EIO:
            raise
        return ""
