"""The laboratory runs without Unix; peers report that they need it.

No Windows is used: what it lacks is removed from a fresh interpreter.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WITHOUT_UNIX = """
import os, signal, sys

for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("O_CLOEXEC", "chown", "fchmod", "fork", "geteuid", "getuid", "killpg", "pwrite"):
    delattr(os, name)
for name in ("SIGCONT", "SIGHUP", "SIGKILL", "SIGSTOP"):
    delattr(signal, name)

from pairgossip.cli import main
"""
REFUSAL = "Peers need Linux or macOS: on Windows, run pairgossip in WSL 2."


def without_unix(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_UNIX + code],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=folder,
    )


LAB = """
import importlib, pkgutil, pairgossip

for module in pkgutil.walk_packages(pairgossip.__path__, "pairgossip."):
    if not module.name.startswith(("pairgossip.peer.service.service", "pairgossip.swarm")):
        importlib.import_module(module.name)
commands = [
    "dataset engel --out incomes.csv",
    "exact incomes.csv --column income --kernel gini --interval 0.95",
    "estimate incomes.csv --column income --kernel gini --iterations 50 --plot gini.png",
    "dataset breast-cancer-wisconsin --out cells.csv",
    "train cells.csv --label class --loss auc-logistic --iterations 50 --model model.json",
    "score model.json cells.csv --label class",
    "summarize incomes.csv --column income --kernel gini --out incomes.summary",
    "answer incomes.summary",
]
for command in commands:
    assert main(command.split()) == 0, command
"""


def test_the_laboratory_and_the_page_run_without_unix(tmp_path: Path) -> None:
    done = without_unix(LAB, tmp_path)
    assert done.returncode == 0, done.stderr
    assert {"gini.png", "model.json"} <= {file.name for file in tmp_path.iterdir()}


def test_peers_say_what_they_need(tmp_path: Path) -> None:
    done = without_unix(
        """
import rich.console  # which chooses by the system when it is imported
sys.platform = "win32"
codes = [main(["peer", "status"]), main(["swarm", "run"]), main(["peer", "init", "--help"])]
assert codes == [2, 2, 0], codes
""",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [f"Error: {REFUSAL}"] * 2
