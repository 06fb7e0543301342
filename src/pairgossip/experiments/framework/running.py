"""Running the cases of an experiment: what is finished is kept, what is missing is run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import replace

from pairgossip.errors import InterruptedRun
from pairgossip.experiments.framework.experiment import Computation, Experiment, Plan, Simulation
from pairgossip.experiments.framework.store import Store
from pairgossip.extras import needed_for
from pairgossip.progress import Advance, progress_bar
from pairgossip.results import Fit, Run
from pairgossip.results.joining import join_trials

SECONDS_BETWEEN_SAVES = 2.0


def run_experiment(
    experiment: Experiment,
    plan: Plan,
    store: Store,
    *,
    resume: bool,
    n_jobs: int | None,
    progress: bool | None,
) -> None:
    """Run all cases of an experiment and save each; Ctrl-C keeps the finished trials."""
    for case in experiment.cases(plan):
        if isinstance(case, Computation):
            _compute(experiment.name, case, plan, store, resume=resume, progress=progress)
        else:
            _simulate(experiment.name, case, plan, store, resume, n_jobs, progress)


def _compute(
    experiment: str,
    case: Computation,
    plan: Plan,
    store: Store,
    *,
    resume: bool,
    progress: bool | None,
) -> None:
    if resume and store.result(experiment, case, plan) is not None:
        return
    with progress_bar(f"{experiment}: {case.name}", 1, progress):
        store.keep_computation(experiment, case, case.compute(), plan)


def _simulate(
    experiment: str,
    case: Simulation,
    plan: Plan,
    store: Store,
    resume: bool,
    n_jobs: int | None,
    progress: bool | None,
) -> None:
    done = store.finished_trials(experiment, case, plan) if resume else None
    missing = sorted(set(range(case.trials)) - _numbers(done))
    if not missing:
        return
    total = len(missing) * case.iterations
    saved_at = time.monotonic()
    with progress_bar(f"{experiment}: {case.name}", total, progress) as advance:
        try:
            for part in _in_batches(case, missing, n_jobs, advance):
                done = part if done is None else join_trials([done, part])
                is_time = time.monotonic() - saved_at > SECONDS_BETWEEN_SAVES
                if is_time and done.trials < case.trials:
                    store.keep_trials(experiment, case, done)
                    saved_at = time.monotonic()
        except KeyboardInterrupt:
            if done is not None:
                store.keep_trials(experiment, case, done)
            raise
    assert done is not None
    store.finish(experiment, case, done)


def _numbers(result: Run | Fit | None) -> set[int]:
    return set() if result is None else set(result.trial_numbers.tolist())


def _in_batches(
    case: Simulation, missing: list[int], n_jobs: int | None, advance: Advance | None
) -> Iterator[Run | Fit]:
    """Run the missing trials in batches that take some seconds each, and give them one by one."""
    with needed_for("Running experiments"):
        from joblib import effective_n_jobs
    size = max(1, effective_n_jobs(n_jobs))
    while missing:
        batch, missing = missing[:size], missing[size:]
        begun = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InterruptedRun)
            part = case.run(trials=batch, n_jobs=n_jobs, progress=advance or False)
        if part.iterations[-1] == case.iterations:
            yield replace(part, status="done")  # of an interrupted batch, its finished trials
        if part.status != "done":
            raise KeyboardInterrupt
        if time.monotonic() - begun < SECONDS_BETWEEN_SAVES:
            size *= 4
