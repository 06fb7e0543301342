"""Networks of the plain algorithm, seen by a few peers that judge how far off they are.

An own loop, since thousands of runs are needed; a test holds it against `weighted_gosta.step`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.kernels import Kernel, Ratio
from pairgossip.kernels.kernel import as_kernel
from pairgossip.peer.records import Record
from pairgossip.peer.rules import PaperMixing, Rule, WeightedMixing
from pairgossip.peer.state import Node, State
from pairgossip.peer.uncertainty import Uncertainty

KERNELS = ("gini", "variance", "auc")


def make_graph(name: str, n: int, seed: int) -> pg.Graph:
    """A graph by its family's name; a torus is as square as it can be."""
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
    """Incomes, plain numbers, or scores with labels."""
    if kernel == "gini":
        return np.exp(0.7 * rng.normal(size=n))
    if kernel == "variance":
        return rng.normal(size=n)
    labels = rng.permutation(np.arange(n) < 0.4 * n).astype(float)
    return np.column_stack([rng.normal(size=n) + labels, labels])


def pair_values(kernel: Kernel | Ratio, data: FloatArray) -> FloatArray:
    """The kernel's components of all pairs, shape (n, n, components)."""
    n = len(data)
    first, second = np.repeat(data, n, axis=0), np.concatenate([data] * n)
    return np.stack([one(first, second).reshape(n, n) for one in kernel.components], axis=-1)


@dataclass
class Network:
    """One run; every peer has one row."""

    graph: pg.Graph
    data: FloatArray
    kernel: str
    seed: int
    watched: Sequence[int] = ()
    mixing: str = "weighted"
    asleep: frozenset[int] = frozenset()
    """Peers that take part in no exchange."""
    seers: dict[int, Uncertainty] = field(init=False)

    def __post_init__(self) -> None:
        known = as_kernel(self.kernel)
        table = pair_values(known, self.data)
        self.exact = float(known.combine(table.mean(axis=(0, 1))))
        n = self.graph.n
        self._values: list[list[list[float]]] = table.tolist()
        self.held = list(range(n))
        self.weights = [1.0 / degree for degree in self.graph.degrees.tolist()]
        size = len(known.components) + (self.mixing == "weighted")
        self.mass = [[0.0] * size for _ in range(n)]
        self.picks = [0] * n
        self._edges = self.graph.edges.tolist()
        self._chance = random.Random(self.seed)
        rule: Rule = WeightedMixing(known) if self.mixing == "weighted" else PaperMixing(known)
        self.seers = {k: Uncertainty(rule, self.state(k), [1] * (n - 1)) for k in self.watched}

    def state(self, peer: int) -> State:
        """What a peer would have on its disk."""
        record = Record(str(self.held[peer]), 0, 0, (), b"")
        private = () if self.mixing == "weighted" else (float(self.picks[peer]),)
        node = Node(record, tuple(self.mass[peer]), private)
        return State(0, (), 0, (node,), {}, {}, self.picks[peer])

    def estimate(self, peer: int) -> float:
        """The quotient that a peer reports."""
        mass = self.mass[peer]
        return mass[0] / mass[1] if len(mass) > 1 else mass[0]

    def run(self, exchanges: int) -> None:
        """Let so many pairs of neighbors meet."""
        for _ in range(exchanges):
            i, j = self._edges[int(self._chance.random() * len(self._edges))]
            if not self.asleep or not {i, j} & self.asleep:
                self.meet(i, j)

    def run_until(self, exchanges: int) -> None:
        """Run until all watched peers have made so many exchanges."""
        while min(self.picks[k] for k in self.watched) < exchanges:
            self.run(len(self._edges))

    def meet(self, i: int, j: int) -> None:
        """One exchange of the plain algorithm."""
        held = self.held
        held[i], held[j] = held[j], held[i]
        average = [(a + b) / 2 for a, b in zip(self.mass[i], self.mass[j], strict=True)]
        for k in (i, j):
            self.picks[k] += 1
            value = self._values[k][held[k]]
            if self.mixing == "weighted":
                added = [*value, 1.0]
                w = self.weights[k]
                self.mass[k] = [a + w * b for a, b in zip(average, added, strict=True)]
            else:
                m = self.picks[k]
                self.mass[k] = [a + (b - a) / m for a, b in zip(average, value, strict=True)]
        for k in (i, j):
            if k in self.seers:
                self.seers[k].observe(self.state(k), (0,))


@dataclass
class Coverage:
    """How often intervals held the exact value, at one length of the run."""

    exchanges: int
    hits: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    silent: int = 0
    """How many said "not yet"."""

    @property
    def share(self) -> float:
        """Of the intervals that were given, those that hold the exact value."""
        return float(np.mean(self.hits)) if self.hits else float("nan")

    @property
    def given(self) -> float:
        """The share of peers that gave an interval."""
        return len(self.hits) / (len(self.hits) + self.silent)

    def add(self, network: Network) -> None:
        """Ask the watched peers."""
        for peer, seer in network.seers.items():
            found = seer.interval()
            if found is None:
                self.silent += 1
                continue
            low, high = found
            self.hits.append(low <= network.exact <= high)
            self.widths.append((high - low) / 2 / abs(network.exact))
            self.errors.append(network.estimate(peer) / network.exact - 1)


def coverage(
    graph: str,
    n: int,
    kernel: str,
    lengths: Sequence[int],
    runs: int,
    *,
    watched: int = 4,
    mixing: str = "weighted",
) -> Iterator[Coverage]:
    """Run networks with new data and new chance each; yield one entry per length."""
    found = [Coverage(length) for length in lengths]
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        seers = rng.choice(n, watched, replace=False).tolist()
        data = make_data(kernel, n, rng)
        network = Network(make_graph(graph, n, seed), data, kernel, seed, seers, mixing)
        for entry in found:
            network.run_until(entry.exchanges)
            entry.add(network)
    yield from found
