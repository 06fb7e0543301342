"""Errata of the extensions: several points per node, differential privacy."""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.graphs import Graph, cycle
from pairgossip.theory.errata.erratum import Erratum, Evidence
from pairgossip.theory.errata.estimation import clique_with_pendant
from pairgossip.theory.errata.hypotheses import (
    NOT_BIPARTITE,
    NOT_COMPLETE,
    SYMMETRIC,
    not_bipartite,
    not_complete,
    symmetric,
)

ASSUMED = {NOT_BIPARTITE: "656", NOT_COMPLETE: "656"}


def _adjacency(graph: Graph) -> FloatArray:
    return np.diag(graph.degrees.astype(np.float64)) - graph.laplacian_dense()


def tensor_product(graph: Graph, k: int) -> FloatArray:
    """The adjacency matrix of G x K_k: neighbors differ in node and in point."""
    return np.asarray(np.kron(np.ones((k, k)) - np.eye(k), _adjacency(graph)), dtype=np.float64)


def blow_up(graph: Graph, k: int) -> FloatArray:
    """The adjacency matrix of the proof: every point is joined to all points of neighbors."""
    return np.asarray(np.kron(np.ones((k, k)), _adjacency(graph)), dtype=np.float64)


def lexicographic(graph: Graph, k: int) -> FloatArray:
    """The adjacency matrix of the text: the blow-up, and the points of a node joined too."""
    return blow_up(graph, k) + np.kron(np.ones((k, k)) - np.eye(k), np.eye(graph.n))


def _gap(adjacency: FloatArray) -> float:
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    return float(np.linalg.eigvalsh(laplacian)[1])


def _edges(adjacency: FloatArray) -> float:
    return float(adjacency.sum() / 2)


def virtual_graph() -> Evidence:
    """The three graphs that the name, the proof and the sentence describe."""
    graph, k = cycle(5), 2
    built = [build(graph, k) for build in (tensor_product, blow_up, lexicographic)]
    counts, gaps = [int(_edges(one)) for one in built], [_gap(one) for one in built]
    expected, scaled = k**2 * graph.edge_count, k * graph.spectral_gap()
    within = graph.n * k * (k - 1) // 2
    return Evidence(
        f"cycle of 5, k = 2, k^2|E| = {expected}, k lambda = {scaled:.3f}: the tensor product has "
        f"{counts[0]} edges and gap {gaps[0]:.3f}, the graph of the proof (2266) {counts[1]} and "
        f"{gaps[1]:.3f}, that of the sentence {counts[2]} and {gaps[2]:.3f}",
        counts == [expected // 2, expected, expected + within]
        and gaps[0] < scaled / 2
        and bool(np.allclose(gaps[1:], scaled)),
        not_bipartite(graph) | not_complete(graph),
    )


def eigenpair_of_the_proof() -> Evidence:
    """An eigenvector of the blow-up whose points cancel, tried on both matrices."""
    graph, k = clique_with_pendant(3), 2
    adjacency = blow_up(graph, k)
    vector = np.zeros(graph.n)
    vector[-1] = 1.0
    both = np.concatenate([vector, -vector])
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    value = float(both @ laplacian @ both / (both @ both)) / k
    residuals = [
        float(np.linalg.norm(matrix @ vector - value * vector))
        for matrix in (graph.laplacian_dense(), np.diag(graph.degrees.astype(np.float64)))
    ]
    return Evidence(
        f"triangle with a pendant node, k = 2, the pendant's two points against each other: "
        f"residual {residuals[0]:.2f} with L, {residuals[1]:.0f} with D",
        residuals[0] > 0.5 and residuals[1] < 1e-12,
        not_bipartite(graph) | not_complete(graph),
    )


def averaging_gap() -> Evidence:
    """The second eigenvalue of the averaging step on the virtual graph."""
    graph, k = cycle(5), 2
    adjacency = blow_up(graph, k)
    laplacian, edges = np.diag(adjacency.sum(axis=1)) - adjacency, _edges(adjacency)
    size = len(adjacency)
    mean = np.zeros((size, size))
    for i, j in np.argwhere(np.triu(adjacency) > 0):
        step = np.eye(size)
        step[np.ix_([i, j], [i, j])] = 0.5
        mean += step / edges
    measured = 1 - float(np.linalg.eigvalsh(mean)[-2])
    printed = float(np.linalg.eigvalsh(laplacian)[1]) / edges
    return Evidence(
        f"cycle of 5, k = 2: 1 - lambda_2(2) = {measured:.4f}, printed {printed:.4f}; the ratio "
        "1/k to the graph itself stands",
        bool(np.isclose(measured, printed / 2)),
        not_bipartite(graph) | not_complete(graph),
    )


def private_diagonal() -> Evidence:
    """What a debiased kernel is worth, on average, where a person meets their own report."""
    k, epsilon = 4, 1.0
    beta = k / (np.exp(epsilon) + k - 1)
    cells = np.arange(k) / (k - 1)
    A = np.abs(cells[:, None] - cells)
    debias = (np.eye(k) - beta / k) / (1 - beta)
    table = debias @ A @ debias
    law = (1 - beta) * np.eye(k) + beta / k
    own = law @ np.diag(table)
    two = law @ table @ law.T
    people = np.array([0, 0, 1, 2, 3, 3, 3, 1])
    truth = float(A[np.ix_(people, people)].mean())
    pairs = two[np.ix_(people, people)]
    np.fill_diagonal(pairs, own[people])
    return Evidence(
        f"|x - x'| on 4 values, epsilon = 1, 8 people: h(x, x) = 0 but its debiased form averages "
        f"{own.mean():.2f} at one's own report; the statistic {truth:.3f} becomes "
        f"{pairs.mean():.3f} unless own reports are set aside",
        bool(np.allclose(two, A)) and abs(float(pairs.mean()) - truth) > 0.1,
        symmetric(A),
    )


ROWS = (
    Erratum(
        "652, 656",
        "B",
        "the virtual graph is the tensor product of G and K_k, with k^2|E| edges and gap k lambda",
        "the blow-up of the proof (2266), for which both are right; the sentence before describes "
        "the lexicographic product, k^2|E| + nk(k - 1)/2 edges and gap k lambda",
        virtual_graph,
        ASSUMED,
    ),
    Erratum(
        "2284",
        "C",
        "(phi_j, lambda/k) is an eigenpair of L",
        "of D, as in 2282",
        eigenpair_of_the_proof,
        ASSUMED,
    ),
    Erratum(
        "2290",
        "C",
        "1 - lambda_2(2) = lambda/|E|",
        "lambda/(2|E|)",
        averaging_gap,
        ASSUMED,
    ),
    Erratum(
        "679-682",
        "A",
        "randomized response can be easily combined with the algorithms, since it gives unbiased "
        "estimates of the pairwise function",
        "of two people's reports; at a node's own report the debiased kernel is biased, so set own "
        "reports aside, or debias the diagonal by itself",
        private_diagonal,
        {SYMMETRIC: "238"},
    ),
)
