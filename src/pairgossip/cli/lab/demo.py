"""`pairgossip demo`: an estimate on data that ships with the package, with figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairgossip.cli.console import (
    EXIT_INTERRUPTED,
    format_value,
    new_table,
    optional_work,
    tell,
    tell_warnings,
    working_on,
    write_line,
    write_table,
)
from pairgossip.cli.options import Flag, Seed
from pairgossip.cli.outputs.files import check_figures, check_outputs, write_figure
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pairgossip.results import Run


_GRAPHS = ("complete", "watts-strogatz", "cycle")
_DEFAULT_FOLDER = Path("pairgossip-demo")
_FULL: dict[str, Any] = {"iterations": 1_000_000, "trials": 20}
_QUICK: dict[str, Any] = {"iterations": 100_000, "trials": 5}
_NETWORK_SHOWN = "watts-strogatz"
_EARLY_EXCHANGES_PER_NODE = 10
"""Exchanges per node before the network is drawn: all have met others, none knows the answer."""


def demo_command(*, quick: Flag = False, out: Path = _DEFAULT_FOLDER, seed: Seed = 0) -> int:
    """Run gossip on real incomes and draw how it converges on three networks.

    235 Belgian households of 1857 each know their own income. On a complete, a small-world and a
    ring network they estimate Gini's mean difference, the average gap between two incomes. The
    figures show measured estimates and errors next to the exact expectation and the bounds.

    For example:

        pairgossip demo --quick

    Parameters
    ----------
    quick
        A tenth of the iterations and a quarter of the trials.
    out
        Folder for the figures and the saved runs.
    seed
        Seed of all randomness.
    """
    from pairgossip.engine.schedule import root_seed

    root_seed(seed)  # refuses a wrong seed before a folder is made
    figures = {out / "convergence.png": _convergence_figure, out / "graphs.png": _graphs_figure}
    files = {name: out / "runs" / f"{name}.npz" for name in _GRAPHS}
    try:
        (out / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"Cannot create the folder {out / 'runs'}: {problem.strerror}.") from None
    check_figures(figures)
    check_outputs([*figures, *files.values()])
    runs: dict[str, Run] = {}
    is_done = _simulate(runs, files, _QUICK if quick else _FULL, seed)
    written = [files[name] for name in runs]
    if is_done:
        is_done = False
        with optional_work("Figures", "the figures were"):
            for path, draw in figures.items():
                write_figure(draw(runs), path)
            written, is_done = [*figures, *written], True
    _print(runs)
    for path in written:
        write_line(f"Wrote {path}")
    return 0 if is_done else EXIT_INTERRUPTED


def _simulate(
    runs: dict[str, Run], files: Mapping[str, Path], length: dict[str, Any], seed: int
) -> bool:
    """Make the runs and save each at once; False if Ctrl-C came before the last one ended."""
    from pairgossip.datasets import engel
    from pairgossip.estimation import estimate

    incomes = engel()["income"]
    try:
        for name, file in files.items():
            with tell_warnings():
                run = estimate(incomes, "gini", name, seed=seed, record="nodes", **length)
            run.save(file)
            runs[name] = run
            if run.status == "interrupted":
                return False
            with working_on(f"Exact expectation and bounds on {name}"):
                run.theory()
            run.save(file)  # with its theory, for `pairgossip plot`
    except KeyboardInterrupt:
        if not runs:
            raise
        tell("Warning: Interrupted: kept what was written until then.")
        return False
    return True


def _print(runs: dict[str, Run]) -> None:
    first = next(iter(runs.values()))
    title = (
        f"Gini's mean difference of {first.nodes} incomes, in Belgian francs\n"
        f"{first.iterations[-1]:,} exchanges, {first.trials} trials"
    )
    biases = ("bias\nexact", "bias\nmeasured", "bias\nbound")
    table = new_table(
        ("graph", "normalized\ngap", "exact\nvalue", "estimate", "RMS\nerror", *biases)
    )
    for name, run in runs.items():
        theory = run.known_theory  # None if Ctrl-C came before it was computed
        row = (
            (run.graph.normalized_gap(run.law), 3),
            (run.target, 6),
            (run.mean[-1], 6),
            (run.error[-1], 3),
            (theory.expected_error[-1] if theory else math.nan, 3),
            (run.bias[-1], 3),
            (theory.expectation_bound[-1] if theory else math.nan, 2),
        )
        table.add_row(name, *(format_value(float(value), digits) for value, digits in row))
    write_table(table, title)


def _convergence_figure(runs: Mapping[str, Run]) -> Figure:
    """Draw one column per graph: estimates above, errors and their bounds below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6.8), layout="constrained")
    grid = figure.add_gridspec(4, len(runs), height_ratios=(1, 0.08, 1.1, 0.08))
    for row, what in ((0, "estimate"), (2, "error")):
        first: Axes | None = None
        for column, run in enumerate(runs.values()):
            panel = figure.add_subplot(grid[row, column], sharey=first)
            run.plot(what, ax=panel)
            _simplify_panel(panel, is_first=first is None)
            first = first or panel
        assert first is not None
        first.set_ylabel(f"{what} (francs)")
        _row_legend(figure.add_subplot(grid[row + 1, :]), first)
    for panel, (name, run) in zip(figure.axes, runs.items(), strict=False):
        panel.set_title(f"{name}\nnormalized gap {_gap(run)}", fontsize="large")
        panel.set_xlabel("")
    return figure


def _graphs_figure(runs: Mapping[str, Run]) -> Figure:
    """Draw the errors on all graphs together, and one network early in its run."""
    from matplotlib.figure import Figure
    from numpy import searchsorted

    from pairgossip.results.plots import compare

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    curves, network = figure.subplots(1, 2, width_ratios=(1.3, 1))
    compare({f"{name}, normalized gap {_gap(run)}": run for name, run in runs.items()}, ax=curves)
    curves.set_ylabel("RMS error over nodes (francs)")
    curves.set_title("measured error on three networks", fontsize="medium")
    shown = runs[_NETWORK_SHOWN]
    early = int(searchsorted(shown.iterations, _EARLY_EXCHANGES_PER_NODE * shown.nodes))
    shown.plot_graph(checkpoint=early, ax=network)
    title = f"{_NETWORK_SHOWN}: estimates after {shown.exchanges[early]:,} exchanges"
    network.set_title(title, fontsize="medium")
    return figure


def _simplify_panel(panel: Axes, *, is_first: bool) -> None:
    """Leave titles, legends and y labels to the row, and label every second decade only."""
    from matplotlib.ticker import LogLocator, NullLocator

    panel.set_title("")
    legend = panel.get_legend()
    if legend is not None:
        legend.remove()
    if not is_first:
        panel.set_ylabel("")
        panel.tick_params(labelleft=False)
    panel.xaxis.set_major_locator(LogLocator(numticks=5))
    panel.xaxis.set_minor_locator(NullLocator())


def _row_legend(place: Axes, panel: Axes) -> None:
    handles, labels = panel.get_legend_handles_labels()
    place.set_axis_off()
    legend = place.legend(
        handles, labels, loc="center", ncols=5, frameon=False, fontsize=9, columnspacing=1.5
    )
    # A legend wider than the panels must not shrink them.
    legend.set_in_layout(False)


def _gap(run: Run) -> str:
    mantissa, _, exponent = f"{run.graph.normalized_gap(run.law):.1e}".partition("e")
    return rf"${mantissa} \times 10^{{{int(exponent)}}}$"
