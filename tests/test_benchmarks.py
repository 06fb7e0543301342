"""Benchmarks print what they measure if asked for help, and do not begin to measure."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pairgossip as pg
from benchmarks import sizes

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


@pytest.mark.parametrize("name", sizes.KERNELS)
@pytest.mark.parametrize("is_tied", [False, True])
def test_sizes_are_those_of_the_tests(name: str, is_tied: bool) -> None:
    """The benchmark of sizes computes for many samples at once what `pg.test` computes for each."""
    for n in (7, 40):
        rows = sizes.draw(n, is_tied, range(6))
        judged = sizes.judge(rows, name)
        for at, (x, y) in enumerate(rows):
            asked: dict[str, Any] = {"data": np.column_stack([x, y]), "kernel": name}
            if name == "auc":
                asked = {"data": x, "kernel": name, "labels": np.arange(n) % 2}
            found = pg.test(**asked)
            assert judged.chosen[at] == pytest.approx(found.p, rel=1e-9)
            if not np.isnan(found.error):
                z = (found.value - (0.5 if name == "auc" else 0.0)) / found.error
                assert judged.wald[at] == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-6)
