"""Small runs of the report's experiments, and their results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pairgossip_paper.framework import Experiment, Plan, Section
from pairgossip_paper.framework.store import Store
from pairgossip_paper.reproduction import _run_experiment

PLAN = Plan(quick=True, trials=2, seed=0)


def results_of(experiment: Experiment, folder: Path, plan: Plan = PLAN) -> dict[str, Any]:
    """Run all cases, one trial after the other, as threads are slower for short trials."""
    store = Store(folder)
    store.open(plan, resume=False)
    _run_experiment(experiment, plan, store, resume=False, n_jobs=1, progress=False)
    results = store.results_of(experiment, plan)
    assert results is not None
    return results


def small_results(experiment: Experiment, module: Any = None, **settings: Any) -> Any:
    """Make a fixture of an experiment's results, with some settings of its module changed.

    The report on them is drawn once, and must not lack a number or cell.
    """

    @pytest.fixture(scope="module")
    def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settings.items():
                patch.setattr(module, name, value)
            results = results_of(experiment, tmp_path_factory.mktemp(experiment.name))
        section = experiment.report(results)
        assert not {"nan", "inf"} & set(re.findall(r"[a-z]+", texts(section)))
        assert all(len(row) == len(table.columns) for table in section.tables for row in table.rows)
        return results

    return results


def verdicts(section: Section) -> dict[str, str]:
    return {claim.name: claim.verdict for claim in section.claims}


def changes(
    experiment: Experiment, before: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, str]:
    """Return the verdicts that change with other results, with their new values."""
    first, then = (verdicts(experiment.report(results)) for results in (before, after))
    return {name: verdict for name, verdict in then.items() if verdict != first[name]}


def with_errors(results: Mapping[str, Any], **factors: float) -> dict[str, Any]:
    """Multiply the errors of cases, chosen by the ends of their names."""
    changed = dict(results)
    for way, factor in factors.items():
        for key in [key for key in results if key.endswith(f"-{way.replace('_', '-')}")]:
            changed[key] = replace(results[key], trial_error=factor * results[key].trial_error)
    return changed


def texts(section: Section) -> str:
    """Return all words and numbers of a section that a reader sees."""
    cells = [str(cell) for table in section.tables for row in table.rows for cell in row]
    for panel in (panel for picture in section.pictures for panel in picture.sheet.panels):
        labels = [placed.curve.label for placed in panel.curves]
        assert all(labels) and len(set(labels)) == len(labels)  # the page names every curve
        assert all(re.fullmatch("#[0-9A-Fa-f]{6}", placed.curve.color) for placed in panel.curves)
    captions = [picture.caption for picture in section.pictures]
    notes = [table.note for table in section.tables]
    return " ".join([*section.findings, *cells, *captions, *notes, *map(str, section.claims)])
