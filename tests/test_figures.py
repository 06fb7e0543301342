"""Figures of README and guide show what the code does now: they are redrawn and compared."""

from __future__ import annotations

import importlib.util
import io
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from pairgossip.arrays import FloatArray

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "guide"
BLOCK = 16
"""Side of averaged blocks in pixels, so that details of letters do not matter."""
APART = 0.15
"""Difference in brightness, from 0 to 1, above which two blocks show different things."""
MOST_APART = 0.01
"""Largest share of blocks that may differ."""


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


@pytest.fixture(scope="module")
def figure(drawing: ModuleType) -> Figure:
    drawn: Figure = drawing.draw()
    return drawn


def messages_to(error: float, line: Line2D) -> int:
    """Return the number of messages after which a curve is at most at this error."""
    messages, errors = (np.asarray(part) for part in line.get_data())
    return int(messages[np.argmax(errors <= error)])


def read_page(page: Path, picture: Path) -> str:
    """Return the text of a page as one line; assert that it shows the picture."""
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert re.search(rf"\]\([a-z./]*images/{re.escape(picture.name)}\)", text)
    return text


def test_the_guide_tells_what_the_figure_shows(drawing: ModuleType, figure: Figure) -> None:
    text = read_page(GUIDE / "fewer-messages.md", drawing.PICTURE)
    rows, _, _, _, tree, _ = figure.axes[0].lines  # each curve, then the point at its end
    assert f"to 1 % after {messages_to(0.01, tree):,} messages if sums" in text
    assert f"and after {messages_to(0.01, rows):,} if rows travel" in text


def test_the_figure_of_messages_is_what_the_code_draws(drawing: ModuleType, figure: Figure) -> None:
    shown = Image.open(drawing.PICTURE)
    assert share_apart(shown, rendered(figure, drawing.DOTS_PER_INCH)) <= MOST_APART
    line = figure.axes[0].lines[0]
    messages = np.asarray(line.get_xdata())
    line.set_xdata(3 * messages)  # three times as many: an old figure
    share = share_apart(shown, rendered(figure, drawing.DOTS_PER_INCH))
    line.set_xdata(messages)
    assert share > MOST_APART


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_figure_of_the_readme_is_what_members_send_and_learn(
    drawing: ModuleType, page: str
) -> None:
    read_page(ROOT / page, drawing.STUDY_PICTURE)
    shown = Image.open(drawing.STUDY_PICTURE)
    figure = drawing.draw_study()
    assert share_apart(shown, rendered(figure, drawing.DOTS_PER_INCH)) <= MOST_APART
    for bar in figure.axes[1].patches:
        bar.set_height(0.1)  # counts without masks are all small
    assert share_apart(shown, rendered(figure, drawing.DOTS_PER_INCH)) > MOST_APART


def test_the_curves_of_the_guide_are_what_nodes_know(drawing: ModuleType) -> None:
    text = read_page(GUIDE / "curves.md", drawing.ROC_PICTURE)
    figure = drawing.draw_node_curves()
    assert "after 12,000, 15,000, 20,000 and 30,000 exchanges" in text
    assert [axes.get_title() for axes in figure.axes] == [
        f"{number} exchanges" for number in ("12,000", "15,000", "20,000", "30,000")
    ]
    shown = Image.open(drawing.ROC_PICTURE)
    assert share_apart(shown, rendered(figure, drawing.DOTS_PER_INCH)) <= MOST_APART
    diagonal, *nodes, exact = figure.axes[-1].lines
    assert len(nodes) == 12 and "699 nodes" in text and "of twelve of them" in text
    for line in nodes:
        line.set_ydata(np.asarray(diagonal.get_ydata())[[0, -1]])
        line.set_xdata(np.asarray(diagonal.get_xdata())[[0, -1]])
    exact.set_visible(False)  # nothing but the diagonal: another figure
    assert share_apart(shown, rendered(figure, drawing.DOTS_PER_INCH)) > MOST_APART
