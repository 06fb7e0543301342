"""Data of any type become one array, or are refused in one sentence."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.kernels import check_data
from pairgossip.kernels.data import class_example
from pairgossip.text import format_rows


@pytest.mark.parametrize(
    "data",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([1, 2, 3], dtype=np.float16),
        np.array([[1], [2], [3]]),
        np.array([9, 1, 9, 2, 9, 3])[1::2],
        np.array([1, Decimal(2), Fraction(3)], dtype=object),
        np.ma.masked_array([1.0, 2.0, 3.0]),
        range(1, 4),
    ],
)
def test_one_column(data: Any) -> None:
    checked = check_data(data)
    assert checked.dtype == np.float64
    assert checked.flags.c_contiguous
    np.testing.assert_array_equal(checked, [1.0, 2.0, 3.0])


def test_several_columns() -> None:
    given = np.asfortranarray([[1, 2], [3, 4]])
    checked = check_data(given)
    assert checked.shape == (2, 2)
    assert checked.flags.c_contiguous
    np.testing.assert_array_equal(check_data([[True, False]]), [[1.0, 0.0]])


def test_the_user_array_is_neither_kept_nor_changed() -> None:
    given = np.array([1.0, 2.0])
    checked = check_data(given)
    assert not np.shares_memory(given, checked)
    given.setflags(write=False)
    assert check_data(given).flags.writeable


def test_frames_and_series() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": ["x", "y"]})
    np.testing.assert_array_equal(check_data(frame["a"]), [1.0, 2.0])
    np.testing.assert_array_equal(check_data(frame[["a", "b"]]), [[1.0, 0.5], [2.0, 1.5]])
    np.testing.assert_array_equal(check_data(frame["b"], frame["c"]), [[0.5, 0], [1.5, 1]])
    nullable = pandas.Series([1, None], dtype="Int64")
    with pytest.raises(InputError, match="data has NaN or infinite values in row 1 "):
        check_data(nullable)
    with pytest.raises(InputError, match=r"^data must hold numbers, but row 0 holds 'x' and row 1"):
        check_data(frame)


def test_ordered_categories_keep_their_order() -> None:
    pandas = pytest.importorskip("pandas")
    grades = pandas.Categorical(
        ["low", "high", "mid"], categories=["low", "mid", "high"], ordered=True
    )
    for labels in (grades, pandas.Series(grades)):
        np.testing.assert_array_equal(check_data([1, 2, 3], labels)[:, 1], [0, 2, 1])
    gap = pandas.Categorical(["low", None], categories=["low"], ordered=True)
    with pytest.raises(InputError, match="labels have missing or infinite values in row 1 "):
        check_data([1, 2], gap)
    unordered = pandas.Series(["low", "high", "mid"], dtype="category")
    np.testing.assert_array_equal(check_data([1, 2, 3], unordered)[:, 1], [1, 0, 2])


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        ([2, 4, 2], [2, 4, 2]),
        ([0.5, -1.0, 3.0], [0.5, -1.0, 3.0]),
        ([True, False, True], [1, 0, 1]),
        (["b", "a", "c"], [1, 0, 2]),
        (np.array(["b", "a", "b"], dtype=object), [1, 0, 1]),
        (np.array([10, 2, 10], dtype=object), [10, 2, 10]),
        ([[1], [2], [3]], [1, 2, 3]),
        (np.array(["2024-02-01", "2024-01-01", "2024-03-01"], "datetime64[D]"), [1, 0, 2]),
    ],
)
def test_labels(labels: Any, numbers: list[float]) -> None:
    checked = check_data([7.0, 8.0, 9.0], labels)
    np.testing.assert_array_equal(checked, np.column_stack(([7.0, 8.0, 9.0], numbers)))


@pytest.mark.parametrize(
    ("labels", "example"),
    [
        (None, None),
        ([1, 2.5, 3], None),
        ([True, False], None),
        (np.array([True, np.True_, 2], dtype=object), None),
        (np.array([Decimal(1), Fraction(2)], dtype=object), None),
        (["low", "high"], "text such as 'low'"),
        (["8", "9", "10"], "text such as '8'"),
        (np.array([None, "b"], dtype=object), "text such as 'b'"),
        ([1, None, 2], None),
        (np.array([1, "b"], dtype=object), "text such as 'b'"),
        (np.array([b"no", b"yes"]), "text such as 'b'no''"),
        (np.array(["2024-02-01"], "datetime64[D]"), "datetime64 values such as '2024-02-01'"),
    ],
)
def test_what_has_no_size(labels: Any, example: str | None) -> None:
    assert class_example(labels) == example


def test_categoricals_have_a_size_if_they_are_ordered() -> None:
    pandas = pytest.importorskip("pandas")
    names = ["low", "high", "low"]
    assert class_example(pandas.Categorical(names)) == "text such as 'low'"
    assert class_example(pandas.Series(names, dtype="category")) == "text such as 'low'"
    assert class_example(pandas.Categorical([8, 9, 10])) is None
    ordered = pandas.Categorical(names, categories=["low", "high"], ordered=True)
    assert class_example(ordered) is class_example(pandas.Series(ordered)) is None


NAN = float("nan")


def test_spelled_rows() -> None:
    assert format_rows([4]) == "row 4"
    assert format_rows([4, 5]) == "rows 4 and 5"
    assert format_rows([4, 5, 6]) == "rows 4, 5 and 6"
    assert format_rows(range(1012)) == "rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 1,002 more"


def test_two_classes_spelled_as_numbers_are_ordered_as_numbers() -> None:
    assert check_data([1.0, 2.0], ["9", "10"])[:, 1].tolist() == [0.0, 1.0]
    assert pg.exact([1.0, 2.0], "auc", labels=["9", "10"]) == 1.0
    assert check_data([1.0, 2.0, 3.0], ["nan", "10", "9"])[:, 1].tolist() == [2.0, 0.0, 1.0]
    assert check_data([1.0, 2.0], ["9", "1x"])[:, 1].tolist() == [1.0, 0.0]


DAYS = np.array(["2024-01-01", "NaT", "2024-01-02"], "datetime64[D]")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([], "^data is empty: give at least one observation"),
        (np.empty((3, 0)), "^data is empty"),
        (np.empty((0, 3)), "^data is empty"),
        (
            np.zeros((2, 2, 2)),
            "^data has 3 dimensions: give one number per observation, or a table",
        ),
        (5.0, "^data has 0 dimensions"),
        (["a", "b"], "^data holds text, not numbers: choose numeric columns, and pass classes as"),
        (DAYS, r"^data holds dates or times, not numbers"),
        (
            np.array([1, "two"], dtype=object),
            "^data must hold numbers, but row 1 holds 'two': choo",
        ),
        (object, "^data must hold numbers, but it holds \"<class 'object'>\""),
        (
            [[1, 2], [3]],
            "^data has rows of different lengths: every observation needs the same col",
        ),
        ([1j], "^data holds complex numbers: give real ones"),
        (
            [2**53 + 2],
            r"^data holds integers beyond 2\^53, .*: subtract an offset or rescale first",
        ),
        ([-(2**70)], r"^data holds integers beyond 2\^53"),
        (
            [1.0, NAN],
            r"^data has NaN or infinite values in row 1 \(counting from 0\): drop or impu",
        ),
        (
            [[1.0, 2.0], [NAN, NAN], [1.0, -np.inf]],
            "^data has NaN or infinite values in rows 1 and 2",
        ),
        ([1.0, None], "^data has NaN or infinite values in row 1 "),
        (
            np.ma.masked_array([1, 2], mask=[True, False]),
            "^data has NaN or infinite values in row 0",
        ),
    ],
)
def test_unusable_data(data: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        check_data(data)
    with pytest.raises(InputError, match=sentence.replace("data ", "incomes ", 1)):
        check_data(data, name="incomes")


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([1, 2], "^labels have 2 entries but data has 3 rows: give one label per observation"),
        ([[1, 2], [1, 2], [1, 2]], "^labels have 2 dimensions: give one label per observation"),
        ([1.0, NAN, 2.0], "^labels have missing or infinite values in row 1 "),
        (["a", None, "b"], "^labels have missing or infinite values in row 1 "),
        (DAYS, "^labels have missing or infinite values in row 1 "),
        (
            np.array(["a", 1, "b"], dtype=object),
            "^labels mix kinds that cannot be sorted: give all",
        ),
    ],
)
def test_unusable_labels(labels: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        check_data([1.0, 2.0, 3.0], labels)
