"""The errors of a peer's estimate, which differ in kind and are never added up.

The gossip error is the distance of this peer from the value over the rows that take part: it falls
with messages. The sampling error is that of this value from the one of the population that the rows
are drawn from: it falls with rows only. The privacy error is the one that reporting adds to it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.inference import row_products
from pairgossip.inference.answer import Law, interval
from pairgossip.peer.protocol.rules import StatisticRule, WeightedMixing

if TYPE_CHECKING:
    from pairgossip.peer.estimates.uncertainty import Uncertainty
    from pairgossip.peer.identity.members import PeerContext
    from pairgossip.peer.protocol.context import Context
    from pairgossip.peer.protocol.state import State

_LEVEL = 0.95
"""Confidence level of all intervals of peers."""
_EXCHANGES_PER_ROW = 16
"""Number of exchanges per row of the member with the most rows before a peer judges its error: its
rows mix by one local exchange at each with a neighbor."""
_LEAST_MET = 0.9
"""Least share of others' rows whose owners' records have passed by; below it errors are None."""


class Errors(msgspec.Struct, frozen=True, kw_only=True):
    """The errors of an estimate; None if unknown, and for models."""

    gossip_error: float | None = None
    """The standard error of this peer's estimate of the value over all rows (or reports)."""
    gossip_interval: tuple[float, float] | None = None
    """The 95 % interval for the value over all rows (under privacy, over all reports)."""
    sampling_error: float | None = None
    """The standard error of the value over all rows, as an estimate of the population's.

    Under privacy a lower bound: the part that the privacy error does not explain; None if it could
    explain all.
    """
    sampling_interval: tuple[float, float] | None = None
    """The interval for the population's value, at 95 %; it allows for the privacy error."""
    privacy_error: float | None = None
    """The largest standard error that reports, instead of rows, can bring under privacy."""

    def as_fields(self) -> dict[str, Any]:
        """Return the errors by name."""
        return {name: getattr(self, name) for name in Errors.__struct_fields__}


UNKNOWN = Errors()


def errors_of(
    context: PeerContext, state: State, seen: Uncertainty | None, met: Collection[str]
) -> Errors:
    """Return the errors of a peer's estimate, by its state and by the history of its masses.

    There is no sampling error before most members have been ``met``: rows of listed members that
    never ran do not count in the estimate.
    """
    rule = context.rule
    if not isinstance(rule, StatisticRule):
        return UNKNOWN
    averages, total, privacy = readout_of(context, state), None, None
    if (kernel := context.agreed.debiased) is not None:
        # Imported here, so that a small device does not load privacy.
        from pairgossip.peer.estimates.privacy_noise import bound_noise

        rows = sum(context.present_rows.values())
        privacy = bound_noise(kernel, rows, context.agreed.target, averages)
    if have_met(rows_of_others(context), met):
        total = population_error(context, state, averages)
    errors: dict[str, Any] = {"privacy_error": privacy}
    if seen is not None:
        errors |= {"gossip_error": seen.error(), "gossip_interval": seen.interval()}
    if total is not None:
        reports = privacy or 0.0
        if total > reports:
            errors["sampling_error"] = math.sqrt((total - reports) * (total + reports))
        errors["sampling_interval"] = _interval(rule, averages, total, context)
    return Errors(**errors)


def population_error(context: Context, state: State, averages: FloatArray) -> float | None:
    """Return the standard error of the value over all rows, as an estimate of the population's.

    ``averages`` are the peer's `readout_of`. Under privacy rows are reports, and the error includes
    their noise. None before `fewest_exchanges`, and if all rows have the same effect on the
    statistic.
    """
    rule, rows = context.rule, sum(context.present_rows.values())
    if not isinstance(rule, StatisticRule) or rows < 2:
        return None
    if state.exchanges < fewest_exchanges(context.present_rows.values()):
        return None
    tracked = _masses(state)[:, rule.averaged :].mean(axis=0)
    with np.errstate(all="ignore"):
        slopes = rule.kernel.slopes(averages)
        variance = float(row_products.variance(tracked[None], averages[None], slopes[None], 1.0)[0])
    return math.sqrt(variance / (rows - 1)) if 0.0 < variance < math.inf else None


def fewest_exchanges(rows: Iterable[int]) -> int:
    """Return the number of exchanges before a peer judges its error; ``rows`` are all members'."""
    return _EXCHANGES_PER_ROW * max(2, *rows)


def have_met(others: Mapping[str, int], met: Iterable[str]) -> bool:
    """Return whether records of members with most of the others' rows have passed by."""
    return sum(others.get(who, 0) for who in met) >= _LEAST_MET * sum(others.values())


def rows_of_others(context: Context) -> dict[str, int]:
    """Return the number of rows of each other member that takes part, by its id."""
    return {who: count for who, count in context.present_rows.items() if who != context.me}


def readout_of(context: Context, state: State) -> FloatArray:
    """Return the components of a statistic, or the model, over all rows of a peer."""
    rule = context.rule
    if isinstance(rule, WeightedMixing):
        # A ratio of sums, so that rows that were picked more often count for more.
        return rule.readout(tuple(_masses(state).sum(axis=0).tolist()), ())
    readouts = np.array([rule.readout(node.mass, node.private) for node in state.nodes])
    complete = readouts[~np.isnan(readouts).any(axis=1)]
    return complete.mean(axis=0) if len(complete) else readouts[0]


def _masses(state: State) -> FloatArray:
    """Return the masses of all rows, fast, since large peers call this every second."""
    entries = chain.from_iterable(node.mass for node in state.nodes)
    return np.fromiter(entries, dtype=np.float64).reshape(len(state.nodes), -1)


def _interval(
    rule: StatisticRule, averages: FloatArray, error: float, context: PeerContext
) -> tuple[float, float] | None:
    """Return the interval; None if an end is infinite, or with too few reports."""
    value, rows = float(rule.kernel.combine(averages)), sum(context.present_rows.values())
    scale = rule.kernel.interval_scale
    if (mechanism := context.agreed.mechanism) is not None:
        from pairgossip.privacy.moments import choose_scale, rows_for_interval

        if rows < rows_for_interval(mechanism):
            return None
        scale = choose_scale(mechanism, rows, scale)
    ends = interval(value, error, _LEVEL, scale, Law(rows - 1))
    return ends if all(map(math.isfinite, ends)) else None
