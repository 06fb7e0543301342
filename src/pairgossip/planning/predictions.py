"""The number of exchanges that each method needs: computed from theory, or else simulated.

Averaging is computed exactly, to first order in the error. The time until all nodes know something
is simulated. Methods that pass rows around make a pilot run. Their square error is c/t in the long
run, and about b/t^2 before, as rows start at their own nodes; both are fitted to the end of the
pilot.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms.methods import METHODS, find_method
from pairgossip.arrays import FloatArray, IntArray, mean, root_mean_square
from pairgossip.checks import ORDERED, RANDOM, TREE, UNIFORM_EDGES
from pairgossip.engine.estimation.trial import (
    BYTES_PER_NAME,
    MESSAGES_OF_COLLECTING,
    Setup,
)
from pairgossip.engine.schedule import child
from pairgossip.engine.timetable import Timetable, settle_timetable
from pairgossip.engine.trials import BLOCK, BYTES_PER_NUMBER
from pairgossip.errors import InputError, SlowSchedule, needed_for
from pairgossip.graphs import Graph, GroupedGraph
from pairgossip.graphs.laws import NamedOrGiven
from pairgossip.graphs.orders import Sweep
from pairgossip.kernels import Problem
from pairgossip.planning.table import PlannedMethod
from pairgossip.run_requests.estimation import EstimationRequest
from pairgossip.theory.averaging import averaging_error, sweep_error

_LARGEST_EXACT = 1_000
"""The largest number of nodes for the exact error of averaging; beyond, it is simulated."""
_LAST_EXCHANGE = 10**12
"""The last exchange at which errors are computed."""
_POINTS_PER_DECADE = 333
"""The number of moments per decade of exchanges at which errors are computed."""
_MOST_SWEPT = 30_000_000
"""Work limit for ordered schedules, in exchanges: seconds."""
_EXCHANGES_PER_TURN = 500
"""The work of one color of a sweep, in exchanges."""
_MOST_UNITED, _ITEMS_AT_ONCE = 200_000_000, 1_000
"""Work limit for spreading items, in exchanges of up to this many items: seconds."""
_TRIALS, _SLOW_TRIALS = 32, 12
"""The number of trials of a pilot, of compiled kernels and of slow ones; the first also counts the
simulations of the time until all nodes know something."""
_CHECKPOINTS = 40
"""The largest number of moments at which a pilot computes its errors."""
_PILOT, _SLOW_PILOT = 800_000, 100_000
"""The largest numbers of exchanges of a pilot in every trial, with a compiled kernel and with a
NumPy kernel: seconds."""
_SHORTEST_PILOT, _LONGEST_PILOT = 4, 50
"""The lengths of pilots, in relaxation times of the network: from the first on errors can be
extrapolated, and beyond the second a pilot adds little."""
_LONGEST_PER_NODE = 2_000
"""The exchanges per node from which on a longer pilot adds little, on networks that mix fast."""
_LARGEST_FIRST_ORDER_ERROR = 1.25
"""The largest error where first order predicts the goal, in goals; beyond, a pilot is run."""
_MOST_NUMBERS = 50_000_000
"""The largest count of numbers in memory, at the nodes of all trials of a pilot."""

_SITE_SHOWS = "a site's summed features to its first partner, then means of several rows"


class Way(NamedTuple):
    """A method with its clock and its schedule."""

    method: str
    clock: str
    schedule: str


def list_ways() -> list[Way]:
    """Return the ways that plans compare: sketches, collecting, relaxing and other methods."""
    methods = sorted(
        METHODS.values(), key=lambda one: (not one.sketches, not one.collects, not one.relaxes)
    )
    return [
        Way(method.name, clock, schedule)
        for method in methods
        for clock, schedules in method.planned.items()
        for schedule in schedules
    ]


@dataclass(frozen=True)
class Case:
    """The subject of a plan: the statistic, the network and the error."""

    arguments: dict[str, Any]
    """The arguments of `estimate` that all methods share."""
    graph: Graph
    law: NamedOrGiven
    seed: SeedSequence
    sketch: Any
    exact: float
    error: float

    @property
    def size(self) -> float:
        """The absolute exact value, to which errors are relative."""
        return abs(self.exact)

    @property
    def goal(self) -> float:
        """The root mean square error to reach, in the units of the statistic."""
        return self.error * self.size

    def setup(self, way: Way) -> Setup:
        """Check that a method can be run, and return the setup of its trials."""
        options = {"reference": self.exact, **self.arguments}
        if way.method == "sketch":
            options["sketch"] = self.sketch
        if way.schedule == ORDERED:
            if not isinstance(self.sweeps, Timetable):
                # Without a sketch no schedule would help: report that first.
                self.request(way._replace(schedule=RANDOM), **options).setup()
                raise self.sweeps
            if way.method == "sketch":
                options["relaxation"] = self.sweeps.relaxation
        return self.request(way, **options).setup()

    def request(self, way: Way, **arguments: Any) -> EstimationRequest:
        """Return the request of a run on this network."""
        law = UNIFORM_EDGES if way.schedule in (ORDERED, TREE) else self.law
        return EstimationRequest(
            graph=self.graph, law=law, record="summary", **way._asdict(), **arguments
        )

    @cached_property
    def sweeps(self) -> Timetable | InputError | SlowSchedule:
        """The timetable of sweeps, or the reason against them, which holds for all methods."""
        try:
            return settle_timetable(ORDERED, self.graph, UNIFORM_EDGES, find_method("sketch"))
        except SlowSchedule:
            return SlowSchedule("Ordered exchanges would be slower than random ones on this graph.")
        except InputError as too_large:
            return too_large


def predict(case: Case, way: Way) -> PlannedMethod:
    """Predict the cost of a method to reach the error, or the reason why it does not."""
    method = METHODS[way.method]
    row = PlannedMethod(*way, shows=method.shows_along(RANDOM), tolerates=method.tolerates)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", SlowSchedule)
            setup = case.setup(way)
            if setup.method.sketches:
                return _predict_sketch(case, row, setup)
            row = replace(row, remaining_error=0.0)
            if setup.method.collects:
                return _predict_collection(case, row, setup)
            return _predict_tokens(case, row, setup)
    except (InputError, SlowSchedule) as problem:
        return replace(row, refusal=problem)


# Sketches: nodes first learn where the rows lie, if this is not declared, and then average.


def _predict_sketch(case: Case, row: PlannedMethod, setup: Setup) -> PlannedMethod:
    problem, along_tree = setup.problem, setup.timetable.messages is not None
    values, floor = problem.linearized()
    shows = setup.method.shows_along(row.schedule)
    if problem.n < len(problem.data) and row.schedule != TREE:
        shows = _SITE_SHOWS
    if len(problem.holders):
        shows += f"; {len(problem.holders)} numbers of the rows to all nodes"
    row = replace(row, shows=shows, remaining_error=floor / case.size)
    if floor >= case.goal:
        reason = InputError(
            f"Averaged exactly, {problem.sketch_name} is still {100 * floor / case.size:.2g} % "
            "off: make it finer with {argument}, or use another method.",
            "sketch",
        )
        return replace(row, refusal=reason)
    there_and_back = 2 * case.graph.n - 2
    flooding = 0  # exchanges until all nodes know where the rows lie
    if len(problem.holders):
        flooding = (
            there_and_back if along_tree else _exchanges_until_known(case, setup, problem.holders)
        )
    # In units of the error that averaging may leave: squares of tiny or huge numbers are lost.
    values = values / (case.goal * math.sqrt(1 - (floor / case.goal) ** 2))
    if along_tree:
        averaging, basis = there_and_back, "counted"
    elif _is_linear(problem, values, case.goal):
        averaging, basis = _averaging(case, setup, values)
        basis = "simulated" if flooding else basis
    else:
        # A pilot of the sketch itself.
        trials = min(max(_MOST_NUMBERS // problem.features.size, 2), _TRIALS)
        reached = _pilot(case, setup, case.goal, count=trials).crossing()
        averaging, basis = max(reached - flooding, 0), "simulated"
    numbers = flooding * len(problem.holders) + averaging * problem.components
    messages = setup.timetable.messages_per_exchange
    return replace(
        row,
        exchanges=flooding + averaging,
        messages=(flooding + averaging) * messages,
        bytes=BYTES_PER_NUMBER * messages * numbers,
        basis=basis,
    )


def _is_linear(problem: Problem, values: FloatArray, goal: float) -> bool:
    """Return whether first order is enough for means where values have an error of 1.

    It is not where slopes are 0, as for the variance of as many zeros as ones.
    """
    size = float(np.sqrt(np.mean(values**2)))
    mean = problem.features.mean(axis=0)
    near = mean + (problem.features - mean) / max(size, 1.0)
    errors = (problem.read(near) - problem.limit) / goal
    return bool(
        np.sqrt(np.mean(errors**2)) <= _LARGEST_FIRST_ORDER_ERROR
    )  # not if some are undefined


def _averaging(case: Case, setup: Setup, values: FloatArray) -> tuple[int, str]:
    """Return the number of exchanges until averaged values have an error of 1, and its basis."""
    graph, table = case.graph, setup.timetable
    if table.sweep is not None:
        return _predict_sweep(table.sweep, table.stride, values), "exact"
    if table.name == RANDOM and graph.n <= _LARGEST_EXACT:
        last = _certainly_below(graph, case.law, values)
        points = math.ceil(_POINTS_PER_DECADE * math.log10(last))
        found = _first_below(
            lambda at: averaging_error(values, graph, at, case.law), last, last, points
        )
        if found is not None:
            return found, "exact"
    way = Way("averaging", "async", table.name)
    pilot = _pilot(case, case.request(way, data=values).setup(), 1.0)
    return pilot.crossing(), "simulated"


def _certainly_below(graph: Graph, law: NamedOrGiven, values: FloatArray) -> int:
    """Bound the number of random exchanges until averaged values have an error below 1.

    Every exchange shrinks the expected square by half the gap or more. Later exchanges would need
    many more steps of Lanczos, to compute vanishing errors.
    """
    square = float(np.mean((values - values.mean()) ** 2))
    wanted = 2.0 * math.log(max(square, math.e)) / graph.normalized_gap(law)
    return min(math.ceil(wanted) + graph.n, _LAST_EXCHANGE)


def _predict_sweep(sweep: Sweep, relaxation: float, values: FloatArray) -> int:
    """Return the number of ordered exchanges until averaged values have an error of 1."""
    edges, turns = len(sweep.edges), _EXCHANGES_PER_TURN * sweep.colors
    last = max(_MOST_SWEPT * edges // (edges + turns), 8 * edges)
    found = _first_below(
        lambda at: sweep_error(values, sweep, at, relaxation), 8 * edges, last, 200
    )
    if found is None:
        raise _too_slow(last)
    return found


def _first_below(
    error_at: Callable[[IntArray], FloatArray], latest: int, last: int, points: int
) -> int | None:
    """Return the number of exchanges from which on a curve of errors stays below 1.

    The curve is computed at ``points`` points up to ``latest``, and if need be up to later ones
    until ``last``. Return None if it does not stay below 1, or is unknown (NaN) that far.
    """
    while True:
        grid = np.unique(np.rint(np.geomspace(1, latest, points)).astype(np.int64))
        errors = error_at(grid)
        is_known = ~np.isnan(errors)
        grid, errors = grid[is_known], errors[is_known]
        above = np.flatnonzero(errors > 1)
        if not len(above):
            return 1
        if above[-1] + 1 < len(grid):
            return _interpolate(grid, errors, int(above[-1]))
        if latest >= last:
            return None
        latest = min(4 * latest, last)


def _interpolate(exchanges: IntArray, errors: FloatArray, at: int) -> int:
    """Return the exchange between this point and the next where the errors fall below 1."""
    if errors[at] == np.inf:
        return int(exchanges[at + 1])
    logs = np.log(np.maximum(errors[at : at + 2], np.finfo(np.float64).tiny))
    part = logs[0] / (logs[0] - logs[1])
    return math.ceil(exchanges[at] + part * (exchanges[at + 1] - exchanges[at]))


def _exchanges_until_known(case: Case, setup: Setup, holders: IntArray) -> int:
    """Return the mean number of exchanges until all nodes know the rows of these nodes."""
    with needed_for("A plan"):
        from pairgossip.engine.estimation.averages import KnownItems
    most, total = _MOST_UNITED // (1 + len(holders) // _ITEMS_AT_ONCE), 0
    for number in range(_TRIALS):
        known = KnownItems(case.graph.n, holders)
        schedule = setup.timetable.start(case.graph, setup.law, child(case.seed, number), 1)
        while (ended := known.exchange(schedule.draw(BLOCK)[0])) is None:
            total += BLOCK
            if total > most and number == 0:
                raise _too_slow(most)
        total += ended
        if total > most:
            break
    return math.ceil(total / (number + 1))


# Rows that travel: all of them to all nodes, or one at a time.


def _predict_collection(case: Case, row: PlannedMethod, setup: Setup) -> PlannedMethod:
    n = case.graph.n
    exchanges = _exchanges_until_known(case, setup, np.arange(n))
    digest, one_row = -(-n // 8), BYTES_PER_NUMBER * setup.problem.dimension + BYTES_PER_NAME
    sent = 2 * exchanges * digest + len(setup.problem.data) * (n - 1) * one_row
    messages = MESSAGES_OF_COLLECTING * exchanges
    return replace(row, exchanges=exchanges, messages=messages, bytes=sent, basis="simulated")


def _predict_tokens(case: Case, row: PlannedMethod, setup: Setup) -> PlannedMethod:
    problem, graph = setup.problem, setup.graph
    relaxation = 1 / graph.normalized_gap(setup.law)
    wanted = max(_LONGEST_PILOT * relaxation, _LONGEST_PER_NODE * problem.n)
    longest, trials = (_PILOT, _TRIALS) if problem.fusible else (_SLOW_PILOT, _SLOW_TRIALS)
    most = min(int(wanted), longest)
    pilot = _pilot(case, setup, case.goal, most, trials)
    if not pilot.reached and most < _SHORTEST_PILOT * relaxation:
        raise _too_slow(int(pilot.exchanges[-1]))
    exchanges = pilot.fit()
    # Exchanges between the rows of one site send nothing.
    share = graph.network_fraction(setup.law) if isinstance(graph, GroupedGraph) else 1.0
    messages = round(2 * exchanges * share)
    numbers = problem.dimension + setup.method.numbers_averaged(problem.components)
    return replace(
        row,
        exchanges=exchanges,
        messages=messages,
        bytes=messages * BYTES_PER_NUMBER * numbers,
        basis="simulated" if pilot.reached else "fitted",
    )


class _Pilot(NamedTuple):
    """Errors of a pilot run at its checkpoints, in units of the goal.

    The run ends at twice the exchanges at which it reached the goal.
    """

    exchanges: IntArray
    errors: FloatArray

    @property
    def reached(self) -> bool:
        """Whether the errors fell below the goal."""
        return bool((self.errors <= 1).any())

    def crossing(self) -> int:
        """Return the exchange where the errors first fell below the goal, or raise `InputError`."""
        if not self.reached:
            raise _too_slow(int(self.exchanges[-1]))
        first = int(np.argmax(self.errors <= 1))
        if first == 0:
            return int(self.exchanges[0])
        return _interpolate(self.exchanges, self.errors, first - 1)

    def fit(self) -> int:
        """Return the exchange where sqrt(c/t + b/t^2), fitted to the late part, falls below the
        goal.

        If the goal was reached, the late part is around that exchange.
        """
        late = self.exchanges >= self.exchanges[-1] / 8
        late &= (self.errors > 0) & (self.errors < np.inf)
        if not late.any():  # all nodes were exact at once, or some never had an estimate
            return self.crossing()
        c, b = _fit_tail(self.exchanges[late].astype(np.float64), self.errors[late] ** 2)
        fitted = math.ceil((c + math.sqrt(c**2 + 4 * b)) / 2)  # where c/t + b/t^2 = 1
        last = int(self.exchanges[-1])
        return min(fitted, last) if self.reached else max(fitted, last)


def _fit_tail(t: FloatArray, squares: FloatArray) -> tuple[float, float]:
    """Return c and b >= 0 with the c/t + b/t^2 nearest to squares, in relative error."""
    terms = np.column_stack([1 / t, 1 / t**2]) / squares[:, None]
    c, b = np.linalg.lstsq(terms, np.ones(len(t)))[0]
    if b < 0:
        return float(terms[:, 0].sum() / (terms[:, 0] @ terms[:, 0])), 0.0
    if c < 0:
        return 0.0, float(terms[:, 1].sum() / (terms[:, 1] @ terms[:, 1]))
    return float(c), float(b)


def _pilot(
    case: Case, setup: Setup, goal: float, most: int = _PILOT, count: int = _TRIALS
) -> _Pilot:
    """Run a few trials side by side until twice the exchanges at which they reach the goal."""
    grid = np.rint(np.geomspace(min(case.graph.n, most / 2), most, _CHECKPOINTS)).astype(np.int64)
    checkpoints = np.unique(grid)
    # Trials measure more than this needs, at each of their own checkpoints: they get only one.
    setup = replace(setup, checkpoints=checkpoints[-1:], timed=False)
    trials = [setup.start(child(case.seed, number)) for number in range(count)]
    errors: list[float] = []
    reached = math.inf
    for last in checkpoints.tolist():
        for trial in trials:
            trial.advance(last - trial.done, lambda block, exchanges: None)
        found = np.array([_error_of(trial.read(), setup.target) for trial in trials]) / goal
        errors.append(float(np.sqrt(np.mean(found**2))))
        if errors[-1] <= 1:
            reached = min(reached, last)
        if last >= 2 * reached:
            break
    return _Pilot(checkpoints[: len(errors)], np.array(errors))


def _error_of(estimates: FloatArray, target: float | FloatArray) -> float:
    """Return the root mean square error; infinite while a node has no estimate.

    A ratio is undefined until its node has met a pair that counts.
    """
    error = root_mean_square(estimates - target)
    return math.inf if math.isnan(mean(estimates)) else error


def _too_slow(exchanges: int) -> InputError:
    return InputError(
        f"A pilot of {exchanges:,} exchanges is too short for a prediction: information "
        "needs longer to spread over this network."
    )
