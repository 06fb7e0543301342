from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from .counted import AGE, AUC, CELLS, DIED, RISK, SEX, WARD, Write
from .running import CommandLine


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Collect the figures that commands write, undrawn, since drawing one takes a second.

    Tests of the contents of figures and of their files use this; others check the pixels.
    """
    written: list[Figure] = []

    def save(self: Figure, file: IO[bytes], **_: object) -> None:
        file.write(b"figure")
        written.append(self)

    monkeypatch.setattr(Figure, "savefig", save)
    return written


@pytest.fixture
def incomes(tmp_path: Path) -> Path:
    """Write a file of 20 rows: numbers in income and age, text in class, numbers in grade."""
    random = np.random.default_rng(5)
    income, age = random.lognormal(size=20).round(4), random.integers(20, 70, 20)
    rows = [
        f"{i},{a},{'rich' if i > 1 else 'poor'},{10 if i > 1 else 2}"
        for i, a in zip(income.tolist(), age.tolist(), strict=True)
    ]
    file = tmp_path / "incomes.csv"
    file.write_text("income,age,class,grade\n" + "\n".join(rows) + "\n")
    return file


@pytest.fixture
def single(tmp_path: Path) -> Path:
    """Write a file of 12 rows with one column."""
    file = tmp_path / "single.csv"
    file.write_text("value\n" + "".join(f"{k * k}\n" for k in range(12)))
    return file


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write some of the rows as a file."""

    def write(name: str, at: slice = slice(None), **changes: Any) -> Path:
        columns = {"risk": RISK, "died": DIED, "age": AGE, "sex": SEX, "ward": WARD}
        table = {key: np.asarray(one)[at] for key, one in (columns | changes).items()}
        lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join([",".join(table), *lines, ""]))
        return path

    return write


@pytest.fixture
def summarize(cli: CommandLine, write: Write) -> Callable[..., Path]:
    """Count some of the rows in a file of counts."""

    def summarize(name: str, at: slice = slice(None), *options: object, **changes: Any) -> Path:
        data = write(name, at, **changes)
        out = data.with_suffix(".summary")
        answer = cli("summarize", data, *(options or (*AUC, *CELLS)), "--out", out)
        assert (answer.code, answer.out) == (0, ""), answer.err
        assert answer.err.endswith(f"Wrote {out}\n")
        return out

    return summarize
