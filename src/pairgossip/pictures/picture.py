"""A picture as data: its parts, axes and labels; drawn as SVG or with matplotlib.

>>> import numpy as np
>>> chance = Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), style="--", color=MUTED)
>>> picture = Picture((chance,), "1 - specificity", "sensitivity", x_range=(0, 1), y_range=(0, 1))
>>> picture.to_svg().startswith("<svg ")
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.errors import InputError
from pairgossip.pictures.palette import MAIN, MUTED, SERIES
from pairgossip.pictures.parts import Area, Canvas, Dots, Line, Part, Region, Rule
from pairgossip.pictures.scales import Range, Scale, fit_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "MAIN",
    "MUTED",
    "SERIES",
    "Area",
    "Canvas",
    "Dots",
    "Line",
    "Part",
    "Picture",
    "Region",
    "Rule",
]


@dataclass(frozen=True)
class Picture:
    """Parts, drawn in their order, with axes and labels around them."""

    parts: tuple[Part, ...]
    x_label: str
    y_label: str
    title: str = ""
    x_range: Range | None = None
    y_range: Range | None = None
    x_log: bool = False
    is_square: bool = False
    rows: tuple[str, ...] = ()
    """Names at y = 0, 1, ... from the top down, in place of the numbers of the y axis."""
    notes: tuple[str, ...] = ()
    """One text per row, at the right."""
    notes_label: str = ""
    """The heading above the notes."""
    below: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Lines of text under the x axis, each with its name and a text per entry of `below_at`."""
    below_at: tuple[float, ...] = ()
    """Positions on the x axis of the texts below, and of its ticks."""
    below_label: str = ""
    """The heading of the texts below, such as "Number at risk"."""
    description: str = ""
    """A description of the picture for people who cannot see it."""

    def __post_init__(self) -> None:
        if self.notes and len(self.notes) != len(self.rows):
            raise InputError(
                f"A picture of {len(self.rows)} rows needs as many notes, not {len(self.notes)}."
            )
        if any(len(texts) != len(self.below_at) for _, texts in self.below):
            raise InputError(
                "Every line below a picture needs one text for each of the places below_at."
            )

    def scales(self) -> tuple[Scale, Scale]:
        """Return the two axes; without a given range they show all parts."""
        reaches = [part.reach() for part in self.parts]
        x, y = (
            np.concatenate([np.zeros(0), *(np.ravel(reach[axis]) for reach in reaches)])
            for axis in (0, 1)
        )
        y_range = self.y_range
        if self.rows and y_range is None:
            y_range = (len(self.rows) - 0.5, -0.5)
        return fit_scale("x", self.x_range, x, self.x_log), fit_scale("y", y_range, y)

    def draw(self, ax: Axes | None = None) -> Axes:
        """Draw with matplotlib, on the given axes or on new ones, and return them."""
        from pairgossip.pictures.figure import draw_picture

        return draw_picture(self, ax)

    def to_svg(self, width: int = 480) -> str:
        """Return the picture as SVG of this width in pixels, without script."""
        from pairgossip.pictures.svg_layout import write_svg

        return write_svg(self, width)

    def _repr_html_(self) -> str:
        return self.to_svg()
