"""Simulations on a terminal."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console

from pairgossip.cli import main
from pairgossip.watch import text_runs
from pairgossip.watch.simulation.build import build_runs
from pairgossip.watch.simulation.observations import Uploads
from pairgossip.watch.simulation.runs import WatchedRun
from pairgossip.watch.simulation.settings import Settings
from pairgossip.watch.text_runs import TextRuns, draw_node_curves

CASES = {
    "data": "breast-cancer-wisconsin",
    "nodes": "60",
    "column": "clump_thickness",
    "label": "class",
    "kernel": "auc",
    "method": "sketch",
    "clock": "async",
    "iterations": "3000",
}
BRAILLE = re.compile("[\u2801-\u28ff]")


def make_run(**more: str) -> WatchedRun:
    (run,) = build_runs(Settings.read({**CASES, **more}), Uploads())
    return run


def show(run: WatchedRun, *, is_terminal: bool) -> str:
    shown = io.StringIO()
    console = Console(
        file=shown, force_terminal=is_terminal, width=90, height=40, color_system=None
    )
    assert TextRuns([run], console, wait=lambda _: None).run()
    return shown.getvalue()


def test_lines_tell_how_a_run_goes() -> None:
    run = make_run()
    lines = show(run, is_terminal=False).splitlines()
    told = [line for line in lines if "iterations:" in line]
    assert 8 <= len(told) <= 11 and run.is_over
    assert told[-1].startswith(f"{run.title}: 3,000 of 3,000 iterations: ")
    assert f"exact value {run.describe()['exact']:.4g}" in told[-1]
    done = [int(re.findall(r": ([\d,]+) of", line)[0].replace(",", "")) for line in told]
    assert done == sorted(done) and done[0] < 300
    assert "no estimates of all nodes yet, exact value" in told[0] and "nan" not in " ".join(told)
    assert "all rows (bold), 12 nodes" in lines[-1]


def test_a_terminal_shows_the_last_picture() -> None:
    shown = show(make_run(), is_terminal=True)
    assert "3,000 of 3,000 iterations" in shown and BRAILLE.search(shown)
    assert "error (log)" in shown


def test_curves_of_nodes_settle_on_that_of_all_rows() -> None:
    """Dots that are not on the curve of all rows become fewer."""
    console, run, strays = Console(file=io.StringIO(), width=90), make_run(), []
    exact = text_runs._rasterize([run.describe()["roc"]], 40, 16)
    for moment in (700, 3000):  # first all must know the range of scores
        run.advance(moment - run.done)
        known = [path for path in run.node_curves()["roc"] if path is not None]
        strays.append((text_runs._rasterize(known, 40, 16) & ~exact).sum())
        assert len(draw_node_curves(console, run, 45, 16)) == 17
    assert strays[0] > 50 and strays[1] == 0


def test_dots_follow_a_path() -> None:
    """Every dot is within half a dot of the path, in both directions, and none is left out."""
    path = [[0.0, 0.0, 0.25, 1.0], [0.0, 0.5, 0.75, 1.0]]
    dots = text_runs._rasterize([path], 10, 5)
    down, across = np.nonzero(dots)
    for y, x in zip(1 - down / 19, across / 19, strict=True):
        steps = np.linspace(0, 3, 4001)
        away = np.hypot(
            np.interp(steps, range(4), path[0]) - x, np.interp(steps, range(4), path[1]) - y
        )
        assert away.min() < 0.71 / 19
    assert dots[:, 0].sum() >= 10 and dots.any(axis=0).all()


def test_other_runs_have_no_curves() -> None:
    run = make_run(method="gosta")
    assert draw_node_curves(Console(file=io.StringIO()), run, 45, 16) == []
    assert "iterations: " in show(run, is_terminal=False)


def test_models_are_shown_too() -> None:
    run = make_run(kernel="", loss="auc-logistic", method="dual-averaging", iterations="300")
    assert "300 of 300 iterations: objective" in show(run, is_terminal=False)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_rounds_are_followed_to_their_end(is_terminal: bool) -> None:
    run = make_run(kernel="", loss="auc-logistic", clock="", iterations="")
    assert "objective" in show(run, is_terminal=is_terminal) and run.is_over


def test_a_short_run_tells_each_iteration_once() -> None:
    lines = show(make_run(method="gosta", iterations="3"), is_terminal=False).splitlines()
    assert len(lines) == 1 and "3 of 3 iterations: " in lines[0]


def test_a_terminal_without_unicode_says_so() -> None:
    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="ascii"), width=90)
    (line,) = draw_node_curves(console, make_run(), 45, 16)
    assert line.plain == "ROC curves take a terminal that shows Unicode."


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_runs, "_SECONDS_BETWEEN_FRAMES", 0.0)
    words = ["--data", "wine", "--column", "alcohol", "--kernel", "variance"]
    assert main(["watch", "--text", *words]) == 0
    shown = capsys.readouterr().out
    assert "iterations: " in shown and "exact value 0.65" in shown
