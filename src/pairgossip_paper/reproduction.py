"""The catalog of experiments, and the function that runs them and writes the report."""

from __future__ import annotations

import importlib
import pkgutil
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pairgossip.checks import check_jobs, whole
from pairgossip.engine.schedule import root_seed
from pairgossip.errors import InputError, InterruptedRun, canonical, needed_for, unknown_name
from pairgossip.progress import Advance, progress_bar
from pairgossip.results import Fit, Run
from pairgossip.results.joining import join_trials
from pairgossip_paper import experiments
from pairgossip_paper.framework import Claim, Experiment, Plan, Section, Simulation
from pairgossip_paper.framework.report import Contents, write_report
from pairgossip_paper.framework.store import Store


def _find_catalog() -> dict[str, Experiment]:
    """Return all experiments that modules of `experiments` declare, in the report's order."""
    modules = [
        importlib.import_module(f"{experiments.__name__}.{module.name}")
        for module in pkgutil.iter_modules(experiments.__path__)
    ]
    declared = [one for module in modules for one in vars(module).values()]
    listed = [one for one in declared if isinstance(one, Experiment)]
    return {one.name: one for one in sorted(listed, key=lambda one: (one.place, one.name))}


CATALOG = _find_catalog()
"""All experiments by name, in the order of the report."""

_FULL_TRIALS, _QUICK_TRIALS = 50, 3
_DEFAULT_FOLDER = "pairgossip-reproduction"
_SECONDS_BETWEEN_SAVES = 2.0
"""Least time between two saves of a case; batches grow until they last as long."""


@dataclass(frozen=True)
class Reproduction:
    """The outcome of `reproduce`: the path of the report, and its content."""

    folder: Path
    report: Path
    sections: dict[str, Section]
    """The sections of the report, by the names of experiments."""
    incomplete: dict[str, InputError]
    """The reason why an experiment is in the folder but not in the report, by its name."""

    @property
    def claims(self) -> list[Claim]:
        """All claims that were checked."""
        return [claim for section in self.sections.values() for claim in section.claims]


