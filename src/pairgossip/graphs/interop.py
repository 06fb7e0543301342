"""Graphs from and for networkx and scipy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.errors import InputError
from pairgossip.extras import needed_for

if TYPE_CHECKING:
    import networkx as nx
    from scipy.sparse import csr_array

    from pairgossip.graphs.graph import Graph


def networkx_parts(graph: nx.Graph) -> tuple[int, NDArray[np.int64], tuple[str, ...]]:
    """Return the number of nodes, the edges and the names of a networkx graph.

    Nodes are numbered in the order in which they were added to it, whatever their names.
    Attributes of nodes and edges, weights among them, are left behind.
    """
    if not all(hasattr(graph, name) for name in ("is_directed", "is_multigraph", "nodes", "edges")):
        raise InputError(f"from_networkx takes a networkx graph, not a {type(graph).__name__}.")
    if graph.is_directed():
        raise InputError("The networkx graph is directed; call its to_undirected() first.")
    if graph.is_multigraph():
        raise InputError("The networkx graph is a multigraph; make it simple with nx.Graph(g).")
    if graph.number_of_nodes() == 0:
        raise InputError("The networkx graph has no nodes.")
    number = {node: index for index, node in enumerate(graph.nodes)}
    edges = np.array([(number[u], number[v]) for u, v in graph.edges], dtype=np.int64).reshape(
        -1, 2
    )
    names = tuple(str(node) for node in graph.nodes)
    loops = edges[edges[:, 0] == edges[:, 1], 0]
    if loops.size:
        raise InputError(
            f"Node '{names[loops[0]]}' of the networkx graph is joined to itself; remove such "
            "edges with g.remove_edges_from(list(nx.selfloop_edges(g)))."
        )
    return len(number), edges, names


def to_networkx(graph: Graph) -> nx.Graph:
    """Return a networkx graph on the names, or on 0 to n - 1 when there are none."""
    with needed_for("to_networkx", install="networkx"):
        import networkx

    result = networkx.Graph()
    labels: Any = graph.names or range(graph.n)
    result.add_nodes_from(labels)
    result.add_edges_from((labels[i], labels[j]) for i, j in graph.edges.tolist())
    return result


def matrix_parts(matrix: Any) -> tuple[int, NDArray[np.int64]]:
    """Return the number of nodes and the edges of a symmetric matrix of zeros and ones."""
    with needed_for("from_scipy"):
        from scipy.sparse import coo_array, issparse

    given: Any = matrix if issparse(matrix) else np.asarray(matrix)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.shape[0] == 0:
        raise InputError(f"The adjacency matrix must be square, not of shape {given.shape}.")
    entries = coo_array(given)
    entries.sum_duplicates()
    used = entries.data != 0
    rows, cols = (index[used].astype(np.int64) for index in (entries.row, entries.col))
    if not (entries.data[used] == 1).all():
        raise InputError(
            "The adjacency matrix has entries other than 0 and 1; "
            "edges carry no weights here, so set every edge to 1."
        )
    if (rows == cols).any():
        raise InputError("The adjacency matrix has a diagonal entry; no node may neighbor itself.")
    n = int(given.shape[0])
    upper = rows < cols
    there, back = rows[upper] * n + cols[upper], cols[~upper] * n + rows[~upper]
    if not np.array_equal(np.sort(there), np.sort(back)):
        raise InputError("The adjacency matrix is not symmetric; pass matrix.maximum(matrix.T).")
    return n, np.column_stack([rows[upper], cols[upper]])


def to_scipy(graph: Graph) -> csr_array[Any]:
    """Return the adjacency matrix as a sparse matrix of ones."""
    with needed_for("to_scipy"):
        from scipy.sparse import csr_array

    indptr, indices = graph.adjacency
    ones = np.ones(len(indices))
    # Copies, because scipy may sort a matrix's arrays in place.
    return csr_array((ones, indices.copy(), indptr.copy()), shape=(graph.n, graph.n))
