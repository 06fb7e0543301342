"""The front door `kaplan_meier`: survival curves of rows, or of counts of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import REFUSE, real, whole
from pairgossip.errors import InputError, needed_for
from pairgossip.inference.answer import check_level
from pairgossip.pages.page import show
from pairgossip.summaries.summary import Summary
from pairgossip.survival.bounds import bound_curve
from pairgossip.survival.curve import Curve, Median, Survival
from pairgossip.survival.drawing import make_picture
from pairgossip.survival.life_table import LifeTable
from pairgossip.survival.rows import read_rows, refuse_with_summary
from pairgossip.survival.tables import find_end, place_times, read_groups
from pairgossip.survival.writing import lay_curves, list_curves, show_medians, spread_columns
from pairgossip.text import align_columns, json_value

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from pairgossip.pages.parts import Part
    from pairgossip.pictures.picture import Picture


@dataclass(frozen=True, repr=False)
class KaplanMeier:
    """Survival curves, one for each group; `kaplan_meier` makes them.

    Attributes
    ----------
    curves
        A `Curve` for each group in its order, or one of all rows.
    level
        The level of intervals, and of simultaneous bands.
    """

    curves: tuple[Curve, ...]
    level: float

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups; empty if there is one curve of all rows."""
        return tuple(one.name for one in self.curves if one.name is not None)

    def at(self, time: float, *, before: bool = False) -> Survival | dict[str, Survival]:
        """Return the share that survives a time; by group, if there are groups.

        Parameters
        ----------
        time
            A time from 0 on. The share is NaN if the curve has ended before.
        before
            True for the share that reaches the time: events at the very time are not counted. At
            the edge of cells counts show this best, as a row at an edge is counted in the cell
            above.
        """
        time = real("A time", time, 0.0, np.inf)
        return self._by_group([one.at(time, before=before) for one in self.curves])

    @property
    def median(self) -> Median | dict[str, Median]:
        """The first time that at most half survive, with its interval; by group, if there are
        groups."""
        return self._by_group([one.median for one in self.curves])

    def _by_group(self, found: Sequence[Any]) -> Any:
        return dict(zip(self.groups, found, strict=True)) if self.groups else found[0]

    def to_pandas(self) -> pandas.DataFrame:
        """Return all curves as a frame: a row for every time at which one may change.

        For a summary these are the edges of cells: the share that reaches the edge, and in columns
        ``least`` and ``most`` its certain bounds. ``low`` and ``high`` are intervals for each time,
        ``band_low`` and ``band_high`` hold the whole curve.
        """
        with needed_for("KaplanMeier.to_pandas"):
            import pandas
        return pandas.concat(
            [pandas.DataFrame(spread_columns(one)) for one in self.curves], ignore_index=True
        )

    def picture(
        self, *, band: str = "pointwise", name: str = "", time_label: str = "time"
    ) -> Picture:
        """Return the curves as a picture, with their bands and the numbers at risk.

        Parameters
        ----------
        band
            ``"pointwise"`` intervals, the ``"simultaneous"`` band, or ``"none"``. A darker region
            shows what a summary leaves open.
        name
            The curve's name in the legend, or the text before the names of groups.
        time_label
            The words under the axis, such as ``"days since surgery"``.
        """
        return make_picture(self.curves, self.level, band, time_label, name)

    def plot(
        self, ax: Axes | None = None, name: str | None = None, *, band: str = "pointwise"
    ) -> Axes:
        """Draw the curves with matplotlib, on the axes given or on new ones; see `picture`."""
        return self.picture(band=band, name=name or "").draw(ax)

    def to_dict(self, times: Sequence[float] | None = None) -> dict[str, Any]:
        """Return the figures of every curve, as JSON can hold them: None where not known.

        Parameters
        ----------
        times
            The times of the shares, by default round numbers. For counts in cells they are the
            shares that reach a time, as in ``at(..., before=True)``.
        """
        found: dict[str, Any] = json_value(list_curves(self, times))
        return found

    def parts(
        self, times: Sequence[float] | None = None, *, time_label: str = "time"
    ) -> tuple[Part, ...]:
        """Return the picture, medians and shares at times as parts of a page."""
        return tuple(lay_curves(self, times, time_label))

    def __str__(self) -> str:
        table = show_medians(self)
        if self.groups:
            return table.to_text()
        lines = (table.header, *table.rows)
        width = max(len(line[1]) for line in lines)
        return "\n".join(align_columns([[line[1].rjust(width), *line[2:]] for line in lines]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return show(self.parts())


def kaplan_meier(
    time: Any,
    event: Any = None,
    *,
    by: Any = None,
    columns: Sequence[Any] | str | None = None,
    interval: float = 0.95,
    missing: str = REFUSE,
    sites: int = 1,
) -> KaplanMeier:
    """Estimate the share of rows that survives every time, though some are censored.

    Parameters
    ----------
    time
        The time of every row, from 0 on: an array, a table or the path of a file, as `exact` takes
        them. Or a `Summary` of one column of times in classes 0 and 1, with the events in place of
        labels: it has curves of its groups, and certain bounds of them.
    event
        1 where the row failed at its time, 0 where it was censored then; or the name of a column.
    by
        The group of every row, or the name of a column. Each group has a curve.
    columns
        The name of the column of times in a table; it may be left out if there is no other.
    interval
        The level of intervals, on the scale of log(-log) as in R and lifelines. Before the first
        event they are those of Clopper and Pearson.
    missing
        ``"refuse"`` rows that lack a value, or ``"drop"`` them, which warns (`RowsDropped`).
    sites
        The number of sites whose rows a summary adds up. Where small counts are hidden, a curve
        ends where fewer than 10 rows are at risk, or fewer than ``least_cell`` for each site.

    At equal times events come before censorings. The standard error is Greenwood's. The
    simultaneous band is that of equal precision (Nair 1984) on the same scale, from the fifth event
    on and while five rows are at risk.

    Examples
    --------
    >>> import pairgossip as pg
    >>> curve = pg.survival.kaplan_meier([3, 5, 5, 8, 9, 12], [1, 1, 0, 1, 0, 0])
    >>> print(curve.at(6))
    0.67 (0.19 to 0.90); 3 at risk
    """
    level = check_level(interval)
    if isinstance(time, Summary):
        refuse_with_summary({"event": event, "by": by, "columns": columns})
        return _read_summary(time, level, whole("The number of sites", sites))
    if sites != 1:
        raise InputError(
            "Sites belong to a summary, and these are rows: leave {argument} out.", "sites"
        )
    rows = read_rows(time, event, by=by, columns=columns, missing=missing)
    if rows.groups is None:
        return KaplanMeier((_make_curve(None, rows.time, rows.event, level),), level)
    parts = ((name, rows.groups == at) for at, name in enumerate(rows.names))
    curves = (_make_curve(name, rows.time[part], rows.event[part], level) for name, part in parts)
    return KaplanMeier(tuple(curves), level)


def _make_curve(name: str | None, time: FloatArray, event: FloatArray, level: float) -> Curve:
    table = LifeTable.of(time, event)
    return Curve(name, table, level, float(table.times[-1]))


def _read_summary(summary: Summary, level: float, sites: int) -> KaplanMeier:
    curves = []
    for group in read_groups(summary, within=False):
        (blocks,) = group.strata
        table = LifeTable.of(*place_times(blocks))
        end = find_end(summary, blocks.axes[0], table, sites)
        curves.append(Curve(group.name, table, level, end, bound_curve(blocks)))
    return KaplanMeier(tuple(curves), level)