def reproduce(
    only: str | Iterable[str] | None = None,
    *,
    quick: bool = False,
    trials: int | None = None,
    out: str | Path | None = None,
    seed: int = 0,
    resume: bool = False,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Reproduction:
    """Run the experiments of the paper and write one report about them.

    Parameters
    ----------
    only
        Names of experiments (see ``pg.experiments.CATALOG``); all by default.
    quick
        Shorter runs and few trials, for a first look in about three minutes.
    trials
        Independent trials: 50, or 3 with ``quick``. Small networks run a multiple of them, and
        metric learning at most 10.
    out
        Folder for results, figures and ``report.html``; ``pairgossip-reproduction`` by default,
        or ``pairgossip-reproduction-quick``.
    seed
        Seed of all randomness; the same seed gives the same files.
    resume
        Keep the trials that an earlier call finished in the same folder, and run only the others.
    n_jobs
        Trials run at once; -1 for all cores. ``None`` follows ``joblib.parallel_config``, which may
        name any backend, such as a Dask cluster.
    progress
        Show progress bars; by default when standard error is a terminal.
    """
    with needed_for("Reproducing the paper"):
        # Checked now, not after a long run.
        import jinja2  # noqa: F401
        import joblib  # noqa: F401
        import matplotlib.figure  # noqa: F401
        import scipy  # noqa: F401
    chosen = _find_experiments(only)
    root_seed(seed)
    check_jobs(n_jobs)
    plan = Plan(
        quick,
        whole("The number of trials", trials, default=_QUICK_TRIALS if quick else _FULL_TRIALS),
        seed,
    )
    default = f"{_DEFAULT_FOLDER}-quick" if quick else _DEFAULT_FOLDER
    store = Store(Path(default if out is None else out))
    store.open(plan, resume=resume)
    for experiment in chosen:
        _run_experiment(experiment, plan, store, resume=resume, n_jobs=n_jobs, progress=progress)
    return _report_on(store, plan, n_jobs)


def _run_experiment(
    experiment: Experiment,
    plan: Plan,
    store: Store,
    *,
    resume: bool,
    n_jobs: int | None,
    progress: bool | None,
) -> None:
    """Run all cases of an experiment and save each; Ctrl-C keeps the finished trials."""
    (store.results / experiment.name).mkdir(exist_ok=True)
    for case in experiment.cases(plan):
        if isinstance(case, Simulation):
            done = store.finished_trials(experiment.name, case, plan) if resume else None
            _simulate(experiment.name, case, done, store, n_jobs, progress)
        elif not resume or store.result(experiment.name, case, plan) is None:
            with progress_bar(f"{experiment.name}: {case.name}", 1, progress):
                store.keep_computation(experiment.name, case, case.compute(), plan)


def _simulate(
    experiment: str,
    case: Simulation,
    done: Run | Fit | None,
    store: Store,
    n_jobs: int | None,
    progress: bool | None,
) -> None:
    finished = set() if done is None else set(done.trial_numbers.tolist())
    missing = sorted(set(range(case.trials)) - finished)
    if not missing:
        return
    saved_at = time.monotonic()
    work = len(missing) * case.iterations
    with progress_bar(f"{experiment}: {case.name}", work, progress) as advance:
        try:
            for part in _in_batches(case, missing, n_jobs, advance):
                done = part if done is None else join_trials([done, part])
                is_time = time.monotonic() - saved_at > _SECONDS_BETWEEN_SAVES
                if is_time and done.trials < case.trials:
                    store.keep_trials(experiment, case, done)
                    saved_at = time.monotonic()
        except KeyboardInterrupt:
            if done is not None:
                store.keep_trials(experiment, case, done)
            raise
    assert done is not None
    store.finish(experiment, case, done)


def _in_batches(
    case: Simulation, missing: list[int], n_jobs: int | None, advance: Advance | None
) -> Iterator[Run | Fit]:
    """Run the missing trials in batches that last a few seconds, and yield each batch."""
    from joblib import effective_n_jobs

    size = max(1, effective_n_jobs(n_jobs))
    while missing:
        batch, missing = missing[:size], missing[size:]
        begun = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InterruptedRun)
            part = case.run(trials=batch, n_jobs=n_jobs, progress=advance or False)
        if part.iterations[-1] == case.iterations:
            yield replace(part, status="done")  # an interrupted batch has its finished trials
        if part.status != "done":
            raise KeyboardInterrupt
        if time.monotonic() - begun < _SECONDS_BETWEEN_SAVES:
            size *= 4


def _report_on(store: Store, plan: Plan, n_jobs: int | None = 1) -> Reproduction:
    """Write the report on all experiments whose results are complete, from what is on disk."""
    sections: dict[str, Section] = {}
    incomplete: dict[str, InputError] = {}
    for experiment in CATALOG.values():
        try:
            results = store.results_of(experiment, plan)
        except InputError as problem:  # results of an experiment that this call did not run
            incomplete[experiment.name] = problem
            continue
        if results is not None:
            sections[experiment.name] = experiment.report(results)
        elif store.has_begun(experiment):
            incomplete[experiment.name] = InputError(
                "some of its results are missing: run it with {argument}.",
                "resume",
                value=True,
            )
    contents = Contents(CATALOG, sections, incomplete, plan, store.provenance())
    report = write_report(store.folder, contents, n_jobs)
    return Reproduction(store.folder, report, sections, incomplete)


def _find_experiments(only: str | Iterable[str] | None) -> Sequence[Experiment]:
    """Return the named experiments in the order of the catalog, or all."""
    if only is None:
        return list(CATALOG.values())
    names = [only] if isinstance(only, str) else list(only)
    if not names:
        raise InputError(f"No experiment is named: choose among {', '.join(CATALOG)}.")
    for name in names:
        if canonical(name) not in CATALOG:
            raise unknown_name("experiment", name, list(CATALOG))
    chosen = {canonical(name) for name in names}
    return [experiment for name, experiment in CATALOG.items() if name in chosen]
