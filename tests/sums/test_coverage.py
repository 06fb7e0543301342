"""Intervals hold the population's value as often as they claim, also with coarse bins."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace

import pairgossip as pg
from pairgossip.inference.answer import Answer
from pairgossip.peer.sums.results import Result
from tests.sums.running import run_programs, start_programs
from tests.sums.specs import kernel_spec

SAMPLES, ROWS = 30, 150
RNG = np.random.default_rng(11)
CLASSES = np.repeat([0.0, 1.0], 200)
SMOOTH = RNG.beta(2 + CLASSES, 2.5 - CLASSES)
"""The numbers of a population, and those of one whose rows are close together in each of four bins:
the higher class is a little above the lower, of which a few lie far off."""
OFF = (1 - CLASSES) * (RNG.random(400) < 0.1)
LUMPY = RNG.choice([0.02, 0.27, 0.52, 0.77], 400) + 0.02 * CLASSES + 0.2 * OFF
POPULATIONS = {
    name: np.column_stack([one, 0.5 * (one + np.roll(SMOOTH, 7)), CLASSES])
    for name, one in (("smooth", SMOOTH), ("lumpy", LUMPY))
}
Find = Callable[[np.ndarray], Answer]
FROM_ROWS: dict[str, Find] = {
    "auc": lambda rows: pg.exact(rows[:, [0, 2]], "auc", interval=0.95),
    "gini": lambda rows: pg.exact(rows[:, 0], "gini", "u", interval=0.95),
    "median": lambda rows: pg.quantile(rows[:, 0], 0.5, interval=0.95),
    "shift": lambda rows: pg.hodges_lehmann(rows[:, 0], labels=rows[:, 2], interval=0.95),
    "kendall-b": lambda rows: pg.exact(rows[:, :2], "kendall-b", interval=0.95),
    "concordance": lambda rows: pg.exact(rows[:, :2], "concordance", interval=0.95),
}


def from_cells(kernel: str, rows: np.ndarray, **more: str) -> Result:
    if kernel in ("auc", "shift"):
        spec, used = kernel_spec(kernel, ["a"], "l", **more), [0, 2]
    elif kernel in ("gini", "median"):
        top = 'target = "u"' if kernel == "gini" else ""
        spec, used = kernel_spec(kernel, ["a"], top=top, **more), [0]
    else:
        spec, used = kernel_spec(kernel, ["a", "b"], **more), [0, 1]
    return run_programs(start_programs(spec, [rows[:, used]]))


def samples(population: np.ndarray) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [population[rng.integers(len(population), size=ROWS)] for _ in range(SAMPLES)]


@functools.cache
def answers(kernel: str, population: str) -> list[Answer]:
    """Return the answers from the samples' rows, which do not depend on bins."""
    return [FROM_ROWS[kernel](sample) for sample in samples(POPULATIONS[population])]


CASES = [
    *((kernel, 4, population) for kernel in FROM_ROWS for population in ("smooth", "lumpy")),
    ("auc", 64, "smooth"),
    ("kendall-b", 16, "smooth"),
]


@pytest.mark.parametrize(("kernel", "bins", "population"), CASES)
def test_intervals_cover_as_often_as_they_say(kernel: str, bins: int, population: str) -> None:
    rows = POPULATIONS[population]
    truth, held, by_rows = float(FROM_ROWS[kernel](rows)), 0, 0
    for sample, exact in zip(samples(rows), answers(kernel, population), strict=True):
        result = from_cells(kernel, sample, algorithm=f"bins = {bins}")
        assert result.bracket is not None and result.interval is not None
        assert result.bracket[0] <= float(exact) <= result.bracket[1]
        held += result.interval[0] <= truth <= result.interval[1]
        by_rows += exact.low <= truth <= exact.high
    # By chance the rows themselves may cover less often.
    assert held >= min(by_rows, 0.95 * SAMPLES)


@pytest.mark.parametrize("kernel", ["auc", "gini", "median"])
@pytest.mark.parametrize("population", POPULATIONS)
def test_intervals_of_noisy_counts_cover_as_often(kernel: str, population: str) -> None:
    rows, noise = POPULATIONS[population], "[privacy]\nepsilon = 5"
    truth, held = float(FROM_ROWS[kernel](rows)), 0
    for sample in samples(rows):
        result = from_cells(kernel, sample, algorithm="bins = 4", tables=noise)
        assert result.interval is not None and result.bracket is None
        held += result.interval[0] <= truth <= result.interval[1]
    assert held >= 0.9 * SAMPLES  # noise is drawn again


def test_bins_that_leave_much_open_are_told() -> None:
    rows = POPULATIONS["smooth"]
    coarse, fine = (from_cells("auc", rows, algorithm=f"bins = {bins}") for bins in (4, 256))
    assert "agree on more algorithm.bins" in (coarse.advise_bins() or "")
    assert fine.advise_bins() is None
    assert replace(coarse, least_cell=3).advise_bins() == (
        "blocks of cells leave more of it open than rows do: let sites have more rows, or agree on "
        "a smaller algorithm.least_cell"
    )
