"""The families of graphs: their parameters, and the facts known about a graph before it is built.

The command line reads its options from here, so no module imported here needs numpy. A family of
the package is built by the function of its name, `graphs.fixed_families.cycle` or
`graphs.random_families.erdos_renyi`; a family that is registered brings its own builder.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pairgossip.arguments.argument import Argument
from pairgossip.errors import InputError, canonical

if TYPE_CHECKING:
    from pairgossip.arrays import FloatArray
    from pairgossip.graphs.graph import Graph

Formula = Callable[..., float]
"""A function of n and, by name, of the parameters."""


@dataclass(frozen=True, kw_only=True)
class FamilyParameter(Argument):
    """A parameter of a family; a default that is not fixed follows from the number of nodes."""

    from_nodes: Callable[[int], float] | None = None
    """The default value for n nodes."""


@dataclass(frozen=True)
class Family:
    """One family: its parameters besides the number of nodes, its formulas and its picture.

    >>> FAMILIES["cycle"].diameter(10)
    5
    """

    name: str
    description: str
    parameters: tuple[FamilyParameter, ...] = ()
    """Its parameters besides n and a seed, in the order of its builder."""
    builder: Callable[..., Graph] | None = None
    """The function that builds it from n and its parameters; None finds the one with its name."""
    is_random: bool = False
    """Whether it takes a seed."""
    takes_n: bool = True
    """False where the number of nodes is the product of its parameters, rows and cols."""
    gap: Formula | None = None
    """The spectral gap, the second smallest eigenvalue of D - A; None where it has no formula."""
    diameter: Callable[..., int] | None = None
    """The largest distance between two nodes; None where it has no formula."""
    edges: Formula | None = None
    """The expected number of edges; None where there are few, or no edges are stored."""
    layout: str | Callable[[Graph], FloatArray] = "springs"
    """The shape of its pictures, a name in `layout.LAYOUTS` or a function that places nodes."""
    wraps: bool = False
    """Whether some edges lead around the picture; those are not drawn."""
    suits_few: bool = False
    """Whether it is useful for a handful of nodes, with its defaults."""
    also_called: tuple[str, ...] = ()
    """Other names in common use: they are refused with a hint at its own."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of all its parameters besides n, in the order of its builder."""
        return (*(each.name for each in self.parameters), *(("seed",) if self.is_random else ()))

    def defaults(self, n: int) -> dict[str, Any]:
        """Return the default parameters for n nodes; rows and cols have no defaults."""
        chosen = {
            each.name: each.default if each.from_nodes is None else each.from_nodes(n)
            for each in self.parameters
        }
        return {name: value for name, value in chosen.items() if value is not None}

    def expected_edges(self, n: int, **parameters: Any) -> float:
        """Return the approximate number of edges to store, if it is large."""
        return 0.0 if self.edges is None else self.edges(n, **parameters)

    def check(self, **values: Any) -> tuple[Any, ...]:
        """Return all parameters in canonical form; raise `InputError` for an impossible one."""
        for name, value in values.items():
            if value is None:
                raise InputError(f"Give {{argument}}: {self.name} needs it.", name)
        return tuple(each.check(values[each.name]) for each in self.parameters)


def _sides(least: int) -> tuple[FamilyParameter, ...]:
    return tuple(
        FamilyParameter(name=name, kind=int, noun=f"number of {plural}", least=least, help=plural)
        for name, plural in (("rows", "rows"), ("cols", "columns"))
    )


