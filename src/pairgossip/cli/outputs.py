"""Files the commands write: checked before the work, replaced only by complete ones."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.errors import InputError
from pairgossip.extras import needed_for
from pairgossip.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_SUFFIXES = (".png", ".pdf", ".svg")
DOTS_PER_INCH = 200


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None] = ()) -> None:
    """Raise `InputError` unless every file can be written and none overwrites another."""
    taken = {path.resolve() for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        if path.resolve() in taken:
            raise InputError(f"{path} is named twice: give every output a file of its own.")
        taken.add(path.resolve())
        _check_place(path)


def check_figures(figures: Iterable[Path | None]) -> None:
    """Raise unless the figures have a format that can be drawn, and the library to draw them."""
    wanted = [path for path in figures if path is not None]
    for path in wanted:
        if path.suffix.lower() not in FIGURE_SUFFIXES:
            raise InputError(f"{path} is no figure: end its name in {_listed(FIGURE_SUFFIXES)}.")
    if wanted:
        with needed_for("Drawing"):
            import matplotlib.figure  # noqa: F401 - to know now, not after a long run


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format its name ends in."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix.lower().removeprefix("."), dpi=DOTS_PER_INCH)
    with replacing(path) as file:
        file.write(drawn.getbuffer())


def _check_place(path: Path) -> None:
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{path} is a folder: give the name of a file.")
    if not folder.is_dir():
        raise InputError(f"Cannot write {path}: there is no folder {folder}.")
    try:
        # Permissions alone do not tell: the disk may be full or read-only.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        raise InputError(f"Cannot write {path}: {problem.strerror}.") from None


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
