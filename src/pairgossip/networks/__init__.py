"""Better networks: the best law of edges, links worth adding, overlays, and advice."""

from pairgossip.networks.advice import Advice, NetworkOption, advise
from pairgossip.networks.best_law import BestLaw, best_law
from pairgossip.networks.links import OVERLAYS, best_links, link_table, overlay

__all__ = [
    "OVERLAYS",
    "Advice",
    "BestLaw",
    "NetworkOption",
    "advise",
    "best_law",
    "best_links",
    "link_table",
    "overlay",
]
