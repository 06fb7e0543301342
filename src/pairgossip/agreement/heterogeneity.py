"""The result of `pg.heterogeneity`: the differences between sites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pairgossip.agreement.forest import draw_forest
from pairgossip.agreement.pooling import FEWEST_TO_PREDICT
from pairgossip.errors import needed_for
from pairgossip.inference.answer import Answer
from pairgossip.kernels.kernel import Scale
from pairgossip.pages.page import Figure, Paragraph, show
from pairgossip.text import align_columns, format_count, format_ends, format_interval

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from pairgossip.pictures.picture import Picture

_MEASURED_LEVEL, _MEASURED_SITES = 0.95, 6
_MEASURED = "; measured to hold 80 to 97 % of new sites"
"""The measured share of intervals for a new site, at this level and from 6 to 30 sites, that held
its true value (benchmarks/heterogeneity.py); fewer sites determine tau poorly."""
_WEIGHTS = {"random": "random effects", "equal": "equal weights"}
"""The names of the methods of weighting sites in sentences."""
_SCALES: dict[Scale, str] = {
    "plain": "",
    "log": " on the logarithm",
    "logit": " on the logit",
    "fisher": " on Fisher's z",
}


class Site(NamedTuple):
    """A site and its part in the mean."""

    name: str
    rows: int
    value: Answer
    """The statistic with its sampling error, which is NaN where the rows do not determine it."""
    low: float
    high: float
    weight: float
    """Its weight in the mean; all weights add up to 1."""


@dataclass(frozen=True, repr=False)
class Heterogeneity:
    """A statistic of several sites, and how much these differ; `heterogeneity` makes it.

    Attributes
    ----------
    reading, method, level
        The statistic, how sites are weighted, and the level of all intervals.
    scale
        The scale on which values are averaged: "plain", "log", "logit" or "fisher".
    sites
        The sites that take part, each a `Site`.
    mean, interval
        The mean over the sites, and an interval for the mean over all possible sites.
    tau
        The standard deviation of the sites' true values **on the scale**: for an AUC, of its logit.
    i_squared
        The share of the variance between sites, 0 to 1, that their own errors do not explain.
    q, q_p
        Cochran's Q, and its p-value if all sites have one true value.
    prediction_interval
        The range of the true value of a new site; NaN for fewer than three sites.
    left_out
        The sites that have no value, or no error.
    notes
        Caveats of these numbers, in sentences.
    """

    reading: str
    method: str
    level: float
    scale: Scale
    sites: tuple[Site, ...]
    mean: float
    interval: tuple[float, float]
    tau: float
    i_squared: float
    q: float
    q_p: float
    prediction_interval: tuple[float, float]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the sites as a frame, one per line."""
        with needed_for("Heterogeneity.to_pandas"):
            import pandas
        values = ({"value": float(one.value), "error": one.value.error} for one in self.sites)
        lines = zip(self.sites, values, strict=True)
        return pandas.DataFrame([{**site._asdict(), **value} for site, value in lines])

    def picture(self) -> Picture:
        """Return the forest plot, which writes itself as SVG (``to_svg()``).

        Squares have areas in proportion to the sites' weights. The diamond is the mean, and the
        line below it is the range of a new site.
        """
        return draw_forest(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the forest plot, and return the matplotlib axes."""
        return self.picture().draw(ax)

    @property
    def facts(self) -> tuple[str, ...]:
        """The results over all sites and their caveats, one line each."""
        percent = f"{100 * self.level:g} %"
        mean, *ends = format_ends(self.mean, self.interval)
        lines = [
            f"mean of {format_count(len(self.sites), 'site')}: {mean} "
            f"({percent}: {ends[0]} to {ends[1]}; {_WEIGHTS[self.method]})",
            f"between sites: tau = {self.tau:.3f}{_SCALES[self.scale]}, "
            f"I2 = {100 * self.i_squared:.0f} %, Q = {self.q:.1f} (p = {self.q_p:.2g})",
        ]
        if len(self.sites) >= FEWEST_TO_PREDICT:
            low, high = format_ends(self.mean, self.prediction_interval)[1:]
            is_measured = self.level == _MEASURED_LEVEL and len(self.sites) >= _MEASURED_SITES
            measured = _MEASURED if is_measured else ""
            lines.append(f"a new site: {low} to {high} (meant for {percent}{measured})")
        return (*lines, *self.notes)

    def __repr__(self) -> str:
        table = [("site", "rows", self.reading, "weight")]
        for one in self.sites:
            value = format_interval(float(one.value), (one.low, one.high))
            table.append((one.name, f"{one.rows:,}", value, f"{100 * one.weight:.0f} %"))
        return "\n".join([*align_columns(table), *self.facts])

    def _repr_html_(self) -> str:
        return show((Figure(self.picture()), *map(Paragraph, self.facts)))
