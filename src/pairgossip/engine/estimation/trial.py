"""One trial of an estimation: its engine, and the measurements at its checkpoints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms import weighted_gosta
from pairgossip.algorithms.methods import Method
from pairgossip.arrays import FloatArray, IntArray, PairArray, mean, root_mean_square
from pairgossip.checks import CONTINUIZED, RANDOM, TREE
from pairgossip.engine.estimation.building import build_engine
from pairgossip.engine.estimation.engine import Flooding, Procedure
from pairgossip.engine.estimation.sampling import RowErrors, SeenErrors, Visitors
from pairgossip.engine.exchanges.spoil import Spoil
from pairgossip.engine.faulty_schedule import spoil_trial, with_faults
from pairgossip.engine.schedule import (
    TRIAL_MARKS,
    TRIAL_PROBLEM,
    Schedule,
    child,
)
from pairgossip.engine.timetable import RANDOM_EXCHANGES, Timetable
from pairgossip.engine.trials import (
    BLOCK,
    BYTES_PER_NUMBER,
    SHORT_BLOCK,
    Meter,
    Payload,
    Record,
    Trial,
)
from pairgossip.errors import InputError, needed_for_speed
from pairgossip.faults import Faults
from pairgossip.faults.network import FaultyNetwork
from pairgossip.graphs import Changing, Graph, GroupedGraph
from pairgossip.graphs.laws import NamedOrGiven
from pairgossip.graphs.orders import Course
from pairgossip.inference import row_products
from pairgossip.inference.answer import NORMAL, Law
from pairgossip.inference.orders import NodeTest
from pairgossip.kernels import Problem
from pairgossip.privacy.moments import PrivacyError

MESSAGES_OF_COLLECTING = 3
"""Messages per exchange: the first node's list of rows; the second node's list, with the rows that
the first lacks; the rows that the second lacks."""
LARGEST_COLLECTION = 4_000
"""The largest number of nodes that collect: the values of all pairs are stored, and every
checkpoint takes n^3 operations."""
ENOUGH = 0.1
"""The gossip error, relative to the sampling error, at which further messages are not worth it."""
BYTES_PER_NAME = 4
"""The bytes for the number of an observation's node, where observations are passed on by name."""


