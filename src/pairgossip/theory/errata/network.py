"""Errata about graphs: conditions, mixing times, distances, the networks of the experiments."""

from __future__ import annotations

import math

import numpy as np

from pairgossip.datasets.breast_cancer import FILE, SHA256
from pairgossip.datasets.dataset import read_shipped
from pairgossip.graphs import Graph, complete, cycle, path, star, torus, watts_strogatz
from pairgossip.theory.errata.erratum import Erratum, Evidence
from pairgossip.theory.errata.estimation import clique_with_pendant


def bipartite_graphs() -> Evidence:
    """The largest nontrivial eigenvalue modulus of the swap on bipartite graphs."""
    graphs = {
        "path of 10": path(10),
        "cycle of 10": cycle(10),
        "star of 10": star(10),
        "4 x 6 torus": torus(4, 6),
    }
    listed, shown = [], True
    for name, graph in graphs.items():
        swap = np.linalg.eigvalsh(np.eye(graph.n) - graph.laplacian_dense("uniform-edges"))
        largest = float(np.abs(swap[:-1]).max())
        predicted = 1 - graph.normalized_gap()
        shown &= graph.is_bipartite() and largest < 1 and math.isclose(largest, predicted)
        listed.append(f"{name} {largest:.4f}")
    return Evidence(
        f"largest other eigenvalue modulus of W_1 on bipartite graphs: {', '.join(listed)}; "
        "each is 1 - x < 1",
        shown,
    )


def printed_mixing_time(graph: Graph, eps: float) -> float:
    """The mixing time as printed: log(sqrt(n)/eps)/log(c) with c = x(1 - x/2)."""
    x = graph.normalized_gap()
    return math.log(math.sqrt(graph.n) / eps) / math.log(x * (1 - x / 2))


def mixing_times() -> Evidence:
    """Exact, printed and corrected mixing times."""
    graphs = {
        "path 3": path(3),
        "complete 8": complete(8),
        "star 30": star(30),
        "torus 10 x 10": torus(10, 10),
        "path 30": path(30),
    }
    listed, shown = [], True
    for name, graph in graphs.items():
        exact, corrected = graph.exact_mixing_time(0.01), graph.mixing_time(0.01)
        printed = printed_mixing_time(graph, 0.01)
        shown &= printed < 0 < exact <= corrected
        listed.append(f"{name}: {exact} exact, {printed:.2f} printed, {corrected} corrected")
    return Evidence("tau(0.01): " + "; ".join(listed), shown)


def edge_laws() -> Evidence:
    """How often a node is picked under the two laws."""
    irregular, regular = clique_with_pendant(8), cycle(9)
    worst = [
        float(
            np.abs(
                graph.pick_probabilities("uniform-edges") - graph.pick_probabilities("node-clocks")
            ).max()
        )
        for graph in (irregular, regular)
    ]
    return Evidence(
        f"largest difference of pick probabilities: {worst[0]:.2f} on a complete graph of 8 with "
        f"a pendant node, {worst[1]:.0f} on a cycle",
        worst[0] > 0.05 and worst[1] < 1e-12,
    )


def detours() -> Evidence:
    """The averaged two-hop distance beside the diameter."""
    graphs = {"path of 10": path(10), "complete 10": complete(10), "star of 10": star(10)}
    listed, shown = [], True
    for name, graph in graphs.items():
        diameter, detour = graph.diameter(), graph.delta_tilde().value
        shown &= 1 <= diameter <= detour <= 2 * diameter
        listed.append(f"{name}: {diameter} and {detour:g}")
    return Evidence(
        f"diameter and averaged detour: {'; '.join(listed)}; the detour is never below 1, so the "
        "minimum is always 1",
        shown,
    )


def columns_of_the_experiments() -> Evidence:
    """What the eleven columns of the data file are, and how much one of them would weigh."""
    names, table = read_shipped(FILE, SHA256)
    squares = np.nansum(table**2, axis=0)
    number, *features, label = names
    share = float(squares[0] / squares[:-1].sum())
    return Evidence(
        f"the file has {len(names)} columns: {number}, {len(features)} features, {label}; of the "
        f"squared length of rows without their {label}, all but {1 - share:.0e} would be the "
        f"{number}",
        (number, label, len(features)) == ("id", "class", 9) and share > 1 - 1e-7,
    )


def grid_of_the_experiments() -> Evidence:
    """Which graph has the printed gap of the two-dimensional grid."""
    graph = torus(26, 26)
    gap = graph.normalized_gap()
    return Evidence(
        f"the 26 x 26 torus has {graph.n} nodes, four neighbors each, is bipartite, and has "
        f"normalized gap {gap:.3e} (printed 4.30e-05)",
        graph.is_bipartite() and graph.n == 676 and f"{gap:.2e}" == "4.30e-05",
    )


def small_world_of_the_experiments() -> Evidence:
    """Which degree gives the printed gap of the Watts-Strogatz graph."""
    gaps = {
        k: float(
            np.median([watts_strogatz(699, k, 0.3, seed=s).normalized_gap() for s in range(12)])
        )
        for k in (4, 6)
    }
    return Evidence(
        f"median normalized gap over 12 seeds at p = 0.3: {gaps[4]:.2e} for degree 4, "
        f"{gaps[6]:.2e} for degree 6 (printed 1.82e-04)",
        abs(gaps[4] - 1.82e-4) < abs(gaps[6] - 1.82e-4) / 5,
    )


def complete_graph_of_the_experiments() -> Evidence:
    """The gap of the complete graph, 2/(n - 1)."""
    gap = complete(699).normalized_gap()
    return Evidence(f"2/698 = {gap:.4e}", math.isclose(gap, 2 / 698))


ROWS = (
    Erratum(
        "301, 323, 415, 490, 760, 779, 905, 958",
        "B",
        "the graph must not be bipartite",
        "connected with n >= 3 is enough: tr L = 2|E| gives |1 - lambda_1/|E|| <= 1 - x",
        bipartite_graphs,
    ),
    Erratum(
        "507-508",
        "B",
        "tau = log(sqrt(n)/eps)/log c, c = x(1 - x/2)",
        "log(sqrt(n - 1)/(2 eps))/(-log(1 - x)), rounded up",
        mixing_times,
    ),
    Erratum(
        "1874",
        "B",
        "rate-1 clocks at the nodes draw edges uniformly",
        "only on regular graphs; uniform edges are rate-1 clocks at the edges",
        edge_laws,
    ),
    Erratum(
        "583",
        "B",
        "valid for t < (d - 2) min(Delta, 1)",
        "the minimum is always 1: valid for t < d - 2 only",
        detours,
    ),
    Erratum(
        "612",
        "A",
        "n = 699 samples in dimension d = 11",
        "nine features; the other two columns are the patient's number and the class",
        columns_of_the_experiments,
    ),
    Erratum(
        "618",
        "B",
        "a two-dimensional grid on 699 nodes, not bipartite",
        "the 26 x 26 torus on 676 nodes, bipartite",
        grid_of_the_experiments,
    ),
    Erratum(
        "619",
        "B",
        "a Watts-Strogatz graph of average degree 5",
        "of degree 4: networkx rounds an odd k down",
        small_world_of_the_experiments,
    ),
    Erratum(
        "617",
        "C",
        "normalized gap of the complete graph 2.86e-3",
        "2.865e-3, truncated in print",
        complete_graph_of_the_experiments,
    ),
)
