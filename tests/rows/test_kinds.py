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
import polars
import pyarrow
import pytest
from pyarrow import parquet

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.tables import read_columns
from tests.cli.running import main

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
"""Which take a table of Arrow's by themselves, or as a file of theirs."""

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
"""Doors behind which a dictionary of Arrow's is plain text."""


@pytest.mark.parametrize("door", DOORS)
def test_the_order_of_classes_is_kept(door: str, tmp_path: Path) -> None:
    """Classes sorted as text, high before low, would be another order."""
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
    """As numbers 2^53 and 2^53 + 1 would be one stratum."""
    lines = [f"{score},{2**53 + k % 2}" for k, score in enumerate(SCORES)]
    (tmp_path / "a.csv").write_text("\n".join(["one,c", *lines]))
    expected = pg.exact(SCORES, "gini", within=[0, 1] * 3)
    assert pg.exact(tmp_path / "a.csv", "gini", columns="one", within="c") == expected
    assert main(f"exact {tmp_path}/a.csv --column one --within c --kernel gini".split()) == 0


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


def test_a_file_that_changes_between_two_readings(tmp_path: Path) -> None:
    table = pyarrow.table({"one": SCORES, "c": SCORES})
    for write in (_write_parquet, _write_folder):
        (folder := tmp_path / write.__name__).mkdir()
        opened = read_columns(write(table, folder), ["one"])
        write(table.slice(0, 4), folder)
        assert opened["one"].tolist() == SCORES
        with pytest.raises(InputError, match="changed while it was being read: read it again"):
            opened.numbers("c")
