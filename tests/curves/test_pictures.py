"""Pictures of curves show the numbers, each curve in its own color."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.metrics import PrecisionRecallDisplay

import pairgossip as pg
from pairgossip.curves.pictures import picture_decisions, picture_precision
from pairgossip.pictures.picture import Dots, Line, Picture, Region
from tests.curves.rows import draw_rows

LABEL = "certain for these rows"


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    pyplot.close("all")


def draw_curves() -> tuple[pg.Roc, pg.Roc]:
    """Return the curve of rows, and that of their counts, with agreed thresholds."""
    scores, labels = draw_rows(np.random.default_rng(4))
    cells = pg.cells.Even(0, 1, 8)
    s = pg.summarize(scores, "auc", labels=labels, classes=[0, 1], cells=cells)
    return pg.roc(scores, labels, thresholds=[0.25, 0.5]), pg.roc(s, thresholds=[0.25, 0.5])


def list_labels(picture: Picture) -> list[str]:
    return [part.label for part in picture.parts]


def test_bands() -> None:
    rows, counts = draw_curves()
    band = "95 % band for the population's curve"
    for r, certain in ((rows, []), (counts, [LABEL])):
        for name, expected in (("simultaneous", [band]), ("pointwise", []), ("none", [])):
            picture = r.picture(band=name, name="model")
            diagonal, *labels, line, dots = list_labels(picture)
            assert (diagonal, labels, dots) == ("", expected + certain, "at 0.25, 0.5")
            assert line.startswith(f"model: AUC {r.auc.value:.3f} (")
            last = picture.parts[-1]
            assert isinstance(last, Dots)
            assert (last.x_ends is not None) == (name == "pointwise")
    point = rows.at(0.25)
    picture = rows.picture(band="pointwise")
    dots_part = picture.parts[-1]
    assert isinstance(dots_part, Dots) and dots_part.x_ends and dots_part.y_ends
    assert dots_part.y_ends[0][0] == point.sensitivity.low
    assert dots_part.x_ends[1][0] == 1 - point.specificity.low
    assert dots_part.x[0] == 1 - point.specificity.value


def test_curves_on_one_axes_have_colors_of_their_own() -> None:
    rows, counts = draw_curves()
    for method in ("plot", "plot_precision", "plot_net_benefit"):
        ax = getattr(rows, method)(name="rows")
        assert getattr(counts, method)(ax, name="counts") is ax
        names = [text.get_text() for text in ax.get_legend().get_texts()]
        assert sum(name.startswith(("rows", "counts")) for name in names) == 2
        named = [line for line in ax.lines if str(line.get_label()).startswith(("rows", "counts"))]
        assert [line.get_color() for line in named] == ["#0072B2", "#D55E00"]
    ax = rows.plot()
    assert ax.get_box_aspect() == 1
    assert ax.get_xlim() == ax.get_ylim() == (0.0, 1.0)


def test_precision_holds_as_scikit_learn_draws_it() -> None:
    rows, counts = draw_curves()
    line = picture_precision(rows).parts[-1]
    assert isinstance(line, Line) and line.steps
    scores, labels = draw_rows(np.random.default_rng(4))
    display = PrecisionRecallDisplay.from_predictions(labels, scores)
    assert display.line_.get_drawstyle() == "steps-post"
    # Scikit-learn's ends with a step to a precision of 1, where no row is above.
    np.testing.assert_allclose(line.x, display.line_.get_xdata(), atol=1e-15)
    np.testing.assert_allclose(line.y[:-1], np.asarray(display.line_.get_ydata())[:-1])
    widths, heights = -np.diff(line.x), line.y[:-1]
    assert float(widths @ heights) == pytest.approx(rows.average_precision.value)
    region = picture_precision(counts).parts[1]
    assert isinstance(region, Region) and region.label == LABEL
    middle = len(region.x) // 2
    lower, upper = slice(None, middle), slice(None, middle, -1)
    for recall, precision in zip(line.x[1:-1], line.y[1:-1], strict=True):
        beside = [recall - 1e-9, recall + 1e-9]  # a path may be vertical there
        low = np.interp(beside, region.x[lower], region.y[lower]).min()
        high = np.interp(beside, region.x[upper], region.y[upper]).max()
        assert low - 1e-6 <= precision <= high + 1e-6


def test_decisions() -> None:
    rows, counts = draw_curves()
    share = rows.positives / (rows.positives + rows.negatives)
    picture = picture_decisions(rows, 0.6)
    labels = ["nobody", "everybody", "those above the threshold", "at 0.25, 0.5"]
    assert list_labels(picture) == labels
    everybody, line, dots = picture.parts[1:]
    assert isinstance(line, Line) and isinstance(everybody, Line) and isinstance(dots, Dots)
    at = int(np.argmin(abs(line.x - 0.3)))
    assert line.y[at] == rows.at(float(line.x[at])).net_benefit
    assert everybody.y[at] == pytest.approx(share - (1 - share) * line.x[at] / (1 - line.x[at]))
    assert picture.x_range == (0.0, 0.6)
    assert dots.y_ends is not None and dots.y_ends[1][1] == rows.at(0.5).net_benefit.high
    assert list_labels(picture_decisions(counts, 0.3))[2:] == [
        LABEL,
        "those above the threshold",
        "at 0.25",
    ]


def test_text_for_those_who_cannot_see() -> None:
    r = pg.roc([0.1, 0.3, 0.4, 0.2, 0.5, 0.7, 0.6, 0.9], [0, 0, 0, 0, 1, 1, 0, 1])
    svg = r._repr_html_()
    assert (
        "at 0.1, 0.2 and 0.5 on the horizontal axis the sensitivity is 0.67, 1.00 and 1.00" in svg
    )
    assert repr(r).startswith("<ROC curve of 3 positive rows, 5 negative: AUC 0.933")
    first = str(r.at(0.5)).splitlines()[1]
    assert first.split() == ["sensitivity", "1.00", "0.44", "to", "1.00"]
