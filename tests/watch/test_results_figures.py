"""Figures read back from their drawings."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from pairgossip import experiments
from pairgossip.watch.results.curves import Chapter, FigureSource, chapter_content, plain

T = np.array([1.0, 10.0, 100.0])


def read_back(figure: Figure) -> list[dict[str, Any]]:
    chapter = Chapter("key", "title", "why?", [], [], [FigureSource("one", "caption", figure)])
    panels: list[dict[str, Any]] = chapter_content(chapter)["figures"][0]["panels"]
    return panels


def test_lines_and_bands() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.fill_between(T, [0.5, 0.4, 0.1], [2.0, 1.0, 0.3], color="#0072B2", alpha=0.2)
    axes.plot(T, [1.0, 0.5, 0.2], color="#0072B2", label="error")
    axes.plot(T, [3.0, 2.0, 1.0], ":", color="#009E73", label="bound, $t^{-1}$")
    axes.set(xscale="log", yscale="log", xlabel="iterations", ylabel="$|E|$", title="ring")
    (panel,) = read_back(figure)
    error, bound = panel["curves"]
    assert error["x"].tolist() == T.tolist() and error["y"].tolist() == [1.0, 0.5, 0.2]
    assert (error["label"], error["color"], error["dash"]) == ("error", "#0072b2", "solid")
    assert error["band"]["x"].tolist() == T.tolist()
    assert error["band"]["low"].tolist() == [0.5, 0.4, 0.1]
    assert error["band"]["high"].tolist() == [2.0, 1.0, 0.3]
    assert (bound["label"], bound["dash"], bound["band"]) == ("bound, t⁻¹", "dotted", None)
    assert (panel["x_log"], panel["y_log"]) == (True, True)
    assert (panel["title"], panel["x_label"], panel["y_label"]) == ("ring", "iterations", "|E|")
    assert panel["x_ticks"] is None


def test_lines_across_points_and_bars() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot(T, T, "o", label="seen")
    axes.axhline(5.0, linestyle="--", label="limit")
    axes.axvline(3.0)  # says nothing about the curves
    axes.errorbar(T, 2 * T, yerr=1.0, capsize=3, fmt="s", label="with errors")
    axes.bar([1, 2], [3, 4], label="bars")
    found = {curve["label"]: curve for curve in read_back(figure)[0]["curves"]}
    assert set(found) == {"seen", "limit", "with errors", "bars"}
    assert found["seen"]["points"] and not found["limit"]["points"]
    assert found["limit"]["x"].tolist() == [1.0, 100.0] and set(found["limit"]["y"]) == {5.0}
    assert found["with errors"]["y"].tolist() == (2 * T).tolist()
    assert found["bars"]["x"].tolist() == [1, 2] and found["bars"]["y"].tolist() == [3, 4]


def test_unnamed_lines_are_called_after_their_color() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    left.plot(T, T, color="#112233", label="torus")
    left.plot(T, 2 * T, "--", color="#112233")
    left.plot(T, 3 * T, "--", color="#112233")
    right.plot(T, T, "o", color="#112233")
    right.plot(T[:2], T[:2], color="#445566")
    panels = read_back(figure)
    assert [curve["label"] for curve in panels[0]["curves"]] == [
        "torus",
        "torus (dashed)",
        "torus (dashed), 3",
    ]
    assert [curve["label"] for curve in panels[1]["curves"]] == ["torus (points)", "guide 2"]


def test_a_name_that_is_not_for_the_legend() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot(T, T, color="#112233", label="torus")
    axes.plot(T, 2 * T, ":", color="#112233", label="_torus: bound on $t^{-1}$")
    axes.errorbar(T, T, yerr=1.0, fmt="s", label="_measured")
    axes.axhline(5.0, color="#445566", label="_limit")
    assert [text.get_text() for text in axes.legend().get_texts()] == ["torus"]
    (panel,) = read_back(figure)
    assert [curve["label"] for curve in panel["curves"]] == [
        *("torus", "torus: bound on t⁻¹", "measured", "limit"),
    ]


DRAWN_BY = ("plot", "step", "errorbar", "bar", "axhline", "axvline")


@pytest.mark.parametrize(
    "file", sorted(Path(experiments.__file__).parent.rglob("*.py")), ids=lambda file: file.stem
)
def test_every_curve_of_the_report_has_a_name(file: Path) -> None:
    """In a picture colors and a caption may do, but the page names every curve."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            named = any(given.arg in ("label", None) for given in node.keywords)
            assert named or node.func.attr not in DRAWN_BY, f"{file.name}, line {node.lineno}"


def test_words_on_an_axis() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([-0.1, 0.1], [1, 2], "o", color="#111111")
    axes.plot([0.9, 1.1], [1, 2], "o", color="#222222")
    axes.set_xticks([0, 1], ["complete", "torus"])
    (panel,) = read_back(figure)
    assert panel["x_ticks"] == [(0.0, "complete"), (1.0, "torus")] and panel["y_ticks"] is None
    assert [curve["label"] for curve in panel["curves"]] == ["complete", "torus"]


def test_a_picture_has_no_curves() -> None:
    figure = Figure()
    figure.subplots().imshow(np.eye(3))
    assert read_back(figure) == []


@pytest.mark.parametrize(
    ("tex", "text"),
    [("$10^{-3}$", "10⁻³"), (r"$\mathrm{E}$", "E"), ("50 %", "50 %"), ("t^2", "t²")],
)
def test_labels_without_tex(tex: str, text: str) -> None:
    assert plain(tex) == text
