"""Kernels, ratios, and whatever a user may pass for one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.estimation import estimate
from pairgossip.kernels import CATALOG, Formula, Kernel, Pairs, Ratio, as_kernel, auc, exact, gini
from pairgossip.kernels.calling import row_per_pair, value_per_pair


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    return a * b


def test_a_plain_function_is_a_kernel() -> None:
    kernel = as_kernel(product)
    assert isinstance(kernel, Kernel)
    assert (kernel.name, kernel.symmetric, kernel.zero_diagonal) == ("product", False, False)
    assert kernel.formula is Formula.NONE
    assert kernel.components == (kernel,)
    np.testing.assert_array_equal(kernel([1, 2], [3, 4]), [3.0, 8.0])


def test_a_lambda_and_an_object_are_kernels() -> None:
    class Power:
        def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
            return a**2 + b

    assert as_kernel(lambda a, b: a - b).name == "custom"
    assert as_kernel(Power()).name == "custom"


def test_kernels_and_ratios_pass_through() -> None:
    kernel, ratio = gini(), auc()
    assert as_kernel(kernel) is kernel
    assert as_kernel(ratio) is ratio
    for spelling in ("Ranking_Risk", " ranking risk "):
        assert as_kernel(spelling).name == "ranking-risk"


def _fails(a: FloatArray, b: FloatArray) -> FloatArray:
    raise KeyError("scale")


def test_the_original_error_is_kept() -> None:
    with pytest.raises(InputError) as caught:
        as_kernel(_fails)(np.arange(5), np.arange(5))  # type: ignore[operator]
    assert isinstance(caught.value.__cause__, KeyError)


def test_combine_a_ratio() -> None:
    values = np.array([[[1.0, 2.0], [0.0, 0.0]], [[3.0, 0.0], [-1.0, 4.0]]])
    np.testing.assert_array_equal(auc().combine(values), [[0.5, np.nan], [np.nan, -0.25]])
    assert float(auc().combine(np.array([3.0, 4.0]))) == 0.75


def test_a_ratio_of_whatever_makes_a_kernel() -> None:
    ratio = Ratio(product, "gini")
    assert [part.name for part in ratio.components] == ["product", "gini"]
    assert ratio.columns == ("value",)
    assert not ratio.symmetric
    assert not ratio.zero_diagonal
    data = np.array([1.0, 2.0, 4.0])
    assert exact(data, ratio) == pytest.approx(data.sum() ** 2 / (2 * (1 + 2 + 3)))


def test_a_user_validation_is_run() -> None:
    def positive(data: FloatArray) -> None:
        if (data <= 0).any():
            raise InputError("Kernel 'log-ratio' needs positive data: shift it.")

    kernel = Kernel(lambda a, b: np.log(a / b), name="log-ratio", validate=positive)
    with pytest.raises(InputError, match="needs positive data"):
        exact([1.0, 0.0], kernel)
    with pytest.raises(InputError, match="needs positive data"):
        exact([1.0, 0.0], Ratio(kernel, "gini"))


GRADES = ["low", "medium", "high", "low", "medium", "high"]
SCORES = [1.0, 2.0, 3.0, 1.5, 2.5, 0.5]


def label_gap(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.abs(a[:, 1] - b[:, 1])


def label_differs(a: FloatArray, b: FloatArray) -> FloatArray:
    return (a[:, 1] != b[:, 1]) * np.abs(a[:, 0] - b[:, 0])


@pytest.mark.parametrize("name", ["ranking-risk", "kendall", "concordance", "distance"])
@pytest.mark.parametrize("labels", [GRADES, ["8", "9", "10", "8", "9", "10"]])
def test_text_labels_are_refused_where_their_size_matters(name: str, labels: Any) -> None:
    sentence = (
        f"Kernel '{name}' compares labels by size, but the labels are text such as '{labels[0]}': "
        "pass numbers, or give their order with classes=."
    )
    for ask in (exact, Pairs, estimate):
        with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
            ask(SCORES, name, labels=labels)


def test_an_ordered_categorical_counts_by_its_order() -> None:
    pandas = pytest.importorskip("pandas")
    grades = pandas.Categorical(GRADES, categories=["low", "medium", "high"], ordered=True)
    by_codes = exact(SCORES, "ranking-risk", labels=[0, 1, 2, 0, 1, 2])
    assert exact(SCORES, "ranking-risk", labels=grades) == by_codes
    with pytest.raises(InputError, match="compares labels by size"):
        exact(SCORES, "ranking-risk", labels=pandas.Categorical(GRADES))


def test_text_may_name_classes() -> None:
    codes = [1, 2, 0, 1, 2, 0]
    for name in ("within-cluster-scatter", "metric-learning-risk"):
        assert exact(SCORES, name, labels=GRADES) == exact(SCORES, name, labels=codes)
        two = ["no", "yes", "yes", "no", "yes", "no"]
        assert exact(SCORES, name, labels=two) == exact(SCORES, name, labels=[0, 1, 1, 0, 1, 0])
    assert exact(SCORES, "ranking-risk", labels=[True, False] * 3) == exact(
        SCORES, "ranking-risk", labels=[1, 0] * 3
    )


def test_a_function_shows_whether_the_size_of_labels_matters() -> None:
    exact(SCORES, label_differs, labels=GRADES)
    exact(SCORES, label_gap, labels=["no", "yes"] * 3)
    exact(SCORES, label_differs, labels=list("abcdef"))
    with pytest.raises(InputError, match="gives other values if classes are numbered"):
        exact(SCORES, label_gap, labels=list("abcdef"))
    with pytest.raises(InputError, match="Kernel 'label_gap' gives other values if classes are"):
        exact(SCORES, label_gap, labels=GRADES)
    with pytest.raises(InputError, match="Kernel 'ratio' gives other values if classes are"):
        exact(SCORES, Ratio(label_gap, label_differs), labels=GRADES)
    exact(SCORES, Kernel(label_gap, label_sizes=False), labels=GRADES)
    signed = Kernel(lambda a, b: a[:, -1] - b[:, -1], name="signed", label_sizes=False)
    with pytest.raises(InputError, match="Kernel 'signed' depends on which of two classes"):
        exact(SCORES, signed, labels=["no", "yes"] * 3)
    with pytest.raises(InputError, match="Kernel 'gap' compares labels by size"):
        exact(SCORES, Kernel(label_gap, name="gap", label_sizes=True), labels=["no", "yes"] * 3)


@pytest.mark.parametrize("name", sorted(set(CATALOG) - {"variance", "gini", "gini-coefficient"}))
def test_built_in_kernels_know_whether_the_size_of_labels_matters(name: str) -> None:
    kernel = CATALOG[name]()
    codes = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
    scores = [SCORES] * (2 if name in ("auc-difference", "hand-till") else 1)
    table, renumbered = (np.column_stack((*scores, each)) for each in (codes, (codes + 1) % 3))
    first, second = (index.ravel() for index in np.meshgrid(range(6), range(6)))
    changed = any(
        not np.array_equal(part(t[first], t[second]), part(r[first], r[second]))
        for part in kernel.components
        for t, r in [(table, renumbered)]
    )
    # The AUC takes two classes only, one of which must be declared the positive one.
    assert kernel.label_sizes is (changed and not kernel.components[0].two_classes)


BLOCK = np.arange(6.0).reshape(3, 2)


def test_integers_and_single_features_are_fine() -> None:
    whole = value_per_pair("It", lambda x, y: np.ones(3, dtype=int), BLOCK, BLOCK)
    assert whole.dtype == np.float64
    assert row_per_pair("It", lambda x, y: x[:, 0] - y[:, 1], BLOCK, BLOCK).shape == (3, 1)


def test_eight_kernels_may_be_weighted_and_stratified() -> None:
    eight = pg.Combination(("gini",) * 8, lambda averages: averages.sum(axis=-1))
    data, weights = np.array([1.0, 2.0, 4.0, 7.0]), np.array([1.0, 2.0, 1.0, 3.0])
    found = pg.exact(data, eight, weights=weights, within=[0, 0, 1, 1])
    one = pg.exact(data, "gini", weights=weights, within=[0, 0, 1, 1])
    assert found == pytest.approx(8 * one)
    with pytest.raises(pg.InputError, match="has 1 to 8 kernels, not 9"):
        pg.Combination(("gini",) * 9, np.sum)


def test_a_gradient_of_another_shape_is_refused() -> None:
    wrong = pg.Combination(
        ("gini", "variance"), lambda averages: averages[..., 0], lambda averages: averages[..., 0]
    )
    with pytest.raises(pg.InputError, match=r"gradient of combination 'combination' returned sh"):
        pg.exact([1.0, 2.0, 4.0], wrong, interval=0.95)


def _writing(first: FloatArray, second: FloatArray) -> FloatArray:
    first *= 2
    return first


@pytest.mark.parametrize(
    ("call", "function", "sentence"),
    [
        (value_per_pair, lambda x, y: x - y, r"It returned shape \(3, 2\) for 3 pairs: .* \(3,\)"),
        (value_per_pair, lambda x, y: None, r"It returned shape \(\) for 3 pairs"),
        (value_per_pair, lambda x, y: x[:, 0].astype(str), "returned <U32 values: it must return"),
        (value_per_pair, _fails, r"It failed on blocks of shape \(3, 2\): 'scale'\.$"),
        (row_per_pair, lambda x, y: x.sum(), r"It returned shape \(\) for 3 pairs: .* \(3, p\)"),
        (row_per_pair, lambda x, y: x + 1j, "It returned complex128 values: it must return real"),
        (row_per_pair, lambda x, y: x @ y, r"It failed on blocks of shape \(3, 2\): matmul"),
        (row_per_pair, _writing, "output array is read-only"),
    ],
)
def test_wrong_answers_get_a_sentence(call: Any, function: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        call("It", function, BLOCK, BLOCK)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: as_kernel("gnii"), "Unknown kernel 'gnii': did you mean 'gini'?"),
        (lambda: as_kernel("zzz"), "Unknown kernel 'zzz': choose one of auc, auc-difference, conc"),
        (lambda: as_kernel(3), "A kernel is a name such as 'gini', .* but got int"),
        (
            lambda: as_kernel(gini),
            r"The kernel is the factory 'gini' itself: call it, as in gini\(\)",
        ),
        (lambda: Kernel("gini"), "A kernel needs a function of two blocks .*, but got str"),  # type: ignore[arg-type]
        (
            lambda: Ratio("auc", "gini"),
            "The numerator must be a single kernel, but 'auc' is made of 2",
        ),
    ],
)
def test_what_is_no_kernel(build: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        build()


@pytest.mark.parametrize(
    ("name", "columns", "sentence"),
    [
        (
            "gini",
            3,
            r"takes 1 column \(value\), but the data has 3 columns: choose the ones to use",
        ),
        (
            "auc",
            1,
            r"takes 2 columns \(score, label\), .* 1 column: give the labels as the last col",
        ),
        (
            "within-cluster-scatter",
            1,
            r"2 or more columns \(features..., cluster\),.* the clusters",
        ),
        ("concordance", 4, r"2 or 3 columns \(prediction, outcome, optional event\), .* 4 columns"),
        (
            "kendall",
            1,
            r"takes 2 columns \(x, y\), but the data has 1 column: add the missing ones",
        ),
    ],
)
def test_columns(name: str, columns: int, sentence: str) -> None:
    with pytest.raises(InputError, match=f"^Kernel '{name}' .*{sentence}"):
        as_kernel(name).check(np.zeros((4, columns)) if columns > 1 else np.zeros(4))
