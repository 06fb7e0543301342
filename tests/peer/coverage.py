"""Networks of the plain algorithm, watched by a few peers that estimate their own errors.

The loop is separate, since thousands of runs are needed; a test compares it with
`weighted_gosta.step`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import add

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.kernels import Combination, Kernel
from pairgossip.kernels.kernel import as_kernel
from pairgossip.peer.estimates.uncertainty import Uncertainty
from pairgossip.peer.protocol.messages import FIRST_GENERATION, Record
from pairgossip.peer.protocol.nodes import picks_per_exchange
from pairgossip.peer.protocol.rules import PaperMixing, Rule, WeightedMixing
from pairgossip.peer.protocol.state import Node, State

KERNELS = ("gini", "variance", "auc")


def make_graph(name: str, n: int, seed: int) -> pg.Graph:
    """Return a graph by the name of its family; a torus is as square as possible."""
    side = max(s for s in range(1, n) if n % s == 0 and s * s <= n)
    return {
        "complete": lambda: pg.graphs.complete(n),
        "watts-strogatz": lambda: pg.graphs.watts_strogatz(n, 4, 0.3, seed=seed),
        "cycle": lambda: pg.graphs.cycle(n),
        "path": lambda: pg.graphs.path(n),
        "star": lambda: pg.graphs.star(n),
        "torus": lambda: pg.graphs.torus(side, n // side),
    }[name]()


def make_data(kernel: str, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw incomes, plain numbers, or scores with labels."""
    if kernel == "gini":
        return np.exp(0.7 * rng.normal(size=n))
    if kernel == "variance":
        return rng.normal(size=n)
    labels = rng.permutation(np.arange(n) < 0.4 * n).astype(float)
    return np.column_stack([rng.normal(size=n) + labels, labels])


def pair_values(kernel: Kernel | Combination, data: FloatArray) -> FloatArray:
    """Return the kernel's components for all pairs, shape (n, n, components)."""
    n = len(data)
    first, second = np.repeat(data, n, axis=0), np.concatenate([data] * n)
    return np.stack([one(first, second).reshape(n, n) for one in kernel.components], axis=-1)


@dataclass
class Network:
    """One run of the plain algorithm, as peers with one or more rows carry it out."""

    graph: pg.Graph
    data: FloatArray
    """The rows of the first peer, then those of the second, and so on."""
    kernel: str
    seed: int
    watched: Sequence[int] = ()
    mixing: str = "weighted"
    asleep: frozenset[int] = frozenset()
    """Peers that take part in no exchange."""
    rows: Sequence[int] = ()
    """The number of rows of each peer; one unless given."""
    seers: dict[int, Uncertainty] = field(init=False)

    def __post_init__(self) -> None:
        known = as_kernel(self.kernel)
        table = pair_values(known, self.data)
        self.exact = float(known.combine(table.mean(axis=(0, 1))))
        self.rows = self.rows or [1] * self.graph.n
        self._first = [0, *itertools.accumulate(self.rows)]
        owners = [peer for peer, count in enumerate(self.rows) for _ in range(count)]
        self._records = [
            Record(str(peer), node - self._first[peer], FIRST_GENERATION, (), b"")
            for node, peer in enumerate(owners)
        ]
        self.weights = [
            self.rows[peer]
            / (self.graph.degrees.tolist()[peer] * picks_per_exchange(self.rows[peer]))
            for peer in owners
        ]
        if self.mixing == "weighted":  # what a node adds: its weight times the values and one
            ones = np.ones((*table.shape[:2], 1))
            table = np.concatenate([table, ones], axis=2) * np.reshape(self.weights, (-1, 1, 1))
        self._values: list[list[list[float]]] = table.tolist()
        self.held = list(range(len(owners)))
        size = len(known.components) + (self.mixing == "weighted")
        self.mass = [[0.0] * size for _ in owners]
        self._node_picks = [0] * len(owners)
        self.picks = [0] * self.graph.n
        """Exchanges of each peer."""
        self._edges = self.graph.edges.tolist()
        self._chance = random.Random(self.seed)
        rule: Rule = WeightedMixing(known) if self.mixing == "weighted" else PaperMixing(known)
        self._has_two = [picks_per_exchange(rows) > 1 for rows in self.rows]
        self._nodes = {k: [self._node(node) for node in self._of(k)] for k in self.watched}
        self.seers = {k: Uncertainty(rule, self.state(k), self._others(k)) for k in self.watched}

    def _of(self, peer: int) -> range:
        return range(self._first[peer], self._first[peer + 1])

    def _others(self, peer: int) -> dict[str, int]:
        return {str(k): count for k, count in enumerate(self.rows) if k != peer}

    def _node(self, node: int) -> Node:
        private = () if self.mixing == "weighted" else (float(self._node_picks[node]),)
        return Node(self._records[self.held[node]], tuple(self.mass[node]), private)

    def state(self, peer: int) -> State:
        """Return the state that a peer would have on its disk."""
        return _state([self._node(node) for node in self._of(peer)], self.picks[peer])

    def estimate(self, peer: int) -> float:
        """Return the quotient that a peer reports."""
        mass = [sum(column) for column in zip(*(self.mass[k] for k in self._of(peer)), strict=True)]
        return mass[0] / (mass[1] if len(mass) > 1 else self.rows[peer])

    def run(self, exchanges: int) -> None:
        """Let this many pairs of neighbors meet."""
        for _ in range(exchanges):
            i, j = self._edges[int(self._chance.random() * len(self._edges))]
            if not self.asleep or not {i, j} & self.asleep:
                self.meet(i, j)

    def run_until(self, exchanges: int) -> None:
        """Run until all watched peers have made this many exchanges."""
        while min(self.picks[k] for k in self.watched) < exchanges:
            self.run(len(self._edges))

    def meet(self, i: int, j: int) -> None:
        """Make one exchange between two peers, and then one between two rows of each."""
        x, y = self._drawn(i), self._drawn(j)
        self._exchange(x, y)
        for peer, node in ((i, x), (j, y)):
            self.picks[peer] += 1
            changed = [node]
            if self._has_two[peer]:
                changed += self._chance.sample(self._of(peer), 2)
                self._exchange(*changed[1:])
            if peer in self.seers:
                first = self._first[peer]
                rows = {node - first for node in changed}
                for row in rows:
                    self._nodes[peer][row] = self._node(first + row)
                # The state is only inspected, so rows need not be copied.
                state = _state(self._nodes[peer], self.picks[peer])
                self.seers[peer].observe(state, rows)

    def _drawn(self, peer: int) -> int:
        """Draw one of a peer's rows; return its node."""
        rows = self.rows[peer]
        return self._first[peer] + (self._chance.randrange(rows) if rows > 1 else 0)

    def _exchange(self, x: int, y: int) -> None:
        """Make one exchange of the plain algorithm between two nodes."""
        held = self.held
        held[x], held[y] = held[y], held[x]
        average = [(a + b) / 2 for a, b in zip(self.mass[x], self.mass[y], strict=True)]
        for k in (x, y):
            self._node_picks[k] += 1
            value = self._values[k][held[k]]
            if self.mixing == "weighted":
                self.mass[k] = list(map(add, average, value))
            else:
                m = self._node_picks[k]
                self.mass[k] = [a + (b - a) / m for a, b in zip(average, value, strict=True)]


