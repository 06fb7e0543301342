"""Many trials on many cores, with progress, and with Ctrl-C keeping what was computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.random import SeedSequence

from pairgossip.engine.seeds import child
from pairgossip.engine.trial import Setup, TrialRecord, run_trial
from pairgossip.extras import needed_for

OnProgress = Callable[[int], None]


class Outcome(NamedTuple):
    """The records of a run's trials, in order; ``interrupted`` if Ctrl-C cut them short."""

    records: list[TrialRecord]
    interrupted: bool


class Stopped(Exception):
    """Raised inside a worker thread once the run was interrupted."""


class Workshop:
    """What trials of this process share: progress, the stop flag, records being written.

    Sent to another process it arrives empty: there a trial runs silently to its end, and its
    record comes back when it is finished.
    """

    def __init__(self, on_progress: OnProgress | None = None) -> None:
        self._on_progress = on_progress
        self.stopped = False
        self.unfinished: dict[int, TrialRecord] = {}
        self.remote = False

    def __getstate__(self) -> dict[str, Any]:
        return {"_on_progress": None, "stopped": False, "unfinished": {}, "remote": True}

    def advanced(self, iterations: int) -> None:
        """Note progress; leave the trial if the run was interrupted."""
        if self.stopped:
            raise Stopped
        if self._on_progress is not None:
            self._on_progress(iterations)

    def finished_elsewhere(self, iterations: int) -> None:
        """Note the progress of a trial that ran in another process."""
        self.advanced(iterations)


def one_trial(
    setup: Setup, root: SeedSequence, number: int, workshop: Workshop
) -> tuple[int, TrialRecord, bool]:
    """Run the numbered trial; also say whether its progress went unseen in another process."""
    record = workshop.unfinished[number] = TrialRecord(setup)
    run_trial(setup, child(root, number), record, workshop.advanced)
    del workshop.unfinished[number]
    return number, record, workshop.remote


def run_trials(
    setup: Setup,
    root: SeedSequence,
    trials: int,
    n_jobs: int | None = -1,
    on_progress: OnProgress | None = None,
) -> Outcome:
    """Run trials 0 .. trials-1; each depends on the seed and its own number alone.

    Threads by default, since compiled code and NumPy release the interpreter; inside
    ``joblib.parallel_config`` whatever backend it names.
    """
    workshop = Workshop(on_progress)
    finished: dict[int, TrialRecord] = {}
    iterations = int(setup.checkpoints[-1])
    try:
        for number, record, remote in _results(setup, root, trials, n_jobs, workshop):
            finished[number] = record
            if remote:
                workshop.finished_elsewhere(iterations)
    except KeyboardInterrupt:
        workshop.stopped = True
        return Outcome(_worth_keeping(finished, workshop.unfinished), interrupted=True)
    return Outcome([finished[number] for number in range(trials)], interrupted=False)


def _results(
    setup: Setup, root: SeedSequence, trials: int, n_jobs: int | None, workshop: Workshop
) -> Any:
    if trials == 1:
        return (one_trial(setup, root, number, workshop) for number in range(trials))
    with needed_for("Running several trials"):
        from joblib import Parallel, delayed
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")
    return parallel(delayed(one_trial)(setup, root, k, workshop) for k in range(trials))


def _worth_keeping(
    finished: dict[int, TrialRecord], unfinished: dict[int, TrialRecord]
) -> list[TrialRecord]:
    """All finished trials; if there is none, the one that got furthest."""
    if finished:
        return [finished[number] for number in sorted(finished)]
    started = [record for record in unfinished.values() if record.written]
    return [max(started, key=lambda record: record.written)] if started else []
