"""The chapters of a reproduction for `pairgossip watch`, made anew from its saved results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.errors import InputError, PairgossipError
from pairgossip.files import read_bytes

if TYPE_CHECKING:
    from pairgossip.experiments.framework.experiment import Experiment, Plan
    from pairgossip.experiments.framework.store import Store
    from pairgossip.watch.results.curves import Chapter, Chapters


def chapters_of(folders: Sequence[Path]) -> Chapters | None:
    """Return what makes the chapters, once they are asked for: that takes seconds.

    None if there is no reproduction.
    """
    plans = [(folder, _plan(folder)) for folder in folders]
    if not plans:
        return None

    def make() -> list[Chapter]:
        return [chapter for folder, plan in plans for chapter in _chapters(folder, plan)]

    return make


def _chapters(folder: Path, plan: Plan) -> list[Chapter]:
    from pairgossip.experiments.framework.store import Store
    from pairgossip.experiments.reproduction import CATALOG

    store = Store(folder)
    begun = [one for one in CATALOG.values() if store.has_begun(one)]
    return [_chapter(experiment, store, plan) for experiment in begun]


def _plan(folder: Path) -> Plan:
    from pairgossip.experiments.framework.experiment import Plan

    path = folder / "settings.json"
    try:
        told = json.loads(read_bytes(path))
        return Plan(bool(told["quick"]), int(told["trials"]), int(told["seed"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{path} is damaged: give the .npz files below {folder} by their names instead."
        ) from None


def _chapter(experiment: Experiment, store: Store, plan: Plan) -> Chapter:
    from pairgossip.watch.results.curves import Chapter, FigureSource

    problem, section = "", None
    try:
        results = store.results_of(experiment, plan)
        if results is None:
            problem = "Some of its results are missing: resume the reproduction."
        else:
            section = experiment.report(results)
    except PairgossipError as wrong:  # damaged, or of another plan
        problem = str(wrong)
    return Chapter(
        experiment.name,
        experiment.title,
        experiment.question,
        [] if section is None else section.findings,
        []
        if section is None
        else [(one.verdict, one.statement, one.evidence) for one in section.claims],
        []
        if section is None
        else [FigureSource(one.name, one.caption, one.figure) for one in section.pictures],
        problem,
    )
