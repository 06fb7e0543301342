"""The network: graphs, their families, spectra and distances, and the laws that draw edges."""

from pairgossip.checks import LAWS
from pairgossip.graphs.catalog import (
    FAMILIES,
    Family,
    build,
    complete,
    cycle,
    grid,
    path,
    restore_graph,
    star,
    torus,
)
from pairgossip.graphs.distances import DeltaTilde
from pairgossip.graphs.graph import Graph
from pairgossip.graphs.grouped.graph import GroupedGraph
from pairgossip.graphs.grouped.grouping import group_labels, grouped, match_groups
from pairgossip.graphs.laws import EdgeLaw, edge_law
from pairgossip.graphs.random_families import (
    barabasi_albert,
    erdos_renyi,
    random_geometric,
    random_regular,
    watts_strogatz,
)

__all__ = [
    "FAMILIES",
    "LAWS",
    "DeltaTilde",
    "EdgeLaw",
    "Family",
    "Graph",
    "GroupedGraph",
    "barabasi_albert",
    "build",
    "complete",
    "cycle",
    "edge_law",
    "erdos_renyi",
    "grid",
    "group_labels",
    "grouped",
    "match_groups",
    "path",
    "random_geometric",
    "random_regular",
    "restore_graph",
    "star",
    "torus",
    "watts_strogatz",
]
