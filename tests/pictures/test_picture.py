"""Pictures land where their data say, on both canvases, whatever they are given."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from pairgossip.pictures.picture import Area, Dots, Line, Picture, Region, Rule
from pairgossip.pictures.svg_layout import _Drawing

UNIT = np.array([0.0, 1.0])
PARTS = (
    Line(UNIT, UNIT, "line", steps=True),
    Area(UNIT, UNIT - 0.1, UNIT + 0.1, "area"),
    Region(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0]), "region"),
    Dots(UNIT, UNIT, "dots", x_ends=(UNIT - 0.1, UNIT + 0.1), y_ends=(UNIT - 0.1, UNIT + 0.1)),
    Rule(x=0.5, label="rule"),
)
SVG = "{http://www.w3.org/2000/svg}"


def parse(picture: Picture) -> ElementTree.Element:
    return ElementTree.fromstring(picture.to_svg())


def test_a_dot_lands_where_its_data_say() -> None:
    dot = Dots(np.array([0.25]), np.array([0.75]))
    picture = Picture((dot,), "x", "y", x_range=(0, 1), y_range=(0, 1), is_square=True)
    box = _Drawing(picture, 480.0).box
    (circle,) = parse(picture).iter(f"{SVG}circle")
    assert float(circle.attrib["cx"]) == pytest.approx(box.left + 0.25 * box.width, abs=0.005)
    assert float(circle.attrib["cy"]) == pytest.approx(box.top + 0.25 * box.height, abs=0.005)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.label)
def test_every_part_is_drawn_on_both_canvases(part: Line) -> None:
    picture = Picture((part,), "x", "y")
    words = "".join(parse(picture).itertext())
    assert part.label in words
    legend = picture.draw().get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [part.label]
    assert len(re.findall("<(path|circle)", picture.to_svg())) > 3
