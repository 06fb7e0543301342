"""The README's figure shows what the code does now: it is drawn again and compared roughly."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from pairgossip.arrays import FloatArray

ROOT = Path(__file__).parents[1]
BLOCK = 16
"""Pixels that are averaged along each side, which levels out how letters are drawn."""
APART = 0.15
"""By how much two blocks differ in brightness, from 0 to 1, that show something else."""
MOST_APART = 0.01
"""The share of blocks that may."""


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("figures", ROOT / "docs" / "figures.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks_of(picture: Image.Image) -> FloatArray:
    """Return the mean brightness of square blocks."""
    pixels = np.asarray(picture.convert("L"), dtype=np.float64) / 255
    rows, columns = (size // BLOCK for size in pixels.shape)
    cut = pixels[: rows * BLOCK, : columns * BLOCK]
    return cut.reshape(rows, BLOCK, columns, BLOCK).mean(axis=(1, 3))


def share_apart(one: Image.Image, other: Image.Image) -> float:
    """Return the share of blocks in which two pictures differ."""
    assert one.size == other.size
    return float((np.abs(blocks_of(one) - blocks_of(other)) > APART).mean())


def rendered(figure: Figure, dpi: int) -> Image.Image:
    file = io.BytesIO()
    figure.savefig(file, dpi=dpi)
    return Image.open(file)


def test_the_figure_of_the_readme_is_what_the_code_draws(drawing: ModuleType) -> None:
    figure = drawing.draw()
    shown = Image.open(drawing.PICTURE)
    assert share_apart(shown, rendered(figure, drawing.DOTS_PER_INCH)) <= MOST_APART
    line = max(figure.axes[0].lines, key=lambda one: len(one.get_xdata()))
    line.set_xdata(3 * line.get_xdata())  # three times as many messages: an old figure
    assert share_apart(shown, rendered(figure, drawing.DOTS_PER_INCH)) > MOST_APART


def test_the_readme_shows_it(drawing: ModuleType) -> None:
    assert f"]({drawing.PICTURE.relative_to(ROOT).as_posix()})" in (ROOT / "README.md").read_text()
