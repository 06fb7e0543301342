"""An experiment is found by lying in the room of experiments."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pairgossip_paper import experiments, reproduction
from pairgossip_paper.reproduction import CATALOG

PAGE = Path(__file__).parents[2] / "docs" / "reproduce.md"
EXPERIMENT = """
from pairgossip_paper import framework as fw

EXTRA = fw.Experiment("extra", "One more", "Why?", lambda plan: [], lambda results: None{place})
"""


@pytest.mark.parametrize(("place", "before"), [("", None), (", place=1.5", "auc-sync")])
def test_an_experiment_is_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, before: str | None
) -> None:
    (tmp_path / "extra.py").write_text(EXPERIMENT.format(place=place))
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "pairgossip_paper.experiments.extra", raising=False)
    names = list(reproduction._find_catalog())
    expected = list(CATALOG)
    expected.insert(len(expected) if before is None else expected.index(before), "extra")
    assert names == expected


def test_the_documentation_lists_the_experiments_in_the_order_of_the_report() -> None:
    table = PAGE.read_text(encoding="utf-8").split("## What it runs")[1].split("## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert re.findall(r"`([\w-]+)`", " ".join(rows)) == list(CATALOG)


@pytest.mark.parametrize(
    ("library", "command", "code", "sentence"),
    [
        ("matplotlib", "reproduce --list", 0, ""),
        ("matplotlib", "errata --json", 0, ""),
        ("matplotlib", "reproduce --quick", 1, "Reproducing the paper needs matplotlib"),
        ("pairgossip_paper", "errata", 1, "Reproducing the paper needs pairgossip_paper"),
    ],
)
def test_commands_without_a_library(library: str, command: str, code: int, sentence: str) -> None:
    program = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from pairgossip.cli import main\n"
        f"sys.exit(main({command.split()}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == code, done.stderr
    assert sentence in done.stderr
