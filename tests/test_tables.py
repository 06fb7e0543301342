"""Reading realistic CSV files, and naming what is wrong with bad ones."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.tables import read_columns


def _write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "data.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", ", "])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_separators_and_line_ends(tmp_path: Path, separator: str, line_end: str) -> None:
    lines = [("name", "income", "food"), ("Ann", "1.5", "2"), ("Bob", "-3e2", "+4")]
    text = line_end.join(separator.join(line) for line in lines)
    table = read_columns(_write(tmp_path, text), ["food", "income"])
    assert table.header == ("name", "income", "food")
    assert len(table) == 2
    assert list(table.columns) == ["food", "income"]
    np.testing.assert_array_equal(table["income"], [1.5, -300.0])
    np.testing.assert_array_equal(table.matrix(), [[2.0, 1.5], [4.0, -300.0]])
    assert table.text("name") == ["Ann", "Bob"]


@pytest.mark.parametrize(
    ("text", "how", "columns"),
    [
        ("id,x,note,y\na1,1,first,2\na2,3,4,5\n", {}, {"x": [1, 3], "y": [2, 5]}),
        ("x\n1\n2\n", {}, {"x": [1, 2]}),
        ("x,y\n1,2\n", {"columns": "x"}, {"x": [1]}),
        ("x;note\n1;a, b, c\n2;d\n", {}, {"x": [1, 2]}),
        ("x|y\n1|2\n", {"delimiter": "|"}, {"x": [1], "y": [2]}),
        ("town,2019,2020\nGent,1,2\n", {}, {"2019": [1], "2020": [2]}),
    ],
)
def test_columns_of_numbers(
    tmp_path: Path, text: str, how: dict[str, str], columns: dict[str, list[float]]
) -> None:
    table = read_columns(_write(tmp_path, text), **how)
    assert {name: table[name].tolist() for name in table.columns} == columns


def test_byte_order_mark_quotes_and_blank_lines(tmp_path: Path) -> None:
    text = '\n"income, yearly",city\n\n"1.5","Liege, ""B"""\n"2",  Gent \n\n'
    table = read_columns(_write(tmp_path, text, "utf-8-sig"), ["income, yearly"])
    np.testing.assert_array_equal(table["income, yearly"], [1.5, 2.0])
    assert table.text("city") == ['Liege, "B"', "Gent"]


