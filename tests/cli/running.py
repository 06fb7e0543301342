"""Commands run in the tests' own process, or in separate ones."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cyclopts import UNSET, App, ArgumentCollection

from pairgossip import cli

_assemble = App.assemble_argument_collection
_assembled: dict[object, ArgumentCollection] = {}


def _assemble_once(self: App, **options: Any) -> ArgumentCollection:
    """Assemble a command's arguments, which the library does not keep for a second call.

    A user's process parses once; the tests parse a thousand times, and would spend nine tenths of
    the time on reading the same signatures.
    """
    key = self.default_command, frozenset(options.items())
    if key not in _assembled:
        _assembled[key] = _assemble(self, **options)
    for argument in _assembled[key]:  # forget what the previous call has left
        argument.tokens = []
        argument.value = UNSET
        argument._marked_converted = argument._mark_converted_override = False
    return _assembled[key]


@contextmanager
def assembled_once() -> Iterator[None]:
    """Assemble the arguments of a command only once in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(App, "assemble_argument_collection", _assemble_once)
        yield


def main(tokens: Sequence[str]) -> int:
    """Run the command line, faster from the second call on."""
    with assembled_once():
        return cli.main(tokens)


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
    """Run the command line in a separate process."""
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
