"""Files of counts that are shared: blocks, and releases that the registers of rows know."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.peer.bookkeeping.places import registers_of
from pairgossip.peer.bookkeeping.registers import hold_registers
from pairgossip.peer.specification.promise import FILE_PROMISE

from .counted import AUC, CELLS, DIED, RISK, RNG, ROWS, SHARED, A, B, Write
from .running import CommandLine


def test_blocks_hold_the_value_and_say_what_they_leave_open(
    cli: CommandLine, summarize: Any
) -> None:
    files = [summarize("a", A, *SHARED), summarize("b", B, *SHARED)]
    for file in files:
        counts = pg.load(file).summary.counts
        assert ((counts == 0) | (counts >= 3)).all()
    said = cli("answer", *files)
    assert "because blocks of 3 rows or more leave" in said.out
    low, high = cli("answer", *files, "--json").json()["bracket"]
    assert low <= pg.exact(RISK, "auc", labels=DIED) <= high
    assert "about 140 rows" in said.out and "100 rows" in said.out
    few = (*AUC, *CELLS, "--classes", "0,1", "--share", 10)
    far = cli("answer", summarize("c", slice(0, 60), *few, risk=np.sqrt(RISK)))
    assert "and the estimate may be far off: read these two ends" in far.out


def test_a_shared_file_is_a_release(cli: CommandLine, write: Write, tmp_path: Path) -> None:
    data, out = write("a"), tmp_path / "a.summary"
    said = cli("summarize", data, *SHARED, "--out", out).err
    assert f"What {out} shows, with k = 3: {FILE_PROMISE}\n" in said
    assert f"{data}.releases notes what is released of these rows, and knows them by their" in said
    with hold_registers(registers_of(data)) as registers:
        assert len(registers) == 2
        for register in registers.values():
            (release,) = register.releases
            assert (release.outcome, release.table, release.columns) == (
                "table",
                str(out),
                ("risk",),
            )
            assert (release.least_cell, release.classes) == (3, ("died",))
            assert release.study == pg.load(out).parts[0].digest.hex()
    day, other = pg.load(out).parts[0].day, tmp_path / "other.summary"
    refusal = (
        f"Column 'risk' of 240 of these rows went out on {day} to file {out} as a table, and with "
        f"a second release others can subtract: read the kept table {out} (pairgossip answer), or "
        "give --visible."
    )
    shutil.copy(data, data.with_name("copy.csv"))
    for again in (data, data.with_name("copy.csv")):
        assert cli.error("summarize", again, *SHARED, "--out", other) == refusal
    assert not other.exists()
    visible = cli("summarize", data, *SHARED, "--out", other, "--visible")
    assert visible.code == 0 and "can subtract." in visible.err.partition("\n")[0]
    rest = write("rest", slice(0, 100), risk=RNG.random(ROWS), age=RNG.random(ROWS))
    assert cli("summarize", rest, *SHARED, "--out", tmp_path / "rest.summary").code == 0


def test_a_copy_of_a_column_of_few_values_is_found(
    cli: CommandLine, write: Write, tmp_path: Path
) -> None:
    asked = [{"risk": "grade"}.get(str(one), one) for one in SHARED]
    nothing_else = {"risk": DIED, "age": DIED, "sex": DIED, "ward": DIED}
    for name in ("a", "copy"):
        data = write(name, **nothing_else, grade=np.rint(2 * RISK) / 2)
        out = tmp_path / f"{name}.summary"
        if name == "a":
            assert cli("summarize", data, *asked, "--out", out).code == 0
        else:
            said = cli.error("summarize", data, *asked, "--out", out)
            assert said.startswith("Column 'grade' of 240 of these rows went out on ")
            visible = cli("summarize", data, *asked, "--out", out, "--visible")
            assert visible.code == 0


def test_ids_and_columns_that_are_the_same(cli: CommandLine, write: Write, tmp_path: Path) -> None:
    ids = np.arange(ROWS)
    data = write("a", patient=ids, logit=RISK * 2)
    out = ("--out", tmp_path / "a.summary")
    message = cli.error("summarize", data, *SHARED, *out, "--id", "person")
    assert message.startswith(f"There is no column 'person' in {data}")
    same = ("--same", "age,sex")
    assert "must name two columns or more" in cli.error("summarize", data, *SHARED, *out, *same)
    known = ("--id", "patient", "--same", "risk,logit")
    assert cli("summarize", data, *SHARED, *out, *known).code == 0
    later = write("later", patient=ids, logit=RNG.random(ROWS), risk=RNG.random(ROWS))
    logit = [{"risk": "logit"}.get(str(one), one) for one in SHARED]
    again = (*logit, "--out", tmp_path / "b.summary", *known)
    assert "Column 'logit' of 240 of these rows went out" in cli.error("summarize", later, *again)


def test_nothing_is_released_where_nothing_is_written(
    cli: CommandLine, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = write("a"), tmp_path / "a.summary"

    def fail(*_: object, **__: object) -> bytes:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pairgossip.summaries.summary_file.SummaryFile.to_bytes", fail)
        assert "The disk is full" in cli.error("summarize", data, *SHARED, "--out", out)
    assert not out.exists() and not any(place.exists() for place in registers_of(data))
    assert cli("summarize", data, *SHARED, "--out", out).code == 0
