"""Saved results: which files exist, and what the page shows of them."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.watch import results
from pairgossip.watch.results import (
    _entry,
    _result_content,
    _ResultFile,
    _section_content,
    find_chapters,
    find_results,
)
from pairgossip_paper.framework import Picture, Section
from pairgossip_paper.framework.figures import Panel, Sheet


def save_run(path: Path, seed: int = 0) -> pg.Run:
    data = np.array([1.0, 2.0, 4.0, 7.0, 11.0])
    run = pg.estimate(data, "gini", pg.graphs.cycle(5), iterations=300, trials=3, seed=seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    run.save(path)
    return run


def only(path: Path) -> _ResultFile:
    (file,) = find_results([path]).files.values()
    return file


def test_files_and_folders(tmp_path: Path) -> None:
    save_run(tmp_path / "alone.npz")
    save_run(tmp_path / "folder" / "results" / "auc" / "ring.npz")
    save_run(tmp_path / "folder" / "results" / "auc" / "ring.unfinished.npz")
    (tmp_path / "folder" / "settings.json").write_text("{}")
    (tmp_path / "folder" / "report.html").write_text("<p>")
    found = find_results([tmp_path / "alone.npz"], [tmp_path / "folder"])
    assert [(one.group, one.name) for one in found.files.values()] == [
        ("", "alone.npz"),
        ("auc", "ring"),
    ]
    assert found.reproductions == [tmp_path / "folder"]
    assert list(found.reports.values()) == [tmp_path / "folder" / "report.html"]
    again = find_results([tmp_path / "alone.npz"], [tmp_path / "folder"])
    assert list(again.files) == list(found.files)  # a shared link finds the same


def test_runs_are_shown_without_the_papers_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pairgossip_paper.framework.store", None)
    assert find_chapters([tmp_path]) is None


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^There is no file .*none\.npz: check the path\.$"):
        find_results([tmp_path / "none.npz"])
    with pytest.raises(InputError, match=r"^There is no folder .*none: check the path\.$"):
        find_results([], [tmp_path / "none"])
    with pytest.raises(InputError, match="holds no saved run: give a folder"):
        find_results([], [tmp_path])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"text", b"\x00" * 500])
def test_damaged_files(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.npz").write_bytes(content)
    file = only(tmp_path / "run.npz")
    for read in (file.load, file.header):
        with pytest.raises(InputError, match="is not a run saved by pairgossip, or is damaged"):
            read()


def test_a_small_file_that_unfolds_to_a_large_one(tmp_path: Path) -> None:
    save_run(tmp_path / "run.npz")
    with zipfile.ZipFile(tmp_path / "run.npz", "a") as archive:
        archive.writestr("more.npy", b"")
        # Nothing is decompressed to find its size, so the archive's directory may exaggerate.
        archive.getinfo("more.npy").file_size = 129 << 24
    file = only(tmp_path / "run.npz")
    assert file.path.stat().st_size < 1 << 22
    for read in (file.load, file.header):
        with pytest.raises(InputError, match=r"unfolds to 2\.0 GiB, and at most 2\.0 are read"):
            read()


def test_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "_MOST_FILES", 2)
    for number in range(3):
        (tmp_path / f"{number}.npz").write_bytes(b"")
    with pytest.raises(InputError, match="more than 2 saved runs: give fewer at once"):
        find_results([], [tmp_path])


def test_names_are_harmless(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[2J.npz").write_bytes(b"")
    (file,) = find_results([], [tmp_path]).files.values()
    assert file.name == "a\\x1b[2J"


X = np.array([1.0, 2.0, 4.0, 7.0, 11.0, 12.0])


def run(**how: object) -> pg.Run:
    given = {"iterations": 400, "trials": 4, "seed": 2, **how}
    return pg.estimate(X, "gini", pg.graphs.cycle(6), **given)  # type: ignore[arg-type]


def curves(content: dict, chart: str) -> dict:  # type: ignore[type-arg]
    return {one["label"]: one for one in content["charts"][chart]["curves"]}


def test_errors_with_theory(tmp_path: Path) -> None:
    made = run()
    theory = made.theory()
    made.save(tmp_path / "run.npz")
    content = _result_content(pg.load(tmp_path / "run.npz"))
    found = curves(content, "error")
    # From the trials themselves: the root of the mean square.
    expected = np.sqrt((made.trial_error**2).mean(axis=0))
    assert found["measured error"]["values"] == pytest.approx(expected)
    low, high = found["measured error"]["band"]
    assert low == pytest.approx(np.quantile(made.trial_error, 0.1, axis=0))
    assert high == pytest.approx(np.quantile(made.trial_error, 0.9, axis=0))
    assert found["exact bias"]["values"] == pytest.approx(theory.expected_error)
    assert found["bound on the error"]["values"] == pytest.approx(theory.deviation_bound)
    assert content["charts"]["error"]["log"] and not content["charts"]["estimate"]["log"]


def test_the_sampling_error_has_a_band_and_a_line_of_its_own() -> None:
    made = pg.estimate(X, "gini", "cycle", iterations=400, trials=2, seed=0, interval=0.9)
    assert made.answer is not None
    content = _result_content(made)
    low, high = curves(content, "estimate")["sampling error, 90 % interval"]["band"]
    exact = made.answer_about(float(np.mean(made.target)))
    assert (low[-1], high[-1]) == (exact.low, exact.high) and low[0] < made.target < high[0]
    line = curves(content, "error")["sampling error"]["values"]
    np.testing.assert_array_equal(line, np.full(len(made.iterations), made.answer.error))
    facts = dict(content["facts"])
    assert facts["sampling error"] == made.answer.error and facts["gossip error"] > 0
    assert facts["90 % interval"] == f"{made.answer.low:.6g} to {made.answer.high:.6g}"
    figure = made.plot("estimate", ax=Figure().subplots())
    assert figure.get_legend_handles_labels()[1][-1] == "sampling error, 90 % interval"


@pytest.mark.filterwarnings("ignore::pairgossip.NotEnough")
def test_a_sampling_error_that_no_node_knows_is_not_drawn() -> None:
    content = _result_content(pg.estimate(X, "gini", "cycle", iterations=1, seed=0, interval=0.9))
    assert dict(content["facts"])["90 % interval"] == "unknown"
    shown = [*curves(content, "error"), *curves(content, "estimate")]
    assert "error" in " ".join(shown) and not any("sampling" in label for label in shown)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"clock": "async"},
        {"groups": [0, 0, 1, 1, 2, 2], "graph": pg.graphs.cycle(3)},
        {"groups": [0, 0, 1, 1, 2, 2], "graph": pg.graphs.cycle(3), "construction": "whole-sets"},
        {"privacy": pg.privacy.RandomizedResponse(2.0, 4, (0.0, 12.0))},
        {"method": "sketch", "sketch": pg.sketches.Bins(2, (0.0, 12.0)), "schedule": "ordered"},
    ],
    ids=["plain", "async", "groups", "whole sets", "private", "sketch"],
)
def test_the_page_and_the_figure_show_the_same(how: dict[str, Any]) -> None:
    given: dict[str, Any] = {"graph": "cycle", "iterations": 400, "trials": 2} | how
    made = pg.estimate(X, "gini", **given)
    if made.clock == "sync":
        made.theory()
    content = _result_content(made)
    for what in ("error", "estimate"):
        chart = content["charts"][what]
        for against, axis in content["axes"].items():
            figure = made.plot(what, against=against, ax=Figure().subplots())
            drawn = {str(line.get_label()): line.get_ydata() for line in figure.get_lines()}
            shown = {curve["label"]: curve["values"] for curve in chart["curves"]}
            wall = [axis["wall"][1]] if axis["wall"] and what == "error" else []
            assert list(drawn) == [*shown, *wall]
            for label, values in shown.items():
                np.testing.assert_array_equal(drawn[label], values)
            assert (figure.get_xlabel(), figure.get_ylabel()) == (axis["label"], chart["label"])
            assert (figure.get_yscale() == "log") is chart["log"]
            assert figure.get_title() == content["title"]


def test_an_unknown_exact_value() -> None:
    made = run()
    object.__setattr__(made, "target", float("nan"))
    object.__setattr__(made, "trial_error", np.full_like(made.trial_error, np.nan))
    content = _result_content(made)
    assert set(content["charts"]) == {"estimate", "spread"}
    assert "exact value" not in curves(content, "estimate")


def test_a_fit(tmp_path: Path) -> None:
    y = np.array([0, 1, 0, 1, 1, 0])
    fit = pg.minimize(
        X[:, None] / 10,
        y,
        "auc-logistic",
        pg.graphs.cycle(6),
        iterations=200,
        trials=2,
        seed=1,
        step="paper",
        bias=True,
    )
    fit.save(tmp_path / "fit.npz")
    content = _result_content(pg.load(tmp_path / "fit.npz"))
    assert set(content["charts"]) == {"objective", "disagreement", "spread", "bias"}
    (objective,) = content["charts"]["objective"]["curves"]
    assert objective["values"] == pytest.approx(fit.trial_objective.mean(axis=0))
    assert content["title"] == "auc-logistic, sync, cycle of 6 nodes, 2 trials, positive: 1"


def test_a_sketched_fit_has_rounds_and_no_step(tmp_path: Path) -> None:
    y = np.array([0, 1, 0, 1, 1, 0])
    how: dict[str, Any] = {"method": "sketch", "penalty": pg.SquaredL2(0.1), "seed": 1}
    fit = pg.minimize(X[:, None] / 10, y, graph=pg.graphs.cycle(6), **how)
    fit.save(tmp_path / "fit.npz")
    content = _result_content(pg.load(tmp_path / "fit.npz"))
    facts = dict(content["facts"])
    assert (facts["rounds"], facts["schedule"]) == (fit.iterations[-1], "tree")
    assert not {"step", "law", "iterations"} & set(facts)
    title = "auc-logistic, sketch, tree, cycle of 6 nodes, 1 trial, positive: 1"
    assert content["title"] == title
    assert content["axes"]["iterations"]["label"] == "rounds"
    assert set(content["charts"]) == {"objective", "disagreement", "spread", "gradient-error"}
    assert not content["charts"]["disagreement"]["log"]  # all are zero
    (file,) = find_results([tmp_path / "fit.npz"]).files.values()
    assert _entry(file)["about"] == "auc-logistic, sketch, tree, cycle"


T = np.array([1.0, 10.0, 100.0])


def panels(sheet: Sheet) -> list[dict[str, Any]]:
    (figure,) = _section_content(Section("", [], [Picture("one", "caption", sheet)]))["figures"]
    assert (figure["name"], figure["caption"]) == ("one", "caption")
    shown: list[dict[str, Any]] = figure["panels"]
    return shown


def test_the_panels_of_a_report() -> None:
    sheet = Sheet(2)
    panel, empty = sheet.panels
    low, high = np.array([0.5, 0.4, 0.1]), np.array([2.0, 1.0, 0.3])
    panel.plot(T, [1.0, 0.5, 0.2], "error", "#0072B2", band=(low, high))
    panel.plot(T, [3.0, 2.0, 1.0], "bound", "#009E73", ":", legend=False)
    panel.finish("iterations", "|E|", "ring", legend=True)
    empty.axes.imshow(np.eye(3))  # which is no curve
    (shown,) = panels(sheet)
    error, bound = shown["curves"]
    assert (error["x"].tolist(), error["y"].tolist()) == (T.tolist(), [1.0, 0.5, 0.2])
    assert (error["label"], error["color"], error["dash"]) == ("error", "#0072B2", "solid")
    assert error["band"]["low"] is low and error["band"]["high"] is high
    assert (bound["label"], bound["dash"], bound["band"]) == ("bound", "dotted", None)
    assert (shown["x_log"], shown["y_log"], shown["x_ticks"]) == (True, True, None)
    assert (shown["title"], shown["x_label"], shown["y_label"]) == ("ring", "iterations", "|E|")
    assert legend(panel) == ["error"]


def legend(panel: Panel) -> list[str]:
    return [text.get_text() for text in panel.axes.get_legend().get_texts()]  # type: ignore[union-attr]


def test_levels_points_bars_and_names() -> None:
    sheet = Sheet(1)
    (panel,) = sheet.panels
    panel.plot(T, T, "seen", "black", "o")
    panel.plot(T, 2 * T, "line with points", "black", "o--")
    panel.plot(T, 2 * T, "with errors", "black", "s", error=T / 2)
    panel.level(5.0, "limit", "red", "--")
    panel.bars(np.array([1.0, 2.0]), np.array([3.0, 4.0]), "bars", "gray")
    panel.plot([], [], "nothing", "black")
    panel.legend_entry("for the figure alone", "black", ":")
    panel.finish("", "", x_log=False, y_log=False, legend=True)
    panel.name_places(x=["complete", "torus"])
    (shown,) = panels(sheet)
    found = {curve["label"]: curve for curve in shown["curves"]}
    assert set(found) == {"seen", "line with points", "with errors", "limit", "bars"}
    assert found["seen"]["points"] and found["with errors"]["points"] and found["bars"]["points"]
    assert not found["line with points"]["points"]
    assert found["line with points"]["dash"] == found["limit"]["dash"] == "dashed"
    assert found["limit"]["x"].tolist() == [1.0, 100.0] and set(found["limit"]["y"]) == {5.0}
    assert shown["x_ticks"] == [(0, "complete"), (1, "torus")] and shown["y_ticks"] is None


def test_what_a_sketch_was_worth() -> None:
    run = pg.estimate(
        [1.0, 2.0, 4.0, 4.5, 9.0], "gini", "cycle", method="sketch", schedule="ordered",
        sketch=pg.sketches.Bins(2, (0, 10)), relaxation=0.75, seed=0,
    )  # fmt: skip
    assert run.bracket is not None
    facts = dict(_result_content(run)["facts"])
    assert (facts["relaxation"], facts["sketch"]) == (0.75, "Bins(bins=2, range=(0.0, 10.0))")
    assert facts["error of the sketch"] == run.sketch_error
    low, high = run.bracket
    assert facts["exact value for sure between"] == f"{low:.6g} and {high:.6g}"
