"""The figure of an advice: a bar of exchanges per e-fold for every option."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairgossip.errors import needed_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pairgossip.networks.advice import Advice

_NOW, _BETTER, _MARK = "#777777", "#0072b2", "#111111"


def draw_advice(advice: Advice, ax: Axes | None = None) -> Axes:
    """Draw an advice; see `Advice.plot`."""
    with needed_for("Drawing"):
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
    options = advice.options
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=figure_size(advice), layout="constrained")
    places = range(len(options))
    least = min(min(option.efold, option.continuized_efold) for option in options)
    most = max(option.efold for option in options)
    left = least / (most / least) ** 0.1
    for place, option in zip(places, options, strict=True):
        color = _NOW if place == 0 else _BETTER
        ax.barh(place, option.efold - left, left=left, height=0.62, color=color, alpha=0.85)
        note = f"{option.efold:,.0f}" + ("" if place == 0 else f"  ({option.gain:.3g} x)")
        ax.annotate(
            note, (option.efold, place), (6, 0), textcoords="offset points", va="center",
            fontsize="small",
        )  # fmt: skip
    marks = [option.continuized_efold for option in options]
    ax.plot(marks, places, "|", color=_MARK, markersize=15, markeredgewidth=2)
    ax.set(xscale="log", xlim=(left, most * (most / left) ** 0.3))
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if most / left < 100 else (1,)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(len(options) - 0.4, -0.6)
    ax.set_yticks(places, [option.name for option in options])
    ax.set_xlabel("exchanges per e-fold (marks: continuized)")
    ax.set_title(advice.title, fontsize="medium")
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.grid(axis="x", alpha=0.25)
    ax.set_axisbelow(True)
    return ax


def figure_size(advice: Advice) -> tuple[float, float]:
    """Return width and height in inches that suit an advice."""
    return 7, 0.42 * len(advice.options) + 1.3
