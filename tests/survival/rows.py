"""Rows of time, event and group: published ones, and others by a formula."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

TREATED = [6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]
"""Weeks of remission of Freireich et al. (1963); the first 9 of the treated had a relapse."""
WEEKS = TREATED + PLACEBO
RELAPSE = [1] * 9 + [0] * 12 + [1] * 21
ARM = ["6-MP"] * 21 + ["placebo"] * 21


def follow_formula() -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Return times, events, risks and groups with many ties."""
    i = np.arange(60.0)
    event = ((11 * i) % 7 > 2).astype(np.float64)
    return (37 * i) % 23 + 1, event, (29 * i) % 13, i % 3


def draw_rows(random: np.random.Generator) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Draw times, events, risks and groups, tied or not."""
    n = int(random.integers(4, 40))
    time = random.exponential(5.0, n)
    if random.random() < 0.6:
        time = np.asarray(np.ceil(time))
    event = (random.random(n) < random.choice([0.3, 0.7, 1.0])).astype(np.float64)
    event[0] = 1.0
    risk, group = (random.integers(0, top, n).astype(np.float64) for top in (6, 3))
    return time, event, risk, group
