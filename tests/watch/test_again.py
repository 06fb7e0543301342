"""The Python code and the command that the page shows for a run reproduce it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairgossip.arguments.argument import on_page
from pairgossip.arguments.estimate import EstimateArguments
from pairgossip.arguments.minimize import MinimizeArguments
from pairgossip.cli import main
from pairgossip.watch.simulation.again import _TWO_NORMALS_CODE
from pairgossip.watch.simulation.build import build_runs
from pairgossip.watch.simulation.observations import Uploads, _two_normals, list_choices
from pairgossip.watch.simulation.runs import WatchedRun
from pairgossip.watch.simulation.settings import Settings

from .serving import Fields

INCOMES: Fields = {"data": "engel", "column": ["income"], "kernel": "gini", "iterations": "900"}
CELLS: Fields = {
    "data": "breast-cancer-wisconsin",
    "column": ["clump_thickness", "mitoses"],
    "label": "class",
    "loss": "auc-logistic",
    "iterations": "900",
}
CASES: list[Fields] = [
    {**INCOMES, "graph": "watts-strogatz", "seed": "3"},
    {**INCOMES, "graph": "random-geometric", "graph-radius": "0.2", "law": "node-clocks"},
    {**INCOMES, "graph": "cycle", "law": "best"},
    {**INCOMES, "method": "sketch", "schedule": "tree", "graph": "cycle"},
    {**INCOMES, "method": "weighted-gosta", "clock": "async", "target": "u", "graph": "star"},
    {**INCOMES, "kernel": "", "method": "averaging", "graph": "torus", "graph-rows": "5"},
    {**INCOMES, "data": "wine", "column": ["alcohol"], "group-by": "class", "graph": "path"},
    {**INCOMES, "data": "wine", "column": ["hue"], "kernel": "ranking-risk", "label": "ash"},
    {**CELLS, "graph": "watts-strogatz", "graph-k": "6", "seed": "2"},
    {**CELLS, "ball": "2", "step": "0.05", "clock": "async"},
    {**CELLS, "ball": "2", "method": "sketch", "iterations": "", "graph": "cycle"},
    {**CELLS, "method": "sketch", "iterations": "", "schedule": "random"},
]
PARTS: list[Fields] = [
    {**INCOMES, "nodes": "60", "graph": "cycle"},
    {**INCOMES, "data": "two-normals", "column": ["score"], "group-by": "site", "graph": "cycle"},
    {**CELLS, "nodes": "100", "step": "0.05", "graph": "random-geometric", "graph-radius": "0.3"},
]


WINE: Fields = {"data": "wine", "column": ["alcohol"], "kernel": "gini", "group-by": "class"}
OTHERS: list[Fields] = [
    {**INCOMES, "graph": "cycle", "iterations": "3000", **how}
    for how in (
        {"method": "sketch", "schedule": "ordered"},
        {"method": "sketch", "schedule": "continuized", "clock": "async"},
        {"method": "tracking", "schedule": "ordered"},
        {"method": "collect"},
    )
] + [
    {**WINE, "graph": "path", "iterations": "3000", **how}
    for how in (
        {"method": "u1"},
        {"method": "tracking", "law": "node-clocks"},
        {"method": "sketch", "schedule": "tree"},
        {"method": "collect"},
        {"kernel": "", "loss": "ranking-logistic", "label": "color_intensity"},
    )
]
"""Runs for which no command is tested: schedules, and methods at sites."""


OTHER_VALUES = {
    **{"iterations": "700", "law": "node-clocks", "target": "u"},
    "faults": "loss=0.25,churn=100/10",
}


@pytest.mark.parametrize(
    ("door", "what"), [(EstimateArguments, INCOMES), (MinimizeArguments, CELLS)]
)
def test_declared_arguments_go_from_the_page_to_the_code(door: Any, what: Fields) -> None:
    """An argument needs a label to be a setting, and to be in the code that is shown."""
    for name, one in on_page(door).items():
        value = OTHER_VALUES[name]
        settings = Settings.read({**what, name: value})
        assert str(settings.arguments[name]) == value
        (run,) = build_runs(settings, Uploads())
        assert re.search(rf"\b{name}=\"?{value}", run.again.python)
        assert f"{one.option or '--' + name} {value}" in (run.again.command or "")
    described = list_choices()["arguments"]["loss" if door is MinimizeArguments else "kernel"]
    assert [each["name"] for each in described] == list(on_page(door))


def one_run(fields: Fields, uploads: Uploads | None = None) -> WatchedRun:
    (run,) = build_runs(Settings.read(fields), uploads or Uploads())
    while not run.is_over:
        run.step() if run.iterations == 0 else run.advance(271)
    return run


def run_python(code: str) -> Any:
    names: dict[str, Any] = {}
    exec(code, names)
    return names["fit"] if "fit" in names else names["run"]


@pytest.mark.parametrize("fields", CASES + PARTS + OTHERS)
def test_python_makes_the_same_run(fields: Fields) -> None:
    watched = one_run(fields)
    result = run_python(watched.again.python)
    # A part of the rows, and made-up data, are for Python alone.
    assert (watched.again.command is None) == (fields in PARTS)
    if "loss" in fields:
        np.testing.assert_allclose(watched.values(), result.models[0][:, 0], rtol=1e-12)
    else:
        np.testing.assert_allclose(watched.values(), result.estimates[0], rtol=1e-12)
        measured = [result.trial_error[0], result.trial_spread[0]]
        np.testing.assert_array_equal(np.array(watched.curves).T, measured)
    assert watched.sent() == {
        "made": result.exchanges[-1],
        "local": result.local_exchanges[0, -1],
        "messages": result.messages[-1],
        "bytes": result.bytes[-1],
    }


# Python code is made from the declared arguments: here, one of each kind.
@pytest.mark.parametrize("fields", CASES[1::2])
def test_the_command_makes_the_same_run(
    fields: Fields,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    watched = one_run(fields)
    command = watched.again.command
    assert command is not None
    dataset, again = command.splitlines()
    assert main(shlex.split(dataset)[1:]) == 0
    capsys.readouterr()
    assert main([*shlex.split(again)[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    if "loss" in fields:
        model = json.loads((tmp_path / "model.json").read_text())
        assert model["theta"][0] == pytest.approx(watched.values().mean(), rel=1e-12)
    else:
        assert told["rms_error"] == pytest.approx(watched.curves[-1][0], rel=1e-12)


def test_an_upload_is_read_from_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{k * k % 31},{'ill' if k % 3 else 'well'},{'ab'[k % 2]}" for k in range(40)]
    file = tmp_path / 'our "patients".csv'
    file.write_text("\n".join(["the score;state;site", *rows]).replace(",", ";"))
    uploads = Uploads()
    key, _ = uploads.add(file.read_bytes(), file.name)
    fields: Fields = {"data": key, "column": ["the score"], "label": "state", "kernel": "auc"}
    fields["positive"] = "ill"
    watched = one_run({**fields, "group-by": "site", "iterations": "500"}, uploads)
    result = run_python(watched.again.python)
    np.testing.assert_array_equal(watched.values(), result.estimates[0])
    assert result.positive == "ill" and "Positive class: ill." in watched.remark
    assert watched.again.command is not None
    capsys.readouterr()
    assert main([*shlex.split(watched.again.command)[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rms_error"] == pytest.approx(watched.curves[-1][0])


@pytest.mark.parametrize("line", ["income", "name, income", "name\tincome"])
def test_an_upload_is_split_as_the_page_splits_it(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [line.replace("income", str(k * k % 31)).replace("name", "o") for k in range(20)]
    Path("incomes.csv").write_text("\n".join([line, *rows]))
    uploads = Uploads()
    key, _ = uploads.add(Path("incomes.csv").read_bytes(), "incomes.csv")
    fields: Fields = {"data": key, "column": ["income"], "kernel": "gini", "iterations": "90"}
    watched = one_run(fields, uploads)
    result = run_python(watched.again.python)
    np.testing.assert_array_equal(watched.values(), result.estimates[0])


def test_made_up_data_are_made_the_same_way() -> None:
    names: dict[str, Any] = {"np": np}
    exec(_TWO_NORMALS_CODE.format(rows=500), names)
    data = _two_normals(500)
    assert tuple(names["data"]) == data.columns
    for name, column in names["data"].items():
        np.testing.assert_array_equal(column, data[name])
