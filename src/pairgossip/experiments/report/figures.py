"""Figures as files, the same bytes each time."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.experiments.framework.section import Picture
from pairgossip.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 160
MANY_DECADES = 1e3


def write_pictures(
    folder: Path, pictures: Mapping[str, Picture], n_jobs: int | None
) -> dict[str, str]:
    """Write all figures; return, by their names, what an HTML file can carry.

    In processes, since drawing is Python from end to end; a cluster that runs the trials is no
    place for files.
    """
    from joblib import Parallel, delayed

    workers = -1 if n_jobs is None else n_jobs
    place = folder.resolve()  # a worker may have started in another folder
    sources = Parallel(n_jobs=workers, backend="loky")(
        delayed(write_picture)(place, name, picture) for name, picture in pictures.items()
    )
    return dict(zip(pictures, sources, strict=True))


def write_picture(folder: Path, name: str, picture: Picture) -> str:
    """Write a figure as PNG and SVG; return the SVG as text that an HTML file can carry."""
    import matplotlib as mpl

    _leave_out_minor_ticks(picture.figure)
    # Without a fixed salt and date, two drawings of one figure would differ.
    with mpl.rc_context({"svg.hashsalt": name}):
        vector = _drawn(picture, "svg", metadata={"Date": None})
    picture.figure.set_layout_engine("none")  # the layout found is kept
    pixels = _drawn(picture, "png", dpi=DOTS_PER_INCH)
    for suffix, content in (("svg", vector), ("png", pixels)):
        with replacing(folder / f"{name}.{suffix}") as file:
            file.write(content)
    return f"data:image/svg+xml;base64,{base64.b64encode(vector).decode()}"


def _leave_out_minor_ticks(figure: Figure) -> None:
    """On axes of many decades they are hardly seen, and take half the time of drawing."""
    from matplotlib.ticker import NullLocator

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            if axis.get_scale() == "log" and high > MANY_DECADES * low > 0:
                axis.set_minor_locator(NullLocator())


def _drawn(picture: Picture, suffix: str, **how: object) -> bytes:
    drawn = io.BytesIO()
    picture.figure.savefig(drawn, format=suffix, **how)  # type: ignore[arg-type]
    return drawn.getvalue()
