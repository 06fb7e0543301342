from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np
import pytest
from matplotlib.figure import Figure

from .running import CommandLine


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that commands write, left undrawn: to draw one takes a second.

    For tests of what is in a figure and of where it goes; others look at the pixels.
    """
    written: list[Figure] = []

    def save(self: Figure, file: IO[bytes], **_: object) -> None:
        file.write(b"figure")
        written.append(self)

    monkeypatch.setattr(Figure, "savefig", save)
    return written


@pytest.fixture
def incomes(tmp_path: Path) -> Path:
    """A file of 20 rows: numbers in income and age, text in class, numbers in grade."""
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
    """A file of 12 rows with one column."""
    file = tmp_path / "single.csv"
    file.write_text("value\n" + "".join(f"{k * k}\n" for k in range(12)))
    return file
