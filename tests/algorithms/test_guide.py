"""docs/add-an-algorithm.md, followed exactly: outside the package, and in a copy of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot

import pairgossip as pg
from pairgossip import InputError
from pairgossip.algorithms.methods import METHODS
from pairgossip.arrays import FloatArray
from pairgossip.cli import main
from pairgossip.engine.schedule import Schedule, child, root_seed
from pairgossip.kernels import Pairs
from pairgossip.privacy import RandomizedResponse
from pairgossip.watch.simulation.build import build_runs
from pairgossip.watch.simulation.observations import Uploads, list_choices
from pairgossip.watch.simulation.settings import Settings
from tests.problems import rows, skewed

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "add-an-algorithm.md").read_text(encoding="utf-8")
NAME, N = "patient-gosta", 12
GRAPH = pg.graphs.watts_strogatz(N, 4, 0.3, seed=3)
DIFF = re.compile(r"^( *)```diff\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


def block(marker: str) -> str:
    """Return the code that the guide gives under a comment."""
    (found,) = re.findall(rf"<!-- {marker} -->\n```python\n(.*?)```", GUIDE, re.DOTALL)
    return str(found)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Follow the guide outside the package, and forget the method afterward."""
    with patch.dict(METHODS):
        names: dict[str, Any] = {}
        for marker in ("the algorithm", "outside the package"):
            exec(compile(block(marker), marker, "exec"), names)
        assert names["run"].method == NAME
        yield
    pyplot.close("all")


def transcription(H: FloatArray, seed: int, iterations: int) -> FloatArray:
    """Run the guide's method by hand: all pair values in a table, one node after the other."""
    held, z = list(range(len(H))), np.zeros(len(H))
    (exchanges,) = Schedule(GRAPH, "uniform-edges", child(root_seed(seed), 0)).draw(iterations)
    for t, (i, j) in enumerate(exchanges.tolist(), start=1):
        for k in range(len(H)):
            z[k] += (H[k, held[k]] - z[k]) / t
        if t % 2 == 0:
            z[i] = z[j] = (z[i] + z[j]) / 2
        held[i], held[j] = held[j], held[i]
    return z