@dataclass
class Coverage:
    """How often intervals held the exact value, at one length, of peers with this many rows."""

    exchanges: int
    rows: int = 1
    hits: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    """Half of the intervals' widths, relative to the exact value as the errors are."""
    errors: list[float] = field(default_factory=list)
    silent: int = 0
    """The number of peers that had no interval yet."""
    _errors_of_runs: dict[int, list[float]] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The share of given intervals that hold the exact value."""
        return float(np.mean(self.hits)) if self.hits else float("nan")

    @property
    def given(self) -> float:
        """The share of peers that gave an interval."""
        return len(self.hits) / (len(self.hits) + self.silent)

    @property
    def ideal(self) -> float:
        """Half of the width that would hold 95 % if the root mean square error were known."""
        return 1.96 * float(np.sqrt(np.mean(np.square(self.errors))))

    @property
    def excess(self) -> float:
        """The ratio of the mean half-width to the ideal one."""
        return float(np.mean(self.widths)) / self.ideal

    @property
    def bias(self) -> tuple[float, float]:
        """The mean error of all peers and its standard error; peers of one run count as one."""
        means = [np.mean(errors) for errors in self._errors_of_runs.values()]
        return float(np.mean(means)), float(np.std(means, ddof=1) / len(means) ** 0.5)

    def add(self, network: Network) -> None:
        """Ask the watched peers with this many rows."""
        for peer, seer in network.seers.items():
            if network.rows[peer] != self.rows:
                continue
            error = network.estimate(peer) / network.exact - 1
            self._errors_of_runs.setdefault(network.seed, []).append(error)
            found = seer.interval()
            if found is None:
                self.silent += 1
                continue
            low, high = found
            self.hits.append(low <= network.exact <= high)
            self.widths.append((high - low) / 2 / abs(network.exact))
            self.errors.append(error)


def coverage(
    graph: str,
    n: int,
    kernel: str,
    lengths: Sequence[int],
    runs: int,
    *,
    watched: int = 4,
    mixing: str = "weighted",
    rows: Sequence[int] = (),
    unlike: bool = False,
) -> Iterator[Coverage]:
    """Run networks, each with new data and random numbers; yield an entry per length and row count.

    With ``unlike`` the rows are dealt in sorted order, so that peers' rows differ: what a peer
    gathers before records have spread is then biased in the same direction in every run.
    """
    counts = sorted(set(rows), reverse=True) or [1]
    found = [Coverage(length, count) for length in lengths for count in counts]
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        seers = rng.choice(n, watched, replace=False).tolist()
        data = make_data(kernel, sum(rows) or n, rng)
        if unlike:
            data = data[np.argsort(data.reshape(len(data), -1)[:, 0])]
        made = make_graph(graph, n, seed)
        network = Network(made, data, kernel, seed, seers, mixing, rows=rows)
        for entry in found:
            network.run_until(entry.exchanges)
            entry.add(network)
    yield from found


def _state(nodes: Sequence[Node], picks: int) -> State:
    return State(FIRST_GENERATION, seq=0, nodes=nodes, pending={}, outcomes={}, exchanges=picks)
