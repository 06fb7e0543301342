"""Putting the report together from the sections."""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

from pairgossip.errors import InputError
from pairgossip.experiments.framework.experiment import Experiment, Plan
from pairgossip.experiments.framework.section import (
    Cell,
    Claim,
    Picture,
    Section,
    Table,
    Verdict,
    written,
)
from pairgossip.files import replacing, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Pieces of the HTML: tables, claims, figures; whatever is text is escaped.


MARKS: dict[Verdict, str] = {
    "holds": "✓",
    "holds in part": "◐",
    "does not hold": "✗",
    "undecided": "?",
}


def paragraphs(texts: Iterable[str]) -> str:
    """Set texts as paragraphs."""
    return "\n".join(f"<p>{escape(text)}</p>" for text in texts)


def table(content: Table) -> str:
    """Set a table; columns that hold numbers are aligned for numbers.

    On a narrow screen a table without numbers is stacked, a block per row; others scroll.
    """
    numbers = [
        any(isinstance(row[at], int | float) for row in content.rows)
        for at in range(len(content.columns))
    ]
    head = "".join(
        f"<th{_aligned(is_number)}>{escape(name)}</th>"
        for name, is_number in zip(content.columns, numbers, strict=True)
    )
    is_text = not any(numbers)
    labels = content.columns if is_text else [""] * len(numbers)
    rows = "\n".join(f"<tr>{_cells(row, numbers, labels)}</tr>" for row in content.rows)
    note = f'<p class="note">{escape(content.note)}</p>' if content.note else ""
    return (
        f'<figure class="table"><figcaption>{escape(content.title)}</figcaption>'
        f'<div class="scroll"><table{_stacked(is_text)}><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>{note}</figure>"
    )


def claims(checked: Sequence[Claim]) -> str:
    """Set claims as a list of statement, verdict and evidence."""
    return "\n".join(
        f'<div class="claim {_class(claim)}" id="claim-{escape(claim.name)}">'
        f'<p class="verdict">{_mark(claim)} {escape(claim.verdict)}</p>'
        f'<p class="statement">{escape(claim.statement)} '
        f'<span class="source">({escape(claim.source)})</span></p>'
        f"<p>{escape(claim.evidence)}</p></div>"
        for claim in checked
    )


def verdicts(checked: Iterable[tuple[str, Claim]]) -> str:
    """Set all claims as one table: verdict, statement with a link, where it was checked."""
    rows = "\n".join(
        f'<tr class="{_class(claim)}"><td class="verdict">{_mark(claim)} '
        f"{escape(claim.verdict)}</td>"
        f'<td><a href="#claim-{escape(claim.name)}">{escape(claim.statement)}</a></td>'
        f'<td data-label="source">{escape(claim.source)}</td>'
        f'<td data-label="experiment">{escape(experiment)}</td></tr>'
        for experiment, claim in checked
    )
    head = "<tr><th>verdict</th><th>statement</th><th>source</th><th>experiment</th></tr>"
    return f'<table class="stacked verdicts"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def figure(name: str, source: str, caption: str) -> str:
    """Set a figure with its caption and links to its files."""
    files = " ".join(
        f'<a href="figures/{escape(name)}.{suffix}">{suffix.upper()}</a>'
        for suffix in ("png", "svg")
    )
    return (
        f'<figure><img src="{source}" alt="{escape(caption)}">'
        f"<figcaption>{escape(caption)} {files}</figcaption></figure>"
    )


def facts(content: Mapping[str, object]) -> str:
    """Set names and values as a list of definitions."""
    pairs = "".join(
        f"<dt>{escape(name.replace('_', ' '))}</dt><dd>{escape(str(value))}</dd>"
        for name, value in content.items()
    )
    return f"<dl>{pairs}</dl>"


def _cells(row: Sequence[Cell], numbers: Sequence[bool], labels: Sequence[str]) -> str:
    return "".join(
        f"<td{_aligned(is_number)}{_labeled(label)}>{escape(written(cell))}</td>"
        for cell, is_number, label in zip(row, numbers, labels, strict=True)
    )


def _labeled(label: str) -> str:
    """Let a cell name its column where there is no room for a head."""
    return f' data-label="{escape(label)}"' if label else ""


def _stacked(is_text: bool) -> str:
    return ' class="stacked"' if is_text else ""


