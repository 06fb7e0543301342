"""Faults on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg

from .running import CommandLine

X = np.random.default_rng(1).normal(size=12)


def test_an_estimate_with_faults(cli: CommandLine, tmp_path: Path) -> None:
    file, text = tmp_path / "rows.csv", "loss=0.2, crashed=[4]"
    file.write_text("x\n" + "\n".join(map(str, X)), encoding="utf-8")
    words = ("estimate", file, "--kernel", "gini", "--graph", "cycle", "--clock", "async")
    options = (*words, "--iterations", 400, "--trials", 3, "--faults", "crashed=[4],loss=0.2")
    run = pg.estimate(
        X, "gini", "cycle", clock="async", seed=0, iterations=400, trials=3, faults=text
    )
    assert run.lost is not None and run.honest_error is not None
    facts = cli(*options, "--json").json()
    assert facts["faults"] == text
    assert facts["lost"] == pytest.approx(run.lost[-1])
    assert facts["honest_error"] == pytest.approx(run.honest_error[-1])
    shown = cli(*options).out
    assert "11 of 12" in shown
    assert "RMS error of honest nodes" in shown
    assert "did you mean 'loss'" in cli.error(*words, "--faults", "los=0.2")
