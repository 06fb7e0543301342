"""Ctrl-C, as a real signal to a real process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import pairgossip as pg
from pairgossip.engine.trials import Trial

from .running import Answer, CommandLine

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals as on Unix")

# Runs the command line, and prints a line once the first checkpoints are recorded.
SCRIPT = """
import sys
from pairgossip.cli import main
from pairgossip.engine.trials import Trial

write = Trial._write_checkpoint

def write_and_tell(self):
    write(self)
    if self.record.written == 20:
        sys.stderr.write("started\\n")
        sys.stderr.flush()

Trial._write_checkpoint = write_and_tell
sys.exit(main())
"""


def take_signals() -> None:
    # A shell may have started the tests with Ctrl-C ignored, which children would inherit.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def estimate(single: Path, save: Path, trials: int) -> list[str]:
    """Return the arguments of an estimate that would never end."""
    tokens = ["estimate", single, "--kernel", "gini", "--iterations", "1e12", "--trials", trials]
    return [str(token) for token in (*tokens, "--jobs", 2, "--save", save)]


def check_what_is_kept(answer: Answer, save: Path, trials: int) -> None:
    assert answer.code == 130, answer.err
    warning = f"Warning: Interrupted: kept 1 of {trials} trials, up to iteration "
    assert warning in answer.err and "Traceback" not in answer.err
    assert "mean estimate" in answer.out
    run = pg.load(save)
    assert run.status == "interrupted"
    assert len(run.iterations) >= 20


def test_what_was_computed_is_kept(single: Path, tmp_path: Path) -> None:
    save = tmp_path / "run.npz"
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *estimate(single, save, trials=3)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=take_signals,
    ) as process:
        assert process.stderr is not None
        try:
            assert process.stderr.readline() == "started\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
    check_what_is_kept(Answer(process.returncode, out, err), save, trials=3)


def test_what_was_computed_is_drawn(
    cli: CommandLine,
    single: Path,
    tmp_path: Path,
    figures: list[Figure],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save, plot, write = tmp_path / "run.npz", tmp_path / "run.png", Trial._write_checkpoint

    def write_and_stop(self: Any) -> None:
        write(self)
        if self.record.written == 20:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Trial, "_write_checkpoint", write_and_stop)
    answer = cli(*estimate(single, save, trials=1), "--plot", plot)
    check_what_is_kept(answer, save, trials=1)
    (drawn,) = figures
    iterations = pg.load(save).iterations
    assert plot.exists() and all(
        any(np.array_equal(line.get_xdata(), iterations) for line in ax.lines) for ax in drawn.axes
    )


@pytest.mark.parametrize("module", ["cyclopts", "pairgossip.cli.watch"])
def test_no_traceback_is_shown_while_the_program_loads(module: str) -> None:
    script = """
import os, signal, sys

class Stopper:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Stopper())
from pairgossip.cli import main
"""
    done = subprocess.run(
        [sys.executable, "-c", script, module],
        capture_output=True,
        text=True,
        preexec_fn=take_signals,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def stop(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_the_theory_may_be_left_out(
    cli: CommandLine,
    single: Path,
    tmp_path: Path,
    figures: list[Figure],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pairgossip.results.theory.theory_curves", stop)
    save, table, plot = tmp_path / "run.npz", tmp_path / "run.csv", tmp_path / "run.png"
    tokens = ("--iterations", 1000, "--save", save, "--csv", table, "--plot", plot)
    answer = cli("estimate", single, "--kernel", "gini", *tokens)
    assert answer.code == 0
    assert answer.err.splitlines() == [
        "Warning: Interrupted: the exact expectation and bounds were left out.",
        *(f"Wrote {file}" for file in (save, table, plot)),
    ]
    assert "mean estimate" in answer.out
    run = pg.load(save)
    assert (run.status, run.known_theory) == ("done", None)
    (drawn,) = figures
    assert table.read_text() and plot.exists()
    assert not [line for ax in drawn.axes for line in ax.lines if "bound" in str(line.get_label())]


def test_the_gap_may_be_left_out(
    cli: CommandLine, single: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pg.Graph, "normalized_gap", stop)
    answer = cli("estimate", single, "--kernel", "gini", "--iterations", 1000)
    assert answer.code == 0
    assert answer.err == "Warning: Interrupted: the normalized gap was left out.\n"
    assert "mean estimate" in answer.out and "not computed" in answer.out


def test_figures_may_be_left_out(
    cli: CommandLine, single: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pairgossip.cli.outputs.files.write_figure", stop)
    plot, table = tmp_path / "run.png", tmp_path / "run.csv"
    tokens = ("--iterations", 1000, "--plot", plot, "--csv", table)
    answer = cli("estimate", single, "--kernel", "gini", *tokens)
    assert answer.err.splitlines() == [
        "Warning: Interrupted: the figures not yet written were left out.",
        f"Wrote {table}",
    ]
    assert "mean estimate" in answer.out
