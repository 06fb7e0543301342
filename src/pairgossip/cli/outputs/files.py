"""Files the commands write: checked before the work, replaced only by complete ones."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from pairgossip.checks import choice
from pairgossip.cli.console import optional_work, tell
from pairgossip.cli.options import NEEDED, OUTPUT, Json
from pairgossip.errors import InputError, PairgossipError, canonical, needed_for
from pairgossip.files import replacing, write_text
from pairgossip.text import join_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pairgossip.results import Run


_FIGURE_SUFFIXES = (".png", ".pdf", ".svg")
_DOTS_PER_INCH = 200


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None] = ()) -> None:
    """Raise `InputError` unless every file can be written and none overwrites another."""
    taken = {path.resolve() for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        if path.resolve() in taken:
            raise InputError(f"{path} is named twice: give every output a file of its own.")
        taken.add(path.resolve())
        if path.is_dir():
            raise InputError(f"{path} is a folder: give the name of a file.")
        if not path.parent.is_dir():
            raise InputError(f"Cannot write {path}: there is no folder {path.parent}.")
        try:
            # Permissions are not enough: the disk may be full or read-only.
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as problem:
            raise InputError(f"Cannot write {path}: {problem.strerror}.") from None


def check_figures(figures: Iterable[Path | None]) -> None:
    """Raise unless the figures have a format that can be drawn, and the library to draw them."""
    paths = [path for path in figures if path is not None]
    for path in paths:
        if path.suffix.lower() not in _FIGURE_SUFFIXES:
            raise InputError(
                f"{path} is not a figure: end its name in {join_names(_FIGURE_SUFFIXES, 'or')}."
            )
    if paths:
        with needed_for("Drawing"):
            import matplotlib.figure  # noqa: F401 - to know now, not after a long run


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the path's suffix."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix.lower().removeprefix("."), dpi=_DOTS_PER_INCH)
    with replacing(path) as file:
        file.write(drawn.getbuffer())


def write_bars(draw: Callable[[Axes], object], bars: int, path: Path) -> None:
    """Write the chart that ``draw`` makes, large enough for its bars, and name the file."""
    from matplotlib.figure import Figure

    from pairgossip.bars import figure_size

    figure = Figure(figsize=figure_size(bars), layout="constrained")
    draw(figure.subplots())
    write_figure(figure, path)
    tell(f"Wrote {path}")


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class RunOutputs:
    """The files and formats of the results besides the table on standard output."""

    plot: Annotated[Path | None, NEEDED] = None
    """Draw estimates and errors over the run: .png, .pdf or .svg."""
    save: Annotated[Path | None, NEEDED] = None
    """Save the whole run (.npz) for `pairgossip plot` and `pairgossip.load`."""
    json: Annotated[Json, NEEDED] = False
    plot_graph: Path | None = None
    """Draw the network, its nodes colored by their final estimates: .png, .pdf or .svg."""
    against: str = "exchanges"
    """The horizontal axis: exchanges, time (asynchronous clock), messages or bytes (both between
    sites), or iterations."""
    csv: Path | None = None
    """Write the curves of every trial as a table."""

    def check(self, inputs: Iterable[Path | None], clock: str) -> None:
        """Raise `InputError` for files that could not be written when the run has ended."""
        check_axis(self.against, clock)
        check_figures([self.plot, self.plot_graph])
        check_outputs([self.save, self.csv, self.plot, self.plot_graph], inputs)
        if self.csv is not None:
            with needed_for("Writing curves as CSV"):
                import pandas  # noqa: F401 - to know now, not after a long run

    def check_size(self, nodes: int) -> None:
        """Raise `InputError` if a picture is asked for and there are too many nodes for one."""
        from pairgossip.results.plots import LARGEST_PICTURE

        if self.plot_graph is not None and nodes > LARGEST_PICTURE:
            raise InputError(
                f"A picture of {nodes:,} nodes shows nothing: leave out --plot-graph, which is "
                f"limited to {LARGEST_PICTURE:,}."
            )

    def write(self, run: Run) -> None:
        """Write the files: first what was simulated, then what can be computed from it.

        Ctrl-C after the simulation leaves out what is not written yet, and nothing else.
        """
        written = []
        if self.save is not None:
            run.save(self.save)
            written.append(self.save)
        if self.csv is not None:
            write_text(self.csv, [run.to_pandas().to_csv(index=False)])
            written.append(self.csv)
        self._add_theory(run)
        with optional_work("Figures", "the figures not yet written were"):
            curves, network = self._draw_convergence, _draw_network
            for path, draw in ((self.plot, curves), (self.plot_graph, network)):
                if path is not None:
                    write_figure(draw(run), path)
                    written.append(path)
        for path in written:
            tell(f"Wrote {path}")

    def _add_theory(self, run: Run) -> None:
        """Compute the exact expectation and bounds for plots of the run, and save them with it."""
        from pairgossip.results.plots import LARGEST_UNASKED_THEORY

        # A user who stopped the run does not wait for curves that are not drawn now.
        is_drawn = self.plot is not None or (self.save is not None and run.status == "done")
        if not is_drawn or run.nodes > LARGEST_UNASKED_THEORY:
            return
        with (
            suppress(PairgossipError),
            optional_work("Exact expectation and bounds", "the exact expectation and bounds were"),
        ):
            run.theory()
            if self.save is not None:
                run.save(self.save)

    def _draw_convergence(self, run: Run) -> Figure:
        """Draw estimates, and errors if the exact value is known."""
        from matplotlib.figure import Figure
        from numpy import isnan

        from pairgossip.results.curves import describe

        panels = ("estimate",) if isnan(run.error).all() else ("estimate", "error")
        figure = Figure(figsize=(5.5 * len(panels), 4.5), layout="constrained")
        has_theory = run.known_theory is not None
        for ax, what in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            run.plot(what, against=canonical(self.against), theory=has_theory, ax=ax).set_title("")
        figure.suptitle(describe(run), fontsize="medium")
        return figure


def check_axis(against: str, clock: str) -> None:
    """Raise `InputError` if curves of a run on this clock cannot be drawn against the axis."""
    from pairgossip.results.result import AGAINST

    if choice("axis", against, AGAINST) == "time" and clock == "sync":
        raise InputError("A synchronous run has no clock times: use --clock async.")


def _draw_network(run: Run) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 6), layout="constrained")
    run.plot_graph(ax=figure.subplots())
    return figure
