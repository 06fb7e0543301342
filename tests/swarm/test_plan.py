from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.swarm.plan import exact_value, kernel_spec, make_plan

from .plans import gini_plan

VALUES = np.array([[1.0], [4.0], [2.5], [8.0], [-3.0], [0.5], [7.0]])
ROWS = tuple((float(value),) for value in VALUES[:, 0])


def test_every_row_is_dealt_once_and_evenly() -> None:
    plan = gini_plan(4, 10)
    assert sorted(map(len, plan.rows)) == [2, 2, 3, 3]
    table = np.random.default_rng(3).lognormal(size=(10, 1)).round(3)
    dealt = Counter(row for rows in plan.rows for row in rows)
    assert dealt == Counter((float(value),) for value in table[:, 0])
    assert plan.names == ("peer-01", "peer-02", "peer-03", "peer-04")
    assert sorted(plan.links) == [(0, 1), (0, 3), (1, 2), (2, 3)]


def test_the_seed_decides_who_gets_what() -> None:
    text, graph = kernel_spec("gini", ["income"], None, VALUES), pg.graphs.cycle(3)
    dealt = [make_plan(text, ROWS, graph, 3, seed).rows for seed in (1, 1, 2)]
    assert dealt[0] == dealt[1] != dealt[2]


def test_the_exact_value_is_that_of_all_rows() -> None:
    for target in ("v", "u"):
        text = kernel_spec("gini", ["income"], None, VALUES, target=target)
        exact = make_plan(text, ROWS, pg.graphs.cycle(3), 3, seed=0).exact()
        assert exact == pytest.approx(pg.exact(VALUES[:, 0], "gini", target), rel=1e-14)


def test_a_label_comes_last() -> None:
    table = np.array([[0.1, 0.0], [0.9, 1.0], [0.4, 1.0], [0.3, 0.0]])
    text = kernel_spec("auc", ["score"], "ill", table)
    rows = tuple(tuple(map(float, row)) for row in table)
    plan = make_plan(text, rows, pg.graphs.path(2), 2, seed=0)
    assert plan.spec.observed == ("score", "ill")
    assert plan.exact() == pytest.approx(pg.exact(table[:, 0], "auc", "v", table[:, 1]))


def test_a_specification_survives_odd_names_and_constant_columns() -> None:
    name = 'a "b" \\ é \x7f .c'
    text = kernel_spec("gini", [name], None, np.full((3, 1), 2.0), rate=3)
    spec = parse_spec(text)
    assert spec.columns == (name,)
    assert spec.ranges == {name: (1.0, 3.0)}
    assert (spec.algorithm.rate, spec.members) == (3.0, 3)


@pytest.mark.parametrize(
    ("peers", "nodes", "sentence"),
    [
        (8, 8, "8 peers need at least 8 rows, but there are 7: use fewer peers."),
        (4, 5, "The network has 5 nodes, but there are 4 peers: give one peer for every node."),
        (1, 3, "A swarm has 2 to 500 peers, not 1."),
    ],
)
def test_numbers_that_do_not_fit(peers: int, nodes: int, sentence: str) -> None:
    text = kernel_spec("gini", ["income"], None, VALUES)
    with pytest.raises(InputError) as caught:
        make_plan(text, ROWS, pg.graphs.cycle(nodes), peers, seed=0)
    assert str(caught.value) == sentence


def test_a_specification_of_another_number_of_rows() -> None:
    text = kernel_spec("gini", ["income"], None, VALUES).replace("members = 7", "members = 9")
    with pytest.raises(InputError, match=r"says members = 9, but there are 7 rows"):
        make_plan(text, ROWS, pg.graphs.cycle(3), 3, seed=0)


@pytest.mark.parametrize(
    ("kernel", "columns", "label", "table", "exact"),
    [
        ("median", ["income"], None, VALUES, 2.5),
        ("mann-whitney", ["x"], "l", np.array([[1.0, 0], [2, 1], [3, 0], [4, 1]]), 0.75),
        ("spearman", ["x", "y"], None, np.array([[1.0, 1], [2, 3], [3, 2]]), 0.5),
    ],
)
def test_a_statistic_of_order_has_an_exact_value(
    kernel: str, columns: list[str], label: str | None, table: np.ndarray, exact: float
) -> None:
    text = kernel_spec(kernel, columns, label, table, rate=None) + "least_cell = 1\n"
    assert exact_value(parse_spec(text), table) == pytest.approx(exact)


def test_the_statistic_of_all_rows_within_strata() -> None:
    random = np.random.default_rng(4)
    risk, (died, sex, ward) = random.random(40), random.integers(0, 2, (3, 40))
    times = random.integers(1, 3, 40)
    rows = np.column_stack([risk, died, sex, ward, times])
    text = """
    kernel = "auc"
    columns = ["risk"]
    label = "died"
    by = "sex"
    groups = ["f", "m"]
    within = "ward"
    strata = ["a", "b"]
    weight = "times"
    weights = [1, 2]
    ranges.risk = [0, 1]
    ranges.died = [0, 1]
    """
    exact = pg.exact(risk, "auc", labels=died, within=ward, weights=times)
    assert exact_value(parse_spec(text), rows) == pytest.approx(exact)
