"""A new user follows the tutorial of the field guide word for word, as each of its hospitals."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from .cli.running import main
from .peer.zenoh_people import free_address

PAGE = Path(__file__).parents[1] / "docs" / "field" / "five-hospitals.md"
FENCE = re.compile(r"^```(shell|text|toml)\n(.*?)^```", re.DOTALL | re.MULTILINE)
ADDRESS = re.compile(r"tls/127\.0\.0\.1:745\d")
VARIES = re.compile(r"^((?!specification).*)\b[0-9a-f]{64}$")
"""Ids, which differ each time; the hash of a specification is the same for everybody."""
HOSPITALS = [f"hospital-{number}" for number in range(1, 7)]
PATIENCE = 90.0
"""Seconds to wait for something that takes 5 on an idle machine."""
RUN = [sys.executable, "-P", "-c", "import sys; from pairgossip.cli import main; sys.exit(main())"]
AWAITED = re.compile(r"peer (questions|accept|result|status) ?(\d*) ?.*?--home (\S+)")
"""Commands that are typed after a question is visible, or answered."""


class Step(NamedTuple):
    typed: list[str]
    shown: list[str]


def steps_of_page() -> tuple[str, list[Step]]:
    """Return the specification, and the lines that are typed, each with the output shown."""
    spec, steps = "", list[Step]()
    for kind, block in FENCE.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "toml":
            assert not spec
            spec = block
        elif kind == "shell":
            steps.append(Step(block.splitlines(), []))
        else:
            steps[-1].shown.extend(block.splitlines())
    return spec, steps


class Desk:
    """A folder and a shell in it: what is typed there, and what was started in the background."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder, self._capsys = folder, capsys
        self._peers: list[subprocess.Popen[bytes]] = []

    def type(self, line: str) -> str:
        """Do what a shell would do with a line, and return what is printed."""
        if line.startswith("kill "):
            self._stop(line.split()[1:])
            return ""
        if line.endswith(" &"):
            return self._start(*line.removesuffix(" &").split(" 2> "))
        if not line.startswith("pairgossip "):
            return subprocess.run(
                ["bash", "-c", line], cwd=self._folder, check=True, capture_output=True, text=True
            ).stdout
        self._wait_until_ready(line)
        command, _, file = line.partition(" > ")
        words = shlex.split(command)[1:]
        self._capsys.readouterr()
        code = main(words)
        out, err = self._capsys.readouterr()
        assert code == 0, err
        if file:
            (self._folder / file).write_text(out, encoding="utf-8")
        return out + err

    def _start(self, command: str, log: str) -> str:
        words = shlex.split(command)[1:]
        program = RUN + words
        if self._peers:  # the others as what the command runs, in half the time
            assert words[:3] == ["peer", "run", "--home"]
            program = [sys.executable, "-P", "-m", "pairgossip.study", *words[3:]]
        with (self._folder / log).open("wb") as file:
            self._peers.append(subprocess.Popen(program, cwd=self._folder, stderr=file))
        return ""

    def _wait_until_ready(self, line: str) -> None:
        """Wait for what a person would see before typing a line: a list, a question, an answer."""
        typed = AWAITED.search(f"{line} ")
        if typed is None:
            return
        what, number, name = typed.groups()
        home = self._folder / name
        if what == "status":
            self._wait(lambda: len(self._peers) == _count_listed(home / "status.json"))
        elif number and what != "result":
            self._wait(lambda: _has_yes(home / "questions" / f"{number}.json"))
        elif what != "accept":
            self._wait(lambda: _is_answered(home / "questions" / f"{number or 1}.json"))

    def _wait(self, is_there: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not is_there():
            assert time.monotonic() < end, (self._folder / "hospital-1.log").read_text()
            time.sleep(0.05)

    def _stop(self, jobs: list[str]) -> None:
        assert jobs == [f"%{number + 1}" for number in range(len(self._peers))]
        for peer in self._peers:
            peer.send_signal(signal.SIGTERM)
        assert [peer.wait(PATIENCE) for peer in self._peers] == [0] * len(self._peers)

    def clear(self) -> None:
        for peer in self._peers:
            peer.kill()
            peer.wait()


def _count_listed(status: Path) -> int:
    if not status.exists():
        return 0
    return sum(one["is_listed"] for one in json.loads(status.read_bytes())["members"])


def _has_yes(question: Path) -> bool:
    """Return whether a question is there with the yes of the member that asks it."""
    return question.exists() and bool(json.loads(question.read_bytes())["yeses"])


def _is_answered(question: Path) -> bool:
    return question.exists() and json.loads(question.read_bytes())["phase"] == "done"


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    monkeypatch.chdir(tmp_path)
    made = Desk(tmp_path, capsys)
    yield made
    made.clear()


def plain(text: str) -> str:
    """Return text without parts that differ each time, and without the layout of tables."""
    lines = (VARIES.sub(r"\1...", line.rstrip()) for line in text.splitlines())
    return " ".join(" ".join(lines).split())


def test_what_is_typed_prints_what_is_shown(desk: Desk, tmp_path: Path) -> None:
    spec, steps = steps_of_page()
    (tmp_path / "auc.toml").write_text(spec, encoding="utf-8")
    free = {f"tls/127.0.0.1:745{number}": free_address() for number in range(1, 7)}
    for step in steps:
        lines = [ADDRESS.sub(lambda found: free[found[0]], line) for line in step.typed]
        printed = plain("".join(desk.type(line) for line in lines))
        for line in step.shown:
            assert plain(line) in printed, f"{line}\n{printed}"
    assert (tmp_path / "result.html").read_text().startswith("<!")


def test_the_way_is_whole() -> None:
    """The tutorial leads from files to a result that anybody can check, with all figures shown."""
    _, steps = steps_of_page()
    typed = [" ".join(line.split()[1:3]) for step in steps for line in step.typed]
    for name in ("dataset", "exact", "estimate", "verify", "peer disclosed"):
        assert any(command.startswith(name) for command in typed)
    assert typed.count("peer init") == typed.count("peer run") == len(HOSPITALS)
    assert typed.index("peer status") < typed.index("peer ask") < typed.index("peer result")
    shown = " ".join(" ".join(step.shown) for step in steps)
    sentence = PAGE.read_text(encoding="utf-8").partition("\n> ")[2].partition("\n\n")[0]
    figures = re.findall(r"\b0\.\d+|\b583\b|[0-9a-f]{8}\b", sentence)
    assert len(figures) == 11 and all(figure in shown for figure in figures)
