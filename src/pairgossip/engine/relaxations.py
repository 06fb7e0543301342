"""Relaxations of sweeps: how far past their mean two nodes go so that errors shrink fastest.

By formula on even rings and tori, elsewhere by trying some on random values. A small graph is
searched until the rate is that of the long run. On a large one that takes longer than most runs,
so the rate is taken over a run of the default length, of few relaxations: the search begins where
the theory of successive over-relaxation puts the best one, given the rate of plain means.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import ITERATIONS_PER_NODE
from pairgossip.errors import MissingExtra, needed_for_speed
from pairgossip.graphs import Graph
from pairgossip.graphs.orders import Sweep
from pairgossip.graphs.spectrum import laplacian

_SMALL = 1_000
"""Up to this many nodes a search until the long run takes tenths of a second."""
_VECTORS = 8
"""Most random values per node that a rate is read off."""
_SAMPLED_VALUES = 20_000
"""Random values that suffice to read a rate off: fewer than 8 per node of a large graph."""
_MOST_SWEEPS = 2048
"""Most sweeps of a small graph per radius; slower ones have the rate they have by then."""
_LONG = 4
"""Sweeps of a large graph that a radius is read off, in default runs."""
_MOST_EXCHANGES = 25_000_000
"""Per radius: tenths of a second. Large graphs are judged by fewer sweeps."""
_MOST_TURNS = 10_000
"""Of colors, per radius of a small graph: those of a star are as many as its nodes."""
_ENTRIES_PER_COLOR = 2_000
"""A matrix with fewer entries is applied sooner than the colors of a sweep, one after another."""
_FORGOTTEN = 1e-9
"""How far random values are forgotten before the rate is read off."""
_LARGEST_RELAXATION = 0.98
"""Largest relaxation that is tried; at 1 two nodes would swap their values."""
_ENOUGH = 0.95
"""Which part of the best rate is enough."""
_RELAXATION = "relaxation"
_GOLDEN = (math.sqrt(5) - 1) / 2
"""Part of an interval that a step of golden section keeps."""
_FEWEST_SWEEPS = 4
"""Sweeps that a rate is read off at least, where edges are so many that a run makes fewer."""
_LANCZOS_STEPS = 30
"""Most steps from averaged values to the bound of a gap; fewer where no mode is left."""
_STRIDE = 0.7
"""By which factor 1 - relaxation changes from one try to the next on a large graph."""

_Relax = Callable[[FloatArray, float], None]
"""Averages values along one sweep, in place, by a relaxation."""


def best_relaxation(graph: Graph, sweep: Sweep) -> float:
    """Return the smallest relaxation, from 1/2 up, of nearly the best rate; once per graph.

    Near the best rate it changes little with the relaxation, and a smaller one brings errors down
    sooner at the start.
    """
    if _RELAXATION not in graph._known:
        side = _even_side(graph)
        if side is not None:
            found = 1 / (1 + math.sin(2 * math.pi / side))
        else:
            search = _search_long_run if graph.n <= _SMALL else _search_default_run
            found = search(graph.n, sweep)
        graph._known[_RELAXATION] = found
    return graph._known[_RELAXATION]


def _even_side(graph: Graph) -> int | None:
    """Return the side of an even ring or torus, the longer one; None for other graphs."""
    if not graph._is_certified:
        return None
    sides: tuple[int, ...]
    if graph.family == "cycle":
        sides = (graph.n,)
    elif graph.family == "torus":
        sides = (int(graph.parameters["rows"]), int(graph.parameters["cols"]))
    else:
        return None
    return max(sides) if all(side % 2 == 0 and side > 2 for side in sides) else None


def _compile(sweep: Sweep, *, is_column: bool) -> _Relax:
    """Return the compiled loop of a sweep, over one value per node or several; NumPy's without."""
    try:
        with needed_for_speed():
            from pairgossip.engine.estimation import averaging_loops as loops
    except MissingExtra:
        return sweep.apply
    loop = loops.relax_values if is_column else loops.relax
    return lambda values, relaxation: loop(values, sweep.edges, relaxation)


# Small graphs: the rate of the long run.


def _search_long_run(n: int, sweep: Sweep) -> float:
    fastest = _fastest_relaxation(n, sweep)
    enough = spectral_radius(sweep, n, fastest) ** _ENOUGH
    low, high = 0.5, fastest
    while high - low > 0.02:
        middle = (low + high) / 2
        if spectral_radius(sweep, n, middle) <= enough:
            high = middle
        else:
            low = middle
    return high


def _fastest_relaxation(n: int, sweep: Sweep) -> float:
    """Return the relaxation of the smallest radius, by golden section."""
    low, high = 0.5, _LARGEST_RELAXATION
    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    radii = [spectral_radius(sweep, n, one) for one in inner]
    while high - low > 0.02:
        if radii[0] <= radii[1]:
            high, inner[1], radii[1] = inner[1], inner[0], radii[0]
            inner[0] = high - _GOLDEN * (high - low)
            radii[0] = spectral_radius(sweep, n, inner[0])
        else:
            low, inner[0], radii[0] = inner[0], inner[1], radii[1]
            inner[1] = low + _GOLDEN * (high - low)
            radii[1] = spectral_radius(sweep, n, inner[1])
    return inner[int(radii[1] < radii[0])]


