"""Benchmarks say what they measure when asked, instead of beginning to measure."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
PROGRAMS = sorted(
    file.stem for file in FOLDER.glob("*.py") if "__main__" in file.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_is_printed_and_nothing_else_happens(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as left:
        module.main()
    assert left.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("usage:") and str(module.__doc__).split("\n")[0].split(":")[0] in shown
