"""Running commands inside the tests' own process, and for real."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pairgossip.cli import main


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out, parse_constant=_refuse_constant)


class CommandLine:
    """Calls `main` and captures what it writes."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *tokens: object) -> Answer:
        self._capsys.readouterr()
        try:
            code = main([str(token) for token in tokens])
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
        return Answer(code, *self._capsys.readouterr())

    def error(self, *tokens: object, code: int = 2) -> str:
        """Run a command that must fail with one line and no result; return the sentence."""
        answer = self(*tokens)
        assert (answer.code, answer.out) == (code, "")
        assert answer.err.startswith("Error: ") and answer.err.count("\n") == 1
        return answer.err.removeprefix("Error: ").strip()


def run_really(*tokens: object, cwd: Path | None = None) -> Answer:
    """Run the command line in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from pairgossip.cli import main; sys.exit(main())"]
        + [str(token) for token in tokens],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=cwd,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")