def spectral_radius(sweep: Sweep, n: int, relaxation: float) -> float:
    """Return by what factor a sweep shrinks deviations from the mean in the long run.

    Measured on random values: eigenvalue routines fail near the best relaxation, where many
    eigenvalues have the same modulus.
    """
    values = _random_values(n)
    start = _norm(values)
    sizes = [start]
    most = _MOST_SWEEPS if n <= _SMALL else _LONG * _default_sweeps(n, sweep)
    most = min(max(16, _MOST_EXCHANGES // len(sweep.edges)), most)
    most = min(most, max(16, _MOST_TURNS // sweep.colors))
    is_matrix = n * n <= _ENTRIES_PER_COLOR * sweep.colors
    matrix = np.eye(n) if is_matrix else None
    relax: _Relax = sweep.apply if is_matrix else _compile(sweep, is_column=False)
    if matrix is not None:
        relax(matrix, relaxation)
    while len(sizes) <= most and sizes[-1] > _FORGOTTEN * start:
        if matrix is not None:
            values = matrix @ values
        else:
            relax(values, relaxation)
        sizes.append(_norm(values))
    # The first half of the sweeps, if they are many, forgets what is forgotten faster.
    since = (len(sizes) - 1) // 2
    return float((sizes[-1] / sizes[since]) ** (1 / (len(sizes) - 1 - since)))


def _random_values(n: int) -> FloatArray:
    columns = max(1, min(_VECTORS, _SAMPLED_VALUES // n))
    values = np.random.Generator(np.random.Philox(0)).normal(size=(n, columns))
    return np.asarray(values - values.mean(axis=0))


def _norm(values: FloatArray) -> float:
    """Return the size of values; of many not by BLAS, whose threads wait longer than they add."""
    if values.size <= _VECTORS * _SMALL:
        return float(np.linalg.norm(values))
    flat = values.reshape(-1)
    return math.sqrt(float(np.einsum("n,n->", flat, flat)))


# Large graphs: the rate over a run of the default length.


def _search_default_run(n: int, sweep: Sweep) -> float:
    start = np.ascontiguousarray(_random_values(n).T)
    relax, most = _compile(sweep, is_column=True), _default_sweeps(n, sweep)
    rates: dict[float, float] = {}

    def measure(relaxation: float) -> float:
        """Return how many e-folds a sweep forgets, after the first quarter of those made."""
        if relaxation not in rates:
            sizes = _follow(relax, relaxation, start.copy(), most)
            since = (len(sizes) - 1) // 4
            shrunk = max(sizes[-1], 1e-300) / sizes[since]
            rates[relaxation] = -math.log(shrunk) / (len(sizes) - 1 - since)
        return rates[relaxation]

    # With two colors this is the best, by the theory of successive over-relaxation.
    guess = 1.0 / (1.0 + math.sqrt(-math.expm1(-max(measure(0.5), 0.0))))
    _climb(measure, min(guess, _LARGEST_RELAXATION))
    return _smallest_enough(rates)


def _default_sweeps(n: int, sweep: Sweep) -> int:
    return max(_FEWEST_SWEEPS, ITERATIONS_PER_NODE * n // len(sweep.edges))


def _follow(relax: _Relax, relaxation: float, values: FloatArray, most: int) -> list[float]:
    """Average rows of values along sweeps until they are forgotten; return their sizes."""
    sizes = [_norm(values)]
    while len(sizes) <= most and sizes[-1] > _FORGOTTEN * sizes[0]:
        for row in values:
            relax(row, relaxation)
        sizes.append(_norm(values))
    return sizes


def _climb(measure: Callable[[float], float], first: float) -> None:
    """Measure ever larger or smaller relaxations as long as rates rise, then once between."""

    def measure_at(steps: float) -> float:
        relaxation = max(1.0 - _STRIDE**steps * (1.0 - first), 0.5)
        return measure(min(relaxation, _LARGEST_RELAXATION))

    best = 0
    for direction in (1, -1):
        while measure_at(best + direction) > measure_at(best):
            best += direction
    measure_at((best + max(best - 1, best + 1, key=measure_at)) / 2)


def _smallest_enough(rates: dict[float, float]) -> float:
    """Return where rates first reach the part of the best that is enough, straight between."""
    relaxations = sorted(rates)
    enough = _ENOUGH * max(rates.values())
    above = next(at for at, one in enumerate(relaxations) if rates[one] >= enough)
    if above == 0:
        return relaxations[0]
    one, other = relaxations[above - 1 : above + 1]
    return one + (other - one) * (enough - rates[one]) / (rates[other] - rates[one])


def bound_gap(graph: Graph, sweep: Sweep) -> float:
    """Return the spectral gap of a small graph, and of a large one a bound above it.

    By a few steps of Lanczos from values that were averaged for long, with little but slow modes.
    """
    if graph.n <= _SMALL:
        return graph.spectral_gap()
    values, relax = _random_values(graph.n)[:, 0].copy(), _compile(sweep, is_column=True)
    _follow(relax, 0.5, values[None], _default_sweeps(graph.n, sweep))
    matrix, basis = laplacian(graph), np.zeros((0, graph.n))
    for _ in range(_LANCZOS_STEPS):
        size = _norm(values)
        for _ in range(2):  # once leaves rounding
            values -= values.mean()
            values -= np.einsum("s,sn->n", np.einsum("sn,n->s", basis, values), basis)
        if _norm(values) <= _FORGOTTEN * size:
            break  # all modes of the values are there, as on a star
        basis = np.vstack([basis, values / _norm(values)])
        values = matrix @ basis[-1]
    products = np.einsum("an,nb->ab", basis, matrix @ basis.T)
    return float(np.linalg.eigvalsh(products)[0])
