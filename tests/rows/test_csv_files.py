"""The fast CSV reader against a plain one: unusual files, and blocks of any size."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import random
from pathlib import Path

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.rows.csv import blocks as csv_blocks
from pairgossip.rows.csv.file import CsvFile, open_csv
from pairgossip.tables import Table, read_columns

_NUMBERS = ["0.5", "1", "-2", "1e5", " 3 ", "+4", "7.", "-0.0", ".5", "1E-3", "00012", '"0.25"']
_ODD = [
    *("NA", "", "nan", "-nan", "?", "None", "n/a", "inf", "1_000", "1,5", ' "2"', '"3" ', '"4"x'),
    *('5"', '"', '""', '"a,b"', '"a\nb"', '"a""b"', "x", "0x10", "\uff11\uff12", "1e999", "1 2"),
    *("\t1", "\x0b2", "# 1", "TRUE", "é", "\0", "1d5"),
]
_WORDS = ["ill", "well", '5" pipe', '"p\r\nq"', '"ill"', " well", "none", "", "x" * 40, "a b"]
_ENDS = ["\n", "\n", "\r\n", "\r", "\n\n", "\n  \n"]


def _draw_file(rng: random.Random) -> bytes:
    """Write a few lines with columns a, b, c; most files are plain."""
    odd = rng.choice([0, 0.03, 0.2])
    end = rng.choice(_ENDS[:4])
    lines = ["a,b,c" + end]
    for _ in range(rng.randint(1, 6)):
        fields = [rng.choice(_ODD if rng.random() < odd else _NUMBERS) for _ in range(2)]
        fields.append(rng.choice(_WORDS if rng.random() < 0.3 else _WORDS[:2]))
        if rng.random() < odd / 6:
            fields = rng.choice([fields[:2], [*fields, "9"]])
        lines.append(",".join(fields) + (rng.choice(_ENDS) if rng.random() < odd else end))
    return "".join(lines).encode()


def _read_plainly(content: bytes) -> tuple[list[list[str]], list[int]] | None:
    """Return rows and their first lines, by the csv module alone; None if that refuses."""
    reader = csv.reader(
        io.StringIO(content.decode(), newline=None), skipinitialspace=True, strict=True
    )
    rows, lines, line = [], [], 1
    try:
        for row in reader:
            if row and row != [""]:
                rows.append([entry.strip() for entry in row])
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error:
        return None
    return (rows[1:], lines[1:]) if {len(row) for row in rows} == {3} and len(rows) > 1 else None


def _number(entry: str) -> float:
    """Return a finite number; NaN for a missing one, infinity for anything else."""
    if entry.lower() in ("", "na", "n/a", "nan", "null", "none", "?"):
        return math.nan
    try:
        number = math.inf if "_" in entry else float(entry)
    except ValueError:
        return math.inf
    return number if math.isfinite(number) else math.inf


@pytest.mark.parametrize("seed", range(4))
def test_the_fast_reader_reads_what_a_plain_one_does(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    refused = 0
    for _ in range(300):
        content = _draw_file(rng)
        monkeypatch.setattr(csv_blocks, "BLOCK", rng.choice([8, 16, 40, 200, 1 << 18]))
        monkeypatch.setattr(csv_blocks, "_BATCH", rng.choice([1, 3, 1 << 15]))
        expected = _read_plainly(content)
        if expected is None:
            refused += 1
            with pytest.raises(InputError):
                CsvFile(content, Path("t"), ",").read()
            continue
        rows, lines = expected
        file = CsvFile(content, Path("t"), ",").read()
        assert file.places.lines().tolist() == lines, content
        texts = file.texts("abc")
        assert list(zip(*(texts[name].texts() for name in "abc"), strict=True)) == [
            tuple(row) for row in rows
        ], content
        for place, name in enumerate("abc"):
            numbers = np.array([_number(row[place]) for row in rows])
            assert (name in file.numbers) == (not np.isinf(numbers).any()), content
            if name in file.numbers:
                assert file.numbers[name].tobytes() == numbers.tobytes(), content
    assert 10 < refused < 150


def test_plain_blocks_are_read_by_numpy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """This includes quoted fields, and blocks in which only missing values are read again."""

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(csv_blocks.Blocks, "_convert", refuse)
    lines = [f'"{k}",{k / 7!r},{"NA" if k % 3 else k}' for k in range(50)]
    content = "\r\n".join(['"","x","y"', *lines]).encode()
    monkeypatch.setattr(csv_blocks, "BLOCK", 64)
    file = CsvFile(content, Path("t")).read()
    np.testing.assert_array_equal(file.numbers["x"], np.arange(50) / 7)
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(file.numbers["y"])), range(0, 50, 3))
    assert file.texts([""])[""].texts() == [str(k) for k in range(50)]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("length", [3, 9, 33])
def test_text_of_any_length_in_many_blocks(
    line_end: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_blocks, "BLOCK", 50)
    words = [f"{k:0{length}}"[::-1] + "é" for k in range(200)]
    content = line_end.join(["x,word", *(f"{k},{word}" for k, word in enumerate(words))]).encode()
    table = Table(CsvFile(content, Path("t")).read())
    assert table.text("word") == words
    assert table.numbers("x").tolist() == list(range(200))
    assert table.lines.tolist() == list(range(2, 202))


def test_a_long_line_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_blocks, "BLOCK", 8)
    content = b"x,note\n1," + b"n" * 100 + b"\n2," + b"m" * 90
    table = Table(CsvFile(content, Path("t")).read())
    assert table.numbers("x").tolist() == [1, 2]
    assert list(map(len, table.text("note"))) == [100, 90]


def test_compressed_files(tmp_path: Path) -> None:
    text = "score,class\n" + "".join(f"{k / 3!r},{'yn'[k % 2]}\n" for k in range(3000))
    plain, packed = tmp_path / "a.csv", tmp_path / "a.csv.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    tables = [read_columns(path) for path in (plain, packed)]
    assert tables[0]["score"].tobytes() == tables[1]["score"].tobytes()
    assert tables[0].text("class") == tables[1].text("class")
    for broken in (packed.read_bytes()[:-9], text.encode()):
        packed.write_bytes(broken)
        with pytest.raises(InputError) as refused:
            read_columns(packed)
        assert str(refused.value) == f"{packed} is not a complete gzip file: compress it again."


def test_an_upload_is_not_decompressed() -> None:
    """A small upload could fill the memory."""
    with pytest.raises(InputError, match=r"^a\.csv\.gz is not UTF-8 text"):
        CsvFile(gzip.compress(b"x\n1\n"), Path("a.csv.gz"))


def test_a_file_that_changes_between_two_readings(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,word\n1,a\n2,b\n")
    table = read_columns(path, ["x"])
    path.write_text("x,word\n1,a\n2,b\n3,c\n")
    with pytest.raises(InputError) as refused:
        table.text("word")
    assert str(refused.value) == f"{path} changed while it was being read: read it again."


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names here")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    import threading

    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("x,word\n1,a\n2,b\n",))
    writer.start()
    table = Table(open_csv(path).read())
    writer.join()
    assert table.text("word") == ["a", "b"]


def test_columns_that_nobody_asks_for_are_not_kept() -> None:
    file = CsvFile(b"x,y,z\n1,2,a\n3,4,b\n", Path("t")).read(["y"])
    assert {name: column.tolist() for name, column in file.numbers.items()} == {"y": [2, 4]}