@dataclass(frozen=True)
class Setup:
    """The setup of a trial, without its seed."""

    problem: Problem
    graph: Graph
    method: Method
    clock: str
    order: str
    law: NamedOrGiven
    checkpoints: IntArray
    target: float | FloatArray
    keep_history: bool
    engine: str
    privacy_error: PrivacyError | None = None
    """The expected error of reports, where observations are private."""
    timetable: Timetable = RANDOM_EXCHANGES
    level: float | None = None
    """The level of intervals, if nodes learn their sampling errors."""
    stops_early: bool = False
    """Whether a trial ends when all nodes have enough."""
    tests: bool = False
    """Whether nodes learn the p of a test, which has no interval."""
    sampling_law: Law = NORMAL
    """The law of the statistic over its sampling error."""
    exact_error: float = np.nan
    """The sampling error of the exact value, which nodes that know all rows can compute."""
    node_test: NodeTest | None = None
    """The test of a statistic of order by its law under the null, at each node."""
    timed: bool = True
    """Whether the record has the times of checkpoints, where clocks are asynchronous."""
    faulty: FaultyNetwork | None = None
    """The faults and the nodes that they concern; None without faults."""

    @property
    def iterations(self) -> int:
        """The number of iterations that a trial makes."""
        return int(self.checkpoints[-1])

    def start(self, seed: SeedSequence) -> EstimationTrial:
        """Return a trial at its start."""
        return EstimationTrial(self, seed)

    @property
    def course(self) -> Course:
        """The course of the exchanges for theory; raise `InputError` for faults without theory."""
        table, loss = self.timetable, 0.0
        if self.faulty is not None:
            faults, loss = self.faulty.faults, self.faulty.faults.loss
            is_fixed = not isinstance(self.graph, GroupedGraph | Changing)
            is_alike = table.name == RANDOM and is_fixed
            if str(faults) != str(Faults(loss=loss)) or not is_alike:
                raise InputError(
                    f"No theory is known for a network with these faults ({faults}): measure it."
                )
        return Course(self.law, table.name, table.sweep, table.stride, loss)

    @property
    def procedure(self) -> Procedure:
        """The method with the settings of the run."""
        weights = None
        if self.method.weighs_by_picks and self.graph.n > 1:
            weights = weighted_gosta.weights(self.graph.pick_probabilities(self.law))
        return Procedure(self.method, self.clock, self.order, weights, self.timetable)

    def schedule(self, seed: SeedSequence) -> Schedule:
        """Return the exchanges of a trial that take place."""
        walks = self.method.exchanges_per_iteration
        schedule = self.timetable.start(self.graph, self.law, seed, walks)
        all_act = walks > 1 or not self.method.acts_in_pairs(self.clock)
        return with_faults(
            schedule,
            self.faulty,
            seed,
            keeps_iterations=all_act or self.timetable.name == CONTINUIZED,
            compiled=self.engine != "plain",
        )

    def spoil(self, seed: SeedSequence) -> Spoil | None:
        """Return the faults on one side of exchanges; None where liars just have false rows."""
        return None if self.method.collects else spoil_trial(self.faulty, seed)

    def meter(self) -> Meter:
        """Return a new meter of a trial's traffic."""
        problem, method = self.problem, self.method
        payload = Payload(
            problem.dimension if method.swaps else 0,
            method.numbers_averaged(problem.components) + self._numbers_for_errors,
            problem.set_sizes if method.swaps else None,
            -(-problem.n // 8) if method.collects else 0,
            MESSAGES_OF_COLLECTING if method.collects else self.timetable.messages_per_exchange,
        )
        walks, compiled = method.exchanges_per_iteration, self.engine != "plain"
        return Meter(self.graph, payload, walks, compiled)

    @property
    def learns_rows(self) -> bool:
        """Whether nodes learn their sampling errors from visiting rows."""
        return self.level is not None and self.method.tracks_rows

    @property
    def _numbers_for_errors(self) -> int:
        """The number of additional numbers in a message, for sampling errors."""
        if not self.learns_rows:
            return 0
        count = row_products.numbers_per_node(self.problem.components) + row_products.MARKS
        return count * (2 if isinstance(self.graph, GroupedGraph) else 1)


class Measures(NamedTuple):
    """The errors of all nodes' estimates, over the nodes that have one."""

    mean: float
    spread: float
    """Standard deviation over nodes of estimate minus target."""
    error: float
    """Root mean square over nodes of estimate minus target."""


def measure(
    estimates: FloatArray, target: float | FloatArray, faulty: FaultyNetwork | None = None
) -> Measures:
    """Compare estimates with their target, without those that are still undefined (NaN).

    Liars and crashed nodes are left out too.
    """
    if faulty is not None:
        estimates = estimates[faulty.honest]
        target = target[faulty.honest] if isinstance(target, np.ndarray) else target
    deviation = estimates - target
    if math.isnan(mean(estimates)):
        defined = ~np.isnan(estimates)
        estimates, deviation = estimates[defined], deviation[defined]
    if not deviation.size:
        return Measures(np.nan, np.nan, np.nan)
    # Where every node has its own target, nodes differ even without error.
    differing = deviation if np.ndim(target) else estimates
    return Measures(
        mean(estimates),
        root_mean_square(differing - mean(differing)),
        root_mean_square(deviation),
    )


class TrialRecord(Record):
    """The results of one trial of an estimation."""

    def __init__(self, setup: Setup) -> None:
        checkpoints, nodes = len(setup.checkpoints), setup.graph.n
        super().__init__(checkpoints)
        self.mean, self.spread, self.error, self.honest_error = np.full((4, checkpoints), np.nan)
        self.private_value = np.nan
        """The statistic of the trial's reports, to which its nodes converge."""
        self.estimates = np.full(nodes, np.nan)
        self.sampling_error, self.site_error, self.gossip_error = np.full((3, nodes), np.nan)
        self.widening = np.ones(nodes)
        self.trial_sampling_error, self.trial_gossip_error = np.full((2, checkpoints), np.nan)
        self.interval_low, self.interval_high, self.p_value = np.full((3, nodes), np.nan)
        self.null_error = np.full(nodes, np.nan)
        self.ties: tuple[FloatArray, FloatArray] | None = None
        """The numbers of rows that nodes take for tied, for a test that counts orders."""
        self.enough = 0
        """The number of iterations until all nodes had enough; 0 if that did not happen."""
        self.history = np.full((checkpoints, nodes), np.nan) if setup.keep_history else None


class EstimationTrial(Trial[TrialRecord]):
    """A network that estimates a statistic."""

    def __init__(self, setup: Setup, seed: SeedSequence) -> None:
        record = TrialRecord(setup)
        problem = setup.problem.for_trial(child(seed, TRIAL_PROBLEM))
        if setup.privacy_error is not None:
            record.private_value = problem.exact()
        self._setup, self._spoil = setup, setup.spoil(seed)
        self._problem = problem
        self._engine = build_engine(setup.engine, problem, setup.procedure, self._spoil)
        self._block = BLOCK if self._engine.is_compiled else SHORT_BLOCK
        self._seen = SeenErrors()
        self._visitors: Visitors | None = None
        self._rows: RowErrors | None = None
        self._sites: RowErrors | None = None
        if setup.learns_rows:
            self._follow_rows(problem, child(seed, TRIAL_MARKS))
        timed = setup.timed and setup.clock == "async"
        super().__init__(
            setup.checkpoints, setup.schedule(seed), setup.meter(), record, timed=timed
        )

    def _follow_rows(self, problem: Problem, seed: SeedSequence) -> None:
        """Follow visiting rows, for the sampling errors by row and by site."""
        setup, compiled = self._setup, None
        if setup.engine != "plain":
            with needed_for_speed():
                from pairgossip.engine.estimation import loops
            compiled = loops
        self._visitors = Visitors(problem, compiled)
        stride = setup.timetable.stride
        self._rows = RowErrors(problem, None, stride, compiled, child(seed, 0))
        if isinstance(setup.graph, GroupedGraph):
            sites = setup.graph.site_of
            self._sites = RowErrors(problem, sites, stride, compiled, child(seed, 1))

    def read(self) -> FloatArray:
        """Return every node's estimate, shape (n,); NaN where it is not defined yet."""
        problem = self._problem
        if self._floods or (self.done == 0 and not self._setup.method.averages):
            return np.full(problem.n, np.nan)
        if self._setup.method.collects and self.done == self._schedule.lost:
            return np.full(problem.n, np.nan)  # no two nodes have met yet
        values = self._engine.estimates()
        # Otherwise only the ratio of two kernels may be undefined, while its denominator is zero.
        is_wrong = np.isinf(values) if self._engine.has_undefined else ~np.isfinite(values)
        if is_wrong.any():
            raise InputError(
                "The estimates are not finite: the kernel returned NaN or an infinite value for "
                "some pair, or sums of the data overflow. Correct the kernel, or divide the data "
                "by a power of ten."
            )
        return problem.read(values)

    def read_averages(self) -> FloatArray | None:
        """Return every node's averages; None while nodes still learn where the rows lie."""
        return None if self._floods else self._engine.estimates()

    @property
    def _floods(self) -> bool:
        """Whether nodes still learn the numbers that they need for estimates."""
        return isinstance(self._engine, Flooding) and not self._engine.is_over

    def _exchange(self, exchanges: tuple[PairArray, ...]) -> int | None:
        if self._visitors is not None:
            one, other = exchanges[0].T
            # On the synchronous clock a node meets itself where an exchange does not take place.
            for visits in self._visitors.follow(exchanges[0][one != other]):
                for errors in filter(None, (self._rows, self._sites)):
                    errors.add(visits)
        return self._engine.advance(exchanges)

    def has_enough(self) -> bool:
        """Return whether the trial ends because all nodes have enough."""
        record = self.record
        if not self._setup.stops_early or record.enough:
            return False
        if np.all(record.gossip_error <= ENOUGH * record.sampling_error):
            record.enough = self.done
        return record.enough > 0

    def traffic(self) -> tuple[int, ...]:
        """Return the traffic until now, with collected rows and flooded numbers."""
        *others, sent = self._meter.counts
        problem = self._setup.problem
        if isinstance(self._engine, Flooding):
            sent += (
                self._engine.exchanges
                * self._engine.excess(problem.components)
                * (BYTES_PER_NUMBER * self._setup.timetable.messages_per_exchange)
            )
        learned = self._engine.learned()
        if learned is not None:
            sizes = problem.set_sizes
            passed_on = (learned - 1) @ (np.ones_like(learned) if sizes is None else sizes)
            sent += int(passed_on) * (BYTES_PER_NUMBER * problem.dimension + BYTES_PER_NAME)
        return (*others, sent)

    def _measure(self, at: int) -> None:
        record, estimates = self.record, self.read()
        record.mean[at], record.spread[at], record.error[at] = measure(
            estimates, self._setup.target
        )
        record.estimates = estimates
        if self._setup.faulty is not None:
            record.honest_error[at] = measure(
                estimates, self._setup.target, self._setup.faulty
            ).error
        if self._setup.level is not None:
            self._measure_errors(at, estimates)
        test = self._setup.node_test
        if test is not None and not self._floods:
            averages = self._engine.estimates()
            record.ties = self._problem.tie_sizes(averages) if test.counts_orders else None
            record.null_error = self._problem.null_errors(averages, test)
        if record.history is not None:
            record.history[at] = estimates

    def _measure_errors(self, at: int, estimates: FloatArray) -> None:
        """Record the two errors that nodes estimate: of the sample, and of gossip."""
        record = self.record
        if record.enough:  # nothing has changed since
            record.trial_gossip_error[at] = record.trial_gossip_error[at - 1]
            record.trial_sampling_error[at] = record.trial_sampling_error[at - 1]
            return
        record.gossip_error = self._seen.move(self.done, estimates)
        if self._setup.timetable.name == TREE and self.done == self._setup.iterations:
            record.gossip_error = np.where(np.isnan(estimates), np.nan, 0.0)
        record.sampling_error = self._sampling_errors()
        if self._rows is not None:
            record.widening = self._rows.widening()
        if self._sites is not None:
            record.site_error = self._without_noise(self._sites.errors(self._averages()))
        record.trial_gossip_error[at] = root_mean_square(record.gossip_error)
        record.trial_sampling_error[at] = root_mean_square(record.sampling_error)

    def _averages(self) -> FloatArray:
        """Return each node's averages of the components, for its sampling error."""
        seen = None if self._rows is None else self._rows.averages()
        return self._engine.estimates() if seen is None else seen

    def _sampling_errors(self) -> FloatArray:
        problem, averages = self._problem, self._averages()
        unknown, level = np.full(problem.n, np.nan), self._setup.level
        if self._floods or level is None:
            return unknown
        if (sampling := problem.sampling(averages, level)) is not None:
            error, low, high, p = sampling
            self.record.interval_low, self.record.interval_high = low, high
            self.record.p_value = unknown if p is None else p
            return error
        if self._rows is None:  # rows are collected: nodes that know all rows compute it
            learned = self._engine.learned()
            everyone = learned is not None and learned.min() == problem.n
            return np.full(problem.n, self._setup.exact_error) if everyone else unknown
        return self._without_noise(self._rows.errors(averages))

    def _without_noise(self, seen: FloatArray) -> FloatArray:
        """Return the errors of the sample, without the noise of private reports."""
        if self._setup.privacy_error is None:
            return seen
        noise = self._setup.privacy_error.standard_error
        return np.sqrt(np.maximum(seen**2 - noise**2, 0.0))
