"""The array types used throughout, named for what they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]
"""Node indices of any integer width."""
PairArray = NDArray[np.int32]
"""Exchanges or edges, one row (i, j) each."""
BoolArray = NDArray[np.bool_]
PairFunction = Callable[[FloatArray, FloatArray], FloatArray]
"""A kernel's function: two blocks of m observations in, m values out."""
