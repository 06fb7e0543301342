"""Sketches and collecting on the nodes of a network: sites, private reports, and files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError

ROWS = 60
VALUES = np.random.default_rng(4).lognormal(size=ROWS)
LABELS = (np.random.default_rng(5).random(ROWS) < 0.4).astype(float)
SITES = np.repeat(["a", "b", "c", "d"], [1, 4, 15, 40])
MECHANISM = pg.privacy.RandomizedResponse(3.0, bins=4, range=(0, 20))


def overlap(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.exp(-np.abs(x - y))


@pytest.mark.parametrize("construction", ["lexicographic", "blow-up", "whole-sets"])
@pytest.mark.parametrize("schedule", ["random", "ordered", "continuized", "tree"])
def test_sites_average_one_sketch_each_weighted_by_rows(schedule: str, construction: str) -> None:
    settings: dict[str, Any] = {"method": "sketch", "schedule": schedule, "seed": 0}
    grouped = pg.estimate(
        VALUES, "gini", "path", groups=SITES, construction=construction, **settings
    )
    single = pg.estimate(VALUES, "gini", "path", method="sketch", schedule="tree", seed=0)
    assert grouped.nodes == 4 and grouped.construction == "whole-sets"
    assert grouped.target == pg.exact(VALUES, "gini")
    assert grouped.sketch_value is not None
    assert grouped.sketch_value == pytest.approx(single.sketch_value, rel=1e-12)
    assert grouped.bracket == pytest.approx(single.bracket, rel=1e-9)
    assert grouped.sketch_error is not None and 0 < grouped.sketch_error < 1e-3 * grouped.target
    np.testing.assert_allclose(grouped.site_estimates, grouped.sketch_value, rtol=1e-9)
    assert grouped.error[-1] == pytest.approx(grouped.sketch_error, rel=1e-4)


@pytest.mark.parametrize(
    ("kernel", "labels", "target"),
    [("variance", None, "u"), ("auc", LABELS, "v"), ("within-cluster-scatter", LABELS, "v")],
)
def test_sites_find_the_statistic_of_all_rows(
    kernel: str, labels: FloatArray | None, target: str
) -> None:
    run = pg.estimate(
        VALUES, kernel, "cycle", groups=SITES, labels=labels, target=target,
        method="sketch", schedule="tree", seed=0,
    )  # fmt: skip
    exact = pg.exact(VALUES, kernel, labels=labels, kind=target)
    np.testing.assert_allclose(run.estimates, exact, rtol=5e-3 if kernel == "auc" else 1e-12)


@pytest.mark.parametrize("construction", ["lexicographic", "whole-sets"])
def test_sites_collect_all_rows(construction: str) -> None:
    run = pg.estimate(
        VALUES, overlap, "path", groups=SITES, construction=construction,
        method="collect", target="u", seed=0,
    )  # fmt: skip
    np.testing.assert_allclose(run.estimates, pg.exact(VALUES, overlap, kind="u"), rtol=1e-12)
    assert run.exchanges[-1] < run.iterations[-1]
    digests = run.messages[-1] * 2 / 3  # one byte for four sites, in two of three messages
    rows_sent = (run.bytes[-1] - digests) / (8 + 4)
    assert rows_sent == 3 * ROWS


@pytest.mark.pairs
@pytest.mark.parametrize("groups", [None, SITES])
@pytest.mark.parametrize("kernel", ["gini", overlap])
@pytest.mark.parametrize("method", ["sketch", "collect"])
@pytest.mark.parametrize("target", ["u", "v"])
def test_nodes_agree_on_the_statistic_of_their_reports(
    method: str, kernel: Any, groups: Any, target: str
) -> None:
    how: dict[str, Any] = {"schedule": "tree"} if method == "sketch" else {"schedule": "ordered"}
    run = pg.estimate(
        VALUES, kernel, "cycle", groups=groups, method=method, target=target,
        privacy=MECHANISM, trials=3, seed=0, **how,
    )  # fmt: skip
    assert run.private_values is not None
    assert len(set(run.private_values)) == 3
    np.testing.assert_allclose(run.estimates.T, [run.private_values] * run.nodes, rtol=1e-9)
    assert (run.sketch, run.sketch_error, run.bracket) == (None, None, None)


def test_sites_without_sets_are_told_what_works() -> None:
    with pytest.raises(
        InputError, match=r"there are too many between the rows of sites: use schedule='random'\.$"
    ):
        pg.estimate(VALUES, None, "path", groups=SITES, method="averaging", schedule="tree")
    with pytest.raises(InputError, match="use construction 'whole-sets', or schedule='random'"):
        pg.estimate(VALUES, "gini", "path", groups=SITES, method="tracking", schedule="ordered")
