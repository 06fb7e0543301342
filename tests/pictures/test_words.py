"""Words in pictures: their places, line breaks and cuts, and no control characters."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from pairgossip.pictures.picture import Dots, Line, Picture
from pairgossip.pictures.svg_layout import Layout

from .test_picture import SVG, UNIT, array

HOSTILE = "</title></text><script>alert('1')</script>&\u202e\x00\ud800 $\\frac{ \"'"


def test_no_text_of_data_controls_a_picture() -> None:
    picture = Picture(
        (Line(UNIT, UNIT, HOSTILE, color='"><b>'), Line(UNIT, UNIT, "_private")),
        HOSTILE,
        HOSTILE,
        HOSTILE,
        rows=(HOSTILE, ""),
        notes=(HOSTILE, ""),
        notes_label=HOSTILE,
        below=((HOSTILE, (HOSTILE,)),),
        below_at=(0.5,),
        below_label=HOSTILE,
        description=HOSTILE,
    )
    svg = picture.to_svg()
    root = ElementTree.fromstring(svg)
    used = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert used == {"svg", "title", "desc", "rect", "path", "text"}
    assert all(letter.isprintable() for letter in svg)
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
    words = " ".join(text.text or "" for text in root.iter(f"{SVG}text"))
    assert "<script>" in "".join(words.split()) and r"\u202e\x00\ud800" in "".join(words.split())
    plain = Picture(picture.parts[1:], HOSTILE, HOSTILE, HOSTILE)
    plain.draw().figure.canvas.draw()
    legend = plain.draw().get_legend()
    assert legend is not None and legend.get_texts()[0].get_text().strip() == "_private"


def test_a_picture_is_told_to_who_cannot_see_it() -> None:
    root = ElementTree.fromstring(Picture((), "time", "alive", description="Nobody died.").to_svg())
    assert [root.findtext(f"{SVG}{tag}") for tag in ("title", "desc")] == [
        "alive by time",
        "Nobody died.",
    ]
    assert Picture((), "x", "y")._repr_html_() == Picture((), "x", "y").to_svg()


def test_rows_are_named_from_the_top_down() -> None:
    dots = Dots(array(1, 2, 3), np.arange(3.0), marker="s")
    picture = Picture(
        (dots,), "AUC", "site", rows=("a", "b", "c"), notes=("1", "2", "3"), notes_label="n"
    )
    root = ElementTree.fromstring(picture.to_svg())
    heights = {text.text: float(text.attrib["y"]) for text in root.iter(f"{SVG}text")}
    assert heights["site"] < heights["a"] < heights["b"] < heights["c"] < heights["AUC"]
    squares = [
        float(one.attrib["y"]) + float(one.attrib["height"]) / 2
        for one in root.findall(f"{SVG}g/{SVG}rect")
    ]
    for name, note, middle in zip("abc", "123", squares, strict=True):
        assert 0 < heights[name] - middle < 8 and 0 < heights[note] - middle < 8
    ax = picture.draw()
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
    assert ax.get_ylim() == (2.5, -0.5)
    assert {text.get_text() for text in ax.texts} == {"1", "2", "3", "n", "site"}


def test_texts_below_stand_at_their_places() -> None:
    picture = Picture(
        (Line(array(0, 10), array(1, 0)),),
        "day",
        "alive",
        x_range=(0, 10),
        below=(("arm A", ("91", "82")), ("arm B", ("73", "64"))),
        below_at=(0, 5),
        below_label="at risk",
    )
    layout = Layout(picture, 480.0)
    root = ElementTree.fromstring(picture.to_svg())
    texts = {text.text: text.attrib for text in root.iter(f"{SVG}text")}
    assert {"0", "5"} <= texts.keys() and "10" not in texts
    for name, at in (("91", 0), ("82", 0.5), ("73", 0), ("64", 0.5), ("5", 0.5)):
        x = layout.box.left + at * layout.box.width
        assert float(texts[name]["x"]) == pytest.approx(x, abs=0.01)
    assert texts["arm A"]["y"] == texts["91"]["y"] == texts["82"]["y"] != texts["arm B"]["y"]
    ax = picture.draw()
    places = {text.get_text(): text.xy[0] for text in ax.texts if hasattr(text, "xy")}
    assert (places["91"], places["82"], places["64"]) == (0, 5, 5)
    assert ax.get_xticks().tolist() == [0, 5]


def test_long_texts_are_broken_and_cut() -> None:
    picture = Picture((Line(UNIT, UNIT, "w" * 900),), "X" * 900, "Y y " * 300, "word " * 200)
    root = ElementTree.fromstring(picture.to_svg(360))
    for text in root.iter(f"{SVG}text"):
        if "transform" not in text.attrib:
            assert len(text.text or "") < 80
    assert sum(text.attrib.get("font-size") == "15" for text in root.iter(f"{SVG}text")) == 4
