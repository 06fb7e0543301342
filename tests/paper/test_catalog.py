"""An experiment is found because its file is in the room of experiments."""

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
    table = PAGE.read_text(encoding="utf-8").split("## Experiments")[1].split("## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert re.findall(r"`([\w-]+)`", " ".join(rows)) == list(CATALOG)


WITHOUT_LIBRARIES = """
import sys

sys.modules["matplotlib"] = None
from pairgossip.cli import main

codes = [main(line.split()) for line in ("reproduce --list", "errata --json", "reproduce --quick")]
for name in [name for name in sys.modules if name.startswith("pairgossip_paper")]:
    del sys.modules[name]
sys.modules["pairgossip_paper"] = None
assert [*codes, main(["errata"])] == [0, 0, 1, 1]
"""


def test_commands_without_a_library() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LIBRARIES], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    for library in ("matplotlib", "pairgossip_paper"):
        assert f"Reproducing the paper needs {library}" in done.stderr
