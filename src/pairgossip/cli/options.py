"""Kinds of options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from pairgossip.checks import CLOCKS, LARGEST_NUMBER, UNIFORM_EDGES
from pairgossip.errors import InputError, canonical

if TYPE_CHECKING:
    from cyclopts import Token

    from pairgossip.graphs import Graph


LARGEST_SEED = 2**128 - 1
"""The seeds that Python draws for a run without one are that large."""

# In the order of --help: what is needed most comes first.
WATCHED = Group.create_ordered("What to watch")
STATISTIC = Group.create_ordered("Statistic")
NETWORK = Group.create_ordered("Network")
METHOD = Group.create_ordered("Method")
OUTPUT = Group.create_ordered("Output")
PRIVACY = Group.create_ordered("Privacy")
CHAOS = Group.create_ordered("Chaos")
SERVER = Group.create_ordered("Server")


def whole_number(_: Any, tokens: Sequence[Token]) -> int:
    """Read 1000000, 1_000_000 or 1e6."""
    return _whole(tokens[0].value, LARGEST_NUMBER)


def seed_number(_: Any, tokens: Sequence[Token]) -> int:
    """Read a whole number, however it is spelled, up to the largest seed."""
    return _whole(tokens[0].value, LARGEST_SEED)


def _whole(text: str, largest: int) -> int:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if number.is_finite() and number > largest:
        raise ValueError(f"'{text}' is too large: give at most {largest:,}.")
    # Comparing first keeps 1e999999999 from being written out; abs() would overflow on it.
    if not number.is_finite() or number < -largest or number != int(number):
        raise ValueError(f"give a whole number such as 1000000, 1_000_000 or 1e6, not '{text}'.")
    return int(number)


Whole = Annotated[int, Parameter(converter=whole_number)]
Seed = Annotated[int, Parameter(converter=seed_number)]
Flag = Annotated[bool, Parameter(show_default=False)]


@Parameter(name="*", group=METHOD)
@dataclass(frozen=True)
class RunOptions:
    """How a run goes, and for how long."""

    clock: str | None = None
    """sync (unless given): all nodes update at every exchange; async: only the two that meet."""
    law: str = UNIFORM_EDGES
    """Which edge comes next: uniform-edges, or node-clocks (a node calls a neighbor)."""
    iterations: Whole | None = None
    """How long to run: 1000000, 1_000_000 or 1e6; 200 per node unless given."""
    checkpoints: Whole | None = None
    """How many points the curves have, log-spaced; 12 per decade unless given."""
    trials: Whole = 1
    """Independent repetitions."""
    seed: Seed = 0
    """Seed of all randomness: the same seed gives the same numbers."""
    jobs: Whole = -1
    """How many trials run at once; -1 for one per core."""

    def check_jobs(self) -> None:
        """Raise `InputError` for no jobs at all."""
        if self.jobs == 0:
            raise InputError("The number of jobs is 0: give 1 or more, or -1 for one per core.")

    @property
    def canonical_clock(self) -> str:
        """The clock, sync unless given."""
        return CLOCKS[0] if self.clock is None else canonical(self.clock)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `estimate` and `minimize` that these options give."""
        given = {field.name: getattr(self, field.name) for field in fields(RunOptions)}
        given["n_jobs"] = given.pop("jobs")
        return given | {"clock": self.canonical_clock}


@Parameter(name="*", group=METHOD)
@dataclass(frozen=True)
class MethodOptions(RunOptions):
    """How it is estimated, and for how long."""

    trials: Whole = 20
    """Independent repetitions."""
    method: str | None = None
    """gosta (unless given), weighted-gosta (async only; what peers run), u1, u2, or averaging (the
    mean of one column, no pairs)."""
    order: str | None = None
    """Whether a synchronous node updates before the exchange (update-first, unless given) or
    after it (exchange-first)."""
    engine: str = "auto"
    """auto, fused, tokens or plain: the same numbers at different speeds."""
    record: str | None = None
    """nodes: keep every node's estimate at every checkpoint, for --save; summary: only the curves
    and the final estimates. Chosen by size unless given."""


