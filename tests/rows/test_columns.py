"""Allowed entries of columns, and refusals, which name the column of a bad entry."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import pairgossip as pg
from pairgossip.errors import InputError, MissingExtra, RowsDropped
from pairgossip.rows.arrow_file import _code_entries
from pairgossip.rows.columns import Coded, read_numbers

NAN = float("nan")
FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": dict,
    "pandas": pandas.DataFrame,
    "polars": lambda table: polars.DataFrame(table, strict=False),
}
SCORES = [0.2, 0.9, 0.4, 0.7]


def refusal(function: Callable[[], object]) -> str:
    with pytest.raises(InputError) as refused:
        function()
    return str(refused.value)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        ([True, False, True, True], [1.0, 0.0, 1.0, 1.0]),
        ([1, 2, 3, 5], [1.0, 2.0, 3.0, 5.0]),
        (np.array([1, 2, 3, 5], np.float32), [1.0, 2.0, 3.0, 5.0]),
        ([Decimal("0.1"), Decimal("0.3"), Decimal("2.55"), Decimal(1)], [0.1, 0.3, 2.55, 1.0]),
    ],
)
def test_numbers_of_every_kind(frame: str, column: Any, numbers: list[float]) -> None:
    table = FRAMES[frame]({"c": column})
    assert pg.exact(table, "gini") == pg.exact(numbers, "gini")


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (["a", "b", "c", "d"], "Column 'c' "),
        ([datetime(2026, 1, k + 1) for k in range(4)], "Column 'c' holds dates or times, not num"),
        ([date(2026, 1, k + 1) for k in range(4)], "Column 'c' holds dates or times, not numbers"),
        ([timedelta(hours=k) for k in range(4)], "Column 'c' holds durations, not numbers: turn "),
        ([b"a", b"b", b"c", b"d"], "Column 'c' holds "),
        ([[1, 2], [3], [4], [5]], "Column 'c' "),
        ([1, 2, 3, 2**60], "Column 'c' holds integers beyond 2^53, which are not exact in floati"),
        ([1.0, 2.0, float("inf"), 3.0], "Column 'c' has infinite values in row 2 (counting from "),
        ([1.0, None, 3.0, NAN], "Values are missing in column 'c' (rows 1 and 3), counting from "),
    ],
)
def test_what_is_no_number(frame: str, column: Any, sentence: str) -> None:
    if frame == "polars" and column[-1] is NAN:
        column = [1.0, None, 3.0, None]
    table = FRAMES[frame]({"one": SCORES, "c": column})
    assert refusal(lambda: pg.exact(table, "gini", columns="c")).startswith(sentence)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ([[1, 2], [3], [4], [5]], "Column 'c' "),
        ([b"a", b"b", b"a", b"b"], "Column 'c' holds bytes, not numbers or text: decode them fir"),
        ([timedelta(hours=k) for k in range(4)], "Column 'c' holds durations, not numbers: turn "),
        (["a", None, "b", "a"], "Values are missing in column 'c' (row 1), counting from 0: fill "),
    ],
)
def test_what_is_no_label(frame: str, column: Any, sentence: str) -> None:
    table = FRAMES[frame]({"one": SCORES, "c": column})
    roles: list[dict[str, Any]] = [
        {"kernel": "auc", "labels": "c"},
        {"kernel": "gini", "within": "c"},
        {"kernel": "gini", "groups": "c", "interval": 0.9},
    ]
    for how in roles:
        with pytest.raises(InputError) as refused:
            pg.exact(table, columns="one", **how)
        assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize("frame", FRAMES)
def test_two_columns_with_gaps_are_both_named(frame: str) -> None:
    table = FRAMES[frame]({"a": [1.0, None, 3.0], "b": [1.0, 2.0, None], "c": ["x", "y", "x"]})
    assert refusal(lambda: pg.exact(table, "auc-difference", labels="c", positive="y")) == (
        "Values are missing in column 'a' (row 1) and column 'b' (row 2), counting from 0: fill "
        "them in, or leave these rows out with missing='drop'."
    )


def test_ordered_classes_keep_their_order() -> None:
    grades = ["low", "high", "middle", "high"]
    order = ["low", "middle", "high"]
    expected = pg.exact(SCORES, "concordance", labels=[0, 2, 1, 2])
    series = pandas.Series(pandas.Categorical(grades, order, ordered=True))
    enum = polars.Series(grades, dtype=polars.Enum(order))
    for column in (series, enum):
        assert pg.exact(SCORES, "concordance", labels=column) == expected
    for frame in (
        pandas.DataFrame({"s": SCORES, "c": series}),
        polars.DataFrame({"s": SCORES, "c": enum}),
    ):
        assert pg.exact(frame, "concordance", labels="c") == expected
    gap = polars.DataFrame(
        {"s": [*SCORES, 0.5], "c": polars.Series("c", [*grades, None], enum.dtype)}
    )
    with pytest.warns(RowsDropped, match=r"Left out 1 of 5 rows.*: row 4 \(counting from 0\)"):
        assert pg.exact(gap, "concordance", labels="c", missing="drop") == expected


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"labels": "dyed"}, "There is no column 'dyed' in the data: did you mean 'died'?"),
        ({"columns": "risks"}, "There is no column 'risks' in the data: did you mean 'risk'?"),
        ({"columns": ["risk", "risk"]}, "Column 'risk' is named twice: name it once."),
        ({"columns": 3}, "There is no column '3'"),
        ({"columns": []}, "columns= is empty: give the name of a column."),
        ({"labels": "died", "groups": "risk"}, "the data has no column besides the labels 'died'"),
        ({}, "Column 'word' "),
    ],
)
def test_names_that_do_not_fit(how: dict[str, Any], sentence: str) -> None:
    table = {"risk": SCORES, "died": [0, 1, 0, 1]} | ({"word": list("abcd")} if not how else {})
    assert refusal(lambda: pg.exact(table, "auc", **how)).startswith(sentence)


def test_tables_that_are_none() -> None:
    assert refusal(lambda: pg.exact({"a": [1, 2], "b": [1]}, "kendall")) == (
        "Columns have different lengths, 'a' (2) and 'b' (1): give one entry per row."
    )
    assert refusal(lambda: pg.exact({}, "gini")) == "the data has no column: add the data."
    assert refusal(lambda: pg.exact({"a": [[1, 2], [3, 4]]}, "gini")) == (
        "Column 'a' has 2 dimensions: give one entry per row."
    )
    twice = pandas.DataFrame([[1.0, 2.0, 0], [2.0, 1.0, 1], [3.0, 5.0, 1]], columns=["x", "x", "y"])
    assert pg.exact(twice[["x"]], "kendall") == pg.exact(twice.to_numpy()[:, :2], "kendall")
    assert refusal(lambda: pg.exact(twice, "gini", columns="x")) == (
        "the data has two columns named 'x': rename one of them."
    )
    assert refusal(lambda: pg.exact(SCORES, "auc", labels=object())).startswith("labels ")


SERIES: dict[str, Callable[[list[Any]], Any]] = {
    "pandas": lambda entries: pandas.Series(entries, dtype="Int64"),
    "pandas of arrow": lambda entries: pandas.Series(entries, dtype="int64[pyarrow]"),
    "polars": polars.Series,
    "arrow": lambda entries: pyarrow.chunked_array([entries]),
}


@pytest.mark.filterwarnings("ignore::pairgossip.errors.RowsDropped")
@pytest.mark.parametrize("library", SERIES)
def test_whole_numbers_beside_gaps_are_not_rounded(library: str) -> None:
    """All these libraries return them as floating point, so 2^53 + 1 becomes 2^53."""
    entries = [2**53 + 1, 2**53, None, 2**53 + 1, 2**53]
    series = SERIES[library](entries)
    scores = [1.0, 2.0, 3.0, 5.0, 9.0]
    asked: list[dict[str, Any]] = [
        {"data": series, "kernel": "gini"},
        {"data": scores, "kernel": "auc", "labels": series},
    ]
    for how in asked:
        for function in (pg.exact, pg.summarize):
            said = refusal(partial(function, missing="drop", **how))
            assert "holds integers beyond 2^53" in said
    expected = pg.exact([1.0, 2.0, 5.0, 9.0], "gini", within=[0, 1, 0, 1])
    assert pg.exact(scores, "gini", within=series, missing="drop") == expected
    small = SERIES[library]([7, 8, None, 7, 8])
    assert pg.exact(scores, "gini", within=small, missing="drop") == expected
    assert np.isnan(read_numbers(small, "c")).tolist() == [False, False, True, False, False]


def test_columns_of_a_dict_are_not_paired_across_indexes() -> None:
    """In a frame, pandas would align the rows by their index."""
    series = pandas.Series([1.0, 2.0, 3.0, 5.0])
    table = {"a": series, "b": series.sort_values(ascending=False)}
    for function in (pg.exact, pg.summarize):
        said = refusal(partial(function, table, "kendall"))
        assert said.startswith("data['a'] and data['b'] are pandas objects with different indexes")
    same: dict[str, Any] = {"a": series, "b": table["b"].to_numpy()}
    assert pg.exact(same, "kendall") == pg.exact(np.array([*same.values()]).T, "kendall")


def _write(folder: Path, text: str) -> Path:
    path = folder / "a.csv"
    path.write_text(text)
    return path


def test_files_are_refused_by_their_lines(tmp_path: Path) -> None:
    path = _write(tmp_path, "risk,died,word\n0.1,no,a\nNA,yes,b\n0.7,maybe,c\n0.3,,d\n")
    asked: dict[str, Any] = {"kernel": "auc", "columns": "risk", "labels": "died"}
    assert refusal(lambda: pg.exact(path, **asked, positive="yes")).startswith(
        "A positive class is one of two, but the labels are 'no', 'yes' and 'maybe'"
    )
    assert refusal(lambda: pg.exact(path, **asked, classes=["no", "yes"])) == (
        f"Column 'died' of {path} holds 'maybe' in line 4 of {path}, but the declared classes are "
        "'no' and 'yes': correct the labels, or declare all classes."
    )
    assert refusal(lambda: pg.exact(path, **asked, classes=["no", "yes", "maybe"])) == (
        f"Values are missing in column 'risk' of {path} (line 3) and column 'died' of {path} "
        "(line 5): fill them in, or leave these rows out with missing='drop'."
    )
    assert refusal(lambda: pg.exact(path, "auc", labels="died")) == (
        f"Column 'word' of {path} holds text such as 'a', not numbers: choose columns of numbers "
        "with columns=('risk',), and give classes as labels."
    )
    mixed = _write(tmp_path, "x\n1\n2;5\n3\n")
    assert refusal(lambda: pg.exact(mixed, "gini")).startswith(f"Column 'x' of {path}, line 3, is ")


def test_a_file_knows_no_types(tmp_path: Path) -> None:
    """Numerals are numbers, names such as 007 are not, and "none" may be a class."""
    path = _write(tmp_path, "x,site,grade\n1,007,none\n3,7,some\n4,007,none\n9,7,some\n")
    answer = pg.exact(path, "auc", columns="x", labels="grade", classes=["none", "some"])
    assert answer == pg.exact([1, 3, 4, 9], "auc", labels=[0, 1, 0, 1])
    run = pg.estimate(path, "gini", columns="x", groups="site", iterations=10, seed=0, n_jobs=1)
    assert "at 2 sites" in repr(run)
    labeled = _write(tmp_path, "x,died\n1,0\n3,1\n4,0\n9,1.0\n")
    known: list[dict[str, Any]] = [{}, {"positive": 1}, {"classes": [0, 1]}]
    for how in known:
        assert pg.exact(labeled, "auc", labels="died", **how) == answer


def test_a_lack_of_memory_is_not_a_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow
    from pyarrow import parquet

    def fail(*_: object, **__: object) -> None:
        raise pyarrow.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr(parquet, "ParquetFile", fail)
    (tmp_path / "a.parquet").write_bytes(b"")
    with pytest.raises(MemoryError):
        pg.exact(tmp_path / "a.parquet", "gini")


def test_kinds_of_files_that_need_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"")
    for path in (tmp_path, tmp_path / "a.parquet"):
        with pytest.raises(MissingExtra) as refused:
            pg.exact(path, "gini")
        assert str(refused.value) == (
            f"Reading {path} needs pyarrow, which is not installed: pip install "
            "'pairgossip[tables]'."
        )
    (tmp_path / "a.parquet").unlink()
    assert refusal(lambda: pg.exact(tmp_path, "gini")) == (
        f"{tmp_path} is a folder without Parquet files: give a file."
    )


def test_tables_of_dask_are_refused() -> None:
    kind = type("DataFrame", (), {"compute": lambda self: None, "__module__": "dask.dataframe"})
    assert refusal(lambda: pg.exact(kind(), "gini")) == (
        "the data is a Dask table, on its workers: give the result of its compute(), or count "
        "its rows there with pg.summarize."
    )


@pytest.mark.parametrize("rows", [0, 1, 400])
def test_entries_with_numbers_are_listed_as_rows_show_them(rows: int) -> None:
    """Some entries occur in no row, some twice in the list, and some are missing in two ways."""
    categories = ["unused", "b", "a", "b", None, 1, 1.0, NAN]
    codes = np.random.default_rng(rows).integers(-1, len(categories), rows)
    codes[codes == 0] = 2
    column = Coded(codes, categories)
    entries, places = column.list_entries()
    plain = column.to_numpy().tolist()
    assert [entries[place] for place in places[codes].tolist()] == plain
    first = dict.fromkeys(np.append(codes, -1).tolist() if -1 in codes else codes.tolist())
    assert len(entries) == len(first)
    assert places[0] == -1 and (rows == 0 or places[codes[0]] == 0)
    coded, expected = _code_entries(column), _code_entries(column.to_numpy())
    assert coded.codes.tolist() == expected.codes.tolist() and coded.book == expected.book


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("rows.xlsx", "rows.xlsx is a workbook: save its sheet as CSV or Parquet."),
        ("rows.ODS", "rows.ODS is a workbook: save its sheet as CSV or Parquet."),
        (
            "https://example.org/rows.csv",
            "https://example.org/rows.csv is an address, not a file: download it first.",
        ),
        ("s3://house/rows.parquet", "s3://house/rows.parquet is an address, not a file: download"),
    ],
)
def test_what_is_no_file_of_a_table_is_refused(path: str, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        pg.exact(path, "gini")
    assert str(refused.value).startswith(sentence)


def test_no_rows_at_all_are_refused() -> None:
    with pytest.raises(InputError, match="data is None: give rows"):
        pg.exact(None, "gini")
    with pytest.raises(InputError, match="The groups name a missing entry"):
        cells = pg.cells.Even(0, 1, 4)
        pg.Summary.of("auc", cells=cells, classes=[0, 1], groups=[None, "a"])
