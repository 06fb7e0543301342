"""Curves of blocks, and tables that fit."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console, ConsoleDimensions
from rich.text import Text

from pairgossip.watch.terminal.drawing import (
    ASCII_BLOCKS,
    BLOCKS,
    blocks_for,
    line,
    rows_that_fit,
    shown_live,
    sparkline,
    spelled,
)


@pytest.mark.parametrize(
    ("values", "width", "drawn"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8], 8, "▁▂▃▄▅▆▇█"),
        ([8, 1], 20, "█▁"),
        ([5, 5, 5], 3, "███"),
        ([1, None, 8, math.nan], 4, "▁ █ "),
        (list(range(100)), 4, "▃▄▆█"),
        ([], 10, ""),
        ([None, math.inf], 10, ""),
        ([1, 2], 0, ""),
    ],
)
def test_sparklines(values: list[float | None], width: int, drawn: str) -> None:
    assert sparkline(values, width, log=False, blocks=BLOCKS) == drawn


def test_logarithms() -> None:
    values = [10.0**k for k in range(8)]
    assert sparkline(values, 8, log=True, blocks=BLOCKS) == BLOCKS
    assert sparkline([0.0, 1.0, 100.0], 3, log=True, blocks=BLOCKS) == "▁▁█"
    assert sparkline([0.0, 0.0], 2, log=True, blocks=BLOCKS) == ""


def test_blocks_that_a_terminal_has() -> None:
    plain = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    rich = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert (blocks_for(plain), blocks_for(rich)) == (ASCII_BLOCKS, BLOCKS)
    assert len(ASCII_BLOCKS) == len(BLOCKS)


def test_small_things() -> None:
    assert [spelled(value) for value in (None, math.nan, 1.5, 123456789.0)] == [
        *("-", "-", "1.5"),
        "1.23457e+08",
    ]
    assert rows_that_fit(3) == 1 and rows_that_fit(40) == 31
    assert line("x" * 50, 10).plain == "x" * 9 + "…"


def test_what_is_shown_follows_the_size_of_the_terminal() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=50, height=10)
    with shown_live(console, lambda width, height: Text(f"{width} x {height}")) as redraw:
        redraw()
        console.size = ConsoleDimensions(33, 7)
        redraw()
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "50 x 10" in shown and "33 x 7" in shown
