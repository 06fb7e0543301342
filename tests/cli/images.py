"""Checks of figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.image import imread


def is_drawn(path: Path, *, at_least: tuple[int, int] = (600, 400)) -> bool:
    """Return whether a PNG file is large enough and not blank."""
    pixels = np.asarray(imread(path))[..., :3]
    height, width = pixels.shape[:2]
    sample = (pixels[::4, ::4] * 255).astype(np.int64) @ [1 << 16, 1 << 8, 1]
    ink = (sample != sample[0, 0]).mean()
    colors = len(np.unique(sample))
    return bool(width >= at_least[0] and height >= at_least[1] and ink > 0.01 and colors > 10)