@Parameter(name="*", group=METHOD)
@dataclass(frozen=True)
class DescentOptions(RunOptions):
    """How it is learned, and for how long."""

    trials: Whole = 1
    """Independent repetitions, whose models are averaged."""
    step: float | None = None
    """Step size c of c/sqrt(t); chosen by the steepness of the loss unless given."""


# The options that say which network, and the graph they describe.


DEFAULT_FAMILY = "complete"


@Parameter(name="*", group=NETWORK)
@dataclass(frozen=True)
class FamilyParameters:
    """What the families of graphs take besides the number of nodes."""

    k: Whole | None = None
    """Neighbors on the ring before rewiring, an even number (watts-strogatz)."""
    p: float | None = None
    """Rewired fraction (watts-strogatz) or edge probability (erdos-renyi)."""
    rows: Whole | None = None
    """Rows of a grid or torus."""
    cols: Whole | None = None
    """Columns of a grid or torus."""
    degree: Whole | None = None
    """Neighbors of every node (random-regular)."""
    radius: float | None = None
    """How near points must be to be joined, in a unit square (random-geometric)."""
    m: Whole | None = None
    """Nodes that each new node joins (barabasi-albert)."""

    def given(self) -> dict[str, Any]:
        """Return the parameters that were given, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@Parameter(name="*", group=NETWORK)
@dataclass(frozen=True)
class TrainingFamilyParameters(FamilyParameters):
    """The families' parameters; --radius is the model's here."""

    radius: Annotated[float | None, Parameter(name="--graph-radius")] = None
    """How near points must be to be joined, in a unit square (random-geometric)."""


@Parameter(name="*", group=NETWORK)
@dataclass(frozen=True)
class NetworkOptions:
    """Which network the observations live on."""

    graph: str | None = None
    """Family of the network, complete unless given; `pairgossip graph` lists them."""
    graph_file: Path | None = None
    """A network of your own: GraphML (.graphml, .xml) or an edge list; row k goes to its
    k-th node."""
    graph_seed: Seed | None = None
    """Seed of a random network; the run's seed unless given."""

    def build(
        self,
        n: int,
        parameters: FamilyParameters,
        seed: int,
        names: tuple[str, ...] | None = None,
    ) -> Graph:
        """Build the network of n nodes; a family's nodes take the names, a file has its own."""
        if self.graph_file is None:
            chosen = seed if self.graph_seed is None else self.graph_seed
            graph = build_family(self.graph or DEFAULT_FAMILY, n, parameters, chosen)
            return graph if names is None else _name_nodes(graph, names)
        if self.graph is not None:
            raise InputError("Give --graph or --graph-file, not both.")
        return load_graph(self.graph_file, parameters)


NO_PARAMETERS = FamilyParameters()
NO_NETWORK = NetworkOptions()


def build_family(name: str, n: int | None, parameters: FamilyParameters, seed: int) -> Graph:
    """Build a graph by its family's name; the seed is for the random ones."""
    from pairgossip.graphs import FAMILIES, build

    family = FAMILIES.get(canonical(name))
    takes_seed = family is not None and family.is_random
    return build(name, n, **parameters.given(), seed=seed if takes_seed else None)


def _name_nodes(graph: Graph, names: tuple[str, ...]) -> Graph:
    from pairgossip.graphs.catalog import restore_graph

    if graph.n != len(names):
        raise InputError(
            f"There are {len(names)} sites but the network has {graph.n} nodes: ask for a network "
            "with one node per site."
        )
    edges = None if graph.is_complete else graph.edges
    return restore_graph(graph.n, edges, graph.family, graph.parameters, names, graph.positions)


def load_graph(file: Path, parameters: FamilyParameters) -> Graph:
    """Read a graph file, which no parameter of a family goes with."""
    from pairgossip.graphs import Graph

    superfluous = next(iter(parameters.given()), None)
    if superfluous is not None:
        raise InputError(f"The network is read from {file}: leave out --{superfluous}.")
    return Graph.load(file)
