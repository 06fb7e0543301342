"""Curves of runs and fits: their looks, labels, bands and theory, from which `charts` are made.

Run and Fit are imported for the type checker alone, since their modules import this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import RANDOM
from pairgossip.engine.trials import BYTES_PER_NUMBER
from pairgossip.pictures.palette import SERIES
from pairgossip.text import format_count
from pairgossip.theory.bounds import fewest_messages

if TYPE_CHECKING:
    from pairgossip.results.fit import Fit
    from pairgossip.results.run import Run
    from pairgossip.theory import TheoryCurves

COLORS = SERIES
MEASURED, EXPECTED, BOUND, SAMPLING, EXACT = *COLORS[:4], "#444444"

# Seven colors each: Okabe and Ito's, then Tol's muted and medium-contrast ones with a gray.
_PALETTES = (
    COLORS,
    ("#332288", "#88CCEE", "#117733", "#AA4499", "#999933", "#CC6677", "#44AA99"),
    ("#004488", "#EE99AA", "#997700", "#6699CC", "#994455", "#EECC66", "#777777"),
)
_MARKERS = ("", "o", "s", "^", "D")
"""One marker per seven curves: colors of different palettes look alike to some readers."""

_AXIS_LABELS = {
    "exchanges": "exchanges",
    "iterations": "iterations",
    "messages": "messages sent",
    "bytes": "bytes sent (payload)",
    "time": "time (one exchange per node and unit)",
}
_GROUPED_LABELS = {
    "exchanges": "exchanges, local ones included",
    "messages": "messages sent between sites",
    "bytes": "bytes sent between sites (payload)",
    "time": "time (one exchange per row and unit)",
}

ROUNDS = "rounds"
"""The name of the iterations of a sketched fit, which are few."""

Band = tuple[FloatArray, FloatArray]
"""The lower and the upper edge."""


class Curve(NamedTuple):
    """One value per checkpoint, and its look."""

    label: str
    """Empty if only the band is drawn."""
    y: FloatArray
    color: str = MEASURED
    style: str = "-"
    """A line style of matplotlib."""
    band: Band | None = None
    band_label: str = ""
    aside: bool = False
    """Whether the page leaves it out of the range of the axis: a bound may lie far above."""


class Chart(NamedTuple):
    """Curves that share their axes."""

    label: str
    """The name of the y axis."""
    log: bool
    """Whether the y axis is logarithmic."""
    curves: tuple[Curve, ...]


def compared_look(number: int) -> tuple[str, str]:
    """Return a color and a marker for one of many curves: 21 colors, 105 looks."""
    cycle, place = divmod(number, len(COLORS))
    return _PALETTES[cycle % len(_PALETTES)][place], _MARKERS[cycle % len(_MARKERS)]


def error_theory(theory: TheoryCurves) -> tuple[Curve, ...]:
    """Return the exact error or bias, and the bounds that are finite."""
    # In the separable case the exact bias falls to rounding error; below that it is noise.
    noise = 1e-14 * np.nanmax(theory.expected_error, initial=0.0)
    bias = np.where(theory.expected_error > noise, theory.expected_error, np.nan)
    curves = (
        Curve("error of averaging, by theory", theory.error, BOUND, "--"),
        Curve("as many pairs drawn at random", theory.sampling, EXACT, ":", aside=True),
        Curve("exact bias", bias, EXPECTED, "--", aside=True),
        Curve("bound on the bias", theory.expectation_bound, EXPECTED, ":", aside=True),
        Curve("bound on the error", theory.deviation_bound, BOUND, "-.", aside=True),
    )
    return tuple(curve for curve in curves if np.isfinite(curve.y).any())


def mean_theory(theory: TheoryCurves) -> tuple[Curve, ...]:
    """Return the exact expectation of the mean over nodes, where it is known."""
    if not np.isfinite(theory.expected_mean).any():
        return ()
    return (Curve("exact expectation", theory.expected_mean, EXPECTED, "--"),)


def wall(result: Run | Fit, against: str) -> tuple[float, str] | None:
    """Return the place on an axis before which no method can have the answer, and its label.

    None where there is no such place, or it lies outside of the run's checkpoints.

    If every node's answer depends on every row, each node has sent and has received something: up
    and down a tree takes the fewest possible messages, and each carries at least one number.
    """
    fewest = fewest_messages(result.sites.n)
    least = {
        "messages": (fewest, f"fewest messages possible ({fewest:,})"),
        "bytes": (
            BYTES_PER_NUMBER * fewest,
            f"fewest messages possible, one number each ({BYTES_PER_NUMBER * fewest:,} bytes)",
        ),
    }
    limit = least.get(against)
    if result.kind == "fit" or np.ndim(result.target) or not fewest or limit is None:
        return None
    axis = result.axis(against)
    return limit if axis[0] <= limit[0] <= axis[-1] else None


def percentile_band(per_trial: FloatArray) -> Band | None:
    """Return the 10th and 90th percentile over trials; None for one trial, or no known values."""
    is_defined = ~np.isnan(per_trial).all(axis=0)
    if len(per_trial) < 2 or not is_defined.any():
        return None
    whole = ~np.isnan(per_trial).any(axis=0)
    low, high = np.full((2, per_trial.shape[1]), np.nan)
    low[whole], high[whole] = np.percentile(per_trial[:, whole], (10, 90), axis=0)
    # One checkpoint at a time: numpy's own function takes some thirty times as long.
    some = is_defined & ~whole
    if some.any():
        low[some], high[some] = np.nanpercentile(per_trial[:, some], (10, 90), axis=0)
    return low, high


def curve_with_band(label: str, y: FloatArray, per_trial: FloatArray) -> Curve:
    """Return a curve with the band of most trials."""
    band = percentile_band(per_trial)
    return Curve(label, y, band=band, band_label="10 % to 90 % of the trials")


def axis_label(result: Run | Fit, against: str) -> str:
    """Return the name and unit of an x axis; with groups, only data that sites send counts."""
    if result.construction in ("lexicographic", "blow-up") and against in _GROUPED_LABELS:
        return _GROUPED_LABELS[against]
    if against == "iterations" and result.kind == "fit" and result.has_rounds:
        return ROUNDS
    return _AXIS_LABELS[against]


def describe(result: Run | Fit) -> str:
    """Describe a run in a line: the method, the network and the trials."""
    trials = format_count(result.trials, "trial")
    private = "" if result.privacy is None else f", epsilon {result.privacy.epsilon:g}"
    of = "" if result.positive is None else f", positive: {result.positive}"
    faults = "" if result.faults is None else f", {result.faults}"
    return f"{what_ran(result)}, {_network_of(result)}{private}{faults}, {trials}{of}"


def what_ran(result: Run | Fit) -> str:
    """Name the algorithm and the statistic or model."""
    if result.kind == "fit":
        how = f"sketch, {result.schedule}" if result.has_rounds else result.clock
        return f"{result.loss}, {how}"
    statistic = f" of {result.kernel}" if result.kernel else ""
    schedule = "" if result.schedule == RANDOM else f", {result.schedule}"
    return f"{result.method}-{result.clock}{schedule}{statistic}"


def _network_of(result: Run | Fit) -> str:
    """Name the network in a few words."""
    family = result.sites.family or "graph"
    if result.groups is None:
        return f"{family} of {format_count(result.nodes, 'node')}"
    sites = f"a {family} of {result.sites.n:,} sites" if result.sites.n > 1 else "one site"
    return f"{len(result.groups):,} rows at {sites}"