def estimated(**settings: Any) -> pg.Run:
    chosen = {"kernel": "gini", "graph": GRAPH, "iterations": 700, "seed": 4, "method": NAME}
    return pg.estimate(rows(N), **(chosen | settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["auto", "plain"])
@pytest.mark.parametrize("kernel", ["gini", skewed])
def test_it_runs_as_itself(kernel: Any, engine: str) -> None:
    run = estimated(kernel=kernel, engine=engine)
    by_hand = transcription(Pairs(rows(N), kernel).matrix(), 4, 700)
    np.testing.assert_allclose(run.estimates[0], by_hand, rtol=1e-12)
    assert np.abs(estimated(kernel=kernel, method="gosta").estimates[0] - by_hand).max() > 1e-6


@pytest.mark.parametrize("engine", ["fused", "tokens"])
def test_engines_without_a_twin_refuse(engine: str) -> None:
    sentence = (
        f"Engine '{engine}' runs compiled code, but method '{NAME}' has none for the sync clock"
    )
    with pytest.raises(InputError, match=f"^{sentence}: use engine='auto'.$"):
        estimated(engine=engine)


def test_theory_refuses_and_figures_leave_it_out() -> None:
    run = estimated(trials=2)
    sentence = f"^No exact expectation or bound is known for method '{NAME}'.$"
    for ask in (run.theory, lambda: run.plot(theory=True)):
        with pytest.raises(InputError, match=sentence):
            ask()
    with pytest.raises(InputError, match=sentence):
        pg.theory.expected_estimates(np.eye(N), GRAPH, [1], method=NAME)
    shown = [line.get_label() for line in run.plot().get_lines()]
    assert shown == ["measured error"]
    assert len(pg.compare({"it": run}, theory=None).get_lines()) == 1


def test_clocks_and_orders_it_does_not_have_are_refused() -> None:
    with pytest.raises(InputError, match=f"Method '{NAME}' has no asynchronous form"):
        estimated(clock="async")
    with pytest.raises(InputError, match=f"Method '{NAME}' has one order of update"):
        estimated(order="exchange-first")


@pytest.mark.parametrize("construction", ["lexicographic", "blow-up", "whole-sets"])
def test_groups_work(construction: str) -> None:
    run = estimated(
        graph=pg.graphs.path(4), groups=np.arange(N) % 4, construction=construction,
        iterations=30_000,
    )  # fmt: skip
    assert run.error[-1] < 0.25 * run.error[0]
    assert run.bytes[-1] > 0


def test_privacy_works() -> None:
    run = estimated(privacy=RandomizedResponse(2.0, 4, (0, 12)), iterations=30_000)
    assert run.private_values is not None
    assert abs(run.mean[-1] - run.private_values[0]) < 0.1 * abs(run.private_values[0])


def test_what_it_sends_is_counted() -> None:
    run = estimated(iterations=50)
    # One observation and one averaged number in each direction, 8 bytes each.
    assert (run.messages[-1], run.bytes[-1]) == (100, 1600)


def test_a_file_is_read_where_the_method_is_unknown(tmp_path: Path) -> None:
    run = estimated()
    run.save(tmp_path / "run.npz")
    del METHODS[NAME]
    back = pg.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(back.exchanges, run.exchanges)
    assert NAME in repr(back)
    assert len(back.plot().get_lines()) == 1
    with pytest.raises(InputError, match="holds no theory curves"):
        back.theory()


def test_the_page_offers_and_runs_it() -> None:
    assert NAME in [method["name"] for method in list_choices()["methods"]]
    fields: dict[str, str | list[str]] = {
        "data": "engel", "column": ["income"], "nodes": "20", "kernel": "gini", "graph": "cycle",
        "method": NAME, "seed": "3", "iterations": "400",
    }  # fmt: skip
    (watched,) = build_runs(Settings.read(fields), Uploads())
    while watched.done < watched.iterations:
        watched.advance(90)
    incomes = pg.datasets.engel()["income"][np.linspace(0, 234, 20).astype(int)]
    run = pg.estimate(incomes, "gini", "cycle", method=NAME, iterations=400, seed=3)
    np.testing.assert_array_equal(watched.values(), run.estimates[0])
    assert "No exact expectation" in watched.theory()["absent"]


def test_the_command_line_runs_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("x\n" + "\n".join(map(str, rows(N))))
    words = ["estimate", str(table), "--column", "x", "--kernel", "gini", "--iterations", "300"]
    assert main([*words, "--method", NAME, "--seed", "1", "--trials", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    run = pg.estimate(rows(N), "gini", method=NAME, iterations=300, seed=1)
    assert found["estimate"] == run.mean[-1]
    assert main([*words, "--method", NAME, "--engine", "fused"]) != 0
    assert "runs compiled code" in capsys.readouterr().err


def test_built_in_names_are_taken() -> None:
    from pairgossip.algorithms.methods import Method, register

    gosta = METHODS["gosta"]
    with pytest.raises(InputError, match="'gosta' is that of a built-in method"):
        register(
            Method(name="gosta", description="", plain=gosta.plain, estimates="statistic",
                   averaged_numbers=1)
        )  # fmt: skip


def follow_the_steps(copy: Path) -> None:
    """Save the file and edit the catalog, as the guide's last section says."""
    (step,) = re.findall(r"^1\. Save the algorithm as `src/(\S+)`\.$", GUIDE, re.MULTILINE)
    (copy / step).write_text(block("the algorithm"), encoding="utf-8")
    (catalog,) = re.findall(r"^2\. Enter the method in `src/(\S+)`", GUIDE, re.MULTILINE)
    text = (copy / catalog).read_text(encoding="utf-8")
    for _, shown in DIFF.findall(GUIDE):
        lines = textwrap.dedent(shown).splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] == " ")
        after = "".join(line[1:] for line in lines)
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    (copy / catalog).write_text(text, encoding="utf-8")


IN_THE_COPY = """
import json, sys
import pairgossip as pg
from pairgossip.cli import main

rows, edges, folder = json.loads(sys.argv[1])
graph = pg.Graph(len(rows), edges)
settings = dict(kernel="gini", graph=graph, method="patient-gosta", iterations=700, seed=4)
found = {"from": pg.__file__}
for engine in ("auto", "plain", "fused", "tokens"):
    try:
        found[engine] = pg.estimate(rows, engine=engine, **settings).estimates[0].tolist()
    except pg.InputError as refused:
        found[engine] = str(refused)
try:
    pg.estimate(rows, **settings).theory()
except pg.InputError as refused:
    found["theory"] = str(refused)
table = folder + "/rows.csv"
with open(table, "w") as file:
    file.write("x\\n" + "\\n".join(map(str, rows)))
found["command line"] = main(
    ["estimate", table, "--column", "x", "--kernel", "gini", "--method", "patient-gosta",
     "--iterations", "50", "--save", folder + "/run.npz"]
)
json.dump(found, open(folder + "/found.json", "w"))
"""


def test_the_steps_into_the_package(tmp_path: Path) -> None:
    source = ROOT / "src" / "pairgossip"
    shutil.copytree(
        source, tmp_path / "pairgossip", ignore=shutil.ignore_patterns("__pycache__", "page")
    )
    follow_the_steps(tmp_path)
    given = json.dumps([rows(N).tolist(), GRAPH.edges.tolist(), str(tmp_path)])
    done = subprocess.run(
        [sys.executable, "-c", IN_THE_COPY, given],
        capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert Path(found["from"]).is_relative_to(tmp_path)
    by_hand = transcription(Pairs(rows(N), "gini").matrix(), 4, 700)
    for engine in ("auto", "plain"):
        np.testing.assert_allclose(found[engine], by_hand, rtol=1e-12)
    for engine in ("fused", "tokens"):
        assert "runs compiled code, but method 'patient-gosta' has none" in found[engine]
    assert "is known for method 'patient-gosta'" in found["theory"]
    assert found["command line"] == 0
