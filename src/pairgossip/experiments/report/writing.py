"""Putting the report together from the sections."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from pairgossip.errors import InputError
from pairgossip.experiments.framework.experiment import Experiment, Plan
from pairgossip.experiments.framework.section import Section
from pairgossip.experiments.report import pieces
from pairgossip.experiments.report.figures import write_pictures
from pairgossip.files import write_text
from pairgossip.results.provenance import machine, versions

TITLE = "On Gossip Algorithms for Machine Learning with Pairwise Objectives, reproduced"
REPORT = "report.html"


def write_report(
    folder: Path,
    experiments: Mapping[str, Experiment],
    sections: Mapping[str, Section],
    plan: Plan,
    n_jobs: int | None,
) -> Path:
    """Write figures and the report into a folder; return the path of the report."""
    figures = folder / "figures"
    try:
        figures.mkdir(exist_ok=True)
    except OSError as problem:
        raise InputError(f"Cannot create {figures}: {problem.strerror}.") from None
    pictures = {
        f"{name}-{picture.name}": picture
        for name, section in sections.items()
        for picture in section.pictures
    }
    sources = write_pictures(figures, pictures, n_jobs)
    body = [_introduction(experiments, sections, plan)]
    for name, section in sections.items():
        body.append(_section(experiments[name], section, sources))
    body.append(_provenance(plan))
    template = files("pairgossip.experiments.report").joinpath("page.html")
    page = Template(template.read_text(encoding="utf-8"))
    path = folder / REPORT
    write_text(path, [page.substitute(title=escape(TITLE), body="\n".join(body))])
    return path


def _introduction(
    experiments: Mapping[str, Experiment], sections: Mapping[str, Section], plan: Plan
) -> str:
    checked = [(name, claim) for name, section in sections.items() for claim in section.claims]
    counts = {
        verdict: sum(claim.verdict == verdict for _, claim in checked) for verdict in pieces.MARKS
    }
    length = "A quick look: runs are shorter than in the full reproduction. " if plan.quick else ""
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    entries = "".join(
        f'<li><a href="#{escape(name)}">{escape(experiments[name].title)}</a></li>'
        for name in sections
    )
    return (
        f"<h1>{escape(TITLE)}</h1>\n"
        + pieces.paragraphs(
            [
                "Experiments of the paper, and what theory says about them, run afresh by "
                "pairgossip. Every number below was computed from the result files beside this "
                f"report. {length}{plan.trials} trials, seed {plan.seed}.",
                f"{len(checked)} statements were checked: {told}.",
            ]
        )
        + f"\n<nav><ul>{entries}<li><a href='#provenance'>Versions, machine, seed</a></li></ul>"
        "</nav>\n<h2>Statements, one by one</h2>\n" + pieces.verdicts(checked)
    )


def _section(experiment: Experiment, section: Section, sources: Mapping[str, str]) -> str:
    figures = [
        pieces.figure(name, sources[name], picture.caption)
        for picture in section.pictures
        for name in [f"{experiment.name}-{picture.name}"]
    ]
    return "\n".join(
        [
            f'<h2 id="{escape(experiment.name)}">{escape(experiment.title)}</h2>',
            f'<p class="question">{escape(experiment.question)}</p>',
            pieces.paragraphs(section.findings),
            *figures,
            *(pieces.table(table) for table in section.tables),
            pieces.claims(section.claims),
            f'<p class="note">Results: results/{escape(experiment.name)}/; again with '
            f"<code>pairgossip reproduce --only {escape(experiment.name)}</code></p>",
        ]
    )


def _provenance(plan: Plan) -> str:
    return "\n".join(
        [
            '<h2 id="provenance">Versions, machine, seed</h2>',
            pieces.facts({"seed": plan.seed, "trials": plan.trials} | versions() | machine()),
            "<p>The same seed gives the same result files, on any number of workers.</p>",
        ]
    )
