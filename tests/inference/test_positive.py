"""Which of two classes is the positive one: declared, never guessed, and named by every result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import pairgossip as pg
from pairgossip.errors import InputError, ManyRows
from pairgossip.losses import auc_of_scores, risk

RNG = np.random.default_rng(11)
SCORES = RNG.normal(size=40)
ILL = SCORES + RNG.normal(size=40) > 0
WORDS = np.where(ILL, "ill", "well")
TABLE = np.column_stack([SCORES, SCORES**2])
AUC = float(roc_auc_score(ILL, SCORES))
SHORT: dict[str, Any] = {"iterations": 50, "seed": 0}

ASKS: dict[str, Callable[..., Any]] = {
    "Kernel 'auc'": lambda **how: pg.exact(SCORES, "auc", **how),
    "Kernel 'auc-difference'": lambda **how: pg.exact(TABLE, "auc-difference", **how),
    "Kernel 'somers-d'": lambda **how: pg.exact(SCORES, "somers-d", **how),
    "Kernel 'ranking-risk'": lambda **how: pg.exact(SCORES, "ranking-risk", **how),
    "Kernel 'kendall-b'": lambda **how: pg.test(SCORES, "kendall-b", **how),
    "Test 'mann-whitney'": lambda **how: pg.test(SCORES, "mann-whitney", **how),
    "Test 'spearman'": lambda **how: pg.test(SCORES, "spearman", **how),
    "A shift": lambda **how: pg.hodges_lehmann(SCORES, **how),
    "Loss 'auc-logistic'": lambda **how: pg.minimize(TABLE, **how, **SHORT),
    "Loss 'ranking-hinge'": lambda **how: pg.minimize(TABLE, loss="ranking-hinge", **how, **SHORT),
    "Loss 'auc-hinge'": lambda **how: risk([1.0, 0.0], TABLE, "auc-hinge", **how),
    "The AUC": lambda **how: auc_of_scores(SCORES, **how),
}


@pytest.mark.parametrize("owner", ASKS)
def test_text_is_refused_until_one_class_is_positive(owner: str) -> None:
    with pytest.raises(InputError) as caught:
        ASKS[owner](labels=WORDS)
    assert str(caught.value) == (
        f"{owner} depends on which of two classes is the positive one, but the labels are 'ill' "
        "and 'well': give positive='ill', or the other."
    )
    found, same = ASKS[owner](labels=WORDS, positive="ill"), ASKS[owner](labels=ILL)
    assert _number(found) == _number(same)
    assert _number(ASKS[owner](labels=WORDS, positive="well")) != _number(same)


def _number(found: Any) -> float:
    return float(getattr(found, "value", getattr(found, "model", [found])[0]))


@pytest.mark.parametrize(
    "kernel",
    ["energy-distance", "mmd", "within-cluster-scatter", "metric-learning-risk"],
)
def test_where_no_class_comes_first_text_will_do(kernel: str) -> None:
    assert pg.exact(SCORES, kernel, labels=WORDS) == pytest.approx(
        pg.exact(SCORES, kernel, labels=ILL), rel=1e-12
    )
    assert pg.exact(SCORES, kernel, labels=WORDS, interval=0.9).positive is None


def test_ties_of_the_first_rows_hide_nothing() -> None:
    def weigh_higher(first: Any, second: Any) -> Any:
        return (first[:, 0] - second[:, 0]) * (first[:, 1] > second[:, 1])

    order = np.argsort(SCORES > 0, kind="stable")
    zeros, words = np.maximum(SCORES, 0)[order], WORDS[order]
    for kernel in ("kendall", "ranking-risk", weigh_higher):
        with pytest.raises(InputError, match="give positive='ill'"):
            pg.exact(zeros, kernel, labels=words)
        assert pg.exact(zeros, kernel, labels=words, positive="ill", interval=0.9).positive == "ill"


def test_events_in_words_are_named() -> None:
    asked: dict[str, Any] = {"data": TABLE, "kernel": "concordance", "interval": 0.9}
    found = pg.exact(**asked, labels=WORDS, positive="ill")
    assert found.positive == "ill"
    assert found == pg.exact(**asked, labels=ILL.astype(float))


def test_numbers_booleans_and_ordered_categories_have_an_order() -> None:
    pandas = pytest.importorskip("pandas")
    ordered = pandas.Categorical(WORDS, ["well", "ill"], ordered=True)
    known: list[tuple[Any, str]] = [
        (ILL, "True"),
        (ILL.astype(object), "True"),
        (ILL.astype(int), "1"),
        (np.where(ILL, 0.5, -1.0), "0.5"),
        (np.where(ILL, "10", "9"), "10"),
        (ordered, "ill"),
        (pandas.Series(ordered), "ill"),
        ([bool(one) for one in ILL], "True"),
    ]
    for labels, name in known:
        answer = pg.exact(SCORES, "auc", labels=labels, interval=0.95)
        assert answer == pytest.approx(AUC) and answer.positive == name
    data = np.column_stack([SCORES, 2 + ILL])
    assert pg.exact(data, "auc", interval=0.95).positive == "3"
    assert pg.exact(data, "kendall", interval=0.95).positive is None
    below = pg.exact(SCORES, "auc", labels=ILL.astype(int), positive=0, interval=0.95)
    assert below == pytest.approx(1 - AUC) and below.positive == "0"


def test_an_own_kernel_shows_whether_it_minds() -> None:
    def wins(a: Any, b: Any) -> Any:
        return (a[:, 0] > b[:, 0]) * (a[:, 1] > b[:, 1]).astype(float)

    with pytest.raises(InputError, match="Kernel 'wins' depends on which of two classes"):
        pg.exact(SCORES, wins, labels=WORDS)
    named = pg.exact(SCORES, wins, labels=WORDS, positive="ill", interval=0.9)
    assert named.positive == "ill"
    pg.exact(SCORES, lambda a, b: (a[:, 1] == b[:, 1]).astype(float), labels=WORDS)


def test_an_own_loss_names_it_too() -> None:
    def count_higher(first: Any, second: Any) -> Any:
        return (first[:, -1] > second[:, -1]).astype(float)

    def subtract(first: Any, second: Any) -> Any:
        return first[:, :-1] - second[:, :-1]

    loss = pg.Loss(subtract, "hinge", weights=count_higher, name="own")
    with pytest.raises(InputError, match="Loss 'own' depends on which of two classes"):
        pg.minimize(TABLE, WORDS, loss, **SHORT)
    assert pg.minimize(TABLE, WORDS, loss, positive="ill", **SHORT).positive == "ill"


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"positive": "sick"}, r"The positive class is 'sick', but the labels are '\w+' and '\w+'"),
        ({"positive": "ill", "classes": ["well", "ill"]}, "leave positive= out"),
        ({"positive": "ill", "labels": None}, "there are no labels: give labels="),
        ({"positive": "c", "labels": list("abcd") * 10}, "is one of two, .*: give classes="),
        ({"positive": "c", "labels": ["c"] * 40}, "all labels are 'c': add observations of"),
        ({"positive": ["ill"]}, r"The positive class is \['ill'\]"),
    ],
)
def test_a_positive_class_is_one_of_two_labels(how: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        pg.exact(SCORES, "auc", **{"labels": WORDS, **how})


def test_every_result_names_it(tmp_path: Any) -> None:
    how: dict[str, Any] = {"labels": WORDS, "positive": "ill"}
    assert str(pg.exact(SCORES, "auc", **how, interval=0.95)).endswith("; positive: ill)")
    assert str(pg.hodges_lehmann(SCORES, **how)).endswith("; positive: ill)")
    for name in ("auc", "mann-whitney"):
        assert "positive: ill" in str(pg.test(SCORES, name, **how))
    fast: dict[str, Any] = {"graph": "complete", "schedule": "tree"}
    runs = [
        pg.estimate(SCORES, "auc", method="sketch", **how, **fast, interval=0.95),
        pg.test(SCORES, "mann-whitney", **how, **fast),
        pg.hodges_lehmann(SCORES, **how, **fast),
        pg.minimize(TABLE, method="sketch", **how),
    ]
    for run in runs:
        run.save(tmp_path / "run.npz")
        for one in (run, pg.load(tmp_path / "run.npz")):
            assert one.positive == "ill" and "positive: ill" in repr(one)
    assert runs[0].answer.positive == "ill"
    legend = pg.compare([runs[0], runs[0]]).get_legend_handles_labels()[1]
    assert all("of auc (positive: ill)" in label for label in legend)
    assert "positive: ill" in runs[0].plot().get_title()
    gini = pg.estimate(SCORES, "gini", method="sketch", **fast)
    assert gini.positive is None and "positive" not in repr(gini)


def test_declared_classes_need_not_all_occur() -> None:
    how: dict[str, Any] = {"labels": WORDS, "interval": 0.95}
    answer = pg.exact(SCORES, "auc", classes=["well", "ill", "dead"], **how)
    assert answer == pytest.approx(AUC) and answer.positive == "ill"


def test_private_reports_keep_the_order_of_their_classes() -> None:
    mechanism = pg.privacy.RandomizedResponse(8.0, 4, (-4, 4), classes=("well", "ill"))
    how: dict[str, Any] = {"labels": WORDS, "privacy": mechanism, **SHORT}
    run = pg.estimate(SCORES, "auc", **how)
    assert run.target == pytest.approx(AUC) and run.positive == "ill"
    assert pg.estimate(SCORES, "auc", **how, positive="ill").target == run.target


def test_estimators_name_the_second_class_as_scikit_learn_does() -> None:
    model = pg.learn.GossipAUCClassifier(random_state=0).fit(TABLE, WORDS)
    assert model.fit_.positive == model.classes_[1] == "well"
    answer = model.score_interval(TABLE, WORDS)
    assert answer.positive == "well" and str(answer).endswith("; positive: well)")


@pytest.mark.parametrize(
    "ask",
    [
        lambda x, y: pg.exact(x, "auc", labels=y),
        lambda x, y: pg.exact(x, "gini", weights=y + 1),
        lambda x, y: pg.exact(x, "gini", within=y),
        lambda x, y: pg.test(x, "mann-whitney", labels=y),
        lambda x, y: pg.hodges_lehmann(x, labels=y),
        lambda x, y: pg.estimate(x, "gini", groups=y, **SHORT),
        lambda x, y: pg.minimize(x.to_frame(), y, **SHORT),
    ],
)
def test_rows_of_different_indexes_do_not_go_together(ask: Callable[..., Any]) -> None:
    pandas = pytest.importorskip("pandas")
    scores, labels = pandas.Series(SCORES), pandas.Series(ILL.astype(int))
    ask(scores, labels)
    ask(scores, labels.to_numpy()[::-1] + 0)
    shuffled = labels.sample(frac=1, random_state=0)
    with pytest.raises(InputError, match=r"pandas objects with different indexes, .* align them"):
        ask(scores, shuffled)
    ask(scores.loc[shuffled.index], shuffled)


def test_large_whole_weights_warn_that_they_are_frequencies() -> None:
    weights = np.full(40, 6)
    sentence = "6 on average, and count as frequencies: intervals are those of 240 rows, not of 40"
    asks: list[Callable[..., Any]] = [
        lambda w: pg.exact(SCORES, "gini", weights=w, interval=0.95),
        lambda w: pg.quantile(SCORES, 0.5, weights=w),
        lambda w: pg.estimate(
            SCORES, "gini", method="sketch", schedule="tree", weights=w, interval=0.95
        ),
    ]
    for ask in asks:
        with pytest.warns(ManyRows, match=sentence):
            ask(weights)
    asks[0](weights - 1)
    pg.exact(SCORES, "gini", weights=weights)
    pg.exact(SCORES, "gini", weights=weights, groups=np.arange(40), interval=0.95)
