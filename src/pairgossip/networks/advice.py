"""Advice on a network: the speed of averaging on it now, and ways to make it faster."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pairgossip.checks import NODE_CLOCKS, UNIFORM_EDGES, whole
from pairgossip.errors import InputError, needed_for
from pairgossip.graphs import Graph
from pairgossip.graphs.distances import bottleneck
from pairgossip.graphs.laws import NamedOrGiven
from pairgossip.networks.best_law import best_law, check_network
from pairgossip.networks.links import EXPONENTIAL, RANDOM_REGULAR, best_links, overlay
from pairgossip.progress import Show, progress_bar
from pairgossip.text import align_columns, format_count

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_MORE_LINKS = 0.02
"""The default number of links to add, relative to the number of edges."""
COLUMNS = ("network", "edges", "gap", "gain", "at most", "e-fold", "continuized")


@dataclass(frozen=True)
class NetworkOption:
    """One network and law, and the speed of averaging on it."""

    name: str
    edges: int
    gap: float
    """The second smallest eigenvalue of L_q; see `Graph.normalized_gap`."""
    gain: float
    """The gap over that of the network as it is, with uniform edges."""
    efold: float
    """The guaranteed number of exchanges in which the root mean square disagreement of averaging
    shrinks by a factor e: 4 / gap. Single runs take about half as many."""
    continuized_efold: float
    """The same for ``schedule="continuized"``, by its guarantee."""
    bound: float | None = None
    """The largest gain that any law can have; None where the option is not the best law."""


@dataclass(frozen=True, repr=False)
class Advice:
    """The result of `advise`: the network as it is, and faster ones."""

    options: tuple[NetworkOption, ...]
    """The network as it is first."""
    title: str

    def to_pandas(self) -> pandas.DataFrame:
        """Return the options as a table."""
        with needed_for("Advice.to_pandas"):
            import pandas
        return pandas.DataFrame([asdict(option) for option in self.options])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the exchanges of an e-fold with every option, and return the matplotlib axes."""
        from pairgossip.networks.figure import draw_advice

        return draw_advice(self, ax)

    def cells(self) -> list[tuple[str, ...]]:
        """Return the table as text; its columns are `COLUMNS`."""
        return [
            (
                option.name,
                f"{option.edges:,}",
                f"{option.gap:.3g}",
                f"{option.gain:.4g}",
                "" if option.bound is None else f"{option.bound:.4g}",
                f"{option.efold:,.0f}",
                f"{option.continuized_efold:,.0f}",
            )
            for option in self.options
        ]

    @property
    def remarks(self) -> str:
        """The meaning of the numbers, and where they do not apply."""
        return (
            "e-fold: the guaranteed number of exchanges in which averages come closer by a factor "
            "e; runs take about half as many. "
            "Where rows travel, nodes that a law seldom picks learn late from their own pairs. "
            "Overlays have the number of neighbors per node in parentheses, and need that any two "
            "nodes can talk."
        )

    def __repr__(self) -> str:
        return "\n".join([self.title, *align_columns([COLUMNS, *self.cells()]), self.remarks])


def advise(graph: Graph, *, links: int | None = None, progress: Show = None) -> Advice:
    """Compare a network as it is with better laws, more links, and overlays.

    Parameters
    ----------
    graph
        The network, of at most 3,000 nodes. Each node of the random overlay has as many neighbors
        as the network has on average, and at least 3.
    links
        The number of links to add, by default 2 % of the edges.
    progress
        Show a progress bar; by default when standard error is a terminal. Or a function, called
        with the number of steps done: one for every link, and 1000 for the best law.

    Returns
    -------
    Advice
        Prints as a table; ``advice.options``, ``to_pandas()`` and ``plot()``.

    Examples
    --------
    >>> from pairgossip.graphs import path
    >>> [option.name for option in advise(path(30)).options][:4]
    ['as it is', 'law: node-clocks', 'law: best', '1 more link']
    """
    check_network(graph)
    if graph.n < 3:
        raise InputError("Two nodes have one link: there is nothing to advise.")
    missing = graph.n * (graph.n - 1) // 2 - graph.edge_count
    usual = min(max(1, round(_MORE_LINKS * graph.edge_count)), missing)
    count = usual if links is None else whole("The number of links", links)
    degree = min(max(round(2 * graph.edge_count / graph.n), 3), graph.n - 1)
    degree += graph.n * degree % 2
    jumps = overlay(graph.n, kind=EXPONENTIAL)
    with progress_bar("advice", count + 1000, progress) as advance:
        show = advance or False
        candidates: list[tuple[str, Graph, NamedOrGiven]] = [("as it is", graph, UNIFORM_EDGES)]
        if not graph.is_regular:
            candidates.append((f"law: {NODE_CLOCKS}", graph, NODE_CLOCKS))
        more = best_links(graph, count, show) if count else None  # refuses before the search
        candidates.append(("law: best", graph, best_law(graph, show)))
        if more is not None:
            candidates.append((format_count(count, "more link"), more, UNIFORM_EDGES))
        candidates += [
            (f"{RANDOM_REGULAR} overlay ({degree})", overlay(graph.n, degree), UNIFORM_EDGES),
            (f"{EXPONENTIAL} overlay ({jumps.degrees[0]})", jumps, UNIFORM_EDGES),
        ]
        now = graph.normalized_gap()
        options = tuple(_judge(*candidate, now) for candidate in candidates)
    return Advice(options, f"{graph.family or 'network'}, {format_count(graph.n, 'node')}")


def _judge(name: str, graph: Graph, law: NamedOrGiven, now: float) -> NetworkOption:
    gap = graph.normalized_gap(law)
    return NetworkOption(
        name,
        graph.edge_count,
        gap,
        gap / now,
        4 / gap,
        2 * math.sqrt(bottleneck(graph, law) / gap),
        getattr(law, "bound", None),
    )
