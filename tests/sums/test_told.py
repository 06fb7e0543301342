"""Disclosure by a contribution, for every statistic on sums: the cells of rows, never of few."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.arrays import FloatArray
from pairgossip.counts.axes import Axis, Labels
from pairgossip.counts.layouts import find_kind
from pairgossip.kernels import CATALOG, as_kernel
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.sums.statistics import cells_of
from tests.sums.specs import kernel_spec

OF_CLASSES = ("label", "cluster")
ORDER = ("median", "quantile-0.9", "trimmed-mean-0.1", "winsorized-mean-0.1", "hodges-lehmann")
TESTS = (
    "mann-whitney",
    "mann-whitney-continuity",
    "wilcoxon-rank-sum",
    "brunner-munzel",
    "kolmogorov-smirnov",
)


OF_FACTORS = ("auc", "auc-difference", "gini", "kendall-b", "concordance")


class Case(NamedTuple):
    """A statistic, and the columns that it takes."""

    name: str
    columns: tuple[str, ...]
    has_label: bool = False
    has_events: bool = False

    def spec(self, more: str = "") -> Spec:
        """Return a specification."""
        return kernel_spec(self.name, self.columns, "l" if self.has_label else None, algorithm=more)

    def draw(self, random: np.random.Generator, rows: int) -> FloatArray:
        """Draw rows with an even law, with tails or with few values."""
        laws = (
            random.random(rows),
            np.exp(-random.exponential(3.0, rows)),
            random.choice(random.random(3), rows),
            np.clip(random.normal(0.5, 0.002, rows), 0, 1),
        )
        drawn = [laws[random.integers(len(laws))] for _ in self.columns]
        if self.has_events:
            drawn[-1] = random.integers(0, 2, rows).astype(float)
        if self.has_label:
            drawn.append((random.random(rows) < random.choice([0.05, 0.5])).astype(float))
        return np.column_stack(drawn)


def list_cases() -> list[Case]:
    """List all kernels that are read from cells, statistics of order and tests."""
    cases = [Case(name, ("a",)) for name in ORDER]
    cases += [Case(name, ("a",), has_label=True) for name in (*TESTS, "shift")]
    cases.append(Case("spearman", ("a", "b")))
    cases.append(Case("within-cluster-scatter", ("a", "b"), has_label=True))
    for name in sorted(CATALOG):
        kernel = as_kernel(name)
        if find_kind(kernel) is None:
            continue
        takes = [one.rstrip(".") for one in kernel.columns or ("any",)]
        if takes[-1] in OF_CLASSES:
            columns = ("a", "b") if len(takes) == 3 else ("a",)
            cases.append(Case(name, columns, has_label=True))
        elif name == "distance":  # several columns are projected, and refused without noise
            cases.append(Case(name, ("a",)))
        elif takes[-1] == "event?":
            cases += [Case(name, ("a", "b")), Case(name, ("a", "b", "e"), has_events=True)]
        else:
            cases.append(Case(name, ("a", "b")[: len(takes)]))
    return cases


CASES = list_cases()


def move(random: np.random.Generator, axis: Axis, column: FloatArray) -> FloatArray:
    """Move every number anywhere in its cell, some to its lower end."""
    if isinstance(axis, Labels):
        return column
    places = axis.find_bins(column)
    low, high = axis.edges[places], axis.edges[places + 1]
    share = random.choice([0.0, 1e-9, 0.5, 1 - 1e-9], len(column)) * (random.random() < 0.7)
    moved = np.where(share > 0, low + share * (high - low), low)
    return np.where(axis.find_bins(moved) == places, moved, column)


def test_all_statistics_on_cells_are_here() -> None:
    names = {case.name for case in CASES}
    assert {"auc", "auc-difference", "concordance", "gini", "kendall-b", "variance"} <= names
    assert len(CASES) >= 24


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{len(case.columns)}")
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(0, 120),
    least=st.sampled_from([1, 3, 5, 10]),
    bins=st.sampled_from([2, 16, 32]),
)
@settings(max_examples=15, deadline=None)
def test_a_value_can_be_anywhere_in_its_cell(
    case: Case, seed: int, rows: int, least: int, bins: int
) -> None:
    random = np.random.default_rng(seed)
    layout = cells_of(case.spec(f"least_cell = {least}\nbins = {bins}"))
    own = case.draw(random, rows)
    moved = own.copy()
    for at, axis in enumerate(layout.column_axes or layout.axes):
        moved[:, at] = move(random, axis, own[:, at])
    assert rows == 0 or case.has_events or (moved != own).any()
    assert layout.add_up(moved).tobytes() == layout.add_up(own).tobytes()
    assert layout.is_filled(layout.count_cells(moved)) == layout.is_filled(layout.count_cells(own))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{len(case.columns)}")
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(0, 300),
    least=st.sampled_from([3, 4, 5, 10]),
    bins=st.sampled_from([2, 8, 32]),
)
@settings(max_examples=20, deadline=None)
def test_no_number_is_of_few_rows(case: Case, seed: int, rows: int, least: int, bins: int) -> None:
    random = np.random.default_rng(seed)
    layout = cells_of(case.spec(f"least_cell = {least}\nbins = {bins}"))
    own = case.draw(random, rows)
    told = layout.add_up(own)
    assert ((told == 0) | (told >= least)).all()
    assert told[0] == (rows if layout.is_filled(layout.count_cells(own)) else 0)
    assert told[1:].sum() == told[0] * len(layout.tables)


FACTORS = (
    'by = "g"\ngroups = ["f", "m"]',
    'within = "s"\nstrata = ["a", "b", "c"]',
    'weight = "w"\nweights = [1, 3]',
)


@pytest.mark.parametrize("case", [one for one in CASES if one.name in OF_FACTORS], ids=str)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(0, 400),
    least=st.sampled_from([1, 3, 5]),
    chosen=st.sampled_from([(0,), (1,), (2,), (0, 1), (0, 1, 2)]),
)
@settings(max_examples=15, deadline=None)
def test_no_combination_is_of_few_rows(
    case: Case, seed: int, rows: int, least: int, chosen: tuple[int, ...]
) -> None:
    """This includes counts by group, stratum and weight: as by brute force, and never of few."""
    random = np.random.default_rng(seed)
    top = "\n".join(FACTORS[at] for at in chosen)
    label = "l" if case.has_label else None
    more = f"least_cell = {least}\nbins = 8"
    layout = cells_of(kernel_spec(case.name, case.columns, label, algorithm=more, top=top))
    values = ([0.0, 1.0], [0.0, 1.0, 2.0], [1.0, 3.0])
    factors = [random.choice(values[at], rows) for at in chosen]
    own = np.column_stack([case.draw(random, rows), *factors])
    told = layout.add_up(own)
    assert ((told == 0) | (told >= least)).all()
    counted = list(range(len(case.columns) - case.has_events, own.shape[1]))
    levels = [values[at] for at in chosen]
    levels = [[0.0, 1.0], *levels] if len(counted) > len(chosen) else levels
    combinations = list(itertools.product(*levels))
    totals = [int((own[:, counted] == one).all(axis=1).sum()) for one in combinations]
    assert layout.is_filled(layout.count_cells(own)) == (least == 1 or min(totals) >= least)
    parts = [part.reshape(len(combinations), -1) for part in layout.split(told[1:])]
    for part in parts:
        assert part.sum(axis=1).tolist() == (totals if told[0] else [0] * len(totals))
