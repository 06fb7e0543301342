"""What the random families share: generators, bounded retries, pairs by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import BitGenerator, Generator, SeedSequence
from numpy.typing import NDArray

from pairgossip.errors import InputError
from pairgossip.graphs.checks import is_connected

Seed = int | SeedSequence | BitGenerator | Generator | None
"""What a random family takes as its seed; None draws a fresh one."""

MOST_EDGES = 200_000_000
_MOST_DRAWS = 100
_MOST_EDGES_DRAWN = 60_000_000


def generator(seed: Seed) -> Generator:
    """Return the generator of a seed."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise InputError(f"The seed must be a whole number of at least 0, not {seed!r}.") from None


def noted(seed: Seed) -> int | None:
    """Return the seed where it is a number that can be written down and used again."""
    return int(seed) if isinstance(seed, (int, np.integer)) else None


def refuse_too_many_edges(expected: float, what: str, remedy: str) -> None:
    """Raise before drawing a graph that would not fit in memory."""
    if expected > MOST_EDGES:
        raise InputError(
            f"{what} would have about {expected:.1e} edges, more than {MOST_EDGES:.0e}; {remedy}."
        )


def draw_until_connected(
    n: int,
    draw: Callable[[], NDArray[Any]],
    expected_edges: float,
    what: str,
    remedy: str,
) -> NDArray[Any]:
    """Return the first connected draw; give up after 100, or fewer where draws are large."""
    draws = int(np.clip(_MOST_EDGES_DRAWN / max(expected_edges + n, 1.0), 3, _MOST_DRAWS))
    for _ in range(draws):
        edges = draw()
        if is_connected(n, edges):
            return edges
    raise InputError(f"{what} stayed disconnected in {draws} draws: {remedy}.")


def pairs_from_numbers(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pair number j (j - 1) / 2 + i as the row (i, j), i < j."""
    larger = ((1.0 + np.sqrt(1.0 + 8.0 * numbers)) / 2.0).astype(np.int64)
    # The square root may be off by one either way where the numbers are large.
    larger -= larger * (larger - 1) // 2 > numbers
    larger += larger * (larger + 1) // 2 <= numbers
    return np.column_stack([numbers - larger * (larger - 1) // 2, larger])
