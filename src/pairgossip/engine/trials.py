"""Trials: one network advanced step by step, with its traffic; many trials on many cores.

Ctrl-C keeps the results until then.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import IntArray, PairArray
from pairgossip.engine.exchanges.spoil import Spoil
from pairgossip.engine.schedule import Schedule, child
from pairgossip.errors import needed_for, needed_for_speed
from pairgossip.graphs import Graph, GroupedGraph

# The traffic of a trial: exchanges between sites, and the bytes they carry.
#
# An exchange between two rows of one site is free and counted separately. A message carries one
# observation (with whole sets: the held set) and the numbers that the method averages, 8 bytes
# each; frames, names and signatures are not counted.


BYTES_PER_NUMBER = 8


class _Counts(NamedTuple):
    """The traffic up to one moment."""

    network: int
    local: int
    messages: int
    bytes: int


@dataclass(frozen=True)
class Payload:
    """The content of one message."""

    observation: int
    """The count of numbers in one observation; 0 where no observation travels."""
    averaged: int
    """The count of numbers that the two sides average."""
    set_sizes: IntArray | None = None
    """The number of observations in each set, where whole sets travel."""
    digest: int = 0
    """The bytes of a node's list of known observations, which both sides send."""
    messages: int = 2
    """The number of messages in an exchange."""


class Meter:
    """Counts the exchanges of one trial, a block at a time; ``compiled=False`` needs numpy only."""

    def __init__(
        self, graph: Graph, payload: Payload, walks: int = 1, compiled: bool = True
    ) -> None:
        self.counts = _Counts(0, 0, 0, 0)
        self._payload = payload
        self._sites: IntArray | None = None
        self._all_cross = True
        if isinstance(graph, GroupedGraph):
            # The smallest type for the numbers of sites, so that most of them stay in the cache.
            few = int(graph.site_of.max()) < 2**16
            self._sites = graph.site_of.astype(np.uint16 if few else np.int32)
            self._all_cross = not graph.has_local_edges
        sizes = payload.set_sizes
        self._held = [] if sizes is None else [own_observations(len(sizes)) for _ in range(walks)]
        self._loops: Any = None
        if compiled and (self._sites is not None or self._held):
            with needed_for_speed():
                from pairgossip.engine.estimation import loops
            self._loops = loops

    def count(self, exchanges: tuple[PairArray, ...], lost: tuple[IntArray, ...] = ()) -> None:
        """Add the exchanges of a block; a lone node makes none.

        For an exchange at a lost place, a single message was sent.
        """
        gone = failed = sum(map(len, lost))
        if not self._all_cross:
            failed = sum(map(self._count_crossing, map(operator.getitem, exchanges, lost)))
        crossing = sum(map(self._count_crossing, exchanges)) - failed
        made = sum(map(len, exchanges)) - gone
        followed = sum(map(self._follow, self._held, exchanges, lost or repeat(None)))
        payload = self._payload
        messages = crossing * payload.messages + failed
        observations = followed if self._held else messages
        numbers = observations * payload.observation + messages * payload.averaged
        before = self.counts
        self.counts = _Counts(
            before.network + crossing,
            before.local + made - crossing,
            before.messages + messages,
            before.bytes + BYTES_PER_NUMBER * numbers + (2 * crossing + failed) * payload.digest,
        )

    def _count_crossing(self, exchanges: PairArray) -> int:
        """Count the exchanges between sites."""
        if self._all_cross or self._sites is None:
            return len(exchanges)
        if self._loops is not None:
            return int(self._loops.crossings(exchanges, self._sites))
        here, there = self._sites.take(exchanges).T
        return int(np.count_nonzero(here != there))

    def _follow(self, held: IntArray, exchanges: PairArray, lost: IntArray | None) -> int:
        """Swap sets along the exchanges; return the number of observations sent.

        In a lost exchange the first node has sent the set that it holds.
        """
        sizes = self._payload.set_sizes
        assert sizes is not None
        once = np.zeros(len(exchanges), dtype=np.bool_)
        if lost is not None:
            once[lost] = True
        if sizes.min() == sizes.max():
            return (2 * len(exchanges) - int(np.count_nonzero(once))) * int(sizes[0])
        exchanges = np.where(once[:, None], exchanges[:, :1], exchanges)
        if self._loops is not None:
            nodes = np.empty((2, len(exchanges)), dtype=np.intp)
            tokens = np.empty_like(nodes)
            self._loops.walk(exchanges, held, nodes, tokens)
            return int(sizes[tokens].sum() - sizes[tokens[1, once]].sum())
        total = 0
        for (i, j), is_lost in zip(exchanges.tolist(), once.tolist(), strict=True):
            total += int(sizes[held[i]]) + (0 if is_lost else int(sizes[held[j]]))
            held[i], held[j] = held[j], held[i]
        return total


