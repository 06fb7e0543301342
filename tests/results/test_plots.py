"""Figures: the right curves on the right axes, and nonempty drawings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot

import pairgossip as pg
from pairgossip import InputError
from tests.problems import rows

GRAPH = pg.graphs.torus(3, 4)


def run(**settings: Any) -> pg.Run:
    chosen: dict[str, Any] = {"kernel": "gini", "graph": GRAPH, "iterations": 500, "trials": 3}
    return pg.estimate(rows(12), **({"seed": 0} | chosen | settings))


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    pyplot.close("all")


def curve(ax: Any, label: str) -> Any:
    (line,) = [line for line in ax.get_lines() if line.get_label().startswith(label)]
    return line


def test_the_error_plot_shows_measurement_expectation_and_bounds() -> None:
    measured = run()
    ax = measured.plot()
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert ax.get_xlabel() == "exchanges"
    assert ax.get_ylabel()
    x, y = curve(ax, "measured").get_data()
    np.testing.assert_array_equal(x, measured.exchanges)
    np.testing.assert_array_equal(y, measured.error)
    theory = measured.theory()
    np.testing.assert_array_equal(curve(ax, "exact bias").get_ydata(), theory.expected_error)
    np.testing.assert_array_equal(
        curve(ax, "bound on the error").get_ydata(), theory.deviation_bound
    )


def test_the_estimate_plot_shows_the_exact_value() -> None:
    measured = run()
    ax = measured.plot("estimate")
    assert curve(ax, "exact value").get_ydata()[0] == measured.target
    np.testing.assert_array_equal(curve(ax, "mean over").get_ydata(), measured.mean)


def test_an_asynchronous_run_is_drawn_against_time() -> None:
    measured = run(clock="async")
    ax = measured.plot(against="time")
    np.testing.assert_array_equal(curve(ax, "measured").get_xdata(), measured.axis("time"))
    with pytest.raises(InputError, match="No exact expectation"):
        measured.plot(theory=True)


def test_compare_draws_every_run() -> None:
    ax = pg.compare({"torus": run(), "complete": run(graph="complete")}, against="messages")
    assert ax.get_legend_handles_labels()[1] == ["torus", "complete"]
    alike = pg.compare([run(), run(seed=1), run(kernel="variance")])
    assert len(set(alike.get_legend_handles_labels()[1])) == 3
    with pytest.raises(InputError, match="nothing to compare"):
        pg.compare([])
    with pytest.raises(InputError, match="compared by 'error', 'mean' or 'spread'"):
        pg.compare([run()], what="speed")


def test_twenty_runs_have_twenty_looks() -> None:
    measured = run()
    ax = pg.compare({f"run {number}": measured for number in range(20)})
    lines = ax.get_lines()
    assert len({line.get_color() for line in lines}) == 20
    # Everybody can distinguish the seven colors of a palette; markers distinguish two palettes.
    looks = {(number // 7, line.get_marker()) for number, line in enumerate(lines)}
    assert len({marker for _, marker in looks}) == len(looks) == 3
    canvas = ax.figure.canvas
    canvas.draw()
    legend, axes = ax.get_legend(), ax.get_window_extent()
    assert legend is not None
    assert legend.get_window_extent().x0 >= axes.x1  # beside the curves, and in the figure
    assert legend.get_window_extent().x1 <= ax.figure.bbox.x1
    assert {line.get_marker() for line in pg.compare([measured] * 7).get_lines()} == {"None"}


def test_the_rounds_of_a_fit_are_marked() -> None:
    labels = np.arange(12) % 2
    data = rows(12).reshape(12, 1) + labels[:, None]
    fit = pg.minimize(
        data, labels, "auc-logistic", GRAPH, method="sketch", penalty=pg.SquaredL2(0.1)
    )
    ax = fit.plot(against="iterations")
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), fit.objective)
    assert line.get_marker() == "o" and len(fit.objective) > 1
    assert ax.get_xscale() == "linear"
    ax.figure.canvas.draw()
    assert all(float(tick).is_integer() for tick in ax.get_xticks())
    # All nodes have the same values along a tree: there is no band to name.
    assert ax.get_legend_handles_labels()[1] == ["objective of the nodes' models"]


def test_compare_shows_theory_in_the_color_of_each_run() -> None:
    runs = {"torus": run(), "complete": run(graph="complete"), "averaged": run(
        kernel=None, method="averaging", graph="cycle")}  # fmt: skip
    ax = pg.compare(runs, theory=True)
    names = [
        *("as many pairs drawn at random", "exact bias", "bound on the bias"),
        *("bound on the error", "error of averaging, by theory"),
    ]
    assert ax.get_legend_handles_labels()[1] == [*runs, *names]
    for label, measured in runs.items():
        color, curves = curve(ax, label).get_color(), measured.theory()
        drawn: dict[Any, Any] = {
            line.get_linestyle(): line.get_ydata()
            for line in ax.get_lines()
            if line.get_color() == color
        }
        np.testing.assert_array_equal(drawn["-"], measured.error)
        np.testing.assert_allclose(drawn["--"], curves.expected_error)
        np.testing.assert_array_equal(drawn[":"], curves.expectation_bound)
        np.testing.assert_array_equal(drawn["-."], curves.deviation_bound)
    means = pg.compare(runs, what="mean", theory=True)
    assert means.get_legend_handles_labels()[1] == [*runs, "exact expectation"]
    assert len(pg.compare(runs).get_lines()) == 3


def test_compare_leaves_unknown_theory_out_unless_asked() -> None:
    runs = {"sync": run(), "async": run(clock="async")}
    ax = pg.compare(runs, theory=None)
    late = curve(ax, "async").get_color()
    assert [line.get_color() for line in ax.get_lines()].count(late) == 1
    assert "exact bias" in ax.get_legend_handles_labels()[1]
    with pytest.raises(InputError, match="no theory for 'async': No exact expectation"):
        pg.compare(runs, theory=True)
    with pytest.raises(InputError, match="There is no theory for 'spread'"):
        pg.compare(runs, what="spread", theory=True)
    assert len(pg.compare(runs, what="spread", theory=None).get_lines()) == 2


def test_plots_check_what_they_are_asked_and_take_a_label() -> None:
    with pytest.raises(InputError, match="drawn as 'error', 'estimate' or 'spread', not 'bias'"):
        run().plot("bias")
    with pytest.raises(InputError, match="Curves are drawn against exchanges, time, messages"):
        run().plot(against="days")
    assert "torus: measured error" in run().plot(label="torus").get_legend_handles_labels()[1]


@pytest.mark.parametrize("checkpoint", [0, -1])
def test_the_graph_picture_is_painted(checkpoint: int) -> None:
    ax = run().plot_graph(checkpoint=checkpoint)
    canvas = ax.figure.canvas
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3]  # type: ignore[attr-defined]
    assert (pixels != 255).any(axis=2).mean() > 0.02


def test_the_graph_picture_checks_what_it_is_asked() -> None:
    with pytest.raises(InputError, match="There is no trial 7"):
        run().plot_graph(trial=7)
    with pytest.raises(InputError, match="There is no checkpoint 99"):
        run().plot_graph(checkpoint=99)
    with pytest.raises(InputError, match="kept summaries only"):
        run(record="summary").plot_graph(checkpoint=0)


def test_a_run_with_unknown_errors_draws_its_estimates() -> None:
    unknown = run(reference=None)
    object.__setattr__(unknown, "trial_error", np.full_like(unknown.trial_error, np.nan))
    object.__setattr__(unknown, "target", np.nan)
    with pytest.raises(InputError, match=r"unknown, because its exact value is: .* a reference\.$"):
        unknown.plot(theory=False)
    unknown.plot("estimate", theory=False)


def test_a_run_without_estimates_yet_says_so() -> None:
    early = pg.estimate(np.arange(90.0), "gini", "cycle", method="sketch", iterations=9, seed=0)
    with pytest.raises(InputError, match=r"because no node has an estimate yet: .* iterations\.$"):
        early.plot()
    early.plot("estimate")
    pg.compare([early])
    early.plot_graph()


@pytest.mark.parametrize("what", ["error", "estimate"])
def test_constant_data_and_single_checkpoints_draw_without_warnings(what: str) -> None:
    constant = pg.estimate(np.ones(12), "gini", GRAPH, iterations=100, seed=0)
    constant.plot(what).figure.canvas.draw()
    single = run(iterations=1)
    ax = single.plot(what)
    ax.figure.canvas.draw()
    assert curve(ax, "mean over" if what == "estimate" else "measured").get_marker() == "o"
