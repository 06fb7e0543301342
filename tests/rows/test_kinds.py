"""The table of kinds of entries by doors: the same numbers, or a sentence that names the column."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.rows.columns import read_numbers
from pairgossip.rows.csv import blocks as csv_blocks
from pairgossip.tables import read_columns
from tests.cli.running import main

NAN = float("nan")
SCORES = [0.2, 0.9, 0.4, 0.7, 0.1, 0.6]


def _write_parquet(table: Any, folder: Path) -> Path:
    parquet.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


def _write_arrow(table: Any, folder: Path) -> Path:
    with pyarrow.ipc.new_file(folder / "a.arrow", table.schema) as file:
        file.write_table(table)
    return folder / "a.arrow"


def _write_folder(table: Any, folder: Path) -> Path:
    for part in range(2):
        parquet.write_table(table.slice(3 * part, 3), folder / f"{part}.parquet")
    return folder


def _write_query(table: Any, folder: Path) -> Path:
    pytest.importorskip("duckdb")
    _write_parquet(table, folder)
    (folder / "a.sql").write_text(f"SELECT * FROM '{folder}/a.parquet'")
    return folder / "a.sql"


FILES: dict[str, Callable[[Any, Path], Path]] = {
    "parquet": _write_parquet,
    "arrow file": _write_arrow,
    "folder": _write_folder,
    "sql": _write_query,
}
DOORS: dict[str, Callable[[Any, Path], Any]] = {
    **FILES,
    "arrow table": lambda table, _: table,
    "arrow reader": lambda table, _: table.to_reader(max_chunksize=2),
    "dict": lambda table, _: table.to_pydict(),
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: polars.DataFrame(table),
    "polars lazy": lambda table, _: polars.DataFrame(table).lazy(),
}
"""Doors, which take an Arrow table directly, or as a file."""

NUMBERS: dict[str, tuple[Any, Sequence[float]]] = {
    "floats": (pyarrow.array([1.5, 2, 3, 5, 8, 13]), [1.5, 2, 3, 5, 8, 13]),
    "floats of 32 bits": (pyarrow.array([1.5, 2, 3], pyarrow.float32()), [1.5, 2, 3]),
    "integers": (pyarrow.array([1, -2, 3, 5]), [1, -2, 3, 5]),
    "integers of 8 bits": (pyarrow.array([1, 2, 250], pyarrow.uint8()), [1, 2, 250]),
    "integers up to 2^53": (pyarrow.array([0, 2**53]), [0, 2**53]),
    "booleans": (pyarrow.array([True, False, True]), [1, 0, 1]),
    "decimals": (pyarrow.array([Decimal("0.10"), Decimal("2.55"), Decimal(1)]), [0.1, 2.55, 1]),
    "numbers in a dictionary": (pyarrow.array([3, 4, 3, 7]).dictionary_encode(), [3, 4, 3, 7]),
    "gaps in floats": (pyarrow.array([1.0, None, 3, 7]), [1, 3, 7]),
    "NaN in floats": (pyarrow.array([1.0, float("nan"), 3, 7]), [1, 3, 7]),
    "gaps in integers": (pyarrow.array([1, 2, None, 5]), [1, 2, 5]),
    "gaps in booleans": (pyarrow.array([None, True, False, True]), [1, 0, 1]),
    "gaps in decimals": (pyarrow.array([Decimal("0.1"), None, Decimal(2)]), [0.1, 2]),
}
REFUSED = {
    "text": pyarrow.array(["a", "b", "c"]),
    "numerals as text": pyarrow.array(["1", "2", "3"]),
    "text in a dictionary": pyarrow.array(["a", "b", "a"]).dictionary_encode(),
    "integers beyond 2^53": pyarrow.array([1, 2, 2**53 + 1]),
    "infinity": pyarrow.array([1.0, 2.0, float("inf")]),
    "dates": pyarrow.array([date(2026, 1, k) for k in (1, 2, 3)]),
    "timestamps": pyarrow.array([datetime(2026, 1, k) for k in (1, 2, 3)]),
    "times": pyarrow.array([time(k) for k in (1, 2, 3)]),
    "durations": pyarrow.array([timedelta(hours=k) for k in (1, 2, 3)]),
    "bytes": pyarrow.array([b"a", b"b", b"c"]),
    "lists": pyarrow.array([[1], [2, 3], []]),
    "records": pyarrow.array([{"x": 1}, {"x": 2}, {"x": 3}]),
    "nothing": pyarrow.nulls(3),
}


def _skip_lost(door: str, kind: str) -> None:
    if (door, kind) == ("sql", "durations"):
        pytest.skip("DuckDB reads the durations of a file of Parquet as integers")


def _refusal(function: Callable[[], object]) -> str:
    with pytest.raises(InputError) as refused:
        function()
    return str(refused.value)


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("door", DOORS)
def test_numbers(door: str, kind: str, tmp_path: Path) -> None:
    column, numbers = NUMBERS[kind]
    table = pyarrow.table({"one": SCORES[: len(column)], "c": column})
    how: dict[str, Any] = {"kernel": "gini", "columns": "c"}
    expected = pg.exact(np.array(numbers, dtype=float), "gini")
    if len(numbers) < len(column):
        gap = next(k for k, one in enumerate(column.to_pylist()) if one is None or one != one)
        assert f"(row {gap}), counting from 0: " in _refusal(
            lambda: pg.exact(DOORS[door](table, tmp_path), **how)
        )
        with pytest.warns(pg.RowsDropped, match=rf"row {gap} \(counting from 0\)"):
            assert pg.exact(DOORS[door](table, tmp_path), missing="drop", **how) == expected
    else:
        assert pg.exact(DOORS[door](table, tmp_path), **how) == expected


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("door", FILES)
def test_numbers_on_the_command_line(
    door: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    column, numbers = NUMBERS[kind]
    file = FILES[door](pyarrow.table({"one": SCORES[: len(column)], "c": column}), tmp_path)
    command = ["exact", str(file), "--column", "c", "--kernel", "gini"]
    if len(numbers) < len(column):
        assert main(command) == 2
        assert f"Column 'c' of {file}, row " in capsys.readouterr().err.replace("\n", " ")
    assert main([*command, "--missing", "drop"]) == 0
    expected = pg.exact(np.array(numbers, dtype=float), "gini")
    assert capsys.readouterr().out.strip() == repr(float(expected))


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("door", DOORS)
def test_what_is_no_number(door: str, kind: str, tmp_path: Path) -> None:
    _skip_lost(door, kind)
    table = pyarrow.table({"one": SCORES[:3], "c": REFUSED[kind]})
    said = _refusal(lambda: pg.exact(DOORS[door](table, tmp_path), "gini", columns="c"))
    assert re.search(r"[Cc]olumn 'c'", said), said


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("door", FILES)
def test_what_is_no_number_on_the_command_line(
    door: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _skip_lost(door, kind)
    file = FILES[door](pyarrow.table({"one": SCORES[:3], "c": REFUSED[kind]}), tmp_path)
    assert main(["exact", str(file), "--column", "c", "--kernel", "gini"]) == 2
    assert re.search(r"[Cc]olumn 'c'", capsys.readouterr().err)


STRATA = {
    "text": pyarrow.array(["a", "b", "a", "b", "b", "a"]),
    "names with zeros": pyarrow.array(["007", "7", "007", "7", "7", "007"]),
    "text in a dictionary": pyarrow.array(["a", "b", "a", "b", "b", "a"]).dictionary_encode(),
    "integers": pyarrow.array([3, 1, 3, 1, 1, 3]),
    "integers beyond 2^53": pyarrow.array([2**53, 2**53 + 1] * 2 + [2**53 + 1, 2**53]),
    "booleans": pyarrow.array([True, False, True, False, False, True]),
    "dates": pyarrow.array([date(2026, 1, k) for k in (1, 2, 1, 2, 2, 1)]),
    "ordered": pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([1, 0, 1, 0, 0, 1], pyarrow.int8()), ["low", "high"], ordered=True
    ),
}
UNNAMED = {
    "durations": pyarrow.array([timedelta(hours=k % 2) for k in range(6)]),
    "bytes": pyarrow.array([b"a", b"b"] * 3),
    "lists": pyarrow.array([[1], [2, 3]] * 3),
    "records": pyarrow.array([{"x": 1}, {"x": 2}] * 3),
    "gaps": pyarrow.array(["a", "b", "a", "b", "b", None]),
}


@pytest.mark.parametrize("kind", STRATA)
@pytest.mark.parametrize("door", DOORS)
def test_strata(door: str, kind: str, tmp_path: Path) -> None:
    table = pyarrow.table({"one": SCORES, "c": STRATA[kind]})
    expected = pg.exact(SCORES, "gini", within=[0, 1, 0, 1, 1, 0])
    assert pg.exact(DOORS[door](table, tmp_path), "gini", columns="one", within="c") == expected


@pytest.mark.parametrize("kind", STRATA)
@pytest.mark.parametrize("door", FILES)
def test_strata_on_the_command_line(
    door: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = FILES[door](pyarrow.table({"one": SCORES, "c": STRATA[kind]}), tmp_path)
    command = f"exact {file} --column one --within c --kernel gini"
    assert main(command.split()) == 0
    expected = pg.exact(SCORES, "gini", within=[0, 1, 0, 1, 1, 0])
    assert capsys.readouterr().out.strip() == repr(float(expected))


@pytest.mark.parametrize("kind", UNNAMED)
@pytest.mark.parametrize("door", DOORS)
def test_what_names_no_stratum(door: str, kind: str, tmp_path: Path) -> None:
    _skip_lost(door, kind)
    table = pyarrow.table({"one": SCORES, "c": UNNAMED[kind]})
    roles: list[dict[str, Any]] = [
        {"kernel": "gini", "within": "c"},
        {"kernel": "auc", "labels": "c"},
    ]
    for how in roles:
        data = DOORS[door](table, tmp_path)
        said = _refusal(partial(pg.exact, data, columns="one", **how))
        assert re.search(r"[Cc]olumn 'c'", said), said


WITHOUT_ORDER = ("dict", "sql", "polars", "polars lazy")
"""Doors that turn an Arrow dictionary into plain text."""


@pytest.mark.parametrize("door", DOORS)
def test_the_order_of_classes_is_kept(door: str, tmp_path: Path) -> None:
    """Classes sorted as text, high before low, would have another order."""
    grades = pyarrow.array([0, 2, 1, 2, None, 1], pyarrow.int8())
    column = pyarrow.DictionaryArray.from_arrays(grades, ["low", "middle", "high"], ordered=True)
    data = DOORS[door](pyarrow.table({"one": SCORES, "c": column}), tmp_path)
    how: dict[str, Any] = {"columns": "one", "labels": "c", "missing": "drop"}
    kept = [0, 1, 2, 3, 5]
    expected = pg.exact(np.array(SCORES)[kept], "concordance", labels=[0, 2, 1, 2, 1])
    with pytest.warns(pg.RowsDropped):
        if door in WITHOUT_ORDER:
            assert "text" in _refusal(lambda: pg.exact(data, "ranking-risk", **how))
        else:
            assert pg.exact(data, "concordance", **how) == expected


def test_large_numerals_of_csv_are_names(tmp_path: Path) -> None:
    """As numbers, 2^53 and 2^53 + 1 would be the same stratum."""
    lines = [f"{score},{2**53 + k % 2}" for k, score in enumerate(SCORES)]
    (tmp_path / "a.csv").write_text("\n".join(["one,c", *lines]))
    expected = pg.exact(SCORES, "gini", within=[0, 1] * 3)
    assert pg.exact(tmp_path / "a.csv", "gini", columns="one", within="c") == expected
    assert main(f"exact {tmp_path}/a.csv --column one --within c --kernel gini".split()) == 0


LARGE = [f"{2**53 + k % 2}" for k in range(6)]
"""Numerals of two different numbers, which are equal in floating point."""


@pytest.mark.parametrize("sign", ["", "-", "+", "00"])
@pytest.mark.parametrize("at", [0, 400])
def test_numerals_that_would_be_rounded_are_no_numbers_of_csv(
    at: int, sign: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds anywhere in a file and for any argument that needs numbers; ids stay distinct."""
    monkeypatch.setattr(csv_blocks, "BLOCK", 256)
    numerals = [*"12" * (at // 2), *(sign + one for one in LARGE)]
    lines = [f"{SCORES[k % 6]},{one}" for k, one in enumerate(numerals)]
    (file := tmp_path / "a.csv").write_text("\n".join(["one,c", *lines]))
    sentence = f"Column 'c' of {file} holds integers beyond 2^53, which are not exact in floati"
    asked: list[dict[str, Any]] = [
        {"kernel": "gini", "columns": "c"},
        {"kernel": "auc", "columns": "one", "labels": "c"},
        {"kernel": "gini", "columns": "one", "weights": "c"},
    ]
    for how in asked:
        for function in (pg.exact, pg.summarize):
            assert _refusal(partial(function, file, **how)).startswith(sentence), how
    for option in ("--column c", "--column one --label c", "--column one --weight c"):
        assert main(f"exact {file} {option} --kernel gini".split()) == 2
    summary = pg.summarize(file, "gini", columns="one", by="c")
    assert sorted(summary.count_groups().values())[:2] == [3, 3]


@pytest.mark.parametrize("numeral", ["9007199254740992", "9007199254740993.0", "1e16", "-1e300"])
def test_large_numbers_that_are_meant_as_such(numeral: str, tmp_path: Path) -> None:
    (file := tmp_path / "a.csv").write_text(f"c\n1\n{numeral}\n3\n")
    assert read_columns(file, ["c"])["c"].tolist() == [1, float(numeral), 3]


def test_long_ids_beside_text_are_classes(tmp_path: Path) -> None:
    lines = [f"{score},{one}" for score, one in zip(SCORES, [*LARGE[:4], "ab", "ab"], strict=True)]
    (file := tmp_path / "a.csv").write_text("\n".join(["one,c", *lines]))
    expected = [0, 1, 0, 1, 2, 2]
    how: dict[str, Any] = {"columns": "one", "classes": [*LARGE[:2], "ab"], "labels": "c"}
    answer = pg.exact(SCORES, "concordance", labels=expected)
    assert pg.exact(file, "concordance", **how) == answer


@pytest.mark.parametrize("door", FILES)
def test_labels_that_would_be_rounded(door: str, tmp_path: Path) -> None:
    column = pyarrow.array([2**60, 5] * 3)
    file = FILES[door](pyarrow.table({"one": SCORES, "c": column}), tmp_path)
    for function in (pg.exact, pg.summarize):
        said = _refusal(partial(function, file, "auc", columns="one", labels="c"))
        assert "'c'" in said and "holds integers beyond 2^53" in said


ODD_NUMBERS: list[Any] = [1, -0.0, True, Decimal("0.1"), np.float32(0.5), np.int8(3), None, NAN]


@pytest.mark.parametrize("last", [None, pandas.NA, NAN, 7, 2**53, 1e300])
def test_numbers_among_objects(last: Any) -> None:
    """They are converted all at once, as Python's float converts each."""
    entries = [*ODD_NUMBERS, last]
    is_gap = [one is None or one is pandas.NA for one in entries]
    expected = [NAN if gap else float(one) for one, gap in zip(entries, is_gap, strict=True)]
    read = read_numbers(np.array(entries, dtype=object), "c")
    assert read.tobytes() == np.array(expected).tobytes()
    with pytest.raises(InputError, match=r"^c holds integers beyond 2\^53"):
        read_numbers(np.array([*entries, 2**53 + 1], dtype=object), "c")
    with pytest.raises(InputError, match=r"^c must hold numbers, but row 9 holds 'x'"):
        read_numbers(np.array([*entries, "x"], dtype=object), "c")


def test_orders_that_differ_are_refused(tmp_path: Path) -> None:
    """High above low in one file, but below it in another, is no order."""
    codes = pyarrow.array([0, 1, 1], pyarrow.int8())
    orders = (["low", "high"], ["low", "high", "top"], ["high", "low"])
    parts = [
        pyarrow.table({"one": SCORES[:3], "c": pyarrow.DictionaryArray.from_arrays(
            codes, order, ordered=True
        )})
        for order in orders
    ]  # fmt: skip
    how: dict[str, Any] = {"kernel": "concordance", "columns": "one", "labels": "c"}
    expected = pg.exact(SCORES[:3] * 2, "concordance", labels=[0, 1, 1] * 2)
    for at, table in enumerate(parts):
        parquet.write_table(table, tmp_path / f"{at}.parquet")
        several = pyarrow.Table.from_batches(
            [b for one in parts[: at + 1] for b in one.to_batches()]
        )
        for data in (tmp_path, several):
            if at == 1:
                assert pg.exact(data, **how) == expected
            if at == 2:
                for function in (pg.exact, pg.summarize):
                    said = _refusal(partial(function, data, **how))
                    assert "low < high < top in some rows and high < low in others" in said


@pytest.mark.parametrize(
    ("other", "kind"), [(REFUSED["timestamps"], "timestamp[us]"), (REFUSED["text"], "text")]
)
def test_files_of_a_folder_hold_the_same_kinds(other: Any, kind: str, tmp_path: Path) -> None:
    """Whole and other numbers are of one kind, and an unused column may hold anything."""
    parquet.write_table(pyarrow.table({"x": [1.5, 2], "y": [1, 2]}), tmp_path / "a.parquet")
    parquet.write_table(pyarrow.table({"x": [3, 4, 5], "y": other}), tmp_path / "b.parquet")
    assert pg.exact(tmp_path, "gini", columns="x") == pg.exact([1.5, 2, 3, 4, 5], "gini")
    for function in (pg.exact, pg.summarize):
        said = _refusal(partial(function, tmp_path, "gini", columns="y"))
        assert said == (
            f"Column 'y' holds numbers in {tmp_path / 'a.parquet'}, and {kind} in "
            f"{tmp_path / 'b.parquet'}: write both alike, or give one of the files."
        )


def test_text_of_numbers(tmp_path: Path) -> None:
    """Classes and ids are compared as text, in which 1 and 1.0 are the same number."""
    columns = {
        "a": pyarrow.array([1.0, 0.25, 1e22]),
        "b": pyarrow.array([2**60 + 1, -3, None]),
        "c": pyarrow.array([Decimal("1.50"), Decimal("2.00"), None]),
        "d": pyarrow.array([True, False, None]),
        "e": pyarrow.array([date(2026, 1, 1), None, date(2026, 1, 2)]),
        "f": pyarrow.array(["x ", "", None]),
    }
    table = read_columns(_write_parquet(pyarrow.table(columns), tmp_path), ())
    assert [*zip(*table.cells, strict=True)] == [
        ("1", "0.25", f"{10**22}"),
        (f"{2**60 + 1}", "-3", ""),
        ("1.5", "2", ""),
        ("1", "0", ""),
        ("2026-01-01", "", "2026-01-02"),
        ("x ", "", ""),
    ]
    assert table.gaps(["f"]) == [2]  # text may be empty
    assert table.lines.tolist() == [0, 1, 2]


def test_text_of_numbers_that_python_would_round_or_sign(tmp_path: Path) -> None:
    columns = {
        "a": pyarrow.array([-0.0, 1.0]),
        "b": pyarrow.array([Decimal(10**37), Decimal(10**37 + 1)]),
    }
    table = read_columns(_write_parquet(pyarrow.table(columns), tmp_path), ())
    assert table.text("a") == ["0", "1"]
    assert table.text("b") == [f"{10**37}", f"{10**37 + 1}"]


def test_drafts_in_a_folder_are_no_rows(tmp_path: Path) -> None:
    table = pyarrow.table({"c": [1.0, 2.0, 5.0]})
    for name in (
        "a.parquet",
        "b.PARQUET",
        "_temporary/0/c.parquet",
        ".old/d.parquet",
        "x=1/e.parquet",
    ):
        (file := tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table, file)
    assert len(read_columns(tmp_path, ["c"])) == 9


def test_a_file_that_changes_between_two_readings(tmp_path: Path) -> None:
    table = pyarrow.table({"one": SCORES, "c": SCORES})
    for write in (_write_parquet, _write_folder):
        (folder := tmp_path / write.__name__).mkdir()
        opened = read_columns(write(table, folder), ["one"])
        write(table.slice(0, 4), folder)
        assert opened["one"].tolist() == SCORES
        with pytest.raises(InputError, match="changed while it was being read: read it again"):
            opened.numbers("c")
