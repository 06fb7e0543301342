"""Hand and Till's M: against scikit-learn, a double loop, the jackknife and the bootstrap."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.kernels import Combination, Pairs
from tests.cli.running import CommandLine


def scored(n: int = 120, classes: int = 4, seed: int = 0) -> tuple[FloatArray, Any]:
    """Return scores with ties, one column per class, and the classes, some of them rare."""
    random = np.random.default_rng(seed)
    labels = random.choice(classes, n, p=random.dirichlet(np.full(classes, 3.0)))
    labels[: 2 * classes] = np.repeat(np.arange(classes), 2)
    scores = random.normal(size=(n, classes))
    scores[np.arange(n), labels] += 1
    return np.round(scores, 1), labels


def hand_and_till(
    scores: FloatArray, labels: Any, weights: Any = None, within: Any = None
) -> float:
    """Compute M by its definition, one pair of rows after the other."""
    n = len(labels)
    weights = np.ones(n) if weights is None else weights
    within = np.zeros(n) if within is None else within

    def separation(i: Any, j: Any, column: int) -> float:
        """Return A(i|j), how often rows of class i have the higher score for it."""
        won = compared = 0.0
        for k in np.flatnonzero(labels == i):
            for other in np.flatnonzero((labels == j) & (within == within[k])):
                gap, times = scores[k, column] - scores[other, column], weights[k] * weights[other]
                won += times * (0.5 if gap == 0 else float(gap > 0))
                compared += times
        return won / compared

    pairs = list(combinations(enumerate(np.unique(labels)), 2))
    both = [(separation(i, j, at) + separation(j, i, other)) / 2 for (at, i), (other, j) in pairs]
    return float(np.mean(both))


@pytest.mark.parametrize("classes", [3, 4, 6])
def test_it_is_that_of_scikit_learn(classes: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    scores, labels = scored(200, classes)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    shares = np.round(shares, 2) + (1 - np.round(shares, 2).sum(axis=1, keepdims=True)) / classes
    known = metrics.roc_auc_score(labels, shares, multi_class="ovo", average="macro")
    for kind in ("v", "u"):
        assert pg.exact(shares, "hand-till", kind, labels=labels) == pytest.approx(known, rel=1e-12)
    wines, kinds = pg.datasets.wine()
    known = metrics.roc_auc_score(
        kinds, (first := np.abs(wines[:, :3])) / first.sum(axis=1, keepdims=True), multi_class="ovo"
    )
    found = pg.exact(first / first.sum(axis=1, keepdims=True), "hand-till", labels=kinds)
    assert found == pytest.approx(known, rel=1e-12)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_it_is_its_definition_on_any_scores(data: st.DataObject) -> None:
    classes = data.draw(st.integers(2, 4))
    labels = np.array(
        [*range(classes), *data.draw(st.lists(st.integers(0, classes - 1), max_size=9))]
    )
    number = st.one_of(st.integers(-2, 2).map(float), st.floats(-100, 100, width=32))
    rows = st.lists(number, min_size=classes, max_size=classes)
    scores = np.array(data.draw(st.lists(rows, min_size=len(labels), max_size=len(labels))))
    names = data.draw(
        st.sampled_from([labels, labels * 2.0 - 1, labels == 0][: 2 + (classes == 2)])
    )
    weights = data.draw(st.sampled_from([None, 1 + np.arange(len(labels)) % 3]))
    found = pg.exact(scores, "hand-till", labels=names, weights=weights)
    assert found == pytest.approx(hand_and_till(scores, names, weights), rel=1e-12)


def test_of_two_classes_it_is_the_mean_of_two_aucs() -> None:
    scores, labels = scored(80, 2)
    first, second = (
        pg.exact(scores[:, at], "auc", labels=labels == at, positive=True) for at in (0, 1)
    )
    assert pg.exact(scores, "hand-till", labels=labels) == pytest.approx((first + second) / 2)
    probabilities = np.column_stack([-scores[:, 1], scores[:, 1]])
    plain = pg.exact(scores[:, 1], "auc", labels=labels, interval=0.95)
    found = pg.exact(probabilities, "hand-till", labels=labels, interval=0.95)
    assert (found.error, found.low, found.high) == pytest.approx(
        (plain.error, plain.low, plain.high), rel=1e-9
    )
    assert found.scale == "logit"


@pytest.mark.parametrize("which", ["plain", "weights", "within"])
def test_its_error_is_that_of_leaving_out_rows(which: str) -> None:
    scores, labels = scored(120)
    columns = {"weights": np.ones(120), "within": np.arange(120) % 2}
    how: dict[str, Any] = {which: columns[which]} if which in columns else {}
    found = pg.exact(scores, "hand-till", labels=labels, interval=0.95, **how)

    def without(k: int) -> float:
        some: dict[str, Any] = {key: np.delete(column, k) for key, column in how.items()}
        rows, kinds = np.delete(scores, k, axis=0), np.delete(labels, k)
        return pg.exact(rows, "hand-till", labels=kinds, **some)

    left_out = np.array([without(k) for k in range(120)])
    spread = 0.0  # classes are separate samples
    for one in range(4):
        part, count = left_out[labels == one], (labels == one).sum()
        spread += (count - 1) / count * np.sum((part - part.mean()) ** 2)
    assert found.error == pytest.approx(np.sqrt(spread), rel=0.05)
    expected = hand_and_till(scores, labels, **how)
    assert found.value == pytest.approx(expected, rel=1e-12)


def test_its_error_is_that_of_the_bootstrap() -> None:
    scores, labels = scored(200, 3, seed=2)
    random, drawn = np.random.default_rng(3), []
    parts = [np.flatnonzero(labels == one) for one in range(3)]
    for _ in range(300):
        rows = np.concatenate([random.choice(part, len(part)) for part in parts])
        drawn.append(pg.exact(scores[rows], "hand-till", labels=labels[rows]))
    found = pg.exact(scores, "hand-till", labels=labels, interval=0.95)
    assert found.error == pytest.approx(np.std(drawn), rel=0.1)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_closed_forms_are_sums_over_pairs(classes: int) -> None:
    scores, labels = scored(60, classes)
    pairs = Pairs(scores, "hand-till", labels=labels)
    pairs.check()
    assert isinstance(pairs.kernel, Combination)
    assert len(pairs.kernel.components) == classes * (classes - 1)
    for at, part in enumerate(pairs.kernel.components):
        table = pairs.matrix(at)
        assert part.total is not None and part.row_totals is not None
        np.testing.assert_allclose(part.row_totals(pairs.data), table.sum(axis=1), rtol=1e-12)
        assert part.total(pairs.data) == pytest.approx(table.sum(), rel=1e-12)
        np.testing.assert_array_equal(table, table.T)
        weights = np.arange(60.0) % 4
        np.testing.assert_allclose(part.row_totals(pairs.data, weights), table @ weights)
    averages = np.random.default_rng(0).random(len(pairs.kernel.components)) + 0.5
    by_differences = Combination(pairs.kernel.kernels[:8], pairs.kernel.function)
    if classes < 4:
        np.testing.assert_allclose(
            pairs.kernel.slopes(averages), by_differences.slopes(averages), rtol=1e-5
        )


def test_a_pair_of_classes_has_an_m_of_its_own() -> None:
    scores, labels = scored()
    parts = []
    for pair in combinations(range(4), 2):
        rows = np.isin(labels, pair)
        parts.append(pg.exact(scores[rows][:, pair], "hand-till", labels=labels[rows]))
    assert pg.exact(scores, "hand-till", labels=labels) == pytest.approx(np.mean(parts))


def test_it_is_tested_and_compared_by_group() -> None:
    scores, labels = scored(400)
    found = pg.test(scores, "hand-till", labels=labels)
    assert found.p < 1e-6 and found.law == "sampling error"
    by = np.where(labels == 3, "a", np.array(["a", "b"])[np.arange(400) % 2])
    table = pg.exact(scores, "hand-till", labels=labels, by=by, interval=0.95)
    assert np.isnan(table["b"]) and "there are 4 columns for 3 classes" in str(table.reasons["b"])
    alone = pg.exact(scores[by == "a"], "hand-till", labels=labels[by == "a"], interval=0.95)
    assert table["a"].error == pytest.approx(alone.error)


@pytest.mark.parametrize("method", ["gosta", "tracking", "collect"])
def test_nodes_estimate_it(method: str) -> None:
    scores, labels = scored(40, 3)
    asked: dict[str, Any] = {"labels": labels, "method": method, "seed": 0, "progress": False}
    run = pg.estimate(scores, "hand-till", "complete", iterations=8000, n_jobs=1, **asked)
    assert run.target == pg.exact(scores, "hand-till", labels=labels)
    assert run.mean[-1] == pytest.approx(run.target, abs=0.02)


def frame(columns: list[str], order: list[int], names: list[str]) -> tuple[Any, FloatArray, Any]:
    pandas = pytest.importorskip("pandas")
    scores, labels = scored(60, 3)
    table = pandas.DataFrame(scores[:, order], columns=columns)
    return table.assign(kind=np.array(names)[labels]), scores, labels


def test_columns_named_like_the_classes_go_by_their_names() -> None:
    table, scores, labels = frame(["c", "a", "b"], [2, 0, 1], ["a", "b", "c"])
    expected = pg.exact(scores, "hand-till", labels=labels)
    assert pg.exact(table, "hand-till", labels="kind") == expected
    assert pg.exact(table, "hand-till", labels="kind", classes=["a", "b", "c"]) == expected
    numbered = table.rename(columns={"c": "3", "a": "1", "b": "2"}).assign(kind=labels + 1)
    assert pg.exact(numbered, "hand-till", labels="kind") == expected
    run = pg.estimate(table, "hand-till", "complete", labels="kind", iterations=50, progress=False)
    assert run.target == expected
    two = table[table["kind"] != "c"].drop(columns="c")
    assert pg.exact(two[["b", "a", "kind"]], "hand-till", labels="kind") == pytest.approx(
        pg.exact(scores[labels < 2][:, :2], "hand-till", labels=labels[labels < 2])
    )


def test_other_columns_go_by_the_order_of_the_classes() -> None:
    table, scores, labels = frame(["x", "y", "z"], [0, 1, 2], ["a", "b", "c"])
    expected = pg.exact(scores, "hand-till", labels=labels)
    assert pg.exact(table, "hand-till", labels="kind", classes=["a", "b", "c"]) == expected
    turned = pg.exact(table[["z", "y", "x", "kind"]], "hand-till", labels="kind", classes=[*"cba"])
    assert turned == expected
    assert pg.exact(np.column_stack([scores, labels]), "hand-till") == expected


ROWS, KINDS = scored(60, 3)
REFUSALS: list[tuple[Any, Any, str]] = [
    (ROWS, np.array([*"abc"])[KINDS], "'hand-till' takes the columns of scores in the order of the "
     "classes, but the labels are text such as"),
    (ROWS[:, :2], KINDS, "for each class, but there are 2 columns for 3 classes: give one per"),
    (ROWS[:, :1], KINDS, "for each class, but there is 1 column for 3 classes: give one per class"),
    (ROWS, np.zeros(60), "'hand-till' needs two classes, but the labels hold one class only"),
    (ROWS, None, "there are 2 columns for [0-9]+ classes: give one per class"),
    (np.zeros((60, 20)), np.arange(60) % 20, "up to 16 classes, but the labels hold 20"),
    ({"a": ROWS[:, 0], "b": ROWS[:, 1], "x": ROWS[:, 2]}, np.array([*"abc"])[KINDS],
     "but the columns are a, b and x, and the classes .* name every column like its class, or no"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "labels", "sentence"), REFUSALS)
def test_other_rows_are_refused(data: Any, labels: Any, sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        pg.exact(data, "hand-till", labels=labels)


def test_what_knows_sums_or_reports_only_refuses_it() -> None:
    with pytest.raises(pg.InputError, match="'hand-till' cannot be read from counts: use exact"):
        pg.summarize(ROWS, "hand-till", labels=KINDS)
    with pytest.raises(pg.InputError, match="'hand-till' has no sketch"):
        pg.estimate(ROWS, "hand-till", "complete", labels=KINDS, method="sketch")
    reports = pg.privacy.RandomizedResponse(2.0, (4, 4, 4), [(-6, 6)] * 3, classes=(0, 1, 2))
    with pytest.raises(pg.InputError, match="and reports of all columns together would drown"):
        pg.estimate(ROWS, "hand-till", "complete", labels=KINDS, privacy=reports)


def test_commands_compute_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cli, file = CommandLine(capsys), tmp_path / "rows.csv"
    lines = [f"{c},{a},{b},{'abc'[k]}" for (a, b, c), k in zip(ROWS, KINDS, strict=True)]
    file.write_text("\n".join(["c,a,b,kind", *lines]))
    asked = ("exact", file, "--kernel", "hand-till", "--column", "c,a,b", "--label", "kind")
    expected = pg.exact(ROWS, "hand-till", labels=KINDS)
    assert float(cli(*asked, "--classes", "c,a,b").out) == expected
    sentence = (
        "The columns of scores are named like the classes, whose order is another one, or none: "
        "give --classes c,a,b."
    )
    assert cli.error(*asked) == cli.error(*asked, "--classes", "a,b,c") == sentence
    file.write_text("\n".join(["x,y,z,kind", *lines]))
    asked = (*asked[:5], "x,y,z", *asked[6:])
    assert float(cli(*asked, "--classes", "c,a,b").out) == expected
    assert "give their order with --classes" in cli.error(*asked)