BUILT_IN = (
    Family(
        "complete",
        "every two nodes are joined",
        layout="disk",
        suits_few=True,
        also_called=("clique", "full"),
    ),
    Family(
        "cycle",
        "a ring",
        gap=lambda n: 4.0 * math.sin(math.pi / n) ** 2,
        diameter=lambda n: n // 2,
        layout="ring",
        suits_few=True,
        also_called=("ring", "circle"),
    ),
    Family(
        "path",
        "a row",
        gap=lambda n: 4.0 * math.sin(math.pi / (2 * n)) ** 2,
        diameter=lambda n: n - 1,
        layout="row",
        suits_few=True,
        also_called=("line", "chain"),
    ),
    Family(
        "star",
        "node 0 joined to all others",
        gap=lambda n: 1.0,
        diameter=lambda n: 2,
        layout="hub",
        suits_few=True,
    ),
    Family(
        "grid",
        "a rectangle of nodes with open borders",
        _sides(1),
        takes_n=False,
        gap=lambda n, rows, cols: 4.0 * math.sin(math.pi / (2 * max(rows, cols))) ** 2,
        diameter=lambda n, rows, cols: rows + cols - 2,
        layout="rectangle",
        also_called=("lattice", "mesh"),
    ),
    Family(
        "torus",
        "a rectangle of nodes with opposite borders joined: four neighbors each",
        _sides(3),
        takes_n=False,
        gap=lambda n, rows, cols: 4.0 * math.sin(math.pi / max(rows, cols)) ** 2,
        diameter=lambda n, rows, cols: rows // 2 + cols // 2,
        layout="rectangle",
        wraps=True,
    ),
    Family(
        "watts-strogatz",
        "a small world: a ring of k neighbors, a fraction p of the edges rewired",
        (
            FamilyParameter(
                name="k",
                kind=int,
                default=4,
                noun="number of ring neighbors k",
                least=2,
                help="neighbors on the ring before rewiring, an even number",
            ),
            FamilyParameter(
                name="p",
                kind=float,
                default=0.3,
                noun="rewiring probability p",
                least=0,
                most=1,
                help="rewired fraction",
            ),
        ),
        is_random=True,
        edges=lambda n, k, p: n * k / 2,
        layout="ring",
        also_called=("small-world", "newman-watts"),
    ),
    Family(
        "erdos-renyi",
        "every two nodes joined with probability p",
        (
            FamilyParameter(
                name="p",
                kind=float,
                from_nodes=lambda n: min(1.0, 2 * math.log(n) / n),
                noun="edge probability p",
                least=0,
                most=1,
                help="edge probability",
            ),
        ),
        is_random=True,
        edges=lambda n, p: min(p, 1.0) * n * (n - 1) / 2,
        also_called=("gnp", "random-graph", "binomial"),
    ),
    Family(
        "random-regular",
        "at random, with the same degree everywhere",
        (
            FamilyParameter(
                name="degree", kind=int, default=4, least=1, help="neighbors of every node"
            ),
        ),
        is_random=True,
        edges=lambda n, degree: n * degree / 2,
    ),
    Family(
        "random-geometric",
        "random points of a square, joined within a radius",
        (
            FamilyParameter(
                name="radius",
                kind=float,
                from_nodes=lambda n: 1.5 * math.sqrt(math.log(n) / (math.pi * n)),
                least=0,
                help="how near points must be to be joined, in a unit square",
            ),
        ),
        is_random=True,
        edges=lambda n, radius: n * (n - 1) / 2 * min(1.0, math.pi * radius**2),
        suits_few=True,
    ),
    Family(
        "barabasi-albert",
        "preferential attachment: each new node joins m others",
        (
            FamilyParameter(
                name="m",
                kind=int,
                default=2,
                noun="number of edges per new node m",
                least=1,
                help="nodes that each new node joins",
            ),
        ),
        is_random=True,
        edges=lambda n, m: n * m,
        also_called=("scale-free", "preferential-attachment"),
    ),
)
FAMILIES = {family.name: family for family in BUILT_IN}
"""All families by name; `register` enters others."""


def register(family: Family) -> Family:
    """Register a family, so that Python, the command line and the page know it by its name.

    The command line has options for the parameters of families that are registered before
    `pairgossip.cli` is imported. A family of your own may be registered again, as a notebook does
    when a cell runs twice; the name of a built-in one is taken.
    """
    if any(family.name == other.name for other in BUILT_IN):
        raise InputError(f"The name '{family.name}' is that of a built-in family: choose another.")
    if not family.name or family.name != canonical(family.name):
        raise InputError(
            f"'{family.name}' is not the name of a family: use lower case, and dashes as in "
            "'watts-strogatz'."
        )
    if family.builder is None:
        raise InputError(f"Family '{family.name}' has no builder: give {{argument}}.", "builder")
    for each in family.parameters:
        if each.kind not in (int, float):
            raise InputError(
                f"Parameter '{each.name}' of family '{family.name}' must be a number: give it "
                "kind=int or kind=float."
            )
    if not family.takes_n and {each.name for each in family.parameters} != {"rows", "cols"}:
        raise InputError(
            f"Family '{family.name}' must take n: only rows and cols give the number of nodes too."
        )
    FAMILIES[family.name] = family
    return family


def formula_family(graph: Graph) -> Family | None:
    """Return the family whose formulas hold for a graph; its name alone proves nothing."""
    family = FAMILIES.get(graph.family or "")
    return family if family and graph._is_certified and not family.is_random else None
