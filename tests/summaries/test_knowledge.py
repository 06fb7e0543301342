"""Disclosure by reports as benchmarked, against all tables of few rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.disclosure import Observer
from benchmarks.knowledge import (
    Knowledge,
    add_up,
    chance_of_some,
    compare_by_force,
    count,
    find_table,
    likely,
    likely_before,
    report,
)
from benchmarks.questions import BATCH, FIRST, MORE, RECOMPUTED, Site, ask_register
from pairgossip.counts.tree import lay_tree

ONE = tuple(range(7))


@pytest.mark.parametrize(
    ("layouts", "rows", "least"),
    [
        ([(0, 1, 2, 3, 4)], 12, 3),
        ([(0, 1, 2, 3, 4)], 20, 5),
        ([tuple(range(6))], 13, 3),
        ([tuple(range(9))], 9, 3),
        ([ONE], 6, 1),
        ([ONE, (0, 2, 4, 6)], 12, 3),
        ([(0, 2, 4, 6), (0, 1, 3, 5, 6)], 13, 3),
        ([ONE, (0, 2, 3, 6), (0, 1, 4, 5, 6)], 9, 3),
    ],
)
def test_a_chain_knows_what_all_tables_tell(
    layouts: list[tuple[int, ...]], rows: int, least: int
) -> None:
    assert compare_by_force(layouts, rows, least) > 1


@pytest.mark.parametrize("least", [3, 5, 10])
def test_every_report_has_a_table_without_cells_of_few_rows(least: int) -> None:
    random = np.random.default_rng(least)
    for cells in (1, 5, 8, 37, 256):
        tree = lay_tree((cells,))
        for spread in (0.3, 2.0, 20.0):
            reported = tree.report(random.poisson(random.exponential(spread, cells)), least)
            table = find_table(reported, least)
            assert ((table == 0) | (table >= least)).all()
            assert (tree.report(table, least) == reported).all()


def test_nobody_is_placed_by_one_report_and_some_are_by_two() -> None:
    random = np.random.default_rng(0)
    values = random.random(200)
    layouts = [np.linspace(0, 1, 65), np.linspace(-0.05, 1.1, 65)]
    known = Knowledge(np.unique(np.concatenate(layouts)), len(values))
    placed = []
    for edges in layouts:
        known.hear(edges, report(edges, values, 3), 3)
        known.close()
        known.check(values)
        placed.append(known.place(2).sum())
    assert placed[0] == 0 and placed[1] > 0


def test_sums_of_sites_bound_the_truth() -> None:
    random, edges = np.random.default_rng(1), np.linspace(0, 1, 33)
    sites = [random.random(n) ** 2 for n in (40, 70, 25)]
    known = Knowledge(edges, 135)
    known.hear_sum(edges, np.sum([report(edges, one, 3) for one in sites], axis=0))
    known.close()
    known.check(np.concatenate(sites))
    assert (known.high - known.low).max() < 135
    assert known.place(2).sum() == 0


def test_one_row_less_tells_where_it_is() -> None:
    random, edges = np.random.default_rng(2), np.linspace(0, 1, 33)
    values = random.random(100)
    whole, kept, erased = (Knowledge(edges, n) for n in (100, 99, 1))
    whole.hear(edges, report(edges, values, 3), 3)
    kept.hear(edges, report(edges, values[1:], 3), 3)
    whole.close()
    kept.close()
    while add_up(whole, [kept, erased]):
        pass
    low, high = erased.locate()
    assert low <= values[0] < high and high - low < 0.5
    for known, rows in ((whole, values), (kept, values[1:]), (erased, values[:1])):
        known.check(rows)


def test_what_is_likely_by_going_through_all_tables() -> None:
    """Given a report, probabilities of tables are those of independent counts."""
    cells, rows, least, level = 4, 9, 3, 0.6
    random, edges = np.random.default_rng(3), np.arange(5.0)
    bars = itertools.combinations(range(rows + cells - 1), cells - 1)
    tables = np.array([np.diff([-1, *one, rows + cells - 1]) - 1 for one in bars])
    factorials = np.cumprod([1, *range(1, rows + 1)])
    reports = lay_tree((cells,)).report(tables, least)
    marked = 0
    for _ in range(40):
        rates = random.exponential(2.0, cells) + 0.05
        weights = np.prod(rates**tables / factorials[tables], axis=1)
        chosen = random.integers(len(tables))
        values = np.repeat(np.arange(cells) + 0.5, tables[chosen])
        assert (count(edges, values) == tables[chosen]).all()
        known = Knowledge(edges, rows)
        known.hear(edges, reports[chosen], least)
        known.close()
        alike = (reports == reports[chosen]).all(axis=1)
        above = weights[alike & (tables[:, 2:].sum(axis=1) > 0)].sum() / weights[alike].sum()
        assert chance_of_some(known, rates, 2) == pytest.approx(above)
        for found, which in (
            (likely(known, rates, 2, level), alike),
            (likely_before(rates, rows, 2, level), np.ones(len(tables), dtype=bool)),
        ):
            expected = np.zeros(cells, dtype=bool)
            for start, end in itertools.combinations(range(cells + 1), 2):
                held = tables[which, start:end].sum(axis=1)
                few = weights[which][(held >= 1) & (held <= 2)].sum() / weights[which].sum()
                expected[start:end] |= few > level
            assert (found == expected).all()
            marked += found.sum()
    assert marked > 10


def test_registers_refuse_all_but_new_rows_and_what_they_cannot_know() -> None:
    sites = [Site.draw(np.random.default_rng(seed), "logistic", 140) for seed in range(2)]
    for site in sites:
        careful, plain = (
            {one.name for one in ask_register(site, is_careful=careful)}
            for careful in (True, False)
        )
        assert careful == {FIRST.name, BATCH}
        assert plain == {FIRST.name, BATCH, RECOMPUTED}
    batch = next(one for one in MORE if one.name == BATCH)
    assert Observer(sites[:1], [FIRST, batch], 3).place() == 0.0
    assert Observer(sites, [FIRST, batch], 3).place() == 0.0
    assert Observer(sites[:1], [FIRST, *MORE], 3).place() > 0.2
