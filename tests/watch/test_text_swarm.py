"""Peers in the terminal: a live table, or lines."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from pairgossip.cli import main
from pairgossip.peer.reading import DOWN, PeerReading
from pairgossip.watch.peers.source import Swarm
from pairgossip.watch.terminal.peers import TextSwarm

from .peers_to_watch import HOSTILE, Scripted, made_up_swarm, told


def peers() -> list[Scripted]:
    return [
        Scripted("ann", [told(10, 1.25, interval=(1.0, 2.0)), told(30, 1.5, refused=3)]),
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
    assert "all rows likely between" in text and "1 to 2" in text
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
