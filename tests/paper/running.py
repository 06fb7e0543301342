"""Running an experiment of the report in a small way, and reading its results back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pairgossip_paper.framework import Experiment, Plan, Section
from pairgossip_paper.framework.store import Store
from pairgossip_paper.reproduction import _run_experiment

PLAN = Plan(quick=True, trials=2, seed=0)


def results_of(experiment: Experiment, folder: Path, plan: Plan = PLAN) -> dict[str, Any]:
    """Run all cases, one trial after the other: handing short ones to threads takes longer."""
    store = Store(folder)
    store.open(plan, resume=False)
    _run_experiment(experiment, plan, store, resume=False, n_jobs=1, progress=False)
    results = store.results_of(experiment, plan)
    assert results is not None
    return results


def verdicts(section: Section) -> dict[str, str]:
    return {claim.name: claim.verdict for claim in section.claims}


def changes(
    experiment: Experiment, before: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, str]:
    """Return the verdicts that other results change, and to which."""
    first, then = (verdicts(experiment.report(results)) for results in (before, after))
    return {name: verdict for name, verdict in then.items() if verdict != first[name]}


def texts(section: Section) -> str:
    """All that a reader sees of a section in words and numbers."""
    cells = [str(cell) for table in section.tables for row in table.rows for cell in row]
    for panel in (panel for picture in section.pictures for panel in picture.sheet.panels):
        labels = [placed.curve.label for placed in panel.curves]
        assert all(labels) and len(set(labels)) == len(labels)  # the page names every curve
        assert all(re.fullmatch("#[0-9A-Fa-f]{6}", placed.curve.color) for placed in panel.curves)
    captions = [picture.caption for picture in section.pictures]
    notes = [table.note for table in section.tables]
    return " ".join([*section.findings, *cells, *captions, *notes, *map(str, section.claims)])
