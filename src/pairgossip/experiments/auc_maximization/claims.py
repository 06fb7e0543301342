"""What the paper says of its AUC experiment, and what was measured about it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.experiments.framework.section import Claim, Verdict
from pairgossip.experiments.setting import (
    GRAPHS,
    MATTERS,
    dispersion_verdict,
    faster_verdict,
    in_order_from,
)
from pairgossip.results import Fit

VANISHED = 0.2
"""What may be left of a bias that has vanished, relative to its largest value."""
VANISHING = 0.5
"""And of one that is about to."""
STANDARD_ERRORS = 2.0
"""How far a mean over trials may be off by chance."""
SAID = {
    "async": "paper, line {}",
    "sync": "said in paper, line {}, of the asynchronous algorithm",
}
LATE = 1 / 3
"""What is called the end of a run: from this part of its iterations on."""


def faster_claim(clock: str, relative: Mapping[str, FloatArray]) -> Claim:
    """Compare objectives at the end, relative to that of the zero model."""
    best, middle, worst = (float(relative[name][-1]) for name in GRAPHS)
    apart = worst / best - 1.0
    ahead = "ahead of" if middle < worst else "not ahead of"
    return Claim(
        f"faster-{clock}",
        "Better-connected networks exhibit faster convergence; the complete and "
        "Watts-Strogatz graphs outperform the grid.",
        SAID[clock].format(641),
        faster_verdict(best, middle, worst),
        "Features as in the file. Relative to zero the mean objective ends at "
        f"{best:.4f} (complete), {middle:.4f} (Watts-Strogatz) and {worst:.4f} (torus): the torus "
        f"is {100 * apart:+.1f} % from the complete graph, and the Watts-Strogatz graph is {ahead} "
        f"the torus. {100 * MATTERS:.0f} % count as a difference: "
        + ("the mean loss hardly depends on the graph." if abs(apart) < MATTERS else "it is one."),
    )


def dispersion_claim(clock: str, fits: Mapping[str, Fit]) -> Claim:
    """Compare spreads over nodes at the end, and say since when they are in order."""
    spreads = [float(fits[name].spread[-1]) for name in GRAPHS]
    curves = [fits[name].spread for name in GRAPHS]
    return Claim(
        f"dispersion-{clock}",
        "The dispersion of the local estimates decreases as network connectivity improves.",
        SAID[clock].format(641),
        dispersion_verdict(*spreads),
        "Features as in the file. Standard deviation of the objective over nodes at the end: "
        + ", ".join(f"{s:.2e} ({name})" for name, s in zip(GRAPHS, spreads, strict=True))
        + ". "
        + in_order_from(fits[GRAPHS[0]].iterations, *curves),
    )


def vanishing_claim(clock: str, fits: Mapping[str, Fit]) -> Claim:
    """Tell whether the mean over trials of bias . model, which the paper draws, ends near zero.

    What chance could hide counts as left: few trials must not look better than many.
    """
    least, most, told = 0.0, 0.0, []
    for graph, fit in fits.items():
        assert fit.bias is not None
        mean = fit.bias.plotted.mean(axis=0)
        largest = float(np.abs(mean).max())
        ends = fit.bias.plotted[:, fit.iterations >= LATE * fit.iterations[-1]].mean(axis=1)
        error = float(ends.std(ddof=1) / np.sqrt(len(ends))) if len(ends) > 1 else 0.0
        end = float(ends.mean())
        least = max(least, (abs(end) - STANDARD_ERRORS * error) / largest)
        most = max(most, (abs(end) + STANDARD_ERRORS * error) / largest)
        told.append(
            f"{end:.1e} ± {error:.0e} after {largest:.1e} ({graph}; {_below(fit, mean, largest)})"
        )
    return Claim(
        f"bias-vanishes-{clock}",
        "In all considered networks, the bias term (bias . model) rapidly converges to zero.",
        SAID[clock].format(643),
        vanished(least, most),
        "Features as in the file. Mean over trials at the end (from a third of the iterations on), "
        f"with its standard error, after its largest value: {', '.join(told)}. With "
        f"{STANDARD_ERRORS:.0f} standard errors, {100 * least:.0f} to {100 * most:.0f} % of the "
        "largest value are left, on the graphs where this is most.",
    )


def vanished(least: float, most: float) -> Verdict:
    """Judge by what may be left at least and at most."""
    if most < VANISHED:
        return "holds"
    if most < VANISHING:
        return "holds in part"
    return "does not hold" if least > VANISHING else "undecided"


def _below(fit: Fit, mean: FloatArray, largest: float) -> str:
    """Say from when on the term stays below the part of its peak that counts as nothing."""
    above = np.flatnonzero(np.abs(mean) >= VANISHED * largest)[-1]
    if above == len(mean) - 1:
        return "not below a fifth of it at the end"
    return f"below a fifth of it from iteration {fit.iterations[above + 1]:,} on"
