"""Many trials on many cores, with progress, and with Ctrl-C keeping what was computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from numpy.random import SeedSequence

from pairgossip.engine.schedule import child
from pairgossip.extras import needed_for

OnProgress = Callable[[int], None]


class Record(Protocol):
    """What one trial leaves behind; its first ``written`` checkpoints are filled in."""

    written: int


R = TypeVar("R", bound=Record)


class Experiment(Protocol[R]):
    """Something that is repeated in independent trials."""

    @property
    def iterations(self) -> int:
        """How many iterations a trial makes."""

    def new_record(self) -> R:
        """An empty record."""

    def run_trial(self, seed: SeedSequence, record: R, on_progress: OnProgress) -> None:
        """Run one trial to its last checkpoint, filling the record as it goes."""


class Outcome(NamedTuple, Generic[R]):
    """The records of a run's trials, in order; ``interrupted`` if Ctrl-C cut them short."""

    records: list[R]
    interrupted: bool
    numbers: list[int]
    """Which trials these are: an interrupted run may keep the third without the second."""


class Stopped(Exception):
    """Raised inside a worker thread once the run was interrupted."""


class Workshop(Generic[R]):
    """What trials of this process share: progress, the stop flag, records being written.

    Sent to another process it arrives empty: there a trial runs silently to its end, and its
    record comes back when it is finished.
    """

    def __init__(self, on_progress: OnProgress | None = None) -> None:
        self._on_progress = on_progress
        self.stopped = False
        self.unfinished: dict[int, R] = {}
        self.remote = False

    def __getstate__(self) -> dict[str, Any]:
        return {"_on_progress": None, "stopped": False, "unfinished": {}, "remote": True}

    def advanced(self, iterations: int) -> None:
        """Note progress; leave the trial if the run was interrupted."""
        if self.stopped:
            raise Stopped
        if self._on_progress is not None:
            self._on_progress(iterations)


def one_trial(
    experiment: Experiment[R], root: SeedSequence, number: int, workshop: Workshop[R]
) -> tuple[int, R, bool]:
    """Run the numbered trial; also say whether its progress went unseen in another process."""
    record = workshop.unfinished[number] = experiment.new_record()
    experiment.run_trial(child(root, number), record, workshop.advanced)
    del workshop.unfinished[number]
    return number, record, workshop.remote


def run_trials(
    experiment: Experiment[R],
    root: SeedSequence,
    numbers: Sequence[int],
    n_jobs: int | None = -1,
    on_progress: OnProgress | None = None,
) -> Outcome[R]:
    """Run the trials with these numbers; each depends on the seed and its own number alone.

    Threads by default, since compiled code and NumPy release the interpreter; inside
    ``joblib.parallel_config`` whatever backend it names.
    """
    workshop: Workshop[R] = Workshop(on_progress)
    finished: dict[int, R] = {}
    chosen = list(numbers)
    results = _results(experiment, root, chosen, n_jobs, workshop)
    try:
        for number, record, remote in results:
            finished[number] = record
            if remote:
                workshop.advanced(experiment.iterations)
    except KeyboardInterrupt:
        workshop.stopped = True
        kept = _worth_keeping(finished, workshop.unfinished)
        return Outcome(list(kept.values()), interrupted=True, numbers=list(kept))
    finally:
        results.close()
    return Outcome([finished[number] for number in chosen], interrupted=False, numbers=chosen)


def _results(
    experiment: Experiment[R],
    root: SeedSequence,
    numbers: list[int],
    n_jobs: int | None,
    workshop: Workshop[R],
) -> Any:
    if len(numbers) == 1:
        return (one_trial(experiment, root, number, workshop) for number in numbers)
    with needed_for("Running several trials"):
        from joblib import Parallel, delayed
    jobs = [delayed(one_trial)(experiment, root, number, workshop) for number in numbers]
    try:
        return Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")(jobs)
    except ValueError:  # a backend that gives its results only all at once
        return (result for result in Parallel(n_jobs=n_jobs, prefer="threads")(jobs))


def _worth_keeping(finished: dict[int, R], unfinished: dict[int, R]) -> dict[int, R]:
    """All finished trials; if there is none, the one that got furthest."""
    if finished:
        return dict(sorted(finished.items()))
    started = {number: record for number, record in list(unfinished.items()) if record.written}
    if not started:
        return {}
    furthest = max(started, key=lambda number: started[number].written)
    return {furthest: started[furthest]}
