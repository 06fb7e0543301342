"""The common part of runs and fits: settings, traffic, and the axes of curves."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import WHOLE_SETS
from pairgossip.engine.descent.trial import DescentSetup
from pairgossip.engine.estimation.trial import Setup
from pairgossip.engine.solver_trials.trial import SolverSetup
from pairgossip.engine.trials import Outcome
from pairgossip.errors import InputError
from pairgossip.faults.network import FaultyNetwork
from pairgossip.graphs import Graph, GroupedGraph
from pairgossip.graphs.laws import NamedOrGiven, name_law
from pairgossip.pages.page import Facts, Figure, Paragraph, show
from pairgossip.privacy import RandomizedResponse
from pairgossip.privacy.estimation import as_record
from pairgossip.results.charts import draw_chart
from pairgossip.results.fields import (
    CURVE,
    ITERATION,
    PAGE,
    PER_TRIAL,
    ROW,
    Fact,
    about,
    at_end,
    collect,
    curve,
    has_faults,
    loses_halves,
    parts_of,
    shown_facts,
)
from pairgossip.results.provenance import Fingerprint, as_fingerprint
from pairgossip.text import format_count, printable

AGAINST = ("exchanges", "time", "messages", "bytes", "iterations")


class Traffic(NamedTuple):
    """Totals until each checkpoint, each of shape (trials, checkpoints)."""

    network: IntArray
    """Exchanges between sites."""
    local: IntArray
    """Exchanges between rows of one site, which are free."""
    messages: IntArray
    """Messages between sites: two per exchange, three where rows are collected, one along a tree.
    """
    bytes: IntArray
    """Bytes of payload sent between sites."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Result:
    """The common part of runs and fits. Curves run over the checkpoints in ``iterations``."""

    kind: ClassVar[str]

    clock: str = field(metadata=about(alike=True))
    law: NamedOrGiven = field(metadata=about(alike=True, encode=name_law))
    """The law of random edges, by its name or its probabilities."""
    iterations: IntArray = field(metadata=about(dims=(ITERATION,), alike=True))
    graph: Graph
    """The network: with groups that of the rows of all sites, or for whole sets that of the
    sites."""
    seed: int = field(metadata=about(encode=str, decode=int))  # a seed may exceed 64 bits
    status: str = field(metadata=about())
    """``"done"`` or ``"interrupted"``."""
    times: FloatArray | None = field(default=None, metadata=about(dims=CURVE, column="time"))
    """Time of each checkpoint on Poisson clocks, shape (trials, checkpoints); None if sync.

    The network makes n exchanges per unit of time.
    """
    trial_numbers: IntArray = field(metadata=about(dims=PER_TRIAL))
    """The numbers of the trials; an interrupted run may keep the third without the second."""
    fingerprint: Fingerprint = field(metadata=about(encode=dict, decode=as_fingerprint))
    """The parts of the problem; results are joined or continued only if these are the same."""
    traffic: Traffic = field(metadata=about(dims=CURVE, parts=parts_of(Traffic, "traffic")))
    """The totals of exchanges, messages and bytes."""
    groups: IntArray | None = field(default=None, metadata=about(dims=(ROW,), alike=True))
    """The site of every row; None without groups."""
    construction: str | None = field(default=None, metadata=about(alike=True, omitted=True))
    """How sites exchange: "lexicographic", "blow-up" or "whole-sets"; None without groups."""
    privacy: RandomizedResponse | None = field(
        default=None,
        metadata=about(
            alike=True,
            encode=as_record,
            decode=lambda record: RandomizedResponse(**record),
            omitted=True,
        ),
    )
    """The mechanism that randomized observations before nodes used them; None for no mechanism."""
    faults: str | None = field(
        default=None,
        metadata=about(
            alike=True,
            omitted=True,
            decode=lambda text: printable(str(text)),
            fact=Fact("faults", str),
        ),
    )
    """The faults, as `Faults` writes them; None for none."""
    honest: IntArray | None = field(default=None, metadata=about(dims=("honest",), alike=True))
    """The nodes that neither lie nor crash; None without faults."""
    trial_lost: IntArray | None = field(
        default=None,
        metadata=curve("lost", has_faults, Fact("exchanges that were lost", at_end, "lost")),
    )
    """The number of exchanges that rang and did not take place, shape (trials, checkpoints)."""
    trial_half_lost: IntArray | None = field(
        default=None,
        metadata=curve(
            "half_lost", loses_halves, Fact("exchanges that were half lost", at_end, "half_lost")
        ),
    )
    """The number of exchanges that one of the two nodes missed, shape (trials, checkpoints)."""
    rows_dropped: int = field(default=0, metadata=about(decode=int))
    """The number of rows left out because values were missing."""
    positive: str | None = field(
        default=None, metadata=about(decode=lambda text: printable(str(text)))
    )
    """The positive one of two classes; None where there are no classes."""

    def _repr_html_(self) -> str:
        """Return the content for a notebook: the run, and the facts that are known about it."""
        known = ((fact, value) for _, fact, value in shown_facts(self, PAGE) if value is not None)
        rows = tuple((fact.label, _spell(value, fact.digits)) for fact, value in known)
        facts = (Facts(rows),) if rows else ()
        return show((Paragraph(repr(self)[1:-1]), *facts, *self._figures()))

    def _figures(self) -> list[Figure]:
        """Return the curve of the estimates or of the objective, if it has a number."""
        picture = draw_chart(self)  # type: ignore[arg-type]  # a Run or a Fit
        return [] if picture is None else [Figure(picture)]

    @property
    def trials(self) -> int:
        """Number of independent repetitions."""
        return len(self.trial_numbers)

    @property
    def nodes(self) -> int:
        """Number of nodes: one per row, or with whole sets one per site."""
        return self.graph.n

    @property
    def rows(self) -> int:
        """Number of observations."""
        return self.nodes if self.groups is None else len(self.groups)

    @property
    def _extent(self) -> str:
        where = format_count(self.nodes, "node")
        if self.groups is not None:
            where = f"{format_count(self.rows, 'row')} at {format_count(self.sites.n, 'site')}"
        trials = format_count(self.trials, "trial")
        of = "" if self.positive is None else f", positive: {self.positive}"
        of += "" if self.faults is None else f", {self.faults}"
        return f"{where}: {trials}, {format_count(self.iterations[-1], 'iteration')}{of}"

    @property
    def sites(self) -> Graph:
        """The network that messages travel: the graph of the sites, or the graph itself."""
        return self.graph.sites if isinstance(self.graph, GroupedGraph) else self.graph

    @property
    def exchanges(self) -> NDArray[Any]:
        """Exchanges made until each checkpoint, local ones included; mean over the trials."""
        return _common(self.traffic.network + self.traffic.local)

    @property
    def network_exchanges(self) -> IntArray:
        """Exchanges between sites until each checkpoint, shape (trials, checkpoints)."""
        return self.traffic.network

    @property
    def local_exchanges(self) -> IntArray:
        """Exchanges between rows of one site, which send nothing, shape (trials, checkpoints)."""
        return self.traffic.local

    @property
    def messages(self) -> NDArray[Any]:
        """Messages sent over the network until each checkpoint, mean over the trials.

        Two per exchange between sites, three where rows are collected, one along a tree, and one
        for every exchange that was lost.
        """
        return _common(self.traffic.messages)

    @property
    def has_dishonest(self) -> bool:
        """Whether some nodes lie or crash."""
        return self.honest is not None and len(self.honest) < self.nodes

    @property
    def lost(self) -> FloatArray | None:
        """Exchanges that rang and did not take place, mean over the trials; None without faults.

        Each cost one message.
        """
        return None if self.trial_lost is None else self.trial_lost.mean(axis=0)

    @property
    def half_lost(self) -> FloatArray | None:
        """Exchanges that one of the two nodes missed, mean over the trials."""
        return None if self.trial_half_lost is None else self.trial_half_lost.mean(axis=0)

    @property
    def trial_bytes(self) -> IntArray:
        """Bytes of payload sent until each checkpoint, shape (trials, checkpoints)."""
        return self.traffic.bytes

    @property
    def bytes(self) -> FloatArray:
        """Bytes of payload sent until each checkpoint, mean over the trials.

        A message carries one observation with its label, or a whole set of them, and the numbers
        that the method averages: 8 bytes a number.
        """
        return self.trial_bytes.mean(axis=0)

    def save(self, path: str | Path) -> None:
        """Write the result to one .npz file (arrays and a JSON header); `pairgossip.load` reads it.

        The user's data is not in it.
        """
        from pairgossip.results.storage import save_result

        save_result(self, Path(path))

    def axis(self, against: str = "exchanges") -> FloatArray:
        """Return the x axis of curves: exchanges, messages, bytes, time or iterations.

        Messages, bytes and time are means over the trials.
        """
        if against not in AGAINST:
            raise InputError(f"Curves are drawn against {', '.join(AGAINST)}, not '{against}'.")
        if against == "time":
            if self.times is None:
                raise InputError(
                    "Only asynchronous runs have clock times: draw this one against exchanges, "
                    "messages, bytes or iterations."
                )
            return self.times.mean(axis=0)
        values: FloatArray = getattr(self, against).astype(np.float64)
        return values


