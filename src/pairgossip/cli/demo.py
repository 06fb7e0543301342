"""`pairgossip demo`: the main job on data that ships with the package, with figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
from pairgossip.cli.outputs import check_figures, check_outputs, write_figure
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.results import Run

GRAPHS = ("complete", "watts-strogatz", "cycle")
KERNEL, COLUMN = "gini", "income"
DEFAULT_FOLDER = Path("pairgossip-demo")


class Length(NamedTuple):
    """How long the demonstration runs."""

    iterations: int
    trials: int


FULL, QUICK = Length(1_000_000, 20), Length(100_000, 5)


def demo_command(*, quick: Flag = False, out: Path = DEFAULT_FOLDER, seed: Seed = 0) -> int:
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

    root_seed(seed)  # a wrong one is refused before there is a folder
    runs_folder = out / "runs"
    _make_folder(runs_folder)
    figures = [out / "convergence.png", out / "graphs.png"]
    files = {name: runs_folder / f"{name}.npz" for name in GRAPHS}
    check_figures(figures)
    check_outputs([*figures, *files.values()])
    runs: dict[str, Run] = {}
    is_done = _simulate(runs, files, QUICK if quick else FULL, seed)
    written = [files[name] for name in runs]
    if is_done:
        with optional_work("Figures", "the figures were"):
            _draw(runs, *figures)
            written = [*figures, *written]
        is_done = len(written) > len(runs)
    _print(runs)
    for path in written:
        write_line(f"Wrote {path}")
    return 0 if is_done else EXIT_INTERRUPTED


def _simulate(runs: dict[str, Run], files: dict[str, Path], length: Length, seed: int) -> bool:
    """Make the runs and save each at once; False if Ctrl-C came before the last one ended."""
    try:
        for name, file in files.items():
            with tell_warnings():
                run = _run(name, length, seed)
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


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"Cannot create the folder {folder}: {problem.strerror}.") from None


def _run(graph: str, length: Length, seed: int) -> Run:
    from pairgossip.datasets import engel
    from pairgossip.estimation import estimate

    return estimate(
        engel()[COLUMN],
        KERNEL,
        graph,
        iterations=length.iterations,
        trials=length.trials,
        seed=seed,
        record="nodes",
    )


def _draw(runs: dict[str, Run], convergence: Path, graphs: Path) -> None:
    from pairgossip.cli.summaries.demo import convergence_figure, graphs_figure

    write_figure(convergence_figure(runs), convergence)
    write_figure(graphs_figure(runs), graphs)


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
        bias, bound = (theory.expected_error, theory.expectation_bound) if theory else (None, None)
        table.add_row(
            name,
            format_value(run.graph.normalized_gap(run.law), 3),
            format_value(float(run.target), 6),
            format_value(float(run.mean[-1]), 6),
            format_value(float(run.error[-1]), 3),
            format_value(None if bias is None else float(bias[-1]), 3),
            format_value(float(run.bias[-1]), 3),
            format_value(None if bound is None else float(bound[-1]), 2),
        )
    write_table(table, title)
