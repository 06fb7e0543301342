"""What a run or a fit sent until each checkpoint, and the axes its curves are drawn against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import WHOLE_SETS
from pairgossip.errors import InputError
from pairgossip.graphs import Graph, GroupedGraph

AGAINST = ("exchanges", "time", "messages", "bytes", "iterations")


class Traffic(NamedTuple):
    """Totals until each checkpoint, each of shape (trials, checkpoints)."""

    network: IntArray
    """Exchanges between sites."""
    local: IntArray
    """Exchanges between rows of one site, which are free."""
    bytes: IntArray
    """Bytes of payload sent between sites."""

    @classmethod
    def of_records(cls, records: Iterable[Any], kept: int) -> Traffic:
        """Collect what the trials noted at their first checkpoints."""
        noted = np.array([record.traffic[:kept] for record in records])
        return cls(*np.moveaxis(noted, 2, 0))

    def followed_by(self, later: Traffic, rows: IntArray) -> Traffic:
        """Join the totals of a fit's trials in these rows and of their continuation."""
        pairs = zip(self, later, strict=True)
        return Traffic(*(np.concatenate([mine[rows], new], axis=1) for mine, new in pairs))


def join_traffic(parts: Sequence[Traffic], order: IntArray) -> Traffic:
    """Put the trials of several results together, in this order."""
    return Traffic(*(np.concatenate(arrays)[order] for arrays in zip(*parts, strict=True)))


class Counts:
    """The counts and axes that runs and fits share; rows of a site exchange for free."""

    if TYPE_CHECKING:
        iterations: IntArray
        graph: Graph
        times: FloatArray | None
        groups: IntArray | None
        construction: str | None
        traffic: Traffic

    @property
    def trials(self) -> int:
        """Number of independent repetitions."""
        raise NotImplementedError

    @property
    def exchanges_per_iteration(self) -> int:
        """How many exchanges an iteration makes."""
        return 1

    @property
    def sites(self) -> Graph:
        """The network that messages travel: the graph of the sites, or the graph itself."""
        return self.graph.sites if isinstance(self.graph, GroupedGraph) else self.graph

    @property
    def exchanges(self) -> IntArray:
        """Exchanges made until each checkpoint, local ones included."""
        return self.iterations * self.exchanges_per_iteration

    @property
    def network_exchanges(self) -> IntArray:
        """Exchanges between sites until each checkpoint, shape (trials, checkpoints)."""
        if self.construction is None:
            return np.tile(self.exchanges, (self.trials, 1))
        return self.traffic.network

    @property
    def local_exchanges(self) -> IntArray:
        """Exchanges between rows of one site, which send nothing, shape (trials, checkpoints)."""
        if self.construction is None:
            return np.zeros((self.trials, len(self.iterations)), dtype=np.int64)
        return self.traffic.local

    @property
    def messages(self) -> NDArray[Any]:
        """Messages sent over the network until each checkpoint: one either way per exchange.

        With groups, where chance decides which exchanges are local, the mean over the trials.
        """
        if self.construction is None:
            return 2 * self.exchanges
        return 2 * self.network_exchanges.mean(axis=0)

    @property
    def trial_bytes(self) -> IntArray:
        """Bytes of payload sent until each checkpoint, shape (trials, checkpoints)."""
        return self.traffic.bytes

    @property
    def bytes(self) -> FloatArray:
        """Bytes of payload sent until each checkpoint, mean over the trials.

        A message carries one observation with its label, or a whole set of them, and what the
        method averages: 8 bytes a number.
        """
        return self.trial_bytes.mean(axis=0)

    def axis(self, against: str = "exchanges") -> FloatArray:
        """Return the x axis of curves: exchanges, messages, bytes, time or iterations.

        Messages, bytes and time are means over the trials.
        """
        if against not in AGAINST:
            raise InputError(f"Curves are drawn against {', '.join(AGAINST)}, not '{against}'.")
        if against == "time":
            if self.times is None:
                raise InputError(
                    "A synchronous run has no clock times: use {argument}.", "clock", "async"
                )
            return self.times.mean(axis=0)
        values: FloatArray = getattr(self, against).astype(np.float64)
        return values


def groups_of(graph: Graph, site_of: IntArray | None) -> tuple[IntArray | None, str | None]:
    """Return the site of every row, and how sites exchange; None and None without groups."""
    if isinstance(graph, GroupedGraph):
        return graph.site_of, graph.construction
    return site_of, None if site_of is None else WHOLE_SETS


def site_means(values: FloatArray, groups: IntArray, sites: int) -> FloatArray:
    """Average over the rows of each site: (..., rows) to (..., sites); undefined ones left out."""
    known = ~np.isnan(values)
    flat, defined = values.reshape(-1, len(groups)), known.reshape(-1, len(groups))
    means = np.empty((len(flat), sites))
    for row, (numbers, mask) in enumerate(zip(flat, defined, strict=True)):
        count = np.bincount(groups[mask], minlength=sites)
        sums = np.bincount(groups[mask], numbers[mask], sites)
        means[row] = np.where(count > 0, sums / np.maximum(count, 1), np.nan)
    return means.reshape(*values.shape[:-1], sites)
