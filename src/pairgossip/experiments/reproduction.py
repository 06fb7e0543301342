"""The catalog of experiments, and the front door that runs them and writes the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pairgossip.checks import check_jobs, whole
from pairgossip.engine.schedule import root_seed
from pairgossip.errors import InputError, canonical, unknown_name
from pairgossip.experiments.auc_maximization import AUC_ASYNC, AUC_SYNC
from pairgossip.experiments.errata_evidence import ERRATA_EVIDENCE
from pairgossip.experiments.estimation_comparison import AUC, SCATTER
from pairgossip.experiments.framework.experiment import Experiment, Plan
from pairgossip.experiments.framework.running import run_experiment
from pairgossip.experiments.framework.section import Claim, Section
from pairgossip.experiments.framework.store import Store
from pairgossip.experiments.graph_gaps import GAPS
from pairgossip.experiments.metric_learning import DIGITS, MIXTURE
from pairgossip.experiments.mixing_times import MIXING
from pairgossip.experiments.private_estimation import PRIVATE
from pairgossip.experiments.report import Contents, write_report
from pairgossip.experiments.scaling import SCALING
from pairgossip.experiments.separable_and_pairwise import SEPARABLE
from pairgossip.experiments.several_points import SEVERAL_POINTS
from pairgossip.experiments.theory_and_measurement import THEORY
from pairgossip.extras import needed_for

CATALOG: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        *(GAPS, AUC_SYNC, AUC_ASYNC, SCATTER, AUC, MIXTURE, DIGITS),
        *(THEORY, MIXING, SCALING, SEPARABLE, SEVERAL_POINTS, PRIVATE, ERRATA_EVIDENCE),
    )
}
"""By their names, in the order of the report."""


FULL_TRIALS, QUICK_TRIALS = 50, 3
DEFAULT_FOLDER = "pairgossip-reproduction"


@dataclass(frozen=True)
class Reproduction:
    """What `reproduce` returns: where the report is, and what it says."""

    folder: Path
    report: Path
    sections: dict[str, Section]
    """By the names of the experiments."""
    incomplete: dict[str, InputError]
    """By the names of experiments that are in the folder but not in the report, why."""

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
        Shorter runs and few trials, for a first look in about a minute.
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
        Trials run at once; -1 for all cores. ``None`` follows ``joblib.parallel_config``, whatever
        backend it names: a Dask cluster, say.
    progress
        Show progress bars; by default when standard error is a terminal.
    """
    with needed_for("Reproducing the paper"):
        # To know now, not after a long run.
        import jinja2  # noqa: F401
        import joblib  # noqa: F401
        import matplotlib.figure  # noqa: F401
        import scipy  # noqa: F401
    chosen = find_experiments(only)
    root_seed(seed)
    check_jobs(n_jobs)
    plan = Plan(
        quick,
        whole("The number of trials", trials, default=QUICK_TRIALS if quick else FULL_TRIALS),
        seed,
    )
    folder = Path(out) if out is not None else default_folder(quick=quick)
    store = Store(folder)
    store.open(plan, resume=resume)
    for experiment in chosen:
        run_experiment(experiment, plan, store, resume=resume, n_jobs=n_jobs, progress=progress)
    return report_on(store, plan, n_jobs)


def report_on(store: Store, plan: Plan, n_jobs: int | None = 1) -> Reproduction:
    """Write the report on all experiments whose results are complete, from what is on disk."""
    sections: dict[str, Section] = {}
    incomplete: dict[str, InputError] = {}
    for experiment in CATALOG.values():
        try:
            results = store.results_of(experiment, plan)
        except InputError as problem:  # of an experiment that was not to be run now
            incomplete[experiment.name] = problem
            continue
        if results is not None:
            sections[experiment.name] = experiment.report(results)
        elif store.has_begun(experiment):
            missing = f"some of its {plan.trials} trials are missing"
            incomplete[experiment.name] = InputError(missing)
    contents = Contents(CATALOG, sections, incomplete, plan, store.provenance())
    report = write_report(store.folder, contents, n_jobs)
    return Reproduction(store.folder, report, sections, incomplete)


def find_experiments(only: str | Iterable[str] | None) -> Sequence[Experiment]:
    """Return the named experiments in the order of the catalog, or all."""
    if only is None:
        return list(CATALOG.values())
    names = [only] if isinstance(only, str) else list(only)
    if not names:
        raise InputError(f"No experiment is named: choose among {', '.join(CATALOG)}.")
    for name in names:
        if canonical(name) not in CATALOG:
            raise unknown_name("experiment", name, list(CATALOG))
    wanted = {canonical(name) for name in names}
    return [experiment for name, experiment in CATALOG.items() if name in wanted]


def default_folder(*, quick: bool) -> Path:
    """Return where results go unless said otherwise."""
    return Path(f"{DEFAULT_FOLDER}-quick" if quick else DEFAULT_FOLDER)
