"""The figure of mixing times: total variation distance against time, with its bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairgossip.experiments.framework.drawing import finish_panel, panels
from pairgossip.experiments.framework.section import Picture
from pairgossip.experiments.networks import COLORS


def variation_picture(found: Mapping[str, Any], epsilon: float) -> Picture:
    """Draw the total variation on every graph, the bound, and the mixing times."""
    figure, grid = panels(3, 2, sharey=True)
    for axes, (name, item) in zip(grid.ravel(), found.items(), strict=True):
        color = COLORS[name]
        axes.plot(item["times"], item["variation"], color=color, label="exact")
        axes.plot(item["times"], item["bound"], "--", color=color, label="bound, corrected")
        axes.axhline(epsilon, color="#444444", linewidth=0.8, label=f"_eps = {epsilon:g}")
        axes.plot(item["exact"], epsilon, "o", color=color, label="mixing time, exact")
        axes.plot(
            item["corrected"],
            epsilon,
            "s",
            color=color,
            mfc="white",
            label="mixing time, corrected",
        )
        finish_panel(axes, "iterations t", "total variation", f"{name}, {item['nodes']} nodes")
        axes.legend(fontsize="small", frameon=False, loc="lower left")
        axes.set_yscale("log")
        axes.set_ylim(epsilon / 100, 30)
    for axes in grid[:, 1:].ravel():
        axes.set_ylabel("")
    return Picture(
        "total-variation",
        "Total variation distance between the law of a walking observation after t iterations, "
        f"from the worst start, and the uniform law; the line is at eps = {epsilon:g}. The "
        "printed mixing times are negative and lie outside every panel.",
        figure,
    )