def _common(per_trial: IntArray) -> NDArray[Any]:
    """Return the value that all trials have in common, or their mean if it varies by chance."""
    alike = np.array_equal(per_trial, np.broadcast_to(per_trial[0], per_trial.shape))
    return per_trial[0] if alike else per_trial.mean(axis=0)


def collect_fields(
    kind: type[Result],
    setup: Setup | DescentSetup | SolverSetup,
    outcome: Outcome[Any],
    clock: str,
    site_of: IntArray | None,
    at: slice | IntArray | None = None,
) -> dict[str, Any]:
    """Return the records of the trials, and the fields that all results share.

    The records are at these checkpoints; by default at those that all trials have reached.
    """
    records = outcome.records
    at = slice(min(record.written for record in records)) if at is None else at
    groups, construction = groups_of(setup.graph, site_of)
    noted = np.array([record.traffic[at] for record in records])
    return {
        "law": setup.law,
        "clock": clock,
        "iterations": setup.checkpoints[at],
        "graph": setup.graph,
        "status": "interrupted" if outcome.interrupted else "done",
        "trial_numbers": np.array(outcome.numbers),
        "times": np.array([record.time[at] for record in records]) if clock == "async" else None,
        "traffic": Traffic(*np.moveaxis(noted, 2, 0)),
        "groups": groups,
        "construction": construction,
        **_describe_faults(getattr(setup, "faulty", None)),
        **collect(kind, setup, records, at),
    }


def _describe_faults(network: FaultyNetwork | None) -> dict[str, Any]:
    """Return the faults, and the nodes without faults."""
    return {} if network is None else {"faults": str(network.faults), "honest": network.honest}


def groups_of(graph: Graph, site_of: IntArray | None) -> tuple[IntArray | None, str | None]:
    """Return the site of every row, and how sites exchange; None and None without groups."""
    if isinstance(graph, GroupedGraph):
        return graph.site_of, graph.construction
    return site_of, None if site_of is None else WHOLE_SETS


def site_means(values: FloatArray, groups: IntArray, sites: int) -> FloatArray:
    """Average over the rows of each site: (..., rows) to (..., sites); undefined ones left out."""
    flat, defined = values.reshape(-1, len(groups)), ~np.isnan(values).reshape(-1, len(groups))
    means = np.empty((len(flat), sites))
    for row, (numbers, mask) in enumerate(zip(flat, defined, strict=True)):
        count = np.bincount(groups[mask], minlength=sites)
        sums = np.bincount(groups[mask], numbers[mask], sites)
        means[row] = np.where(count > 0, sums / np.maximum(count, 1), np.nan)
    return means.reshape(*values.shape[:-1], sites)


def _spell(value: Any, digits: int) -> str:
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
