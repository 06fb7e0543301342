"""Rows of two sites that are counted in tests of `summarize` and `answer`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

ROWS = 240
RNG = np.random.default_rng(9)
DIED = RNG.integers(0, 2, ROWS)
RISK = np.clip(RNG.normal(0.45 + 0.15 * DIED, 0.18, ROWS), 0, 1).round(6)
AGE = RNG.integers(20, 90, ROWS)
SEX, WARD = np.array(["f", "m"])[RNG.integers(0, 2, ROWS)], np.array(["a", "b"])[AGE % 2]
AUC = ("--kernel", "auc", "--column", "risk", "--label", "died")
CELLS = ("--cells", "even(0, 1, 64)")
SHARED = (*AUC, *CELLS, "--classes", "0,1", "--share", 3)
Write = Callable[..., Path]
A, B = slice(0, 100), slice(100, ROWS)
