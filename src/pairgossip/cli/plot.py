"""`pairgossip plot`: figures of saved runs."""

from __future__ import annotations

from pathlib import Path

from pairgossip.cli.console import tell
from pairgossip.cli.outputs import check_figures, check_outputs, write_figure
from pairgossip.errors import canonical, unknown_name


def plot_command(
    run: list[Path],
    /,
    *,
    out: Path,
    what: str = "error",
    against: str = "exchanges",
) -> None:
    """Draw a saved run, or several on the same axes to compare them.

    A single run is drawn with its exact expectation and its bounds where the file holds them,
    several by their measured curves, each labeled by the name of its file.

    For example:

        pairgossip dataset engel --out incomes.csv
        pairgossip estimate incomes.csv --column income --kernel gini --save run.npz
        pairgossip plot run.npz --out run.png

    Parameters
    ----------
    run
        Files written by `pairgossip estimate --save`.
    out
        The figure to write: .png, .pdf or .svg.
    what
        error: root mean square error over nodes; estimate: estimates around the exact value.
    against
        What to draw against: exchanges, time (asynchronous runs), messages, bytes or iterations.
    """
    from pairgossip.results.plots import compare
    from pairgossip.results.storage import load

    what, against = canonical(what), canonical(against)
    if what not in ("error", "estimate"):
        raise unknown_name("curve", what, ("error", "estimate"))
    check_figures([out])
    check_outputs([out], run)
    runs = [load(file) for file in run]
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    if len(runs) == 1:
        runs[0].plot(what, against=against, ax=figure.subplots())
    else:
        curve = "mean" if what == "estimate" else "error"
        labeled = dict(zip(_labels(run), runs, strict=True))
        compare(labeled, what=curve, against=against, ax=figure.subplots())
    write_figure(figure, out)
    tell(f"Wrote {out}")


def _labels(files: list[Path]) -> list[str]:
    """Call each run by its file's name, or by the whole path where names repeat."""
    stems = [file.stem for file in files]
    return stems if len(set(stems)) == len(stems) else [str(file) for file in files]
