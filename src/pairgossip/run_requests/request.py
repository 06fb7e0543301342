"""Runs of `estimate` and `minimize`: the checks of their arguments, their rows, their trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

import numpy as np

from pairgossip.arguments.argument import check_declared
from pairgossip.arguments.run import RunArguments
from pairgossip.arrays import IntArray
from pairgossip.checks import (
    BEST_LAW,
    ITERATIONS_PER_NODE,
    ORDERED,
    TREE,
    UNIFORM_EDGES,
    check_jobs,
    checkpoint_grid,
    trial_numbers,
)
from pairgossip.engine.compiling import noticing_compilation
from pairgossip.engine.schedule import root_seed, stream
from pairgossip.engine.trials import Experiment, Outcome, R, run_trials
from pairgossip.errors import InputError, InterruptedRun, MissingExtra, notify
from pairgossip.faults import Faults
from pairgossip.faults.network import FaultyNetwork, resolve
from pairgossip.graphs import Graph
from pairgossip.graphs.grouped.grouping import Placement, place_rows
from pairgossip.graphs.laws import NamedOrGiven, as_law, settle_law
from pairgossip.kernels.rows import check_classes, prepare_rows
from pairgossip.networks.best_law import best_law
from pairgossip.progress import Advance, LateBar, Show, progress_bar
from pairgossip.results.fit import Fit
from pairgossip.results.run import Run
from pairgossip.run_requests.faults import WHO, check_length
from pairgossip.text import format_count

Kind = TypeVar("Kind", bound=Run | Fit)


@dataclass(kw_only=True)
class Request(RunArguments):
    """The arguments of a run; creating one checks those that need no data."""

    row_arguments: ClassVar[Sequence[str]] = ("data", "labels", "groups")
    """The arguments that have an entry for every row."""

    rows_dropped: int = field(default=0, init=False)
    positive_class: str | None = field(default=None, init=False)
    """The name of the positive class in results; None if there is no such class."""
    label_name: str | None = field(default=None, init=False)
    """The name of the higher one of two labels, even if the order does not matter."""

    def __post_init__(self) -> None:
        check_declared(self)
        if not isinstance(self.law, str):
            self.law = as_law(self.law)
        self.asked_faults = Faults.check(self.faults)
        self.trial_numbers = trial_numbers(self.trials)
        check_jobs(self.n_jobs)
        self.root = root_seed(self.seed)

    def prepare_rows(self) -> None:
        """Leave out rows with missing values or refuse them, and number declared classes."""
        names, classes = getattr(self.privacy, "names", None), self.classes
        positive = self.positive
        if names is not None and positive == names[-1]:
            positive = None  # the mechanism has it
        if names is not None and classes is not None:
            if list(names) != check_classes(classes):
                raise InputError(
                    "The privacy mechanism declares other classes, or another order: leave "
                    "{argument} out, or give the same.",
                    "classes",
                )
            classes = None  # the mechanism looks labels up itself
        columns = {name: getattr(self, name) for name in self.row_arguments}
        kernel = getattr(self, "kernel", None)
        rows = prepare_rows(self.missing, classes, columns, positive, self.columns, kernel)
        vars(self).update(rows.columns, columns=None)  # the columns are read
        self.label_name = str(names[-1]) if names and len(names) == 2 else rows.positive
        self.rows_dropped += rows.dropped

    @property
    def entropy(self) -> int:
        """The seed that the user gave, or the one drawn in its place."""
        return int(self.root.entropy)  # type: ignore[arg-type]

    def place(self, rows: int) -> Placement:
        """Return the network, and the rows of its nodes."""
        nodes = getattr(self.graph, "n", rows)
        if self.groups is None and nodes == rows + self.rows_dropped > rows:
            raise InputError(
                f"The graph has {nodes} nodes, one per row, but {rows} rows remain, since "
                f"{format_count(self.rows_dropped, 'row')} with missing values were left out: "
                "fill the values in, or give {argument} for the rows that remain.",
                "graph",
            )
        return place_rows(self.graph, rows, self.groups, self.construction, self.entropy)

    def settle_law(self, graph: Graph) -> NamedOrGiven:
        """Return the law of edges; raise `InputError` if it does not fit this network.

        The best law is computed here, except for schedules that refuse every law.
        """
        law = self.law
        if isinstance(law, str) and law == BEST_LAW:
            if self.schedule in (ORDERED, TREE):
                return BEST_LAW
            law = UNIFORM_EDGES if graph.n == 1 else best_law(graph, self._shown)
        law = settle_law(graph, law)
        self.law = law
        return law

    def find_faulty(self, graph: Graph, components: int, iterations: int) -> FaultyNetwork | None:
        """Return the faults on a network, with the nodes that crash and lie, drawn by the seed.

        None if there are no faults.
        """
        if self.asked_faults is None:
            return None
        check_length(self.asked_faults, iterations)
        return resolve(self.asked_faults, graph, stream(self.root, WHO, 0), components)

    @property
    def _shown(self) -> Show:
        """Whether a bar is shown: a progress function gets iterations, and nothing else."""
        return None if callable(self.progress) else self.progress

    def spread_nodes(self, nodes: int, count: int) -> IntArray:
        """Return evenly spaced nodes, at most this number."""
        return np.unique(np.linspace(0, nodes - 1, min(nodes, count)).astype(np.int64))

    def grid(self, nodes: int, most: int | None = None) -> IntArray:
        """Return the checkpoints; the last is the number of iterations, which may end sooner."""
        longest = ITERATIONS_PER_NODE * nodes if most is None else most
        last = longest if self.iterations is None else self.iterations
        return checkpoint_grid(last if most is None else min(last, most), self.checkpoints)

    def run(self, experiment: Experiment[R], title: str) -> Outcome[R]:
        """Run all trials; raise `KeyboardInterrupt` if it came before any result."""
        total = len(self.trial_numbers) * experiment.iterations
        with (
            progress_bar(title, total, self.progress) as advance,
            _announcing_compilation(advance),
        ):
            outcome = run_trials(experiment, self.root, self.trial_numbers, self.n_jobs, advance)
        if not outcome.records:
            raise KeyboardInterrupt
        return outcome

    def finish(self, result: Kind, last: int) -> Kind:
        """Note rows left out and the positive class; warn the caller if the run is interrupted."""
        if result.status == "interrupted":
            notice = InterruptedRun(
                f"Interrupted: kept {result.trials} of {len(self.trial_numbers)} trials, "
                f"up to iteration {result.iterations[-1]:,} of {last:,}."
            )
            notify(notice)
        return replace(
            result, rows_dropped=self.rows_dropped, positive=self.positive_class or result.positive
        )


@contextmanager
def _announcing_compilation(advance: Advance | None) -> Iterator[None]:
    """Let a bar say when loops are compiled; without one, or a compiler, do nothing."""
    with ExitStack() as stack:
        if isinstance(advance, LateBar):
            with suppress(MissingExtra):
                noticing = noticing_compilation(advance.tell_compiling, everywhere=True)
                stack.enter_context(noticing)
        yield
