"""A number and a chart that are declared once appear everywhere, without edits of other files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import pairgossip as pg
from pairgossip.arrays import FloatArray, root_mean_square
from pairgossip.results import loading
from pairgossip.results.charts import CHARTS, ChartKind
from pairgossip.results.curves import Chart, Curve
from pairgossip.results.fields import Fact, curve, per_node
from pairgossip.run_requests import estimation as estimation_request
from pairgossip.watch.results import _result_content
from tests.cli.running import CommandLine


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LongerRun(pg.Run):
    """A run with two more numbers, which are in the records of trials."""

    moved: FloatArray | None = field(
        default=None,
        metadata=per_node("estimates", fact=Fact("root mean square", root_mean_square)),
    )
    trial_range: FloatArray | None = field(
        default=None, metadata=curve("spread", column="range", fact=Fact("range", np.max))
    )


@pytest.fixture
def longer(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (estimation_request, loading):
        monkeypatch.setattr(module, "Run", LongerRun)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


def estimate(trials: list[int]) -> pg.Run:
    return pg.estimate([1, 2, 4, 8], "gini", "cycle", iterations=50, trials=trials, seed=0)


@pytest.mark.usefixtures("longer")
def test_a_number_is_saved_joined_and_in_tables(tmp_path: Path) -> None:
    pg.join_trials([estimate([1]), estimate([0])]).save(tmp_path / "run.npz")
    back = pg.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(back.moved, back.estimates)
    np.testing.assert_array_equal(back.trial_range, back.trial_spread)
    assert back.to_xarray()["moved"].dims == ("trial", "node")
    assert back.to_xarray()["range"].dims == ("trial", "iteration")
    np.testing.assert_array_equal(back.to_pandas()["range"], back.trial_range.ravel())


@pytest.mark.usefixtures("longer")
def test_a_number_of_another_shape_is_refused(tmp_path: Path) -> None:
    estimate([0]).save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as stored:
        arrays = dict(stored) | {"moved": np.ones(3)}
    np.savez(tmp_path / "run.npz", **arrays)
    with pytest.raises(pg.InputError, match="or is damaged"):
        pg.load(tmp_path / "run.npz")


@pytest.mark.usefixtures("longer")
def test_a_number_is_shown_on_the_command_line_and_on_the_page(
    cli: CommandLine, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("x\n1\n2\n4\n8\n")
    how = (rows, "--column", "x", "--kernel", "gini", "--iterations", "50", "--seed", "0")
    assert "root mean square" in cli("estimate", *how).out
    shown = json.loads(cli("estimate", *how, "--json").out)
    run = estimate([0])
    assert {"moved", "trial_range"} < set(shown)
    facts = dict(_result_content(run)["facts"])
    assert facts["root mean square"] == root_mean_square(run.estimates)
    assert facts["range"] == run.trial_spread.max()


def test_a_chart_is_drawn_on_the_command_line_and_on_the_page(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(run: pg.Run, theory: object) -> Chart:
        return Chart("largest estimate", False, (Curve("largest", run.mean + run.spread),))

    monkeypatch.setitem(CHARTS["run"], "largest", ChartKind("largest estimates", make))
    monkeypatch.setattr(Figure, "savefig", lambda self, file, **_: file.write(b"figure"))
    run, path = estimate([0]), tmp_path / "run.npz"
    run.save(path)
    assert run.plot("largest").get_ylabel() == "largest estimate"
    assert _result_content(run)["charts"]["largest"]["title"] == "largest estimates"
    out = tmp_path / "figure.svg"
    assert cli("plot", path, "--out", out, "--what", "largest").code == 0
    other = tmp_path / "other.npz"
    estimate([1]).save(other)
    message = cli.error("plot", path, other, "--out", out, "--what", "largest")
    assert message == "'largest' is drawn of one run alone: give one file."
    with pytest.raises(pg.InputError, match="'spread' or 'largest', not 'smallest'"):
        run.plot("smallest")
