"""Relaxations of sweeps: the moves past the mean with which errors shrink fastest.

On even rings and tori there is a formula; elsewhere some relaxations are tried on random values. On
a small graph the search uses the rate of the long run. On a large graph this would take longer than
most runs, so the rate is measured over a run of the default length, for few relaxations: the search
begins at the best one by the theory of successive over-relaxation, given the rate of plain means.
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

_LONG_RUN_NODES = 1_000
"""The largest number of nodes for a search by the long run: tenths of a second."""
_VECTORS = 8
"""The largest number of random values per node for a rate."""
_SAMPLED_VALUES = 20_000
"""The number of random values that is enough for a rate: fewer than 8 per node of a large graph."""
_MOST_SWEEPS = 2048
"""The largest number of sweeps of a small graph per radius, after which its rate is taken."""
_RUNS_PER_RADIUS = 4
"""The number of sweeps of a large graph per radius, in default runs."""
_MOST_EXCHANGES = 25_000_000
"""The largest number of exchanges per radius, tenths of a second; large graphs get fewer sweeps."""
_MOST_TURNS = 10_000
"""The largest number of turns of colors per radius of a small graph; stars have many colors."""
_ENTRIES_PER_COLOR = 2_000
"""The number of matrix entries per color below which a matrix product is faster than the sweep."""
_LEAST_SIZE = 1e-9
"""The size of random values, relative to the start, at which a measurement ends."""
_LARGEST_RELAXATION = 0.98
"""The largest relaxation tried; at 1 two nodes would swap their values."""
_ENOUGH_OF_BEST = 0.95
"""The part of the best rate that is enough."""
_RELAXATION = "relaxation"
_GOLDEN = (math.sqrt(5) - 1) / 2
"""The part of an interval that a step of golden section keeps."""
_FEWEST_SWEEPS = 4
"""The least number of sweeps for a rate, where a run makes fewer because edges are many."""
_LANCZOS_STEPS = 30
"""The largest number of steps of Lanczos for the bound of a gap; fewer where no mode is left."""
_STRIDE = 0.7
"""The factor of 1 - relaxation from one try to the next on a large graph."""

_Relax = Callable[[FloatArray, float], None]
"""Averages values along one sweep, in place, by a relaxation."""


def best_relaxation(graph: Graph, sweep: Sweep) -> float:
    """Return the smallest relaxation, from 1/2 up, with nearly the best rate; once per graph.

    Near the best rate a change of relaxation matters little, and a smaller one reduces errors
    faster at the start.
    """
    if _RELAXATION not in graph._known:
        side = _even_side(graph)
        if side is not None:
            found = 1 / (1 + math.sin(2 * math.pi / side))
        else:
            search = _search_long_run if graph.n <= _LONG_RUN_NODES else _search_default_run
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
    """Return the compiled loop of a sweep, or NumPy's without numba."""
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
    enough = spectral_radius(sweep, n, fastest) ** _ENOUGH_OF_BEST
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
    """Return the factor by which a sweep shrinks deviations from the mean in the long run.

    It is measured on random values: eigenvalue routines fail near the best relaxation, where many
    eigenvalues have the same modulus.
    """
    values = _random_values(n)
    start = _norm(values)
    sizes = [start]
    most = _MOST_SWEEPS if n <= _LONG_RUN_NODES else _RUNS_PER_RADIUS * _default_sweeps(n, sweep)
    most = min(max(16, _MOST_EXCHANGES // len(sweep.edges)), most)
    most = min(most, max(16, _MOST_TURNS // sweep.colors))
    is_matrix = n * n <= _ENTRIES_PER_COLOR * sweep.colors
    matrix = np.eye(n) if is_matrix else None
    relax: _Relax = sweep.apply if is_matrix else _compile(sweep, is_column=False)
    if matrix is not None:
        relax(matrix, relaxation)
    while len(sizes) <= most and sizes[-1] > _LEAST_SIZE * start:
        if matrix is not None:
            values = matrix @ values
        else:
            relax(values, relaxation)
        sizes.append(_norm(values))
    # After the first half of many sweeps, modes that shrink faster are gone.
    since = (len(sizes) - 1) // 2
    return float((sizes[-1] / sizes[since]) ** (1 / (len(sizes) - 1 - since)))


def _random_values(n: int) -> FloatArray:
    columns = max(1, min(_VECTORS, _SAMPLED_VALUES // n))
    values = np.random.Generator(np.random.Philox(0)).normal(size=(n, columns))
    return np.asarray(values - values.mean(axis=0))


def _norm(values: FloatArray) -> float:
    """Return the size of values; for many without BLAS, whose threads would mostly wait."""
    if values.size <= _VECTORS * _LONG_RUN_NODES:
        return float(np.linalg.norm(values))
    flat = values.reshape(-1)
    return math.sqrt(float(np.einsum("n,n->", flat, flat)))


# Large graphs: the rate over a run of the default length.


def _search_default_run(n: int, sweep: Sweep) -> float:
    start = np.ascontiguousarray(_random_values(n).T)
    relax, most = _compile(sweep, is_column=True), _default_sweeps(n, sweep)
    rates: dict[float, float] = {}

    def measure(relaxation: float) -> float:
        """Return the e-folds per sweep, after the first quarter of the sweeps."""
        if relaxation not in rates:
            sizes = _follow(relax, relaxation, start.copy(), most)
            since = (len(sizes) - 1) // 4
            shrunk = max(sizes[-1], 1e-300) / sizes[since]
            rates[relaxation] = -math.log(shrunk) / (len(sizes) - 1 - since)
        return rates[relaxation]

    # With two colors this is the best one, by the theory of successive over-relaxation.
    guess = 1.0 / (1.0 + math.sqrt(-math.expm1(-max(measure(0.5), 0.0))))
    _climb(measure, min(guess, _LARGEST_RELAXATION))
    return _smallest_enough(rates)


def _default_sweeps(n: int, sweep: Sweep) -> int:
    return max(_FEWEST_SWEEPS, ITERATIONS_PER_NODE * n // len(sweep.edges))


def _follow(relax: _Relax, relaxation: float, values: FloatArray, most: int) -> list[float]:
    """Average rows of values along sweeps until they are negligible; return their sizes."""
    sizes = [_norm(values)]
    while len(sizes) <= most and sizes[-1] > _LEAST_SIZE * sizes[0]:
        for row in values:
            relax(row, relaxation)
        sizes.append(_norm(values))
    return sizes


def _climb(measure: Callable[[float], float], first: float) -> None:
    """Measure larger or smaller relaxations while rates rise, then once in between."""

    def measure_at(steps: float) -> float:
        relaxation = max(1.0 - _STRIDE**steps * (1.0 - first), 0.5)
        return measure(min(relaxation, _LARGEST_RELAXATION))

    best = 0
    for direction in (1, -1):
        while measure_at(best + direction) > measure_at(best):
            best += direction
    measure_at((best + max(best - 1, best + 1, key=measure_at)) / 2)


def _smallest_enough(rates: dict[float, float]) -> float:
    """Return the relaxation, interpolated, at which rates first reach enough of the best."""
    relaxations = sorted(rates)
    enough = _ENOUGH_OF_BEST * max(rates.values())
    above = next(at for at, one in enumerate(relaxations) if rates[one] >= enough)
    if above == 0:
        return relaxations[0]
    one, other = relaxations[above - 1 : above + 1]
    return one + (other - one) * (enough - rates[one]) / (rates[other] - rates[one])


def bound_gap(graph: Graph, sweep: Sweep) -> float:
    """Return the spectral gap of a small graph, or an upper bound for a large one.

    The bound takes a few steps of Lanczos from values that were averaged for long, in which slow
    modes dominate.
    """
    if graph.n <= _LONG_RUN_NODES:
        return graph.spectral_gap()
    values, relax = _random_values(graph.n)[:, 0].copy(), _compile(sweep, is_column=True)
    _follow(relax, 0.5, values[None], _default_sweeps(graph.n, sweep))
    matrix, basis = laplacian(graph), np.zeros((0, graph.n))
    for _ in range(_LANCZOS_STEPS):
        size = _norm(values)
        for _ in range(2):  # a single pass leaves rounding errors
            values -= values.mean()
            values -= np.einsum("s,sn->n", np.einsum("sn,n->s", basis, values), basis)
        if _norm(values) <= _LEAST_SIZE * size:
            break  # the basis has all modes of the values, as on a star
        basis = np.vstack([basis, values / _norm(values)])
        values = matrix @ basis[-1]
    products = np.einsum("an,nb->ab", basis, matrix @ basis.T)
    return float(np.linalg.eigvalsh(products)[0])
