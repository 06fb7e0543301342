"""The report: one HTML file that opens offline, and every figure as PNG and SVG beside it."""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pairgossip.errors import InputError
from pairgossip.files import replacing, write_text
from pairgossip.results.reproductions import REPORT
from pairgossip.text import format_count, join_names
from pairgossip_paper.framework import (
    Cell,
    Claim,
    Experiment,
    Picture,
    Plan,
    Section,
    Table,
    Verdict,
)
from pairgossip_paper.framework.typesetting import typeset

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure

_TITLE = "On Gossip Algorithms for Machine Learning with Pairwise Objectives, reproduced"
MARKS: dict[Verdict, str] = {
    "holds": "✓",
    "holds in part": "◐",
    "does not hold": "✗",
    "undecided": "?",
}
_VERBS: dict[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "holds in part": ("holds in part", "hold in part"),
    "does not hold": ("does not hold", "do not hold"),
    "undecided": ("is undecided", "are undecided"),
}
"""Verdicts on one statement and on several."""
_MANY_ROWS = 12
"""Largest number of rows of a table that is shown unfolded."""
_DOTS_PER_INCH = 160
_LARGEST_TICKED_RATIO = 1e3
"""Ratio of the ends of a logarithmic axis above which it has no minor ticks."""
_FIGURES_PER_WORKER = 4
"""Least number of figures per process; fewer are drawn sooner than another process starts."""


class Contents(NamedTuple):
    """The parts of a report."""

    experiments: Mapping[str, Experiment]
    sections: Mapping[str, Section]
    incomplete: Mapping[str, InputError]
    """The reason why each missing experiment is left out, by its name."""
    plan: Plan
    provenance: Sequence[Mapping[str, Any]]
    """Machines and versions that computed the results."""


def write_report(folder: Path, contents: Contents, n_jobs: int | None) -> Path:
    """Write figures and the report into a folder; return the path of the report."""
    figures = folder / "figures"
    try:
        figures.mkdir(exist_ok=True)
    except OSError as problem:
        raise InputError(f"Cannot create {figures}: {problem.strerror}.") from None
    pictures = {
        f"{name}-{picture.name}": picture
        for name, section in contents.sections.items()
        for picture in section.pictures
    }
    sources = _write_pictures(figures, pictures, n_jobs)
    path = folder / REPORT
    write_text(path, [_render_report(contents, sources)])
    return path


def _render_report(contents: Contents, sources: Mapping[str, str]) -> str:
    """Return the report as HTML; ``sources`` are its figures as text."""
    claims = [claim for section in contents.sections.values() for claim in section.claims]
    return _page().render(
        contents._asdict(),
        title=_TITLE,
        counts=_count_verdicts(claims),
        statements=len(claims),
        opening=_find_opening(contents),
        many_rows=_MANY_ROWS,
        sources=sources,
        marks=MARKS,
        number_columns=_number_columns,
        format_cell=_format_cell,
        any=any,
    )


@cache
def _page() -> Template:
    from jinja2 import Environment

    template = files("pairgossip_paper.framework").joinpath("page.html")
    environment = Environment(autoescape=True)
    environment.filters["typeset"] = typeset
    return environment.from_string(template.read_text(encoding="utf-8"))


def _find_opening(contents: Contents) -> list[str]:
    """Name the experiments whose first figures open the report; by default the first drawn."""
    drawn = [name for name, section in contents.sections.items() if section.pictures]
    return [name for name in drawn if contents.experiments[name].opens] or drawn[:1]


def _number_columns(table: Table) -> list[bool]:
    """Return for each column whether it holds numbers, which are aligned to the right."""
    columns = zip(*table.rows, strict=True)
    return [any(isinstance(cell, int | float) for cell in column) for column in columns]


def _format_cell(value: Cell) -> str:
    """Format a cell of a table; numbers have four significant digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:#.4g}" if isinstance(value, float) else value


def _count_verdicts(claims: Sequence[Claim]) -> str:
    """Count verdicts, separately for statements of the paper and for others."""
    of_paper = [claim for claim in claims if claim.source.startswith("paper")]
    others = [claim for claim in claims if claim not in of_paper]
    sentences = []
    for some, whose in (
        (of_paper, "of the paper about what is run here"),
        (others, "of theory, of other papers, or carried over to other experiments"),
    ):
        counts = Counter(claim.verdict for claim in some)
        parts = [
            f"{counts[one]} {words[counts[one] > 1]}"
            for one, words in _VERBS.items()
            if counts[one]
        ]
        if some:
            total = format_count(len(some), "statement")
            sentences.append(f"{total} {whose}: {join_names(parts)}")
    return "; ".join(sentences) + "." if sentences else "No statement was checked."


def _write_pictures(
    folder: Path, pictures: Mapping[str, Picture], n_jobs: int | None
) -> dict[str, str]:
    """Write all figures; return them by name as text that an HTML file can carry.

    Processes of this machine draw them, because drawing holds Python's lock, and a cluster that
    runs the trials cannot write its files.
    """
    from joblib import Parallel, delayed, effective_n_jobs, parallel_config

    most = max(1, len(pictures) // _FIGURES_PER_WORKER)
    with parallel_config("loky"):  # count the cores of this machine, not of the cluster
        workers = min(most, effective_n_jobs(-1 if n_jobs is None else n_jobs))
    place = folder.resolve()  # a worker may have started in another folder
    sources = Parallel(n_jobs=workers, backend="loky")(
        delayed(_write_figure)(place, name, picture.sheet.figure)
        for name, picture in pictures.items()
    )
    return dict(zip(pictures, sources, strict=True))


def _write_figure(folder: Path, name: str, figure: Figure) -> str:
    """Write a figure as PNG and SVG; return the SVG as text that an HTML file can carry."""
    import matplotlib as mpl

    _leave_out_minor_ticks(figure)
    # Without a fixed salt and date, two drawings of one figure would differ.
    with mpl.rc_context({"svg.hashsalt": name}):
        vector = _render(figure, "svg", metadata={"Date": None})
    figure.set_layout_engine("none")  # keep the layout of the SVG
    pixels = _render(figure, "png", dpi=_DOTS_PER_INCH)
    for suffix, content in (("svg", vector), ("png", pixels)):
        with replacing(folder / f"{name}.{suffix}") as file:
            file.write(content)
    return f"data:image/svg+xml;base64,{base64.b64encode(vector).decode()}"


def _leave_out_minor_ticks(figure: Figure) -> None:
    """Remove minor ticks of axes with many decades: they take half the time of drawing."""
    from matplotlib.ticker import NullLocator

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            if axis.get_scale() == "log" and high > _LARGEST_TICKED_RATIO * low > 0:
                axis.set_minor_locator(NullLocator())


def _render(figure: Figure, suffix: str, **how: object) -> bytes:
    drawn = io.BytesIO()
    figure.savefig(drawn, format=suffix, **how)  # type: ignore[arg-type]
    return drawn.getvalue()