def _aligned(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def _mark(claim: Claim) -> str:
    return f'<span aria-hidden="true">{MARKS[claim.verdict]}</span>'


def _class(claim: Claim) -> str:
    return claim.verdict.replace(" ", "-")


# Figures as files, the same bytes each time.


DOTS_PER_INCH = 160
MANY_DECADES = 1e3


def write_pictures(
    folder: Path, pictures: Mapping[str, Picture], n_jobs: int | None
) -> dict[str, str]:
    """Write all figures; return, by their names, what an HTML file can carry.

    In processes, since drawing is Python from end to end; a cluster that runs the trials is no
    place for files.
    """
    from joblib import Parallel, delayed

    workers = -1 if n_jobs is None else n_jobs
    place = folder.resolve()  # a worker may have started in another folder
    sources = Parallel(n_jobs=workers, backend="loky")(
        delayed(write_figure)(place, name, picture.sheet.figure)
        for name, picture in pictures.items()
    )
    return dict(zip(pictures, sources, strict=True))


def write_figure(folder: Path, name: str, figure: Figure) -> str:
    """Write a figure as PNG and SVG; return the SVG as text that an HTML file can carry."""
    import matplotlib as mpl

    _leave_out_minor_ticks(figure)
    # Without a fixed salt and date, two drawings of one figure would differ.
    with mpl.rc_context({"svg.hashsalt": name}):
        vector = _render(figure, "svg", metadata={"Date": None})
    figure.set_layout_engine("none")  # the layout found is kept
    pixels = _render(figure, "png", dpi=DOTS_PER_INCH)
    for suffix, content in (("svg", vector), ("png", pixels)):
        with replacing(folder / f"{name}.{suffix}") as file:
            file.write(content)
    return f"data:image/svg+xml;base64,{base64.b64encode(vector).decode()}"


def _leave_out_minor_ticks(figure: Figure) -> None:
    """On axes of many decades they are hardly seen, and take half the time of drawing."""
    from matplotlib.ticker import NullLocator

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            if axis.get_scale() == "log" and high > MANY_DECADES * low > 0:
                axis.set_minor_locator(NullLocator())


def _render(figure: Figure, suffix: str, **how: object) -> bytes:
    drawn = io.BytesIO()
    figure.savefig(drawn, format=suffix, **how)  # type: ignore[arg-type]
    return drawn.getvalue()


TITLE = "On Gossip Algorithms for Machine Learning with Pairwise Objectives, reproduced"
REPORT = "report.html"
SEVERAL: dict[Verdict, str] = {
    "holds": "hold",
    "holds in part": "hold in part",
    "does not hold": "do not hold",
    "undecided": "are undecided",
}
"""Verdicts on more than one statement."""


class Contents(NamedTuple):
    """What a report is made of."""

    experiments: Mapping[str, Experiment]
    sections: Mapping[str, Section]
    incomplete: Mapping[str, InputError]
    """By the names of experiments left out, why."""
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
    sources = write_pictures(figures, pictures, n_jobs)
    body = [_introduction(contents)]
    for name, section in contents.sections.items():
        body.append(_section(contents.experiments[name], section, sources, contents.plan))
    body.append(_provenance(contents))
    template = files("pairgossip.experiments.report").joinpath("page.html")
    page = Template(template.read_text(encoding="utf-8"))
    path = folder / REPORT
    write_text(path, [page.substitute(title=escape(TITLE), body="\n".join(body))])
    return path


def _introduction(contents: Contents) -> str:
    plan, sections = contents.plan, contents.sections
    checked = [(name, claim) for name, section in sections.items() for claim in section.claims]
    length = "A quick look: runs are shorter than in the full reproduction. " if plan.quick else ""
    entries = "".join(
        f'<li><a href="#{escape(name)}">{escape(contents.experiments[name].title)}</a></li>'
        for name in sections
    )
    left_out = [f"Not in this report: {name}, {why}." for name, why in contents.incomplete.items()]
    return (
        f"<h1>{escape(TITLE)}</h1>\n"
        + paragraphs(
            [
                "Experiments of the paper by Colin, Bellet, Clémençon and Salmon (TMLR 2026), and "
                "what theory says about them, run afresh by pairgossip. Every number below was "
                "computed from the result files beside this report. "
                f"{length}{plan.trials} trials unless a section says otherwise, seed {plan.seed}. "
                "Lines are those of the paper's LaTeX source.",
                _counted([claim for _, claim in checked]),
                *left_out,
            ]
        )
        + f"\n<nav><ul>{entries}<li><a href='#provenance'>Versions, machine, seed</a></li></ul>"
        "</nav>\n<h2>Statements, one by one</h2>\n" + verdicts(checked)
    )


def _counted(claims: Sequence[Claim]) -> str:
    """Count verdicts, apart for what the paper says and for everything else."""
    of_paper = [claim for claim in claims if claim.source.startswith("paper")]
    others = [claim for claim in claims if claim not in of_paper]
    told = [
        f"of {len(some)} statements {whose}, {_verdicts(some)}"
        for some, whose in (
            (of_paper, "of the paper about what is run here"),
            (others, "of theory, of other papers, or carried over to other experiments"),
        )
        if some
    ]
    return "; ".join(told).capitalize() + "." if told else "No statement was checked."


def _verdicts(claims: Sequence[Claim]) -> str:
    counts = Counter(claim.verdict for claim in claims)
    return ", ".join(
        f"{counts[verdict]} {words}" for verdict, words in SEVERAL.items() if counts[verdict]
    )


def _section(
    experiment: Experiment, section: Section, sources: Mapping[str, str], plan: Plan
) -> str:
    figures = [
        figure(name, sources[name], picture.caption)
        for picture in section.pictures
        for name in [f"{experiment.name}-{picture.name}"]
    ]
    again = (
        f"pairgossip reproduce {'--quick ' if plan.quick else ''}--only {experiment.name} "
        f"--trials {plan.trials} --seed {plan.seed}"
    )
    return "\n".join(
        [
            f'<h2 id="{escape(experiment.name)}">{escape(experiment.title)}</h2>',
            f'<p class="question">{escape(experiment.question)}</p>',
            paragraphs(section.findings),
            *figures,
            *map(table, section.tables),
            claims(section.claims),
            f'<p class="note">Results: results/{escape(experiment.name)}/; again with '
            f"<code>{escape(again)}</code></p>",
        ]
    )


def _provenance(contents: Contents) -> str:
    plan = contents.plan
    return "\n".join(
        [
            '<h2 id="provenance">Versions, machine, seed</h2>',
            facts({"seed": plan.seed, "trials": plan.trials}),
            *(facts(one) for one in contents.provenance),
            "<p>The same seed gives the same result files, on any number of workers.</p>",
        ]
    )


# The report: one HTML file that opens offline, and every figure as PNG and SVG beside it.


__all__ = ["Contents", "write_report"]
