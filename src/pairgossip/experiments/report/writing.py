"""Putting the report together from the sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from pairgossip.errors import InputError
from pairgossip.experiments.framework.experiment import Experiment, Plan
from pairgossip.experiments.framework.section import Claim, Section, Verdict
from pairgossip.experiments.report import pieces
from pairgossip.experiments.report.figures import write_pictures
from pairgossip.files import write_text

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
    incomplete: Mapping[str, str]
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
        + pieces.paragraphs(
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
        "</nav>\n<h2>Statements, one by one</h2>\n" + pieces.verdicts(checked)
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
        pieces.figure(name, sources[name], picture.caption)
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
            pieces.paragraphs(section.findings),
            *figures,
            *(pieces.table(table) for table in section.tables),
            pieces.claims(section.claims),
            f'<p class="note">Results: results/{escape(experiment.name)}/; again with '
            f"<code>{escape(again)}</code></p>",
        ]
    )


def _provenance(contents: Contents) -> str:
    plan = contents.plan
    return "\n".join(
        [
            '<h2 id="provenance">Versions, machine, seed</h2>',
            pieces.facts({"seed": plan.seed, "trials": plan.trials}),
            *(pieces.facts(one) for one in contents.provenance),
            "<p>The same seed gives the same result files, on any number of workers.</p>",
        ]
    )
