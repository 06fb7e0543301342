"""Graph families that are not random."""

from __future__ import annotations

import numpy as np

from pairgossip.families import FAMILIES
from pairgossip.graphs.checks import node_count
from pairgossip.graphs.graph import Graph


def complete(n: int) -> Graph:
    """Build a graph in which every two nodes are joined; its edges are not listed.

    >>> complete(1_000_000).edge_count
    499999500000
    """
    return Graph._build_unchecked(node_count(n), None, "complete")


def cycle(n: int) -> Graph:
    """Build a ring of nodes, each joined to the two next to it."""
    n = node_count(n, at_least=3)
    nodes = np.arange(n)
    return Graph._build_unchecked(n, np.column_stack([nodes, (nodes + 1) % n]), "cycle")


def path(n: int) -> Graph:
    """Build a row of nodes, each joined to the next."""
    n = node_count(n, at_least=2)
    nodes = np.arange(n - 1)
    return Graph._build_unchecked(n, np.column_stack([nodes, nodes + 1]), "path")


def star(n: int) -> Graph:
    """Build a star: node 0 is the center, joined to all others."""
    n = node_count(n, at_least=2)
    leaves = np.arange(1, n)
    return Graph._build_unchecked(n, np.column_stack([np.zeros_like(leaves), leaves]), "star")


def grid(rows: int, cols: int) -> Graph:
    """Build a rectangle with open borders; node r * cols + c is in row r and column c."""
    rows, cols = FAMILIES["grid"].check(rows=rows, cols=cols)
    nodes = np.arange(node_count(rows * cols)).reshape(rows, cols)
    right = np.column_stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()])
    down = np.column_stack([nodes[:-1].ravel(), nodes[1:].ravel()])
    edges = np.concatenate([right, down])
    return Graph._build_unchecked(rows * cols, edges, "grid", {"rows": rows, "cols": cols})


def torus(rows: int, cols: int) -> Graph:
    """Build a grid whose opposite borders are joined: every node has exactly four neighbors."""
    rows, cols = FAMILIES["torus"].check(rows=rows, cols=cols)
    nodes = np.arange(node_count(rows * cols)).reshape(rows, cols)
    right = np.column_stack([nodes.ravel(), np.roll(nodes, -1, axis=1).ravel()])
    down = np.column_stack([nodes.ravel(), np.roll(nodes, -1, axis=0).ravel()])
    edges = np.concatenate([right, down])
    return Graph._build_unchecked(rows * cols, edges, "torus", {"rows": rows, "cols": cols})