BLOCK = 1 << 15
"""The number of iterations per block: few enough for the cache, and many per compiled call."""
SHORT_BLOCK = 1 << 13
"""The number of iterations per block where an iteration takes long, for a quick Ctrl-C."""

_OnProgress = Callable[[int], None]
_OnBlock = Callable[[int, tuple[PairArray, ...]], None]
"""Called after every block with its number of iterations and its exchanges."""


class Record:
    """The results of one trial; its first ``written`` checkpoints are filled in."""

    def __init__(self, checkpoints: int) -> None:
        self.written = 0
        self.time = np.full(checkpoints, np.nan)
        self.traffic = np.zeros((checkpoints, len(_Counts._fields)), dtype=np.int64)
        self.lost, self.half_lost = np.zeros((2, checkpoints), dtype=np.int64)


R = TypeVar("R", bound=Record)


class Trial(ABC, Generic[R]):
    """One network on its way to its last checkpoint, advanced by any number of iterations.

    ``record`` has the measurements at the checkpoints. In between, the state can be read at any
    time without disturbing the run.
    """

    _spoil: Spoil | None = None
    """The faults on one side of exchanges."""
    _block = SHORT_BLOCK
    """The number of iterations in one block."""

    def __init__(
        self, checkpoints: IntArray, schedule: Schedule, meter: Meter, record: R, *, timed: bool
    ) -> None:
        self.done = 0
        self.record = record
        self._checkpoints = checkpoints
        self._schedule, self._meter = schedule, meter
        self._timed = timed

    @property
    def next_checkpoint(self) -> int | None:
        """The iteration at which the record is written next; None after the last."""
        written = self.record.written
        return int(self._checkpoints[written]) if written < len(self._checkpoints) else None

    def advance(self, iterations: int, on_block: _OnBlock) -> None:
        """Make this number of iterations, or all that are left, and write the record on the way."""
        last = min(self.done + iterations, int(self._checkpoints[-1]))
        while self.done < last:
            block = min(self._block, self._next_stop() - self.done, last - self.done)
            exchanges = self._schedule.draw(block)
            ended = self._exchange(exchanges)
            self._meter.count(*self._schedule.account(exchanges, ended))
            if ended is not None:
                self._finish(tuple(walk[:ended] for walk in exchanges), on_block)
                return
            self.done += block
            on_block(block, exchanges)
            if self.done == self.next_checkpoint:
                self._write_checkpoint()
                if self.has_enough():
                    self._finish(tuple(walk[:0] for walk in exchanges), on_block)
                    return

    def has_enough(self) -> bool:
        """Return whether the trial ends here, as it has reached its goal."""
        return False

    def _finish(self, exchanges: tuple[PairArray, ...], on_block: _OnBlock) -> None:
        """Write the record of a run that ended early; further iterations would change nothing."""
        left = int(self._checkpoints[-1]) - self.done
        while self.next_checkpoint is not None:
            self.done = self.next_checkpoint
            self._write_checkpoint()
        on_block(left, exchanges)

    def run(self, on_progress: _OnProgress) -> None:
        """Run to the last checkpoint."""
        self.advance(int(self._checkpoints[-1]), lambda block, exchanges: on_progress(block))

    def _next_stop(self) -> int:
        """Return the iteration that no block may pass."""
        checkpoint = self.next_checkpoint
        assert checkpoint is not None
        return checkpoint

    def _write_checkpoint(self) -> None:
        at = self.record.written
        if self._timed:
            self.record.time[at] = self._schedule.time_of(self.done)
        self.record.traffic[at] = self.traffic()
        self.record.lost[at] = self._schedule.lost
        self.record.half_lost[at] = 0 if self._spoil is None else self._spoil.half_losses.count
        self._measure(at)
        self.record.written = at + 1

    def traffic(self) -> tuple[int, ...]:
        """Return the traffic until now."""
        return self._meter.counts

    @abstractmethod
    def _exchange(self, exchanges: tuple[PairArray, ...]) -> int | None:
        """Let the engine carry out a block; return the number of iterations until the run ended.

        Return None if it continues.
        """

    @abstractmethod
    def _measure(self, at: int) -> None:
        """Write the present measurements as the checkpoint with this number."""


