from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pairgossip.errors import InputError
from pairgossip.graphs import Graph, group_labels, grouped, match_groups, path

NAMED = Graph(3, [[0, 1], [1, 2]], names=["west", "east", "north"])


@pytest.mark.parametrize(
    ("groups", "labels", "site_of"),
    [
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        (("b", "a"), ("a", "b"), [1, 0]),
        ([10, 9, 10], ("9", "10"), [1, 0, 1]),
        (["10", "9"], ("10", "9"), [0, 1]),
        (np.array([2.0, 1.0, 2.5]), ("1", "2", "2.5"), [1, 0, 2]),
        ([1, "x"], ("1", "x"), [0, 1]),
        ([True, False], ("False", "True"), [1, 0]),
        (np.array([True, False]), ("False", "True"), [1, 0]),
        ([2**70, 1], ("1", str(2**70)), [1, 0]),
        (pd.Series(["s", "t", "s"]), ("s", "t"), [0, 1, 0]),
        (pd.Series(["s", "t", "s"], dtype="category"), ("s", "t"), [0, 1, 0]),
        (pd.Series([3, 1, 3], dtype="Int64"), ("1", "3"), [1, 0, 1]),
        (pl.Series(["s", "t", "s"]), ("s", "t"), [0, 1, 0]),
        (range(3), ("0", "1", "2"), [0, 1, 2]),
        (np.array(["2024-01-02", "2024-01-01"], "M8[D]"), ("2024-01-01", "2024-01-02"), [1, 0]),
    ],
)
def test_labels_are_put_in_order(groups: Any, labels: tuple[str, ...], site_of: list[int]) -> None:
    found, sites = group_labels(groups, len(groups))
    assert found == labels
    assert sites.tolist() == site_of
    assert sites.dtype == np.int64


@pytest.mark.parametrize(
    ("groups", "sites", "site_of"),
    [
        ([0, 2, 1, 0], path(3), [0, 2, 1, 0]),
        (np.array([0.0, 2.0, 1.0]), path(3), [0, 2, 1]),
        (["2", "0", "1"], path(3), [2, 0, 1]),
        ([7, 5, 9], path(3), [1, 0, 2]),
        ([1, 2, 3], path(3), [0, 1, 2]),
        (["u", "w", "v"], path(3), [0, 2, 1]),
        (["east", "north", "west", "east"], NAMED, [1, 2, 0, 1]),
        ([0, 2, 1], NAMED, [0, 2, 1]),
        # A name counts before a number.
        ([0, 2, 1], Graph(3, [[0, 1], [1, 2]], names=["2", "1", "0"]), [2, 0, 1]),
        (range(12), path(12), list(range(12))),
    ],
)
def test_labels_find_their_sites(groups: Any, sites: Graph, site_of: list[int]) -> None:
    assert match_groups(groups, len(groups), sites).tolist() == site_of
    assert grouped(sites, groups).site_of.tolist() == site_of


@pytest.mark.parametrize(
    ("groups", "rows", "sites", "message"),
    [
        (["a", "b"], 3, path(2), "There are 2 group labels for 3 row(s); give one label per row."),
        ([["a"], ["b"]], 2, path(2), "The groups must be a list with one label per row, not of "),
        ("abc", 3, path(3), "The groups must be a list with one label per row, not str."),
        (3, 3, path(3), "The groups must be a list with one label per row, not int."),
        ([], 0, path(2), "There are no rows to group; give at least one row."),
        ([["a"], ["b", "c"]], 2, path(2), "Every group label must be one text or one number."),
        ([{"a"}, {"b"}], 2, path(2), "Every group label must be one text or one number."),
        *(
            (
                groups,
                3,
                path(2),
                "Row 1 has no group label (1 row(s) in all); give every row the label of its site.",
            )
            for groups in (
                ["a", None, "b"],
                ["a", math.nan, "b"],
                ["a", " ", "b"],
                np.array([0.0, math.nan, 1.0]),
                pd.Series(["a", pd.NA, "b"]),
                pd.Series([0, pd.NA, 1], dtype="Int64"),
                np.array(["2024-01-01", "NaT", "2024-01-02"], "M8[D]"),
                pl.Series([1, None, 2]),
            )
        ),
        (["a", "b", "c"], 3, path(2), "There are 3 different groups for a network of 2 site(s); "),
        (["a", "b", "b"], 3, path(3), "There are only 2 different groups for a network of 3 "),
        ([0, 2, 2], 3, path(3), "Site 1 holds no row; give every site at least one row, or leave "),
        (["east", "east"], 2, NAMED, "Site west and 1 more hold no row; give every site at least "),
        (["east", "nord", "west"], 3, NAMED, "Unknown site 'nord': did you mean 'north'?"),
    ],
)
def test_wrong_groups_are_named(groups: Any, rows: int, sites: Graph, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        match_groups(groups, rows, sites)
    assert str(refusal.value).startswith(message)


def test_the_number_of_rows_need_not_be_given_twice() -> None:
    bad: Any = 3
    with pytest.raises(InputError, match=r"^The groups must be a list with one label per row"):
        grouped(path(3), bad)
    with pytest.raises(InputError, match=r"^The sites must be a Graph, not str\.$"):
        bad = "path"
        grouped(bad, [0, 1])
