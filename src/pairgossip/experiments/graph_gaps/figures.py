"""The figure of the three graphs' spectra and of the gaps of all candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from pairgossip.experiments.framework.drawing import finish_panel, panels
from pairgossip.experiments.framework.section import Picture
from pairgossip.experiments.setting import COLORS, PRINTED_GAPS, SIDE

OTHER = "#777777"
"""Of candidates that do not fit."""


def gap_picture(
    graphs: Mapping[str, Any], others: Mapping[str, Any], drawn: Mapping[str, Sequence[float]]
) -> Picture:
    """Draw the spectra, and where each candidate's gap lies beside the printed ones."""
    figure, (left, right) = panels(2)
    for name, facts in graphs.items():
        values = np.array(facts["spectrum"][1:])
        left.plot(np.arange(2, len(values) + 2), values, color=COLORS[name], label=name)
        printed = PRINTED_GAPS[name]
        label = f"_{name}: printed gap"
        left.plot(2, printed, "o", color=COLORS[name], markerfacecolor="none", label=label)
    finish_panel(left, "rank of the eigenvalue, from the smallest", "eigenvalue / |E|", "spectra")
    left.set_yscale("log")
    _gaps(right, graphs, others, drawn)
    return Picture(
        "spectra",
        "Left: all eigenvalues of the Laplacian but the smallest, which is 0, divided by the "
        "number of edges; circles are the printed gaps. Right: gaps of candidates (dots; one per "
        "seed for small worlds) and the printed gaps (dashed lines, in the color of "
        "their graph).",
        figure,
    )


def _gaps(
    axes: Axes,
    graphs: Mapping[str, Any],
    others: Mapping[str, Any],
    drawn: Mapping[str, Sequence[float]],
) -> None:
    rows: list[tuple[str, Sequence[float], str]] = [
        ("complete", [graphs["complete"]["gap"]], COLORS["complete"])
    ]
    printed_one = PRINTED_GAPS["watts-strogatz"]
    for name, gaps in drawn.items():
        fits = min(gaps) <= printed_one <= max(gaps)
        rows.append((name.replace(", ", "\n"), gaps, COLORS["watts-strogatz"] if fits else OTHER))
    rows.append((f"torus {SIDE} x {SIDE}", [graphs["torus"]["gap"]], COLORS["torus"]))
    rows += [(name, [facts["gap"]], OTHER) for name, facts in others.items()]
    for place, (row, gaps, color) in enumerate(rows):
        label = f"_{' '.join(row.split())}"
        axes.plot(gaps, [place] * len(gaps), "o", color=color, alpha=0.6, label=label)
    for name, printed in PRINTED_GAPS.items():
        label = f"_{name}: printed gap"
        axes.axvline(printed, color=COLORS[name], linestyle="--", linewidth=1.0, label=label)
    finish_panel(axes, "lambda_(n-1) / |E|", "", "gaps", legend=False)
    axes.set_yticks(range(len(rows)), [label for label, _, _ in rows], fontsize="small")
    axes.invert_yaxis()
