"""The figure of an advice: a bar of exchanges per e-fold for every option."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairgossip.bars import BESIDE, finish_bars, open_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pairgossip.networks.advice import Advice

_NOW, _BETTER, _MARK = "#777777", "#0072b2", "#111111"


def draw_advice(advice: Advice, ax: Axes | None = None) -> Axes:
    """Draw an advice; see `Advice.plot`."""
    options = advice.options
    ax = open_axes(ax, len(options))
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    least = min(min(option.efold, option.continuized_efold) for option in options)
    most = max(option.efold for option in options)
    left = least / (most / least) ** 0.1
    for place, option in enumerate(options):
        color = _NOW if place == 0 else _BETTER
        ax.barh(place, option.efold - left, left=left, height=0.62, color=color, alpha=0.85)
        note = f"{option.efold:,.0f}" + ("" if place == 0 else f"  ({option.gain:.3g} x)")
        ax.annotate(note, (option.efold, place), (6, 0), **BESIDE)
    marks = [option.continuized_efold for option in options]
    ax.plot(marks, range(len(marks)), "|", color=_MARK, markersize=15, markeredgewidth=2)
    ax.set(xscale="log", xlim=(left, most * (most / left) ** 0.3))
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if most / left < 100 else (1,)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    names = [option.name for option in options]
    finish_bars(ax, names, "exchanges per e-fold (marks: continuized)", advice.title)
    return ax