def test_full_precision(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(size=50)
    path = _write(tmp_path, "x\n" + "\n".join(map(repr, numbers.tolist())))
    np.testing.assert_array_equal(read_columns(path)["x"], numbers)


@pytest.mark.parametrize(
    ("text", "columns", "sentence"),
    [
        ("", None, "{path} is empty: it needs a header line and rows."),
        (" \n\n", None, "{path} is empty: it needs a header line and rows."),
        ('""\n', None, "{path} is empty: it needs a header line and rows."),
        ("x,y\n", None, "{path} has a header line only: it needs rows."),
        ("x,y,x\n1,2,3\n", None, "{path} has two columns named 'x': rename one of them."),
        ("x,y\n1,2\n\n1,2,3\n", None, "{path}, line 4, has 3 fields but the header has 2: make ev"),
        ("1,2\n3,4\n", None, "The first line of {path} looks like data: it must name the columns."),
        ("5\n", None, "The first line of {path} looks like data: it must name the columns."),
        (",x,\n1,2,3\n", None, "{path} has several columns without a name: name all but one of th"),
        ("x,y\na,b\n", None, "{path} has no column of numbers among x, y: column 'x', line 2, is "),
        ("x,\n,NA\n", None, "{path} has no column of numbers among x, (unnamed): their entries ar"),
        ("x|y\n1|a\n", None, "{path} has no column of numbers among x|y: column 'x|y', line 2, is"),
        ("x y\n1 2\n", "x y", "Column 'x y' of {path}, line 2, is not a number: '1 2' (fields sep"),
        ("weight kg\n12 kg\n", "weight kg", "Column 'weight kg' of {path}, line 2, is not a numbe"),
        (",x\na,1\n", [""], "Column '(unnamed)' of {path}, line 2, is not a number: 'a'."),
        (",x\na,1\n", ["zz"], "There is no column 'zz' in {path}: it has (unnamed), x."),
        ("income,food\n1,2\n", ["incom"], "There is no column 'incom' in {path}: did you mean 'in"),
        ("income,food\n1,2\n", ["zz"], "There is no column 'zz' in {path}: it has income, food."),
        ("x\n1\nabc\n", ["x"], "Column 'x' of {path}, line 3, is not a number: 'abc'."),
        (
            "x\n1\n" + "9a" * 50,
            ["x"],
            "Column 'x' of {path}, line 3, is not a number: '" + "9a" * 20 + "'.",
        ),
        ("x;y\n1;2,5\n", ["y"], "Column 'y' of {path}, line 2, is not a number: '2,5' (decimal co"),
        ("x;y\n-1.000,5;2\n", ["x"], "Column 'x' of {path}, line 2, is not a number: '-1.000,5' ("),
        ("x\n1_000\n", ["x"], "Column 'x' of {path}, line 2, is not a number: '1_000'."),
        ("x\ninf\n", ["x"], "Column 'x' of {path}, line 2, is not a number: 'inf'."),
        ('note,x\n"two\nlines",1\nb,\n', None, "Column 'x' of {path}, line 4, is missing: fill it"),
        ('x,y\n1,2\n3,"4\n', None, "{path}, line 3, is not valid CSV (unexpected end of data): ch"),
    ],
)
def test_unusable_files(
    tmp_path: Path, text: str, columns: list[str] | str | None, sentence: str
) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_columns(path, columns)
    assert str(caught.value).startswith(sentence.format(path=path))


@pytest.mark.parametrize("gap", ["", "NA", "nan", "NaN", "?", "N/A", "null", " "])
def test_missing_values(tmp_path: Path, gap: str) -> None:
    path = _write(tmp_path, f"x,y\n1,2\n{gap},3\n")
    sentence = f"Column 'x' of {path}, line 3, is missing: fill it in, or drop the row."
    with pytest.raises(InputError) as caught:
        read_columns(path)
    assert str(caught.value) == sentence
    with pytest.raises(InputError) as caught:
        read_columns(path, ["y"]).text("x")
    assert str(caught.value) == sentence


def test_all_missing_values_are_listed_at_once(tmp_path: Path) -> None:
    path = _write(tmp_path, "x,y,z\n1,,a\n,NA,b\n3,4,\n")
    sentence = (
        f"{path} has 4 missing entries, in column 'x' on line 3; column 'y' on lines 2 and 3 and "
        "column 'z' on line 4: fill them in, or drop the rows."
    )
    with pytest.raises(InputError) as refused:
        read_columns(path, ()).refuse_gaps(["x", "y", "z"])
    assert str(refused.value) == sentence
    with pytest.raises(InputError, match="has 3 missing entries"):
        read_columns(path, ["x", "y"])


def test_many_missing_values_are_counted(tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(14)]
    rows = [",".join(["1", *["?"] * 13])] * 30
    path = _write(tmp_path, "\n".join([",".join(names), *rows]))
    with pytest.raises(InputError) as refused:
        read_columns(path, names)
    said = str(refused.value)
    assert said.startswith(f"{path} has 390 missing entries, in column 'c1' on lines 2, 3, 4, ")
    assert "9, 10, 11 and 20 more; column 'c2'" in said
    assert said.endswith("column 'c10' on lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 20 more and "
                         "3 more columns: fill them in, or drop the rows.")  # fmt: skip


def test_all_entries_that_are_not_numbers_are_listed_at_once(tmp_path: Path) -> None:
    path = _write(tmp_path, 'x,y\n"1,5",1\n2,b\ninf,3\n')
    with pytest.raises(InputError) as refused:
        read_columns(path, ["x", "y"])
    assert str(refused.value) == (
        f"{path} has 3 entries that are not numbers: column 'x', line 2: '1,5' (decimal comma?); "
        "column 'x', line 4: 'inf' and column 'y', line 3: 'b'."
    )
    path = _write(tmp_path, "x\n1\n" + "a\n" * 25)
    with pytest.raises(InputError, match=r"has 25 entries .* line 12: 'a' and 15 more\.$"):
        read_columns(path, ["x"])


@pytest.mark.parametrize(
    ("name", "content", "how", "sentence"),
    [
        ("absent.csv", None, {}, "There is no file {path}: check the path."),
        (".", None, {}, "{path} is a folder without Parquet files: give a file."),
        ("data.csv", b"x\n1\xe9\n", {}, "{path} is not UTF-8 text: save it as CSV in UTF-8."),
        (".", None, {"delimiter": "ab"}, "The delimiter is 'ab': give one character."),
    ],
)
def test_what_cannot_be_read(
    tmp_path: Path, name: str, content: bytes | None, how: dict[str, str], sentence: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_columns(path, **how)
    assert str(caught.value) == sentence.format(path=path)


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    path = _write(tmp_path, "x\n1\n")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"Cannot read .*data\.csv: Permission denied\.$"):
        read_columns(path)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    piped = io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfx\r\n1\r\nabc\r\n"))
    monkeypatch.setattr("sys.stdin", piped)
    with pytest.raises(InputError, match=r"^Column 'x' of standard input, line 3, is not a number"):
        read_columns("-", "x")


def test_columns_that_were_not_read(tmp_path: Path) -> None:
    table = read_columns(_write(tmp_path, "x,note\n1,a\n"))
    with pytest.raises(InputError) as caught:
        table["note"]
    assert str(caught.value) == f"There is no column 'note' in {table.path}: it has x."
    with pytest.raises(InputError) as caught:
        table.text("notes")
    assert str(caught.value) == (
        f"There is no column 'notes' in {table.path}: did you mean 'note'?"
    )