class Running(Protocol[R]):
    """The interface of any trial for running many of them."""

    record: R

    def run(self, on_progress: _OnProgress) -> None:
        """Run to the end, reporting iterations as they are made."""


class Experiment(Protocol[R]):
    """Something that is repeated in independent trials."""

    @property
    def iterations(self) -> int:
        """The number of iterations that a trial makes."""

    def start(self, seed: SeedSequence) -> Running[R]:
        """Return a trial at its start."""


class Outcome(NamedTuple, Generic[R]):
    """The records of a run's trials, in order; ``interrupted`` if Ctrl-C cut them short."""

    records: list[R]
    interrupted: bool
    numbers: list[int]
    """The numbers of these trials: an interrupted run may keep the third without the second."""


class _Stopped(Exception):
    """Ends a trial in a worker thread after the run was interrupted."""


class _Workshop(Generic[R]):
    """The shared state of this process's trials: progress, the stop flag, records being written.

    A copy in another process is empty: there a trial runs silently to its end, and its record comes
    back when it is finished.
    """

    def __init__(self, on_progress: _OnProgress | None = None) -> None:
        self._on_progress = on_progress
        self.stopped = False
        self.unfinished: dict[int, R] = {}
        self.remote = False

    def __getstate__(self) -> dict[str, Any]:
        return {"_on_progress": None, "stopped": False, "unfinished": {}, "remote": True}

    def report(self, iterations: int) -> None:
        """Report progress; end the trial if the run was interrupted."""
        if self.stopped:
            raise _Stopped
        if self._on_progress is not None:
            self._on_progress(iterations)


def _one_trial(
    experiment: Experiment[R], root: SeedSequence, number: int, workshop: _Workshop[R]
) -> tuple[int, R, bool]:
    """Run the numbered trial; also return whether it ran in another process, without progress."""
    trial = experiment.start(child(root, number))
    workshop.unfinished[number] = trial.record
    trial.run(workshop.report)
    del workshop.unfinished[number]
    return number, trial.record, workshop.remote


def run_trials(
    experiment: Experiment[R],
    root: SeedSequence,
    numbers: Sequence[int],
    n_jobs: int | None = -1,
    on_progress: _OnProgress | None = None,
) -> Outcome[R]:
    """Run the trials with these numbers; each depends on the seed and its own number alone.

    The default is threads, since compiled code and NumPy release the interpreter; inside
    ``joblib.parallel_config`` the backend that it names is used.
    """
    workshop: _Workshop[R] = _Workshop(on_progress)
    finished: dict[int, R] = {}
    chosen = list(numbers)
    results = _results(experiment, root, chosen, n_jobs, workshop)
    try:
        for number, record, remote in results:
            finished[number] = record
            if remote:
                workshop.report(experiment.iterations)
    except KeyboardInterrupt:
        workshop.stopped = True
        kept = dict(sorted(finished.items()))
        if not finished:  # the one that has made most iterations
            unfinished = list(workshop.unfinished.items())
            started = [(number, record) for number, record in unfinished if record.written]
            kept = dict(sorted(started, key=lambda one: -one[1].written)[:1])
        return Outcome(list(kept.values()), interrupted=True, numbers=list(kept))
    finally:
        results.close()
    return Outcome([finished[number] for number in chosen], interrupted=False, numbers=chosen)


def _results(
    experiment: Experiment[R],
    root: SeedSequence,
    numbers: list[int],
    n_jobs: int | None,
    workshop: _Workshop[R],
) -> Any:
    if len(numbers) == 1:
        return (_one_trial(experiment, root, number, workshop) for number in numbers)
    with needed_for("Running several trials"):
        from joblib import Parallel, delayed
    jobs = [delayed(_one_trial)(experiment, root, number, workshop) for number in numbers]
    try:
        return Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")(jobs)
    except ValueError:  # a backend that returns all results at once
        return (result for result in Parallel(n_jobs=n_jobs, prefer="threads")(jobs))
