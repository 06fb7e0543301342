"""The network: graphs, their families, spectra and distances, and the laws that draw edges."""

from pairgossip.checks import LAWS
from pairgossip.families import FAMILIES, Family, FamilyParameter, register
from pairgossip.graphs.catalog import build, restore_graph
from pairgossip.graphs.changing import Changing
from pairgossip.graphs.distances import DeltaTilde
from pairgossip.graphs.fixed_families import complete, cycle, grid, path, star, torus
from pairgossip.graphs.graph import Graph
from pairgossip.graphs.grouped.graph import GroupedGraph
from pairgossip.graphs.grouped.grouping import group_labels, grouped, match_groups
from pairgossip.graphs.laws import EdgeLaw, GivenLaw, edge_law
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
    "Changing",
    "DeltaTilde",
    "EdgeLaw",
    "Family",
    "FamilyParameter",
    "GivenLaw",
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
    "register",
    "restore_graph",
    "star",
    "torus",
    "watts_strogatz",
]
