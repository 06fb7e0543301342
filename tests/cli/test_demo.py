from __future__ import annotations

from pathlib import Path

import pytest

import pairgossip as pg
from pairgossip.errors import InterruptedRun

from .images import is_drawn
from .running import CommandLine

GRAPHS = ("complete", "watts-strogatz", "cycle")


def test_quick(cli: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "made" / "here"
    answer = cli("demo", "--quick", "--out", out)
    assert (answer.code, answer.err) == (0, "")
    assert is_drawn(out / "convergence.png", at_least=(1800, 1200))
    assert is_drawn(out / "graphs.png", at_least=(1800, 800))
    for name in GRAPHS:
        run = pg.load(out / "runs" / f"{name}.npz")
        assert (run.nodes, run.trials, run.iterations[-1]) == (235, 5, 100_000)
        assert (run.graph.family, run.kernel, run.seed) == (name, "gini", 0)
        row = next(line for line in answer.out.splitlines() if line.startswith(name))
        assert f"{run.mean[-1]:.6g}" in row and f"{run.target:.6g}" in row
        assert f"{run.graph.normalized_gap():.3g}" in row
        assert f"{run.error[-1]:.3g}" in row and f"{run.bias[-1]:.3g}" in row
        assert f"{run.theory().expectation_bound[-1]:.2g}" in row
    for path in (out / "convergence.png", out / "graphs.png", out / "runs" / "cycle.npz"):
        assert f"Wrote {path}" in answer.out


def test_a_folder_that_cannot_be(cli: CommandLine, single: Path) -> None:
    message = cli.error("demo", "--quick", "--out", single / "here")
    assert message.startswith("Cannot create the folder ")


def test_a_wrong_seed_leaves_no_folder(cli: CommandLine, tmp_path: Path) -> None:
    message = cli.error("demo", "--quick", "--out", tmp_path / "demo", "--seed", "-1")
    assert message.startswith("The seed must be")
    assert not (tmp_path / "demo").exists()


def stop(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_in_the_theory_keeps_the_run(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairgossip.results.theory.theory_curves", stop)
    answer = cli("demo", "--quick", "--out", tmp_path)
    file = tmp_path / "runs" / "complete.npz"
    assert answer.code == 130
    assert answer.err == "Warning: Interrupted: kept what was written until then.\n"
    assert "\ncomplete " in answer.out and " unknown" in answer.out
    assert answer.out.endswith(f"Wrote {file}\n")
    assert pg.load(file).status == "done"


def test_ctrl_c_saves_the_run(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pairgossip.engine import trials
    from pairgossip.engine.estimation.trial import TrialRecord

    def cut_short(*arguments: object) -> trials.Outcome[TrialRecord]:
        outcome: trials.Outcome[TrialRecord] = trials.run_trials(*arguments)  # type: ignore[arg-type]
        return trials.Outcome(outcome.records[:1], interrupted=True, numbers=[0])

    monkeypatch.setattr("pairgossip.run_requests.request.run_trials", cut_short)
    answer = cli("demo", "--quick", "--out", tmp_path)
    assert answer.code == 130
    assert answer.err.startswith("Warning: Interrupted: kept 1 of 5 trials")
    assert pg.load(tmp_path / "runs" / "complete.npz").status == "interrupted"
    assert InterruptedRun.__name__ not in answer.err
