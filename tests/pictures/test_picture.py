"""Pictures draw their data at the right places, on both canvases, for any data."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import PathCollection

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.pictures.picture import Area, Canvas, Dots, Line, Part, Picture, Region, Rule
from pairgossip.pictures.svg_layout import Layout

SVG = "{http://www.w3.org/2000/svg}"
inf, nan = np.inf, np.nan
UNIT = np.array([0.0, 1.0])
ENDS = (UNIT - 0.1, UNIT + 0.1)
PARTS: tuple[Part, ...] = (
    Line(UNIT, UNIT, "line", steps=True),
    Area(UNIT, UNIT - 0.1, UNIT + 0.1, "area"),
    Area(UNIT, UNIT - 0.1, UNIT + 0.1, "steps", steps=True),
    Region(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0]), "region"),
    Dots(UNIT, UNIT, "dots", x_ends=ENDS, y_ends=ENDS, sizes=UNIT),
    Dots(UNIT, UNIT, "squares", marker="s"),
    Dots(UNIT, UNIT, "diamonds", marker="D"),
    Rule(x=0.5, y=0.2, label="rule"),
)


class Log(NamedTuple):
    """A canvas that records what it was asked to draw, as any canvas is asked."""

    drawn: list[tuple[str, list[float], list[float]]]

    def polyline(self, x: FloatArray, y: FloatArray, **look: object) -> None:
        self.drawn.append(("polyline", x.tolist(), y.tolist()))

    def polygon(self, x: FloatArray, y: FloatArray, **look: object) -> None:
        self.drawn.append(("polygon", x.tolist(), y.tolist()))

    def markers(self, x: FloatArray, y: FloatArray, **look: object) -> None:
        self.drawn.append(("markers", x.tolist(), y.tolist()))


def array(*values: float) -> FloatArray:
    return np.array(values, dtype=np.float64)


def draw_unit(*parts: Part, is_square: bool = True) -> tuple[ElementTree.Element, Layout]:
    """Return a picture of some parts on axes from 0 to 1, and its layout."""
    picture = Picture(parts, "x", "y", x_range=(0, 1), y_range=(0, 1), is_square=is_square)
    return ElementTree.fromstring(picture.to_svg()), Layout(picture, 480.0)


def read_paths(svg: ElementTree.Element, layout: Layout) -> list[list[list[float]]]:
    """Return the corners of all lines and polygons inside the axes, in their coordinates."""
    box, found, inside = layout.box, [], svg.find(f"{SVG}svg")
    assert inside is not None
    for path in inside:
        for run in re.findall("M([^MZ]+)", path.attrib["d"]):
            points = [[float(number) for number in point.split(",")] for point in run.split()]
            found.append(
                [
                    [round((x - box.left) / box.width, 4), round(1 - (y - box.top) / box.height, 4)]
                    for x, y in points
                ]
            )
    return found


def expect(points: list[list[float]]) -> object:
    return pytest.approx(np.array(points), abs=1e-4)


@pytest.mark.parametrize("is_square", [True, False])
def test_a_dot_lands_where_its_data_say(is_square: bool) -> None:
    svg, layout = draw_unit(Dots(array(0.25), array(0.75)), is_square=is_square)
    box = layout.box
    assert box.height == pytest.approx(box.width * (1 if is_square else 0.68))
    (circle,) = svg.iter(f"{SVG}circle")
    assert float(circle.attrib["cx"]) == pytest.approx(box.left + 0.25 * box.width, abs=0.005)
    assert float(circle.attrib["cy"]) == pytest.approx(box.top + 0.25 * box.height, abs=0.005)
    (point,) = (
        Picture((Dots(array(0.25), array(0.75)),), "x", "y", y_range=(0, 1)).draw().collections
    )
    assert np.asarray(point.get_offsets()).tolist() == [[0.25, 0.75]]


def test_markers_have_the_areas_asked_for_whatever_their_form() -> None:
    at, sizes = array(0.2, 0.5, 0.8), array(1, 40, 100)
    areas = []
    for marker in "osD":
        svg, _ = draw_unit(Dots(at, at, sizes=sizes, marker=marker))
        shapes = svg.findall(f"{SVG}g/*")
        areas.append([measure_area(shape) for shape in shapes])
    np.testing.assert_allclose(areas, [areas[0]] * 3, rtol=0.02)
    assert areas[0][2] / areas[0][1] == pytest.approx(100 / 40, rel=0.01)
    assert areas[0][0] > 10  # a hundredth would be too small to see
    drawn = []
    for marker in "osD":
        collection = Picture((Dots(at, at, sizes=sizes, marker=marker),), "x", "y").draw()
        (points,) = collection.collections
        assert isinstance(points, PathCollection)
        drawn.append(points.get_sizes())
    np.testing.assert_allclose(drawn[0] / 4 * np.pi, drawn[1])
    np.testing.assert_allclose(drawn[1] / 0.75**2, areas[1], rtol=0.02)


def measure_area(shape: ElementTree.Element) -> float:
    if "r" in shape.attrib:
        return float(np.pi * float(shape.attrib["r"]) ** 2)
    if "width" in shape.attrib:
        return float(shape.attrib["width"]) * float(shape.attrib["height"])
    corners = [point.split(",") for point in shape.attrib["d"].strip("MZ").split()]
    x, y = np.array(corners, dtype=np.float64).T
    return 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))


def test_a_value_holds_until_the_next() -> None:
    line = Line(array(0, 0.25, 1), array(1, 0.5, 0.125), steps=True)
    svg, layout = draw_unit(line)
    (corners,) = read_paths(svg, layout)
    assert corners == expect([[0, 1], [0.25, 1], [0.25, 0.5], [1, 0.5], [1, 0.125]])
    (drawn,) = Picture((line,), "x", "y").draw().lines
    kept = np.column_stack(drawn.get_data())
    assert kept[~np.isnan(kept[:, 0])].tolist() == [
        [0, 1],
        [0.25, 1],
        [0.25, 0.5],
        [1, 0.5],
        [1, 0.125],
    ]


def test_gaps_split_lines_and_areas_and_leave_dots() -> None:
    x = np.linspace(0, 1, 6)
    line = Line(x, array(0, nan, 0.2, 0.3, nan, 0.6))
    svg, layout = draw_unit(line)
    assert read_paths(svg, layout) == [expect([[0.4, 0.2], [0.6, 0.3]])]
    assert len([*svg.iter(f"{SVG}circle")]) == 2
    log = Log([])
    line.draw(log)
    assert log.drawn[1] == ("markers", [0.0, 1.0], [0.0, 0.6])
    area = Area(array(0, 0.5, nan, 0.75, 1), array(0, 0, 0, 0, 0.5), array(1, 0.5, 1, 1, inf))
    svg, layout = draw_unit(area)
    assert read_paths(svg, layout) == [
        expect([[0, 1], [0.5, 0.5], [0.5, 0], [0, 0]]),
        expect([[0.75, 1], [1, 1], [1, 0.5], [0.75, 0]]),
    ]


def test_infinite_ends_are_drawn_to_the_border() -> None:
    dots = Dots(array(0.5), array(0.5), x_ends=(array(0.25), array(inf)))
    svg, layout = draw_unit(dots, Rule(x=0.5), Rule(y=0.25))
    assert read_paths(svg, layout) == [
        expect([[0.25, 0.5], [1, 0.5]]),
        expect([[0.5, 0], [0.5, 1]]),
        expect([[0, 0.25], [1, 0.25]]),
    ]
    ax = Picture((dots, Rule(x=0.5)), "x", "y", x_range=(0, 1), y_range=(-1, 1)).draw()
    ends = [np.column_stack(line.get_data())[1:3].tolist() for line in ax.lines]
    assert ends == [[[0.25, 0.5], [1, 0.5]], [[0.5, -1], [0.5, 1]]]


def test_what_lies_outside_is_cut_and_markers_there_are_left_out() -> None:
    svg, layout = draw_unit(Line(array(0, 2), array(0, 2)), Dots(array(0, 1, 2), array(0, 1, 2)))
    assert read_paths(svg, layout) == [expect([[0, 0], [2, 2]])]
    inner = svg.find(f"{SVG}svg")
    assert inner is not None and "overflow" not in inner.attrib
    assert float(inner.attrib["width"]) == pytest.approx(layout.box.width + 3, abs=0.01)
    assert len([*svg.iter(f"{SVG}circle")]) == 2


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.label)
def test_every_part_is_drawn_on_both_canvases(part: Part) -> None:
    picture = Picture((part, part), "x", "y")
    svg = ElementTree.fromstring(picture.to_svg())
    assert [text.text for text in svg.iter(f"{SVG}text")].count(part.label) == 1
    legend = (ax := picture.draw()).get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [part.label]
    log = Log([])
    part.draw(log)
    counts = {"polyline": len(ax.lines), "polygon": len(ax.patches), "markers": len(ax.collections)}
    for kind, count in counts.items():
        assert count == 2 * [name for name, *_ in log.drawn].count(kind)
    in_svg = svg.findall(f"{SVG}svg/{SVG}path") + svg.findall(f"{SVG}g")
    samples = Log([])
    part.sample().draw(samples)
    assert len(in_svg) == 2 * len(log.drawn) + len(samples.drawn)


def test_a_new_part_needs_one_class_alone() -> None:
    class Cross(NamedTuple):
        at: float
        label: str = "cross"

        def draw(self, canvas: Canvas) -> None:
            for x, y in ((UNIT, UNIT), (UNIT, 1 - UNIT)):
                canvas.polyline(x * self.at, y, color="#123456", width=1.0)

        def reach(self) -> tuple[FloatArray, FloatArray]:
            return UNIT * self.at, UNIT

        def sample(self) -> Part:
            return Cross(1.0)

    picture = Picture((Cross(3.0),), "x", "y")
    assert picture.to_svg().count('stroke="#123456"') == 4
    assert len(picture.draw().lines) == 2


def test_what_a_part_needs_of_a_canvas_says_all_of_it() -> None:
    log = Log([])
    Dots(array(1, 2), array(3, 4), y_ends=(array(2, nan), array(5, inf))).draw(log)
    (kind, x, y), markers = log.drawn
    assert (kind, x[:2], y[:2]) == ("polyline", [1, 1], [2, 5])
    assert np.isnan([x[2], y[2], y[3]]).all() and y[4] == inf
    assert markers == ("markers", [1, 2], [3, 4])


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (Line(array(), array(), "l", steps=True), Area(array(), array(), array(), "a"), Rule()),
        (Region(array(), array()), Dots(array(), array(), sizes=array(), x_ends=(array(),) * 2)),
        (Line(array(1), array(2)), Area(array(1), array(0), array(3), steps=True)),
        (Line(array(1, 2, 3), array(5, 5, 5)),),
        (Line(array(nan, nan), array(nan, nan)),),
        (Line(array(-inf, 0, 1, inf), array(0, inf, -inf, 1)),),
        (Line(array(-1e308, 1e308), array(-1e308, 1e308)),),
        (Dots(array(0, 0), array(0, 0), sizes=array(nan, -1)),),
    ],
    ids=str,
)
@pytest.mark.parametrize("x_log", [False, True])
@pytest.mark.parametrize("rows", [(), ("",), ("a", "b")])
def test_any_data_give_a_picture(
    parts: tuple[Part, ...], x_log: bool, rows: tuple[str, ...]
) -> None:
    picture = Picture(parts, "x", "y", x_log=x_log, rows=rows)
    svg = picture.to_svg()
    ElementTree.fromstring(svg)
    assert re.search(r"\b(nan|inf)\b", svg) is None
    picture.draw().figure.canvas.draw()  # with warnings as errors


def test_pictures_in_one_page_share_no_identifiers() -> None:
    pages = [Picture((Rule(x=at),), "x", "y", "same title").to_svg() for at in (1.0, 2.0)]
    first, second = (re.findall(' id="([^"]+)"', svg) for svg in pages)
    assert len({*first, *second}) == 4
    for svg, names in zip(pages, (first, second), strict=True):
        assert f'aria-labelledby="{" ".join(names)}"' in svg
        assert 'role="img"' in svg and "url(" not in svg and "href" not in svg
    assert Picture((Rule(x=1.0),), "x", "y", "same title").to_svg() == pages[0]


def test_axes_that_show_something_keep_it() -> None:
    _, ax = pyplot.subplots()
    ax.plot([-5, 5], [0, 20], label="before")
    before = ax.get_xlim()
    assert Picture((Line(UNIT, UNIT, "new"),), "x", "y").draw(ax) is ax
    assert ax.get_xlim() == before and ax.get_ylim()[1] >= 20
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["before", "new"]


def test_logarithmic_axes_show_ratios_evenly() -> None:
    dots = Dots(array(0.1, 1, 10), array(0.5, 0.5, 0.5))
    picture = Picture((dots,), "x", "y", x_range=(0.1, 10), x_log=True)
    root = ElementTree.fromstring(picture.to_svg())
    left, middle, right = (float(one.attrib["cx"]) for one in root.iter(f"{SVG}circle"))
    assert middle - left == pytest.approx(right - middle, abs=0.02)
    ax = picture.draw()
    assert ax.get_xscale() == "log"
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels == ["0.1", "0.2", "0.5", "1", "2", "5", "10"]


def test_a_curve_of_a_million_rows_is_a_small_file() -> None:
    rng = np.random.default_rng(0)
    low, high = np.sort(rng.normal(size=500_000)), np.sort(rng.normal(1.2, 1, 500_000))
    cuts = np.sort(np.concatenate((low, high)))[::-1]
    false, true = (1 - np.searchsorted(rows, cuts) / 500_000 for rows in (low, high))
    x, y = np.repeat(false, 2)[1:], np.repeat(true, 2)[:-1]
    parts = (
        Area(false, true - 0.01, true + 0.01, "band"),
        Region(np.append(x, x[::-1] + 0.002), np.append(y, y[::-1] + 0.002), "certain"),
        Line(false, true, "curve", steps=True),
    )
    picture = Picture(parts, "1 - specificity", "sensitivity", x_range=(0, 1), y_range=(0, 1))
    svg = picture.to_svg()
    assert len(svg) < 50_000
    layout = Layout(picture, 480.0)
    (*_, curve) = read_paths(ElementTree.fromstring(svg), layout)
    x, y = np.array(curve).T
    at = np.linspace(0.001, 1, 500)
    assert np.abs(np.interp(at, x, y) - np.interp(at, false, true)).max() * layout.box.height < 0.6
    (drawn,) = Picture(parts[2:], "x", "y", x_range=(0, 1), y_range=(0, 1)).draw().lines
    assert np.size(drawn.get_xdata()) < 5_000


def test_many_markers_on_one_pixel_are_drawn_once() -> None:
    rng = np.random.default_rng(0)
    svg, _ = draw_unit(Dots(rng.uniform(size=100_000) / 20, rng.uniform(size=100_000) / 20))
    assert 300 < len([*svg.iter(f"{SVG}circle")]) < 600


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Picture((), "x", "y", rows=("a", "b"), notes=("1",)),
            "A picture of 2 rows needs as many notes, not 1.",
        ),
        (
            lambda: Picture((), "x", "y", below=(("a", ("1",)),), below_at=(1, 2)),
            "Every line below a picture needs one text for each of the places below_at.",
        ),
        (
            lambda: Picture((Line(UNIT, array(1, 2, 3)),), "x", "y").to_svg(),
            "The parts of a picture need coordinates of one length, not (2,) and (3,).",
        ),
        (
            lambda: Picture((Dots(UNIT, UNIT, y_ends=(UNIT, array(1))),), "x", "y").draw(),
            "The parts of a picture need coordinates of one length, not (2,) and (1,) and (2,).",
        ),
    ],
)
def test_a_picture_that_cannot_be_is_refused(make: object, sentence: str) -> None:
    assert callable(make)
    with pytest.raises(InputError) as refused:
        make()
    assert str(refused.value) == sentence


def test_pictures_and_pages_need_numpy_alone() -> None:
    code = """
import sys
import numpy as np
from pairgossip.pages.page import Figure, Page
from pairgossip.pictures.picture import Line, Picture
line = Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "a")
assert "<svg" in Page("page", (Figure(Picture((line,), "x", "y")),)).to_html()
print([name for name in ("matplotlib", "scipy", "numpy.ma", "numpy.random") if name in sys.modules])
sys.modules["matplotlib"] = None
try:
    Picture((), "x", "y").draw()
except ImportError as missing:
    print(missing)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split("\n")[0] == "[]"
    assert "Drawing needs matplotlib, which is not installed: pip install" in done.stdout
