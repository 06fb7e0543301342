"""Where compiled loops stand in for NumPy: on many rows, if numba is installed.

The loops are the engine's, above the kernels, and are looked for by name, when they pay: what runs
on a device imports none of them, and all of this package's sums go without them.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

_FEWEST_PAIRS = 2**27
"""Below this many evaluations of a function blocks take less time than compiling it."""
_FEWEST_ROWS, _FEWEST_TO_LOAD = 2**14, 2**18
"""From how many rows on counts are compiled: if numba is loaded anyway, and if it is not."""


def find_sweeps(n: int, symmetric: bool) -> Any:
    """Return the loops that sum a user's function over the pairs of n rows, or None.

    Sums depend, in their last bits, on who adds them up: which it is follows from n alone.
    """
    pairs = n * (n + 1) // 2 if symmetric else n * n
    return _load("pairgossip.engine.exact.sweeps") if pairs >= _FEWEST_PAIRS else None


def find_counts(n: int) -> Any:
    """Return the loops that count ordered pairs among n rows, or None.

    They give the very numbers that NumPy's give.
    """
    fewest = _FEWEST_ROWS if "numba" in sys.modules else _FEWEST_TO_LOAD
    return _load("pairgossip.engine.exact.counts") if n >= fewest else None


def _load(name: str) -> Any:
    try:
        return importlib.import_module(name)
    # Without the lab there is no numba, and it fails where it has no place to keep compiled loops.
    except (ImportError, RuntimeError):
        return None
