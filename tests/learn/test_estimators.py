"""Common features of the three estimators: scikit-learn's requirements, groups, graphs."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneGroupOut,
    cross_val_score,
    cross_validate,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.learn import GossipAUCClassifier, GossipMetricLearner, GossipRanker, base

ESTIMATORS = [
    GossipAUCClassifier(),
    GossipRanker(),
    # The checks test its interface, not how well it learns.
    GossipMetricLearner(iterations=1_000),
    GossipMetricLearner(kind="full", iterations=1_000),
]


@parametrize_with_checks(ESTIMATORS)  # type: ignore[untyped-decorator]
def test_scikit_learn(estimator: Any, check: Any) -> None:
    """Failed checks raise an exception."""
    check(estimator)


ROWS = 60
HOSPITALS = np.array(["north", "east", "south", "west", "east", "east"] * 10)


def data() -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    X = random.normal(size=(ROWS, 3))
    return X, (X @ [2.0, 1.0, 0.0] + 0.3 * random.normal(size=ROWS) > 0).astype(int)


@pytest.mark.parametrize("kind", [GossipAUCClassifier, GossipRanker, GossipMetricLearner])
def test_rows_of_a_group_are_at_one_site(kind: Any) -> None:
    X, y = data()
    how = {"iterations": 5_000, "random_state": 0} | by_swaps(kind)
    model = kind("cycle", **how).fit(X, y, groups=HOSPITALS)
    fit = model.fit_
    assert fit.sites == pg.graphs.cycle(4)
    assert fit.groups.tolist() == np.unique(HOSPITALS, return_inverse=True)[1].tolist()
    assert fit.construction == "lexicographic"
    assert 0 < fit.local_exchanges[0, -1] < fit.exchanges[-1]
    assert not np.array_equal(model.models_, kind("cycle", **how).fit(X, y).models_)


def by_swaps(kind: Any) -> dict[str, str]:
    return {} if kind is GossipMetricLearner else {"solver": "dual-averaging"}


@pytest.mark.parametrize("kind", [GossipAUCClassifier, GossipRanker])
def test_sites_learn_by_sums_what_rows_would(kind: Any) -> None:
    X, y = data()
    sites = kind("cycle", random_state=0).fit(X, y, groups=HOSPITALS)
    assert sites.fit_.graph == pg.graphs.cycle(4) and sites.models_.shape == (4, 3)
    np.testing.assert_allclose(sites.coef_, kind().fit(X, y).coef_, rtol=1e-6)


GRAPHS = {
    "name": "cycle",
    "graph": pg.graphs.cycle(ROWS),
    "function": pg.graphs.cycle,
    "networkx": networkx.cycle_graph(ROWS),
    "networkx function": networkx.cycle_graph,
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_graphs_are_given_in_several_ways(graph: Any) -> None:
    X, y = data()
    model = clone(GossipAUCClassifier(graph)).fit(X, y)
    assert set(map(tuple, model.fit_.graph.edges)) == set(map(tuple, pg.graphs.cycle(ROWS).edges))


def test_a_graph_of_all_rows_does_not_fit_a_fold() -> None:
    X, y = data()
    with pytest.raises(ValueError, match="fits failed") as caught:
        cross_val_score(GossipAUCClassifier(pg.graphs.cycle(ROWS)), X, y, cv=3)
    assert (
        "The graph has 60 nodes but there are 40 rows to train on, as in a fold of a "
        "cross-validation: give the name of a family or a function of the number of nodes as "
        "graph=, or groups in fit and the graph of their sites." in str(caught.value)
    )
    for graph in ("cycle", pg.graphs.cycle):
        assert cross_val_score(GossipAUCClassifier(graph), X, y, cv=3).min() > 0.7


def test_a_graph_of_sites_fits_folds_that_hold_all_of_them() -> None:
    X, y = data()
    model = GossipAUCClassifier(pg.graphs.cycle(4))
    some = HOSPITALS != "east"
    with pytest.raises(InputError, match=r"^The graph has 4 sites but 3 of them have rows to trai"):
        model.fit(X[some], y[some], groups=HOSPITALS[some])
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(groups=True)
        found = cross_validate(
            model, X, y, params={"groups": HOSPITALS}, cv=KFold(3), return_estimator=True
        )
    assert found["test_score"].min() > 0.7
    for fold in found["estimator"]:
        assert fold.fit_.graph == pg.graphs.cycle(4) and len(fold.fit_.groups) == 40


@pytest.mark.parametrize("kind", [GossipAUCClassifier, GossipRanker, GossipMetricLearner])
def test_groups_are_routed_to_folds_and_to_fit(kind: Any) -> None:
    """Every fold leaves out a whole site."""
    X, y = data()
    settings = {"iterations": [200, 300]} if kind is GossipMetricLearner else {"l2": [0.01, 0.1]}
    with sklearn.config_context(enable_metadata_routing=True):
        model = kind("cycle", random_state=0).set_fit_request(groups=True)
        grid = GridSearchCV(model, settings, cv=LeaveOneGroupOut())
        grid.fit(X, y, groups=HOSPITALS)
    assert grid.best_estimator_.fit_.sites == pg.graphs.cycle(4)
    assert grid.best_score_ > 0.5


def test_progress_is_shown_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data()
    asked: list[Any] = []

    def minimize(*given: Any, progress: Any, **how: Any) -> Any:
        asked.append(progress)
        return pg.minimize(*given, progress=False, **how)

    monkeypatch.setattr(base, "minimize", minimize)
    for verbose in (False, True):
        GossipAUCClassifier(verbose=verbose).fit(X, y)
    assert asked == [False, True]


@pytest.mark.parametrize("kind", [GossipAUCClassifier, GossipRanker, GossipMetricLearner])
def test_a_score_has_its_sampling_error(kind: Any) -> None:
    X, y = data()
    model = kind(random_state=0).fit(X[:, 1:], y)  # one feature is left out
    found = model.score_interval(X[:, 1:], y)
    is_classifier = kind is GossipAUCClassifier  # whose score is its accuracy
    scores = model.decision_function(X[:, 1:]) if is_classifier else None
    judged = roc_auc_score(y, scores) if is_classifier else model.score(X[:, 1:], y)
    assert found == pytest.approx(judged) and found.low < found < found.high
    wider = model.score_interval(X[:, 1:], y, level=0.99, groups=HOSPITALS)
    assert wider.value == found.value and wider.error != found.error and wider.level == 0.99
    with pytest.raises(ValueError):
        model.score_interval(X[:, 1:], y[:-1])


def test_auc_intervals_are_those_of_scores() -> None:
    X, y = data()
    model = GossipAUCClassifier(random_state=0).fit(X[:, 1:], y)
    scores = model.decision_function(X[:, 1:])
    found = model.score_interval(X[:, 1:], np.where(y == 1, 1, 0))
    assert found.error == pytest.approx(pg.exact(scores, "auc", labels=y, interval=0.95).error)
    with pytest.raises(InputError, match="neither of the two classes, 0 and 1"):
        model.score_interval(X[:, 1:], y + 1)


def test_pairs_are_told_right_by_their_distance() -> None:
    X, y = data()
    learner = GossipMetricLearner(iterations=3_000, random_state=0).fit(X, y)
    places = learner.transform(X)
    apart = np.square(places[:, None] - places).sum(axis=2)
    right = (apart < learner.threshold) == (y[:, None] == y)
    expected = (right.sum() - ROWS) / (ROWS * (ROWS - 1))
    assert learner.score(X, y) == pytest.approx(expected)
