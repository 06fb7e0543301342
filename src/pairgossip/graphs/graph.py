"""The network: nodes, and the edges along which they exchange."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairgossip.arrays import FloatArray, PairArray
from pairgossip.checks import whole
from pairgossip.errors import InputError
from pairgossip.graphs import checks, distances, formats, laws, layout, spectrum
from pairgossip.pages.page import Paragraph, show
from pairgossip.text import format_count

if TYPE_CHECKING:
    import networkx as nx

_LARGEST_LISTED_COMPLETE = 20_000
"""The largest number of nodes for listing the edges of a complete graph: 2e8 pairs."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Graph:
    """A connected, simple, undirected graph on the nodes 0 to n - 1.

    Graphs are values: build a new one instead of changing one. A complete graph does not list its
    edges, so it may have millions of nodes.

    Parameters
    ----------
    n
        Number of nodes.
    edges
        Array of shape (m, 2): one pair of node indices per edge, in any orientation.
    family, parameters
        The origin of the graph, for display and for files; results are computed from the edges.
    names
        One name per node.
    positions
        Array of shape (n, 2): the place of each node in pictures.

    Examples
    --------
    >>> Graph(3, [[0, 1], [1, 2]])
    <Graph: 3 nodes, 2 edges>
    """

    n: int
    """Number of nodes."""
    edge_count: int
    """Number of undirected edges, |E|."""
    family: str | None
    """Canonical name of the graph's family, if any."""
    names: tuple[str, ...] | None
    """One name per node, or None."""
    positions: FloatArray | None
    """The place of each node in pictures, shape (n, 2), or None."""
    is_complete: bool
    """Whether every two nodes are joined; such a graph stores no edges."""
    _edges: PairArray | None
    _parameters: dict[str, Any]
    _is_certified: bool
    """Whether this package built the edges; only then are the family's formulas used."""
    _known: dict[laws.NamedOrGiven | None, float]
    """Stored results that take long to compute: gaps by law, and the relaxation of sweeps."""

    def __init__(
        self,
        n: int,
        edges: ArrayLike,
        *,
        family: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        names: Iterable[object] | None = None,
        positions: ArrayLike | None = None,
    ) -> None:
        n = checks.node_count(n)
        listed = checks.edge_array(n, edges)
        checks.refuse_disconnected(n, listed)
        named, placed = checks.node_names(n, names), checks.node_positions(n, positions)
        self._fill(n, listed, family, parameters, named, placed)

    @classmethod
    def complete_on(
        cls,
        n: int,
        *,
        family: str | None = "complete",
        parameters: Mapping[str, Any] | None = None,
        names: Iterable[object] | None = None,
        positions: ArrayLike | None = None,
    ) -> Self:
        """Join every two of n nodes without listing the edges; other arguments are as for `Graph`.

        >>> Graph.complete_on(3, names=["ann", "bob", "cy"]).names
        ('ann', 'bob', 'cy')
        """
        graph = cls.__new__(cls)
        n = checks.node_count(n)
        named, placed = checks.node_names(n, names), checks.node_positions(n, positions)
        graph._fill(n, None, family, parameters, named, placed)
        return graph

    @classmethod
    def _build_unchecked(
        cls,
        n: int,
        edges: NDArray[Any] | None,
        family: str,
        parameters: Mapping[str, Any] | None = None,
        positions: FloatArray | None = None,
    ) -> Self:
        """Build a graph known to be simple and connected; `edges=None` means complete."""
        graph = cls.__new__(cls)
        listed = None if edges is None else checks.ordered_rows(edges)
        graph._fill(n, listed, family, parameters, None, positions)
        object.__setattr__(graph, "_is_certified", True)
        return graph

    def _fill(
        self,
        n: int,
        edges: PairArray | None,
        family: str | None,
        parameters: Mapping[str, Any] | None,
        names: tuple[str, ...] | None,
        positions: FloatArray | None,
    ) -> None:
        complete_count = n * (n - 1) // 2
        is_complete = edges is None or len(edges) == complete_count
        vars(self).update(
            n=n,
            edge_count=complete_count if edges is None else len(edges),
            family=family,
            names=names,
            positions=positions,
            is_complete=is_complete,
            _edges=None if is_complete else edges,
            _parameters=dict(parameters or {}),
            _is_certified=False,
            _known={},
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of its family."""
        return dict(self._parameters)

    @property
    def edges(self) -> PairArray:
        """The edges, one row i < j each; read-only."""
        if self._edges is not None:
            return self._edges
        if self.n > _LARGEST_LISTED_COMPLETE:
            raise InputError(
                f"The complete graph on {self.n} nodes has {self.edge_count} edges, too many to "
                f"list; lists are made up to {_LARGEST_LISTED_COMPLETE} nodes."
            )
        listed = np.empty((self.edge_count, 2), dtype=np.int32)
        start = 0
        for i in range(self.n - 1):
            stop = start + self.n - 1 - i
            listed[start:stop, 0] = i
            listed[start:stop, 1] = np.arange(i + 1, self.n, dtype=np.int32)
            start = stop
        listed.flags.writeable = False
        return listed

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Number of neighbors of each node; read-only."""
        if self.is_complete:
            counts = np.full(self.n, self.n - 1, dtype=np.int64)
        else:
            counts = np.bincount(self.edges.ravel(), minlength=self.n).astype(np.int64, copy=False)
        counts.flags.writeable = False
        return counts

    @cached_property
    def adjacency(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Sorted neighbors in compressed rows: k has `indices[indptr[k]:indptr[k + 1]]`."""
        there = checks.edge_keys(self.n, self.edges)
        back = checks.edge_keys(self.n, self.edges[:, ::-1])
        keys = np.sort(np.concatenate([there, back]))
        indices = (keys % self.n).astype(np.int32)
        indptr = np.zeros(self.n + 1, dtype=np.int64)
        np.cumsum(self.degrees, out=indptr[1:])
        indices.flags.writeable = indptr.flags.writeable = False
        return indptr, indices

    def neighbors(self, k: int) -> NDArray[np.int32]:
        """Return the neighbors of node k in increasing order."""
        k = self._check_node(k)
        if self.is_complete:
            return np.delete(np.arange(self.n, dtype=np.int32), k)
        indptr, indices = self.adjacency
        return indices[indptr[k] : indptr[k + 1]]

    def _check_node(self, k: int) -> int:
        k = whole("A node", k, 0)
        if k >= self.n:
            raise InputError(f"Node {k} is outside the nodes 0 to {self.n - 1}.")
        return k

    @property
    def is_regular(self) -> bool:
        """Whether all nodes have the same number of neighbors."""
        return self.is_complete or bool(self.degrees.min() == self.degrees.max())

    def is_bipartite(self) -> bool:
        """Return whether the nodes split into two sides with every edge between the sides."""
        if self.is_complete:
            return self.n <= 2
        # The two-fold cover of a connected graph is disconnected exactly if the graph is bipartite.
        edges = self.edges.astype(np.int64)
        cover = np.concatenate([edges + np.array([0, self.n]), edges + np.array([self.n, 0])])
        return not checks.is_connected(2 * self.n, cover)

    _law = laws.listed_law
    _check_given = laws.check_given
    edge_probabilities = laws.edge_probabilities
    pick_probabilities = laws.pick_probabilities

    laplacian = spectrum.laplacian
    laplacian_dense = spectrum.laplacian_dense
    spectral_gap = spectrum.spectral_gap
    normalized_gap = spectrum.normalized_gap

    mixing_time = distances.mixing_time
    exact_mixing_time = distances.exact_mixing_time
    total_variation = distances.total_variation
    diameter = distances.diameter
    delta_tilde = distances.delta_tilde

    to_networkx = formats.to_networkx
    to_scipy = formats.to_scipy
    to_edge_list = formats.write_edge_list
    to_graphml = formats.write_graphml

    @classmethod
    def from_networkx(cls, graph: nx.Graph) -> Self:
        """Make a graph from a networkx graph, with the names of its nodes.

        Nodes are numbered 0, 1, ... as networkx lists them, which is the order in which they were
        added, not the order of names: row k of the data belongs to node ``list(graph)[k]``.
        """
        n, edges, names = formats.networkx_parts(graph)
        return cls(n, edges, names=names)

    @classmethod
    def from_scipy(cls, matrix: Any) -> Self:
        """Make a graph from a symmetric adjacency matrix of zeros and ones, sparse or dense."""
        return cls(*formats.matrix_parts(matrix))

    @classmethod
    def from_edge_list(cls, path: str | Path) -> Self:
        """Read a text file with the two ends of one edge per line."""
        n, edges, names = formats.read_edge_list(Path(path))
        return cls(n, edges, names=names)

    @classmethod
    def from_graphml(cls, path: str | Path) -> Self:
        """Read an undirected graph from a GraphML file."""
        n, edges, names = formats.read_graphml(Path(path))
        return cls(n, edges, names=names)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a graph file: GraphML for .graphml and .xml, otherwise an edge list."""
        if Path(path).suffix.lower() in {".graphml", ".xml"}:
            return cls.from_graphml(path)
        return cls.from_edge_list(path)

    def __repr__(self) -> str:
        kind = f"Graph {self.family}" if self.family else "Graph"
        return f"<{kind}: {format_count(self.n, 'node')}, {format_count(self.edge_count, 'edge')}>"

    def _repr_html_(self) -> str:
        fewest, most = self.degrees.min(), self.degrees.max()
        lowest = "" if fewest == most else f"{fewest:,} to "
        said = Paragraph(f"{repr(self)[1:-1]}, {lowest}{format_count(most, 'neighbor')} each")
        is_drawn = self.n <= layout.LARGEST_SHOWN
        return show((said, layout.NetworkPicture(self)) if is_drawn else (said,))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        if (self.n, self.edge_count) != (other.n, other.edge_count):
            return False
        if self.is_complete:
            return True
        mine, theirs = (np.sort(checks.edge_keys(self.n, g.edges)) for g in (self, other))
        return np.array_equal(mine, theirs)

    def __hash__(self) -> int:
        return hash((self.n, self.edge_count))
