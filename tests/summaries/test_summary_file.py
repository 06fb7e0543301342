"""Files of counts: sums with the facts known about their parts, and refusals."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.summaries.summary_file import Part, SummaryFile, join_files

c = pg.cells
RNG = np.random.default_rng(2)
DIED = RNG.integers(0, 2, 300)
RISK = np.clip(RNG.normal(0.4 + 0.2 * DIED, 0.15), 0, 1)
COUNTED: dict[str, Any] = {"kernel": "auc", "cells": c.Even(0, 1, 64), "classes": [0, 1]}


def summary_of(at: slice, **changes: Any) -> pg.Summary:
    return pg.summarize(RISK[at], labels=DIED[at], **COUNTED | changes)


def file_of(at: slice, name: str, digest: bytes | None = None, **changes: Any) -> SummaryFile:
    names = {"columns": ("risk",), "label": "died"}
    return SummaryFile.of(summary_of(at, **changes), name, digest=digest, **names)


A, B, C = slice(0, 100), slice(100, 180), slice(180, 300)


def test_files_add_up_with_their_parts() -> None:
    files = [file_of(at, name) for at, name in ((A, "a"), (B, "b"), (C, "c"))]
    whole = sum(files)
    assert isinstance(whole, SummaryFile)
    assert whole.summary == summary_of(slice(0, 300))
    assert [(part.name, part.rows) for part in whole.parts] == [("a", 100), ("b", 80), ("c", 120)]
    assert SummaryFile.from_bytes(whole.to_bytes()) == whole
    assert join_files([(one.parts[0].name, one) for one in files]) == whole
    assert repr(files[0]) == (
        f"<SummaryFile of 'a' of {datetime.now(UTC):%Y-%m-%d}, 100 rows: Summary for auc: 100 rows "
        f"in Even(0, 1, 64), 2 classes; {len(files[0].summary.to_bytes()):,} bytes>"
    )


@pytest.mark.filterwarnings("ignore::pairgossip.errors.RowsDropped")
def test_numbers_of_rows_in_blocks_are_rounded() -> None:
    one, other = file_of(B, "b", least_cell=3), file_of(slice(0, 37), "a", least_cell=3)
    assert [part.rows for part in (one + other).parts] == [80, 30]
    assert one.parts[0].describe_rows(is_rounded=True) == "about 80 rows"
    few = file_of(slice(0, 9), "few", least_cell=3)
    assert few.parts[0].describe_rows(is_rounded=True) == "fewer than 10 rows"


def test_the_same_rows_are_refused_twice() -> None:
    one, other, late = file_of(A, "a"), file_of(B, "b"), file_of(C, "c")
    for twice in (one, one + other):
        with pytest.raises(InputError, match=r"^Both hold the same rows, those of 'a' of .*, 100"):
            (one + late) + twice
    again = file_of(A, "other", one.parts[0].digest)
    with pytest.raises(InputError, match=r"100 rows \(there called 'other'\): leave one out\.$"):
        one + again
    with pytest.raises(InputError, match=r"^x and z: Both hold the same rows, those of 'a'"):
        join_files([("x", one + late), ("y", other), ("z", again)])


def test_equal_counts_are_noticed() -> None:
    one, other = file_of(A, "a"), file_of(A, "again")
    assert one.resembles(other) and not one.resembles(file_of(B, "b"))
    assert not (one + file_of(B, "b")).resembles(one)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cells": c.Even(0, 1, 32)}, "the same cells, but one has .Even.0, 1, 64.*Even.0, 1, 32"),
        ({"least_cell": 3}, "One counts cells as they are, and the other blocks of 3 rows or more"),
        ({"kernel": "mann-whitney"}, "the same reading, but one has auc and the other mann-whit"),
        ({"kind": "u"}, "the same kind, but one has v and the other u"),
    ],
)
def test_what_differs_is_said_with_both_files(changes: dict[str, Any], said: str) -> None:
    files = [("x", file_of(A, "a")), ("y", file_of(B, "b")), ("z", file_of(C, "c", **changes))]
    with pytest.raises(InputError, match=rf"^x and z: .*{said}"):
        join_files(files)


def test_classes_are_compared_by_name() -> None:
    grades = DIED + (RISK > 0.7)

    def file(at: slice, *names: str) -> SummaryFile:
        labels = np.array(names)[grades[at]]
        summary = pg.summarize(
            RISK[at], "kendall", labels=labels, cells=c.Even(0, 1, 8), classes=names
        )
        return SummaryFile.of(summary, names[0], classes=names)

    one, other = file(A, "none", "mild", "severe"), file(B, "severe", "mild", "none")
    assert one.summary.classes == other.summary.classes  # which hold numbers only
    with pytest.raises(InputError, match="none < mild < severe, and the other severe < mild < no"):
        one + other
    numbers = pg.summarize(RISK, "kendall", labels=grades, cells=c.Even(0, 1, 8))
    declared = pg.summarize(
        RISK, "kendall", labels=grades, cells=c.Even(0, 1, 8), classes=[0, 1, 2]
    )
    both = SummaryFile.of(numbers, "a") + SummaryFile.of(declared, "b", classes=("0", "1", "2"))
    assert both.summary.rows == 600
    odd = pg.summarize(RISK, "kendall", labels=2 * grades, cells=c.Even(0, 1, 8))
    named = SummaryFile.of(declared, "a", classes=("0", "2", "4"))
    with pytest.raises(InputError, match="with declared classes, and the other without: declare"):
        SummaryFile.of(odd, "b") + named


def test_python_reads_and_writes_files(tmp_path: Path) -> None:
    path, whole = tmp_path / "ab.summary", file_of(A, "a") + file_of(B, "b")
    path.write_bytes(whole.to_bytes())
    assert pg.load(path) == pg.load(str(path)) == whole
    path.write_bytes(b"")
    with pytest.raises(
        InputError, match=rf"^{path}: This is not a file of pairgossip summarize, or"
    ):
        pg.load(path)
    with pytest.raises(InputError, match="There is no file"):
        pg.load(tmp_path / "none.summary")


def test_every_damage_is_refused() -> None:
    data = (file_of(A, "a", least_cell=3) + file_of(B, "b", least_cell=3)).to_bytes()
    for at in range(len(data)):
        for flip in (1, 128):
            broken = data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]
            with pytest.raises(InputError):
                SummaryFile.from_bytes(broken)
    for end in range(0, len(data), 7):
        with pytest.raises(InputError, match="not a file of pairgossip summarize"):
            SummaryFile.from_bytes(data[:end])


def test_files_of_others_are_told_apart() -> None:
    for content in ({"format": "x", "version": 1}, [1], "x"):
        with pytest.raises(InputError, match="not a file of pairgossip summarize"):
            SummaryFile.from_bytes(msgspec.msgpack.encode(content))
    newer = {"format": "pairgossip-summary", "version": 2, "other": 1}
    with pytest.raises(InputError, match="was written by a newer version"):
        SummaryFile.from_bytes(msgspec.msgpack.encode(newer))


PART: dict[str, Any] = {"name": "a", "rows": 100, "made": datetime.now(UTC), "digest": bytes(16)}


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [PART | {"rows": 99}],
        [PART | {"rows": -1}, PART | {"rows": 101, "digest": bytes(range(16))}],
        [PART | {"rows": 50}] * 2,
        [PART | {"digest": b"short"}],
        [PART | {"name": "two\nlines"}],
        [PART | {"name": ""}],
        [PART | {"columns": ("\x1b[31m",)}],
        [PART | {"made": datetime(2026, 11, 18)}],
    ],
)
def test_parts_that_do_not_fit_are_refused(parts: list[dict[str, Any]]) -> None:
    file = SummaryFile(summary_of(A), tuple(Part(**one) for one in parts))
    with pytest.raises(InputError, match=r"parts of this file do not|no file of pair"):
        SummaryFile.from_bytes(file.to_bytes())
